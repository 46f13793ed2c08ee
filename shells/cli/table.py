"""Rows in columns, as ``runs`` and the lists of vendors and models show them."""

from collections.abc import Sequence

from .style import Style

__all__ = ["table"]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], style: Style) -> list[str]:
    """The lines of a table; on a terminal they are cut to its width."""
    every = [headings, *rows]
    widths = [max(len(row[column]) for row in every) for column in range(len(headings) - 1)]
    lines: list[str] = []
    for row in every:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        line = "  ".join((*cells, row[-1])).rstrip()
        lines.append(line[: style.width] if style.moves else line)
    return [style.dim(lines[0]), *lines[1:]]
