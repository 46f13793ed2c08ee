"""From a function's signature to what a model is told and what a call is checked against.

Read ``define`` first. A signature becomes a msgspec struct, which gives both the JSON Schema and the conversion of a
call's arguments, so the two cannot differ. Everything that cannot work is refused here, when the tool is made.
"""

import functools
import inspect
import re
import typing
from collections.abc import Callable
from copy import deepcopy
from inspect import Parameter
from typing import Annotated, Any

import msgspec

from ...effects.values import UNSET, frozen
from .context import ToolContext
from .docstring import read_docstring
from .errors import ToolDefinitionError
from .schema import Schema, schema_of

__all__ = ["Definition", "define"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME_RULE = "models take only 1 to 64 letters, digits, underscores and hyphens"


@frozen
class Definition:
    """A tool as it was declared: ``arguments`` is the struct of its parameters, ``context`` the one for the context."""

    name: str
    description: str
    parameters: Schema
    arguments: type[msgspec.Struct]
    context: str | None


def define(function: Callable[..., Any], name: str | None, description: str | None) -> Definition:
    """What a function is as a tool, by name and description of its own unless given.

    Raises ``ToolDefinitionError``, which names the function and the parameter and says what to do.
    """
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    label = getattr(inner, "__qualname__", type(inner).__qualname__)
    refuse = functools.partial(ToolDefinitionError, label)
    name = _checked_name(getattr(function, "__name__", "") if name is None else name, refuse)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise refuse("", "it yields; return one value, and show what goes on with ToolContext.progress")
    text, described = read_docstring(inspect.getdoc(inner))
    hints = _hints(inner, refuse)
    fields: list[tuple[str, Any, Any]] = []
    context: str | None = None
    for parameter in inspect.signature(function).parameters.values():
        hint = _checked(parameter, hints, refuse)
        if hint is not ToolContext:
            fields.append(_field(parameter, _described(hint, described.get(parameter.name)), refuse))
        elif context is None:
            context = parameter.name
        else:
            raise refuse(parameter.name, f"the context is already taken by {context!r}; remove one of the two")
    unknown = described.keys() - {context, *(field[0] for field in fields)}
    if unknown:
        raise refuse(
            min(unknown), "the docstring describes it, but there is no such parameter; rename or drop the entry"
        )
    arguments = msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
    parameters = _with_defaults(schema_of(arguments), arguments)
    return Definition(name, text if description is None else description, parameters, arguments, context)


_Refuse = Callable[[str, str], ToolDefinitionError]


def _checked_name(name: str, refuse: _Refuse) -> str:
    if not _NAME.fullmatch(name):
        raise refuse("", f"{_NAME_RULE} in a name, not {name!r}; give another one with tool(name=...)")
    return name


def _hints(inner: Any, refuse: _Refuse) -> dict[str, Any]:
    annotated = inner if inspect.isroutine(inner) or inspect.isclass(inner) else inner.__call__
    try:
        return typing.get_type_hints(annotated, include_extras=True)
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raise refuse("", f"its annotations cannot be read ({error}); name types that its module knows") from error


def _checked(parameter: Parameter, hints: dict[str, Any], refuse: _Refuse) -> Any:
    """The annotation of a parameter that can be given by name."""
    name = parameter.name
    if parameter.kind is Parameter.POSITIONAL_ONLY:
        raise refuse(name, "it is positional-only, but arguments are given by name; remove the '/' of the signature")
    if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        star = "*" if parameter.kind is Parameter.VAR_POSITIONAL else "**"
        raise refuse(name, f"{star}{name} has no schema; name each parameter, or take one list or dict")
    if name not in hints:
        method = " (of a method, make the bound one a tool: tool(instance.method))" if name in ("self", "cls") else ""
        raise refuse(name, f"it has no annotation; annotate it with a type that JSON can hold{method}")
    if not _NAME.fullmatch(name):
        raise refuse(name, f"{_NAME_RULE} in the name of an argument; rename it")
    return hints[name]


def _described(hint: Any, text: str | None) -> Any:
    """The annotation with the docstring's description; one of its own wins, being read later."""
    if text is None:
        return hint
    bare, metadata = (hint.__origin__, hint.__metadata__) if typing.get_origin(hint) is Annotated else (hint, ())
    return Annotated[bare, msgspec.Meta(description=text), *metadata]


def _field(parameter: Parameter, hint: Any, refuse: _Refuse) -> tuple[str, Any, Any]:
    """A parameter as a field of the struct, tried out alone so that an error can name it."""
    name = parameter.name
    try:
        alone = msgspec.defstruct("alone", [(name, hint)])
        schema_of(alone)
    except Exception as error:
        reason = str(error).splitlines()[-1] if str(error) else type(error).__name__
        raise refuse(name, f"its type cannot be described ({reason}); use types that JSON can hold") from error
    if parameter.default is Parameter.empty:
        return name, hint, msgspec.field()
    if parameter.default is not UNSET:
        try:
            msgspec.convert({name: _plain(parameter.default)}, alone, str_keys=True)
        except (msgspec.MsgspecError, TypeError, ValueError) as error:
            remedy = f"write `{_shown(hint)} | None`" if parameter.default is None else "change one of the two"
            raise refuse(name, f"its default {parameter.default!r} is no {_shown(hint)}; {remedy}") from error
    return name, hint, _default(parameter.default)


def _default(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        # A mutable default would be shared by all calls.
        return msgspec.field(default_factory=functools.partial(deepcopy, value))
    return msgspec.field(default=value)


def _plain(value: Any) -> Any:
    """A value as the JSON that a schema shows, where an infinity, say, is null."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _shown(hint: Any) -> str:
    bare = hint.__origin__ if typing.get_origin(hint) is Annotated else hint
    return bare.__name__ if isinstance(bare, type) else str(bare).replace("typing.", "")


def _with_defaults(schema: Schema, arguments: type[msgspec.Struct]) -> Schema:
    """The schema with all defaults; msgspec leaves out those that are made anew for each call."""
    for field in msgspec.structs.fields(arguments):
        if not field.required and field.default is not UNSET:
            value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
            schema["properties"][field.name]["default"] = _plain(value)
    return schema
