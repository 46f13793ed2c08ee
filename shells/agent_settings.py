"""What an agent is made of and may be changed at any time: model, level, tools, conversation, queues.

Apart from ``agent`` because nothing here runs anything. A run keeps what it began with, but for the queues, which it
polls.
"""

from collections.abc import Callable, Mapping, Sequence

from ..core.agent import AgentView, Limits, Queue, QueueMode, Queues, said, with_messages
from ..effects.handed_in import check_kind, check_level, check_model, checked_tools
from ..effects.model import ModelChoice
from ..effects.sequence import Seq
from ..effects.transcript import AssistantMessage, Message, StopReason
from ..effects.values import replace
from .agent_errors import AgentFailed
from .agent_hooks import AgentHooks
from .agent_tools import AgentTool, Toolshed

__all__ = ["AgentSettings", "check_parts"]


class AgentSettings:
    """The part of an agent that its host may read and change."""

    def __init__(self, view: AgentView, shed: Toolshed, queues: Queues, now: Callable[[], int]) -> None:
        self._view = view
        self._shed = shed
        self._queues = queues
        self._now = now

    @property
    def state(self) -> AgentView:
        """The agent as it is now, a frozen value."""
        return self._view

    def raise_for_error(self) -> None:
        """Raise ``AgentFailed`` if the conversation ends with an answer that failed or was aborted.

        ``prompt`` returns such an answer as it does any other: call this behind it to be told by an exception.
        """
        last = self.messages[-1] if self.messages else None
        if isinstance(last, AssistantMessage) and last.stop in (StopReason.ERROR, StopReason.ABORTED):
            text = last.error.message if last.error is not None else ""
            raise AgentFailed(text or f"the answer ended as {last.stop.value}", last.error)

    @property
    def model(self) -> ModelChoice:
        """Which model is meant, from the next run on."""
        return self._view.model

    @model.setter
    def model(self, choice: ModelChoice) -> None:
        self._view = replace(self._view, model=choice)

    @property
    def thinking_level(self) -> str:
        """The thinking level, from the next run on; ``off`` is none. Setting another than there is: ``ValueError``."""
        return self._view.thinking_level

    @thinking_level.setter
    def thinking_level(self, level: str) -> None:
        check_level(level)
        self._view = replace(self._view, thinking_level=level)

    @property
    def tools(self) -> tuple[AgentTool, ...]:
        """What may be called, from the next run on; the conversation tells the model of a change, at the next turn.

        Setting them raises ``TypeError`` for what is no tool, ``SchemaError`` for a schema that cannot be checked.
        """
        return self._shed.tools

    @tools.setter
    def tools(self, tools: Sequence[AgentTool]) -> None:
        shed = self._shed.copy()
        specs = shed.take(checked_tools(tools))
        self._view = replace(self._view, talk=replace(self._view.talk, tools=specs))
        self._shed = shed

    @property
    def messages(self) -> Seq[Message]:
        """The conversation. Setting it while the agent runs does not change what the run goes on with."""
        return self._view.messages

    @messages.setter
    def messages(self, messages: Sequence[Message]) -> None:
        self._view = with_messages(self._view, messages if isinstance(messages, Seq) else Seq(messages))

    def steer(self, message: str | Message) -> None:
        """Say something as soon as the turn under way is over."""
        self._set_steering(self._queues.steering.added(said(message, self._now())))

    def follow_up(self, message: str | Message) -> None:
        """Say something once the agent would be done."""
        self._set_follow_ups(self._queues.follow_ups.added(said(message, self._now())))

    @property
    def steering_mode(self) -> QueueMode:
        """How much of the steering queue one poll takes."""
        return self._queues.steering.mode

    @steering_mode.setter
    def steering_mode(self, mode: QueueMode | str) -> None:
        self._set_steering(replace(self._queues.steering, mode=QueueMode(mode)))

    @property
    def follow_up_mode(self) -> QueueMode:
        """How much of the follow-up queue one poll takes."""
        return self._queues.follow_ups.mode

    @follow_up_mode.setter
    def follow_up_mode(self, mode: QueueMode | str) -> None:
        self._set_follow_ups(replace(self._queues.follow_ups, mode=QueueMode(mode)))

    @property
    def has_queued(self) -> bool:
        """Whether anything waits in either queue."""
        return self._queues.waiting

    def peek(self) -> tuple[Message, ...]:
        """What would be taken next: from the steering queue, or from the follow-ups if nothing is there."""
        return self._queues.next

    def clear_steering(self) -> None:
        """Forget what waits in the steering queue."""
        self._set_steering(self._queues.steering.cleared)

    def clear_follow_ups(self) -> None:
        """Forget what waits in the follow-up queue."""
        self._set_follow_ups(self._queues.follow_ups.cleared)

    def clear_queues(self) -> None:
        """Forget what waits in both."""
        self._queues = self._queues.cleared

    def _set_steering(self, queue: Queue) -> None:
        self._queues = replace(self._queues, steering=queue)

    def _set_follow_ups(self, queue: Queue) -> None:
        self._queues = replace(self._queues, follow_ups=queue)

    def _poll_steering(self) -> tuple[Message, ...]:
        taken, self._queues = self._queues.steer()
        return taken

    def _poll_follow_ups(self) -> tuple[Message, ...]:
        taken, self._queues = self._queues.follow_up()
        return taken


def check_parts(models: Mapping[str, object], hooks: object, limits: object, thinking_level: str) -> None:
    """Raises ``TypeError`` for what is no model, hooks or limits, and ``ValueError`` for a level that is none."""
    for name, model in models.items():
        check_model(model, TypeError, f"models[{name!r}]" if name else "model", ("stream", "stream_until"))
    check_kind(hooks, TypeError, "hooks", AgentHooks, "turnfold.shells")
    if limits is not None:
        check_kind(limits, TypeError, "limits", Limits, "turnfold.core.agent")
    check_level(thinking_level)
