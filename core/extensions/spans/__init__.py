"""An agent's run as a tree of spans: a pure mapping from what its fold takes in and orders to operations on spans.

Read ``operations`` (what can be done to a span), ``attributes`` (the names, by the GenAI conventions), ``content``
(messages as those conventions write them), and ``mapping``. ``shells.telemetry`` carries the operations out.
"""

from .attributes import SCHEMA
from .mapping import CUT_OFF, SpanRules, Watched, watch
from .operations import AddEvent, EndSpan, SpanKind, SpanOperation, StartSpan

__all__ = [
    "CUT_OFF",
    "SCHEMA",
    "AddEvent",
    "EndSpan",
    "SpanKind",
    "SpanOperation",
    "SpanRules",
    "StartSpan",
    "Watched",
    "watch",
]
