"""How values are made here: frozen attrs classes, copied with changes in one cheap call.

Read first. Values are made with ``frozen`` (slots, small), or with ``region`` where one is replaced on the hot path;
``replace`` is their only "mutation"; ``UNSET`` tells *absent* from *null* where somebody else's members are carried
through. ``of_type`` and ``of_texts`` check the fields of a value that a host makes, where it makes it.
"""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar, cast, dataclass_transform, get_args

import attrs
from attrs import field, frozen
from msgspec import UNSET, UnsetType

__all__ = ["UNSET", "UnsetType", "field", "frozen", "of_texts", "of_type", "region", "replace"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def region(cls: type[T]) -> type[T]:
    """A frozen value that keeps its fields in a dict, so that ``replace`` costs much the same whatever its width."""
    return attrs.frozen(cls, slots=False)


def of_type(wanted: Any) -> Callable[[Any, Any, Any], None]:
    """A validator of a field: raises ``TypeError`` for a value that is not of this class, or union of classes."""
    kinds: tuple[type, ...] = get_args(wanted) or (wanted,)
    name = " or ".join(kind.__name__ for kind in kinds).replace("NoneType", "None")

    def check(value: object, attribute: Any, given: object) -> None:
        if not isinstance(given, kinds):
            raise TypeError(f"{type(value).__name__}.{attribute.name} must be {name}, not {type(given).__name__}")

    return check


def of_texts(value: object, attribute: Any, given: object) -> None:
    """A validator of a field: raises ``TypeError`` for anything but a mapping from text to text."""
    where = f"{type(value).__name__}.{attribute.name}"
    if not isinstance(given, Mapping):
        raise TypeError(f"{where} must be a mapping from text to text, not {type(given).__name__}")
    for name, text in cast("Mapping[object, object]", given).items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"{where} must hold text, not {name!r}: {text!r}")


_Setter = Callable[[Any, Any], None]
_plans: dict[type, tuple[Callable[[Any], Iterable[Any]], tuple[_Setter, ...], dict[str, _Setter]]] = {}
_regions: dict[type, tuple[frozenset[str], _Setter]] = {}


def replace(value: T, /, **changes: Any) -> T:
    """A copy of a frozen value with some fields changed.

    Like ``attrs.evolve`` at a fraction of its cost: fields are copied as they are and validators do not run again, so
    use it on values of our own, never on input from outside. Raises ``TypeError`` for a name that is no field.
    """
    cls = value.__class__
    region_of = _regions.get(cls)
    if region_of is None:
        return _replace_slots(value, cls, changes)
    names, fill = region_of
    if not names.issuperset(changes):
        raise TypeError(f"{cls.__name__} has no field {', '.join(sorted(changes.keys() - names))}")
    copy = object.__new__(cls)
    fill(copy, value.__dict__ | changes)
    return copy


def _replace_slots(value: T, cls: type[T], changes: dict[str, Any]) -> T:
    plan = _plans.get(cls)
    if plan is None:
        names = tuple(attribute.name for attribute in attrs.fields(cls))
        if hasattr(value, "__dict__"):
            # Setting the whole dict at once is the cheapest way around the frozen ``__setattr__``.
            _regions[cls] = (frozenset(names), cls.__dict__["__dict__"].__set__)
            return replace(value, **changes)
        plan = _plans[cls] = _plan(cls, names)
    read, setters, by_name = plan
    copy = object.__new__(cls)
    for setter, item in zip(setters, read(value), strict=True):
        setter(copy, item)
    for name, item in changes.items():
        try:
            by_name[name](copy, item)
        except KeyError:
            raise TypeError(f"{cls.__name__} has no field {name!r}") from None
    return copy


def _plan(
    cls: type, names: tuple[str, ...]
) -> tuple[Callable[[Any], Iterable[Any]], tuple[_Setter, ...], dict[str, _Setter]]:
    by_name = {name: getattr(cls, name).__set__ for name in names}
    read: Callable[[Any], Iterable[Any]]
    read = attrgetter(*names) if len(names) > 1 else lambda value: [getattr(value, name) for name in names]
    return read, tuple(by_name.values()), by_name
