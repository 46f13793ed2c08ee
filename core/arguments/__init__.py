"""Arguments of tool calls: whether they fit a schema, what is done so that they do, and what the model is told.

Reading order: ``prepared`` (a tool's schema, made ready once), ``dialect`` and ``references`` (any schema as one of a
single dialect), ``coercion`` (arguments in the wrong clothes), ``wording`` (the lines of an error). The checking itself
is a library's, which is handed in (``effects.schema``). ``keywords``, ``numbers`` and ``received`` serve the others.
"""

from .coercion import too_deep
from .prepared import DEPTH_MAX, LINES_MAX, Accepted, ToolArguments, prepare
from .received import RECEIVED_MAX

__all__ = ["DEPTH_MAX", "LINES_MAX", "RECEIVED_MAX", "Accepted", "ToolArguments", "prepare", "too_deep"]
