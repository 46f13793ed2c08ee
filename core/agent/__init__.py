"""The in-memory agent: the loop with hooks, as a pure fold.

Read ``fold`` (the door), ``moves`` (what is legal when), ``state`` (all memory there is); then the way of a turn:
``turns`` (what enters, what follows), ``requests`` (hooks before the call), ``answers`` (the model's deltas), ``batch``,
``preparing`` and ``running`` (calls); ``failing`` and ``seen`` (how a failure is closed), ``deadlines`` (limits).
"""

from .errors import IllegalEvent
from .fold import AgentFold
from .moves import ANSWERS, MOVES, table
from .rules import Accepted, AgentRules, Check, Hook, Limits, unchecked
from .state import AgentState, Ended
from .turns import cannot_continue
from .words import CHINESE, ENGLISH, AgentWords

__all__ = [
    "ANSWERS", "CHINESE", "ENGLISH", "MOVES", "Accepted", "AgentFold", "AgentRules", "AgentState", "AgentWords", "Check",
    "Ended", "Hook", "IllegalEvent", "Limits", "cannot_continue", "table", "unchecked",
]
