"""What an agent is made of and may be changed at any time: model, level, tools, conversation, queues.

Apart from ``agent`` because nothing here runs anything. A run keeps what it began with, but for the queues, which it
polls.
"""

from collections.abc import Callable, Sequence

from ..core.agent import AgentView, Queue, QueueMode, Queues, said, with_messages
from ..effects.model import ModelChoice
from ..effects.sequence import Seq
from ..effects.transcript import Message
from ..effects.values import replace
from .agent_tools import AgentTool, Toolshed

__all__ = ["AgentSettings"]


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

    @property
    def model(self) -> ModelChoice:
        """Which model is meant, from the next run on."""
        return self._view.model

    @model.setter
    def model(self, choice: ModelChoice) -> None:
        self._view = replace(self._view, model=choice)

    @property
    def thinking_level(self) -> str:
        """The thinking level, from the next run on; ``off`` is none."""
        return self._view.thinking_level

    @thinking_level.setter
    def thinking_level(self, level: str) -> None:
        self._view = replace(self._view, thinking_level=level)

    @property
    def tools(self) -> tuple[AgentTool, ...]:
        """What may be called, from the next run on; the conversation tells the model of a change, at the next turn.

        Setting them raises ``SchemaError`` for a tool whose schema cannot be checked.
        """
        return self._shed.tools

    @tools.setter
    def tools(self, tools: Sequence[AgentTool]) -> None:
        shed = self._shed.copy()
        self._view = replace(self._view, talk=replace(self._view.talk, tools=shed.take(tools)))
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
