"""What an agent's run is set up with: data, and the host's one pure function. None of it is part of the state."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from ...effects.tool import ToolSpec
from ...effects.transcript import NO_EXTRA
from ...effects.values import frozen
from ..arguments import Accepted
from .words import ENGLISH, AgentWords

__all__ = ["Accepted", "AgentRules", "Check", "Hook", "Limits", "unchecked"]


class Hook(Enum):
    """The hooks that may be configured. One that is not is never asked; a tool says itself whether it prepares."""

    STEERING = "steering"
    FOLLOW_UPS = "follow_ups"
    PREPARE_NEXT_TURN = "prepare_next_turn"
    PREPARE_REQUEST = "prepare_request"
    TRANSFORM_CONTEXT = "transform_context"
    CONVERT_TO_MODEL = "convert_to_model"
    BEFORE_TOOL = "before_tool"
    AFTER_TOOL = "after_tool"
    FINISH_TURN = "finish_turn"


Check = Callable[[ToolSpec, Any], Accepted | str]
"""Checks a call's arguments against its tool: the arguments to use, or the text that tells the model what is wrong.

Pure; one that raises fails the call with the exception's text.
"""


def unchecked(tool: ToolSpec, arguments: Any) -> Accepted | str:
    """Any arguments, as they are."""
    return Accepted(arguments)


@frozen
class Limits:
    """Optional bounds, all off (0) unless given; times in milliseconds.

    ``parallel`` calls of a batch run at once; a call has ``tool_ms``, the run ``run_ms``, and a model may be silent for
    ``model_ms`` before its first and between any two deltas. A run has ``turns`` turns: it fails if the last of them
    wants another one, and what is queued then stays queued.
    """

    parallel: int = 0
    tool_ms: int = 0
    model_ms: int = 0
    run_ms: int = 0
    turns: int = 0


@frozen
class AgentRules:
    """The set-up of one run.

    ``hooks`` are the configured ones; ``options`` go to the provider as they are; ``sequential`` runs every batch one
    call at a time; ``recheck`` checks arguments again that ``before_tool`` replaced. ``told``: a failure is closed by
    events (the Agent's way, decision 46 g) instead of breaking off.
    """

    hooks: frozenset[Hook] = frozenset()
    options: Mapping[str, Any] = NO_EXTRA
    sequential: bool = False
    recheck: bool = True
    told: bool = False
    check: Check = unchecked
    limits: Limits = Limits()
    words: AgentWords = ENGLISH
