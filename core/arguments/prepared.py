"""A tool's schema, made ready once, and what it says to the arguments of a call.

``ToolArguments.check`` is the pipeline: arguments that are valid as they were sent are taken as they are; otherwise
nulls that say *missing* go; if that is not enough, values are coerced; and what is not valid then is an error, whatever
it is (decisions 20, 45 and 46 h). The text of the error says where and why, and shows what was received.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from ...effects.schema import Schema, SchemaChecker, SchemaError, Way
from ...effects.values import frozen
from .coercion import Coercion, too_deep, with_defaults
from .dialect import document_of
from .keywords import as_mapping, children
from .received import received
from .wording import Line, Probe, lines

__all__ = ["DEPTH_MAX", "LINES_MAX", "Accepted", "ToolArguments", "prepare"]

DEPTH_MAX = 64
"""How many objects and arrays of arguments may lie in each other, at most."""

LINES_MAX = 8
"""So many things that are wrong are named at most."""

_FRAMES_MAX = 500
_FRAMES_A_LEVEL = 2
_FRAMES_A_SCHEMA = 4


@frozen
class Accepted:
    """Arguments as the tool gets them: checked, and coerced where that was needed."""

    arguments: Any


@frozen
class ToolArguments:
    """The arguments of one tool. ``coercing`` and ``defaulting`` say what else is done beside checking.

    ``depth_max`` objects and arrays may lie in each other: ``DEPTH_MAX``, or fewer under a schema that could take the
    interpreter to its limit with so many. So what is said of them does not depend on how deep the caller is.
    """

    name: str
    probe: Probe
    depth_max: int = DEPTH_MAX
    coercing: bool = True
    defaulting: bool = False

    def check(self, arguments: Any) -> Accepted | str:
        """The arguments to use, or the text that tells the model what is wrong with them. Nothing is changed in place.

        ``arguments`` are JSON of any kind, not only an object. Text in them should be clean (decision 45).
        """
        if too_deep(arguments, self.depth_max):
            return self._error([self._too_deep], "(nested too deep to be shown)")
        document, schema = self.probe.document, self.probe.schema
        value = with_defaults(document, arguments) if self.defaulting else arguments
        if schema.accepts(value):
            return Accepted(value)
        if self.coercing:
            coercion = Coercion(document, schema)
            value = coercion.without_nulls(value)
            if not schema.accepts(value):
                value = coercion.coerced(value)
            if schema.accepts(value):
                return Accepted(value)
        return self._error(lines(self.probe, value), received(arguments))

    def wrong(self, arguments: Any) -> tuple[Line, ...]:
        """What is wrong with arguments that a person wrote, as places and problems; nothing is made to fit."""
        if too_deep(arguments, self.depth_max):
            return (self._too_deep,)
        if self.probe.schema.accepts(arguments):
            return ()
        return tuple(islice(lines(self.probe, arguments), LINES_MAX))

    @property
    def _too_deep(self) -> Line:
        return "root", f"must not be nested more than {self.depth_max} levels deep"

    def _error(self, wrong: Iterable[Line], shown: str) -> str:
        listed = "\n".join(f"  - {path}: {problem}" for path, problem in islice(wrong, LINES_MAX))
        return f'Validation failed for tool "{self.name}":\n{listed}\n\nReceived arguments:\n{shown}'


def prepare(
    name: str, schema: Any, checker: SchemaChecker, *, coercing: bool = True, defaulting: bool = False
) -> ToolArguments:
    """Make a tool's schema ready, once; ``name`` is how error texts call the tool.

    ``coercing``: arguments may be changed so that they fit, and nulls left out. ``defaulting``: missing members get
    their defaults, before anything else.

    Raises ``SchemaError`` for a schema that is none, that refers to other documents, or that a checker cannot handle or
    could not survive, and with ``defaulting`` for a default that is not valid itself.
    """
    document, chain = document_of(schema)
    ready = checker(document)
    if defaulting:
        _check_defaults(ready, document, ())
    depth_max = min(DEPTH_MAX, _FRAMES_MAX // (_FRAMES_A_LEVEL + _FRAMES_A_SCHEMA * chain))
    return ToolArguments(name, Probe(document, ready, checker), depth_max, coercing, defaulting)


def _check_defaults(schema: Schema, part: Any, at: Way) -> None:
    node = as_mapping(part) or {}
    if "default" in node and not schema.accepts(node["default"], at):
        raise SchemaError((*at, "default"), "the default is not valid itself")
    for way, child in children(node):
        _check_defaults(schema, child, (*at, *way))
