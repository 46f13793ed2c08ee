"""Telemetry: an agent's runs as spans, through the OpenTelemetry API, for whoever has set up its SDK.

Needs the extra ``telemetry`` (``pip install 'turnfold[telemetry]'``), which is looked for when an ``AgentTelemetry`` is
made. Read ``recorder`` (spans that cannot hurt anybody), then ``agent`` (the observer).
"""

from .agent import AgentTelemetry
from .recorder import MissingExtra, RecordedSpan, SpanRecorder

__all__ = ["AgentTelemetry", "MissingExtra", "RecordedSpan", "SpanRecorder"]
