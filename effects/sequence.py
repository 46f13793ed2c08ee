"""``Seq``: an append-only sequence whose versions share one backing list.

Appending to the newest version costs the same at the millionth item as at the first; appending to an older version
copies once. So state can hold a growing transcript, and every earlier state stays as it was.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, Generic, Protocol, TypeVar, cast, overload

__all__ = ["Reader", "Seq"]

T = TypeVar("T", covariant=True)
Item = TypeVar("Item", contravariant=True)
R = TypeVar("R", bound="Reader[Any]")


class Reader(Protocol[Item]):
    """What a sequence can be read with, item by item."""

    def feed(self, item: Item, /) -> None:
        """The next item. It must not raise."""
        ...


class _Backing(Generic[T]):
    __slots__ = ("digests", "items", "read", "reader")

    def __init__(self, items: list[T]) -> None:
        self.items = items
        self.digests: list[bytes] = []
        self.reader: object = None
        self.read = 0


class Seq(Sequence[T]):
    """An immutable sequence with cheap ``append``; equal to another ``Seq`` with equal items."""

    __slots__ = ("_backing", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._backing: _Backing[T] = _Backing(list(items))
        self._length = len(self._backing.items)

    def append(self, *items: T) -> "Seq[T]":  # type: ignore[misc]
        """This sequence and then ``items``."""
        return self.extend(items)

    def extend(self, items: Iterable[T]) -> "Seq[T]":  # type: ignore[misc]
        """This sequence and then ``items``."""
        backing = self._backing
        if len(backing.items) != self._length:
            backing = _Backing(backing.items[: self._length])
        backing.items.extend(items)
        grown = cast("Seq[T]", Seq.__new__(Seq))
        grown._backing = backing
        grown._length = len(backing.items)
        return grown

    def cut(self, length: int) -> "Seq[T]":
        """The first ``length`` items."""
        if not 0 <= length <= self._length:
            raise IndexError(f"cannot cut a sequence of {self._length} items at {length}")
        shorter = cast("Seq[T]", Seq.__new__(Seq))
        shorter._backing = self._backing
        shorter._length = length
        return shorter

    def digest(self, encode: Callable[[T], bytes]) -> str:
        """A chained digest of the items, in hexadecimal; each item is encoded once, however often this is asked."""
        digests = self._backing.digests
        for item in self._backing.items[len(digests) : self._length]:
            before = digests[-1] if digests else b""
            digests.append(blake2b(before + encode(item), digest_size=16).digest())
        return digests[self._length - 1].hex() if self._length else ""

    def read_by(self, kind: type[R]) -> R:
        """A reader of this kind, without arguments made, that was fed the items; use it at once and do not feed it.

        Versions share their reader, so who asks each newer one has every item fed once. A version that is older than
        the last one asked is read from its beginning.
        """
        backing = self._backing
        reader, read = backing.reader, backing.read
        if not isinstance(reader, kind) or read > self._length:
            reader, read = kind(), 0
        for item in backing.items[read : self._length]:
            reader.feed(item)
        if self._length >= backing.read:
            backing.reader, backing.read = reader, self._length
        return reader

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        items = self._backing.items
        for index in range(self._length):
            yield items[index]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> "Seq[T]": ...
    def __getitem__(self, index: int | slice) -> "T | Seq[T]":
        if isinstance(index, slice):
            # A part costs what it is long, however long the whole is.
            part, items = range(self._length)[index], self._backing.items
            forward = part.step > 0
            return Seq(items[part.start : part.stop : part.step] if forward else (items[place] for place in part))
        if not -self._length <= index < self._length:
            raise IndexError(f"index {index} in a sequence of {self._length} items")
        return self._backing.items[index if index >= 0 else self._length + index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Seq):
            return NotImplemented
        others = cast("Seq[object]", other)
        if self._length != len(others):
            return False
        return self._backing is others._backing or all(a == b for a, b in zip(self, others, strict=True))

    def __hash__(self) -> int:
        return hash((self._length, self._backing.items[0] if self._length else None))

    def __repr__(self) -> str:
        return f"Seq({list(self)!r})"
