"""Messages that wait for their turn, as a value."""

from enum import StrEnum

from ...effects.transcript import Message
from ...effects.values import frozen, replace

__all__ = ["Queue", "QueueMode", "Queues"]


class QueueMode(StrEnum):
    """How much of a queue one poll takes."""

    ONE_AT_A_TIME = "one-at-a-time"
    ALL = "all"


@frozen
class Queue:
    """Messages in the order they came."""

    mode: QueueMode = QueueMode.ONE_AT_A_TIME
    messages: tuple[Message, ...] = ()

    def added(self, message: Message) -> "Queue":
        """With one more message."""
        return replace(self, messages=(*self.messages, message))

    @property
    def next(self) -> tuple[Message, ...]:
        """What the next poll takes."""
        return self.messages if self.mode is QueueMode.ALL else self.messages[:1]

    @property
    def drained(self) -> "Queue":
        """What is left after it."""
        return replace(self, messages=self.messages[len(self.next) :])

    @property
    def cleared(self) -> "Queue":
        """Empty."""
        return replace(self, messages=())


@frozen
class Queues:
    """What waits for an agent: ``steering`` for the end of its turn, ``follow_ups`` for when it would be done.

    ``held`` makes the next steering poll give nothing: a run that began with a steering message takes no second one.
    """

    steering: Queue = Queue()
    follow_ups: Queue = Queue()
    held: bool = False

    @property
    def waiting(self) -> bool:
        """Whether anything waits in either queue."""
        return bool(self.steering.messages or self.follow_ups.messages)

    @property
    def next(self) -> tuple[Message, ...]:
        """What would be taken next."""
        return self.steering.next or self.follow_ups.next

    def steer(self) -> tuple[tuple[Message, ...], "Queues"]:
        """Poll steering."""
        if self.held:
            return (), replace(self, held=False)
        return self.steering.next, replace(self, steering=self.steering.drained)

    def follow_up(self) -> tuple[tuple[Message, ...], "Queues"]:
        """Poll follow-ups."""
        return self.follow_ups.next, replace(self, follow_ups=self.follow_ups.drained)

    @property
    def cleared(self) -> "Queues":
        """Both empty."""
        return replace(self, steering=self.steering.cleared, follow_ups=self.follow_ups.cleared)
