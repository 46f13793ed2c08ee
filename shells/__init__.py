"""Who runs it: the only room where the rules and the world meet.

``Runtime`` executes durable runs on trio; ``Agent`` is the same loop in memory, on trio or asyncio. Reading order:
``perform`` (from an order to a port and back), ``drive`` (one run on trio), ``runtime``; ``agent_drive`` and ``agent``,
with ``policies`` and ``telemetry`` as uses of its hooks and its trace; ``recording`` and ``replay``; then ``simulate``
(a world without I/O) and ``cli`` (the command).
"""

from .agent import Agent
from .agent_hooks import AgentHooks
from .event_stream import AgentStream
from .runtime import Runtime

__all__ = ["Agent", "AgentHooks", "AgentStream", "Runtime"]
