"""How a run may begin: what a prompt says, and what there is to go on from."""

from collections.abc import Sequence

from ...effects.agent_vocabulary import Continued, Prompted
from ...effects.transcript import ImagePart, Message, SystemMessage, TextPart, UserMessage
from ...effects.values import replace
from .queues import Queues
from .turns import cannot_continue
from .view import AgentView

__all__ = ["continuation", "prompt_messages", "said"]


def said(message: str | Message, at: int, images: Sequence[ImagePart] = ()) -> Message:
    """A message; a text becomes a user's, with the images behind it."""
    return UserMessage((TextPart(message), *images), at) if isinstance(message, str) else message


def prompt_messages(prompt: str | Message | Sequence[Message], at: int, images: Sequence[ImagePart] = ()) -> Prompted:
    """How a run begins with a prompt; images are for a text only."""
    if isinstance(prompt, Sequence) and not isinstance(prompt, str):
        return Prompted(at, tuple(prompt))
    return Prompted(at, (said(prompt, at, images),))


def continuation(view: AgentView, queues: Queues, at: int) -> tuple[Continued | Prompted | str, Queues]:
    """How a run goes on from the conversation: as it is, or after an answer with what waits; else why it cannot."""
    if all(isinstance(message, SystemMessage) for message in view.messages):
        return "No messages to continue from", queues
    refusal = cannot_continue(view.messages)
    if refusal is None:
        return Continued(at), queues
    messages, left = replace(queues, held=False).steer()
    if messages:
        return Prompted(at, messages), replace(left, held=True)
    messages, left = left.follow_up()
    return (Prompted(at, messages), left) if messages else (refusal, queues)
