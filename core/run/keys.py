"""``Keys``: a set that only grows, whose versions share one table.

Adding to the newest version and asking cost the same however large it is, so a run can remember every input it ever
saw. It is never iterated, so the order of hashes can show nowhere.
"""

from collections.abc import Iterable


class Keys:
    """An immutable set of texts with cheap ``add``."""

    __slots__ = ("_length", "_table")

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._table = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        self._length = len(self._table)

    def add(self, *keys: str) -> "Keys":
        """This set with ``keys`` in it."""
        table = self._table
        if len(table) != self._length:
            table = dict(list(table.items())[: self._length])
        for key in keys:
            table.setdefault(key, len(table))
        grown = Keys.__new__(Keys)
        grown._table = table
        grown._length = len(table)
        return grown

    def __contains__(self, key: str) -> bool:
        return self._table.get(key, self._length) < self._length

    def __len__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Keys):
            return NotImplemented
        return self._length == other._length and all(key in other for key in list(self._table)[: self._length])

    def __hash__(self) -> int:
        return hash(self._length)

    def __repr__(self) -> str:
        return f"Keys({list(self._table)[: self._length]!r})"
