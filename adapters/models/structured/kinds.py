"""Types as msgspec knows them: what is within one, the classes that it is made of, and what in it no model can write.

A path says where something is: ``lines[].path`` is the field ``path`` of each item of the field ``lines``, and ``{}``
stands for what is in a mapping.
"""

import sys
from collections.abc import Iterator
from typing import Any, get_type_hints

from msgspec import inspect

__all__ = ["Class", "classes_of", "in_one_line", "misfit", "parts_of", "what_breaks"]

Class = inspect.StructType | inspect.DataclassType | inspect.TypedDictType | inspect.NamedTupleType

_KINDS = "attrs, dataclass, msgspec struct or TypedDict"
_INSTEAD: dict[Any, str] = {object: "typing.Any"}


def parts_of(known: inspect.Type) -> Iterator[tuple[str, inspect.Type]]:
    """The types directly within a type, and where: the fields of a class, or what a list, a mapping, a union holds."""
    if isinstance(known, Class):
        for field in known.fields:
            yield f".{field.encode_name}", field.type
        return
    for place, name in (("", "type"), ("[]", "item_type"), ("{}", "key_type"), ("{}", "value_type")):
        inner = getattr(known, name, None)
        if isinstance(inner, inspect.Type):
            yield place, inner
    for place, name in (("", "types"), ("[]", "item_types")):
        for inner in getattr(known, name, ()):
            yield place, inner


def classes_of(start: inspect.Type) -> list[Class]:
    """The classes that a type is made of, each once."""
    return [known for _, known in _everything(start) if isinstance(known, Class)]


def misfit(start: inspect.Type) -> str:
    """What to say behind a type's name if it holds what no model can be asked for: where, and what to do about it."""
    for path, known in _everything(start):
        if isinstance(known, inspect.CustomType):
            place, cls = path.removeprefix("."), known.cls
            if not place and not _is_pydantic(cls):
                return f" is none of {_KINDS}"
            return f", field {place}: {_refused(cls)}" if place else f": {_refused(cls)}"
    return ""


def what_breaks(wanted: Any) -> str:
    """Where a type is that msgspec cannot even read, and its reason; empty if it is not in a field."""
    try:
        fields = get_type_hints(wanted, include_extras=True)
    except Exception:  # a name that is not there, or no class at all: msgspec says which
        return ""
    for name, kind in fields.items():
        try:
            inspect.type_info(kind)
        except Exception as wrong:
            inner = what_breaks(kind)
            return f"field {name}.{inner.removeprefix('field ')}" if inner else f"field {name}: {in_one_line(wrong)}"
    return ""


def in_one_line(wrong: BaseException) -> str:
    """What an exception says."""
    return " ".join(str(wrong).split())


def _everything(start: inspect.Type) -> Iterator[tuple[str, inspect.Type]]:
    """A type and all that is within, each once and with its path, in the order of the declarations."""
    waiting, seen = [("", start)], set[int]()
    while waiting:
        path, known = waiting.pop()
        if id(known) not in seen:
            seen.add(id(known))
            yield path, known
            waiting += reversed([(path + place, inner) for place, inner in parts_of(known)])


def _refused(cls: Any) -> str:
    if _is_pydantic(cls):
        return f"a pydantic model is none of {_KINDS}"
    module, name = cls.__module__, cls.__qualname__
    full = name if module in ("builtins", "__main__") else f"{module}.{name}"
    if module.partition(".")[0] in sys.stdlib_module_names - {"__main__"}:
        return f"{full} cannot be described; use {_INSTEAD.get(cls, 'str')}"
    return f"{full} cannot be described, being none of {_KINDS}"


def _is_pydantic(cls: Any) -> bool:
    return hasattr(cls, "model_validate") or hasattr(cls, "__get_validators__")
