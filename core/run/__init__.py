"""The durable run: read ``fold`` first, then ``moves`` (which event is legal when), ``state`` and ``phases``, ``gates``
(what becomes possible) and ``debts`` (what is owed); then a module a concern: ``inputs``, ``turns``, ``calls``,
``process``, ``saving``, ``recovery``, ``ending``. ``head`` and ``log`` say what a checkpoint holds.
"""

from .errors import IllegalEvent
from .fold import Fold
from .moves import table
from .phases import Ended
from .spec import DEFAULT_LIMITS, Limits, ModelSpec, Rules, RunSpec, SpecError, rules_for
from .state import RunState

__all__ = [
    "DEFAULT_LIMITS",
    "Ended",
    "Fold",
    "IllegalEvent",
    "Limits",
    "ModelSpec",
    "Rules",
    "RunSpec",
    "RunState",
    "SpecError",
    "rules_for",
    "table",
]
