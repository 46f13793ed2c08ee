"""A tool's schema, made ready once, and what it says to the arguments of a call.

``check`` is the pipeline: arguments that are valid as they were sent are taken as they are; otherwise nulls that say
*missing* go; if that is not enough, values are coerced; and what is not valid then is an error, whatever it is (decisions
20, 45 and 46 h). The text of the error says where and why, and shows what was received.
"""

from itertools import islice
from typing import Any

from ...effects.schema import Document, Schema, SchemaChecker, SchemaError
from ...effects.values import frozen
from .coercion import DEPTH_MAX, Coercion, too_deep
from .dialect import document_of
from .received import received
from .wording import lines

__all__ = ["LINES_MAX", "Accepted", "ToolArguments", "prepare"]

LINES_MAX = 8
"""So many things that are wrong are named at most."""


@frozen
class Accepted:
    """Arguments as the tool gets them: checked, and coerced where that was needed."""

    arguments: Any


@frozen
class ToolArguments:
    """The arguments of one tool. ``coercing`` and ``defaulting`` say what else is done beside checking."""

    name: str
    document: Document
    schema: Schema
    coercing: bool = True
    defaulting: bool = False

    def check(self, arguments: Any) -> Accepted | str:
        """The arguments to use, or the text that tells the model what is wrong with them. Nothing is changed in place.

        ``arguments`` are JSON of any kind, not only an object. Text in them should be clean (decision 45).
        """
        if too_deep(arguments):
            return self._error(
                [("root", f"must not be nested more than {DEPTH_MAX} levels deep")], "(too deep to show)"
            )
        coercion = Coercion(self.document, self.schema)
        value = coercion.with_defaults(arguments) if self.defaulting else arguments
        if self.schema.accepts(value):
            return Accepted(value)
        if self.coercing:
            value = coercion.without_nulls(value)
            value = value if self.schema.accepts(value) else coercion.coerced(value)
        failures = self.schema.failures(value)
        if not failures:
            return Accepted(value)
        return self._error(islice(lines(self.document, self.schema, value, failures), LINES_MAX), received(arguments))

    def _error(self, wrong: Any, shown: str) -> str:
        listed = "\n".join(f"  - {path}: {problem}" for path, problem in wrong)
        return f'Validation failed for tool "{self.name}":\n{listed}\n\nReceived arguments:\n{shown}'


def prepare(
    name: str, schema: Any, checker: SchemaChecker, *, coercing: bool = True, defaulting: bool = False
) -> ToolArguments:
    """Make a tool's schema ready, once; ``name`` is how error texts call the tool.

    Raises ``SchemaError`` for a schema that is none, that refers to other documents, or that a checker cannot handle or
    could not survive, and with ``defaulting`` for a default that is not valid itself.
    """
    document = document_of(schema)
    return ToolArguments(name, document, checker(document), coercing, defaulting)
