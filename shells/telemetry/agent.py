"""An observer of one agent: its runs, model calls and tool calls as spans.

    telemetry = AgentTelemetry(agent_name="librarian")
    agent = Agent(model, tools=tools, trace=telemetry.trace, trace_call=telemetry.trace_call)

It only watches what the agent's fold takes in and orders, and says nothing back: with a tracer that fails, or with none
set up, the agent does what it would have done. A run's span is under the span that was current where the run was asked
for, under trio and asyncio alike. What a listener makes of a run's very last events is not seen: they are its end.
"""

from typing import TYPE_CHECKING

from ...core.extensions.prices import Prices
from ...core.extensions.spans import (
    CUT_OFF,
    SCHEMA,
    AddEvent,
    EndSpan,
    SpanKind,
    SpanOperation,
    SpanRules,
    StartSpan,
    Watched,
    watch,
)
from ...effects.agent_vocabulary import AgentEffect, AgentInput
from ...effects.tool import Invocation
from ..agent_drive import Trace
from .recorder import Attributes, RecordedSpan, SpanRecorder, SpanScope

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

__all__ = ["AgentTelemetry"]


class AgentTelemetry:
    """Turns the runs of one agent into spans, by version 1.41.0 of the GenAI conventions.

    ``provider`` is the OpenTelemetry tracer provider, by default the one of the process. ``prices`` add what tokens
    cost. ``content`` puts what people, models and tools wrote into the spans (the whole conversation with each model
    call), which is off since it may be private and is long. Texts of failed runs and model calls are always there,
    those of failed tool calls are content. Each agent needs an object of its own.

    Raises ``MissingExtra`` if the OpenTelemetry API is not installed.
    """

    def __init__(
        self,
        *,
        agent_name: str = "",
        agent_id: str = "",
        conversation_id: str = "",
        content: bool = False,
        prices: Prices | None = None,
        provider: "TracerProvider | None" = None,
    ) -> None:
        self._recorder = SpanRecorder(provider, schema=SCHEMA)
        self._rules = SpanRules(agent_name, agent_id, conversation_id, content, prices)
        self._runs = Observed(self._recorder, self._rules)
        self._around: Span | None = None
        self._calls: list[Observed] = []

    def trace(self, event: AgentInput, effects: tuple[AgentEffect, ...]) -> None:
        """Watch one step of the agent; to be handed to it as ``trace``. Never raises."""
        idle = self._runs.run is None
        self._runs.take(event, effects)
        if idle:
            self._around = self._recorder.current()

    def trace_call(self) -> Trace:
        """Watch one call that a program asks for; to be handed to the agent as ``trace_call``. Never raises.

        While the agent runs the call is part of the run: its span is under the run's, or under a span that the one who
        asks has opened since (with ``span``, for example).
        """
        run = self._runs.run if self._recorder.current() is self._around else None
        call = Observed(self._recorder, self._rules, Watched(alone=True), run)
        self._calls = [*(other for other in self._calls if not other.is_over), call]
        return call.take

    def span(self, name: str, attributes: Attributes | None = None, *, within: Invocation | None = None) -> SpanScope:
        """``with telemetry.span("fetch", within=invocation)``: a span of one's own under a call that is carried out.

        Without a call it is under the run. It is current in its task while it lasts, so that what is traced in there (a
        request, another agent's run) is under it.
        """
        calls = (observed.call(within.call_id) for observed in (*reversed(self._calls), self._runs)) if within else ()
        parent = next((call for call in calls if call is not None), self._runs.run)
        return self._recorder.span(name, attributes, parent=parent)

    def close(self) -> None:
        """End whatever is open, for an agent that will not run again, or was torn down in a run. Never raises."""
        for observed in (*self._calls, self._runs):
            observed.close()


class Observed:
    """The spans of what one fold does: run after run, or (``alone`` in ``watched``) one call below ``above``."""

    def __init__(
        self,
        recorder: SpanRecorder,
        rules: SpanRules,
        watched: Watched | None = None,
        above: RecordedSpan | None = None,
    ) -> None:
        self._recorder = recorder
        self._rules = rules
        self._watched = watched or Watched()
        self._above = above
        self._open: dict[int, RecordedSpan] = {}

    @property
    def is_over(self) -> bool:
        """Whether a call that was observed alone has ended."""
        return not self._watched.alone

    @property
    def run(self) -> RecordedSpan | None:
        """The span of the run under way."""
        return None if self._watched.run is None else self._open.get(self._watched.run)

    def call(self, call_id: str) -> RecordedSpan | None:
        """The span of a call under way, the newest of that id."""
        keys = (tool.key for tool in reversed(self._watched.tools) if tool.call_id == call_id)
        return next((self._open[key] for key in keys if key in self._open), None)

    def take(self, event: AgentInput, effects: tuple[AgentEffect, ...]) -> None:
        """One step of the fold. Never raises."""
        try:
            self._watched, operations = watch(self._watched, event, effects, self._rules)
        except Exception:
            self.close()
            return
        for operation in operations:
            self._apply(operation)

    def close(self) -> None:
        """End whatever is open."""
        self._watched = Watched(next_key=self._watched.next_key)
        for key in sorted(self._open, reverse=True):
            span = self._open.pop(key)
            span.set_attributes({"error.type": CUT_OFF})
            span.end(CUT_OFF)

    def _apply(self, operation: SpanOperation) -> None:
        match operation:
            case StartSpan(key=key, name=name, parent=parent, attributes=attributes):
                above = self._above if parent is None else self._open.get(parent)
                client = operation.kind is SpanKind.CLIENT
                self._open[key] = self._recorder.start(name, attributes, parent=above, client=client)
            case AddEvent(key=key, name=name, attributes=attributes):
                if key in self._open:
                    self._open[key].add_event(name, attributes)
            case EndSpan(key=key, attributes=attributes, error=error, message=message):
                span = self._open.pop(key, None)
                if span is not None:
                    span.set_attributes(attributes)
                    span.end(error, message)
