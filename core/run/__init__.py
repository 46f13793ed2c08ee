"""The durable run: read ``fold`` first, then ``moves`` (which event is legal when), ``state`` and ``phases``, ``gates``
(what becomes possible) and ``debts`` (what is owed); then a module a concern: ``inputs``, ``turns``, ``goal``,
``review`` and ``superseding`` for what the model says; ``dispatch``, ``calls`` and ``decisions`` for its calls, with
``records``; ``process``, ``saving``, ``recovery``, ``observing``, ``ending``. ``head`` and ``log`` say what a
checkpoint holds, ``spec`` and ``extension`` what a run is set up with.
"""

from .errors import IllegalEvent
from .extension import CallOutcome, Extension, Origin
from .fold import Fold
from .goal import Reason
from .moves import table
from .phases import Ended
from .spec import (
    DEFAULT_LIMITS,
    DEFAULT_RETRIES,
    NO_FUNCTIONS,
    Functions,
    Limits,
    ModelSpec,
    Retries,
    Rules,
    RunSpec,
    SpecError,
    rules_for,
)
from .state import RunState

__all__ = [
    "DEFAULT_LIMITS",
    "DEFAULT_RETRIES",
    "NO_FUNCTIONS",
    "CallOutcome",
    "Ended",
    "Extension",
    "Fold",
    "Functions",
    "IllegalEvent",
    "Limits",
    "ModelSpec",
    "Origin",
    "Reason",
    "Retries",
    "Rules",
    "RunSpec",
    "RunState",
    "SpecError",
    "rules_for",
    "table",
]
