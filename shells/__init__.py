"""Who runs it: the only room where the rules and the world meet.

``Runtime`` executes durable runs on trio; ``Agent`` is the same loop in memory, on trio or asyncio. Reading order:
``perform`` (from an order to a port and back), ``drive`` (one run on trio), ``host`` and ``runtime``, and ``answering``
for the calls that a run waits for; ``agent_drive`` and ``agent``, with ``policies`` and ``telemetry`` as uses of its
hooks and its trace; ``recording`` and ``replay``; then ``simulate`` (a world without I/O) and ``cli`` (the command).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..core.run import Extension, Limits, Retries, SpecError
    from .agent import Agent
    from .agent_errors import AgentFailed
    from .agent_hooks import AgentHooks
    from .event_stream import AgentStream
    from .host import Host
    from .recording import Recorder
    from .replay import replay_file
    from .runtime import Runtime

__all__ = [
    "Agent",
    "AgentFailed",
    "AgentHooks",
    "AgentStream",
    "Extension",
    "Host",
    "Limits",
    "Recorder",
    "Retries",
    "Runtime",
    "SpecError",
    "replay_file",
]

_HOMES = {
    "Agent": "agent",
    "AgentFailed": "agent_errors",
    "AgentHooks": "agent_hooks",
    "AgentStream": "event_stream",
    "Extension": ".core.run",
    "Host": "host",
    "Limits": ".core.run",
    "Recorder": "recording",
    "Retries": ".core.run",
    "Runtime": "runtime",
    "SpecError": ".core.run",
    "replay_file": "replay",
}


def __getattr__(name: str) -> Any:
    """What is asked for is loaded then: who runs durable runs need not pay for the agent, nor the other way round."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
