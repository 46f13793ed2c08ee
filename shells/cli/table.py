"""Rows in columns, as ``runs`` and the lists of vendors and models show them.

A terminal may be too narrow for that. Nothing is dropped or cut then, since addresses and ids are there to be copied: a
row goes on in the next line.
"""

from collections.abc import Sequence

from .style import Style, wrapped

__all__ = ["table"]

_GAP, _INDENT = "  ", "    "


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], style: Style) -> list[str]:
    """The lines of a table; where its terminal is too narrow, a row takes several, and only the first begins it."""
    widths = [max(len(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    if not style.moves:
        first, *rest = [_line(row, widths, range(len(widths))) for row in (headings, *rows)]
        return [style.dim(first), *rest]
    groups = _groups(widths, style.width)
    heading = _row(headings, widths, groups, style.width)
    return [*map(style.dim, heading), *(line for row in rows for line in _row(row, widths, groups, style.width))]


def _groups(widths: Sequence[int], room: int) -> list[range]:
    """Which columns share a line: as many as fit; one that is too wide has a line of its own, however long."""
    groups: list[range] = []
    start, used = 0, 0
    for column, width in enumerate(widths):
        wanted = width + (len(_GAP) if column > start else len(_INDENT) if start else 0)
        if column > start and used + wanted > room:
            groups.append(range(start, column))
            start, used, wanted = column, 0, len(_INDENT) + width
        used += wanted
    return [*groups, range(start, len(widths))]


def _row(row: Sequence[str], widths: Sequence[int], groups: Sequence[range], room: int) -> list[str]:
    first, *more = [_line(row, widths, group) for group in groups]
    return [*_parts(first, room, ""), *(part for line in more if line for part in _parts(line, room, _INDENT))]


def _line(row: Sequence[str], widths: Sequence[int], columns: range) -> str:
    return _GAP.join(row[column].ljust(widths[column]) for column in columns).rstrip()


def _parts(line: str, room: int, indent: str) -> list[str]:
    return [indent + line] if len(indent + line) <= room else wrapped(line, room, indent)
