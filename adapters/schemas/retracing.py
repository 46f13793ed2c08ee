"""The ways of a failure, as they are: a part of ``rust``, whose library loses some of their steps.

It leaves out empty names and gives names that look like indices as numbers, so that ``""``, ``"1"`` and ``"01"`` cannot be
told from what it says. Going through the document and the value again, step by step, they can.
"""

from typing import TYPE_CHECKING, Any, cast

from ...effects.schema import Document, Failure, Way

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["part_at", "retraced"]

_NAMED = ("properties", "patternProperties", "dependentSchemas", "dependencies")
_LISTS = ("prefixItems", "allOf", "anyOf", "oneOf")
_INTO = ("properties", "patternProperties", "additionalProperties", "prefixItems", "items")


def retraced(document: Document, value: Any, error: "jsonschema_rs.ValidationError") -> Failure:
    """The failure that an error of a value is about."""
    tracing = _Tracing(document, value, list(error.evaluation_path), list(error.instance_path))
    # These are about an object where all others of their keyword are about a member.
    return tracing.failure(stay=error.kind.name in ("additionalProperties", "falseSchema"))


def part_at(value: Any, where: Way) -> Any:
    """The part of a value at the end of a way, or nothing if there is none."""
    for step in where:
        value = _part(value, step)
    return value


class _Tracing:
    """A place in the document and one in the value, the ways there, and the steps that are still to be taken."""

    def __init__(
        self, document: Document, value: Any, rule_steps: list[str | int], where_steps: list[str | int]
    ) -> None:
        self._document = document
        self._schema: Any = document
        self._value = value
        self._rule_steps = rule_steps
        self._where_steps = where_steps
        self._rule: list[str | int] = []
        self._where: list[str | int] = []

    def failure(self, stay: bool) -> Failure:
        """Take all steps, but ``stay`` out of the value at the last one."""
        while self._rule_steps:
            keyword = self._step()
            last = keyword == "additionalProperties" and not self._rule_steps
            if keyword in _INTO and not (last and stay):
                self._enter(self._rule[-1] if keyword == "properties" else None)
        return Failure((*self._where, *self._where_steps), tuple(self._rule))

    def _step(self) -> str:
        """Go through the document by a keyword, and say which."""
        keyword = str(self._rule_steps.pop(0))
        self._rule.append(keyword)
        found = self._schema.get(keyword) if isinstance(self._schema, dict) else None
        if keyword == "$ref":
            self._schema = self._target(str(found))
            return keyword
        self._schema = found
        if keyword in _LISTS and isinstance(found, list) and self._rule_steps:
            self._go(int(self._rule_steps.pop(0)))
        elif keyword in _NAMED and isinstance(found, dict):
            self._go_by_name(cast("dict[str, Any]", found), at_end=keyword == "dependencies" and not self._rule_steps)
        return keyword

    def _go(self, step: str | int) -> None:
        self._rule.append(step)
        self._schema = _part(self._schema, step)

    def _go_by_name(self, schemas: dict[str, Any], at_end: bool) -> None:
        name = _name(schemas, self._rule_steps[0]) if self._rule_steps else None
        if name is not None:
            self._rule_steps.pop(0)
        if not at_end:
            self._go(name or "")

    def _enter(self, wanted: str | int | None) -> None:
        """Go into the value; a name that was left out is the empty one."""
        if isinstance(self._value, dict):
            members = cast("dict[str, Any]", self._value)
            step = _name(members, self._where_steps[0]) if self._where_steps else None
            if step is not None and wanted in (None, step):
                self._where_steps.pop(0)
            elif "" in members:
                step = ""
            else:
                return
        elif self._where_steps:
            step = self._where_steps.pop(0)
        else:
            return
        self._where.append(step)
        self._value = _part(self._value, step)

    def _target(self, reference: str) -> Any:
        document = self._document if isinstance(self._document, dict) else {}
        return document["$defs"][reference.rpartition("/")[2]] if "/" in reference else document


def _name(members: dict[str, Any], step: str | int) -> str | None:
    """The name of a member that is given as this step."""
    if str(step) in members:
        return str(step)
    if isinstance(step, str):
        return None
    spelled = (name for name in members if name.isascii() and name.removeprefix("+").isdigit() and int(name) == step)
    return next(spelled, None)


def _part(value: Any, step: str | int) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return None
