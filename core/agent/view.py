"""The agent between and during runs, as its host sees it: a fold of the events it tells, and of what its host sets."""

from ...effects.agent import (
    AgentEnded,
    AgentEvent,
    Context,
    MessageEnded,
    MessageStarted,
    MessageUpdated,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from ...effects.model import ModelChoice
from ...effects.sequence import Seq
from ...effects.tool import ToolSpec
from ...effects.transcript import AssistantMessage, Message, SystemMessage
from ...effects.transcript.declared import current_system, initial_system, system_prompt
from ...effects.values import field, region, replace
from .state import Talk
from .talking import OFF, joined, talk_of

__all__ = ["AgentView", "first_view", "reset_view", "settled_view", "started_view", "watch_event", "with_messages"]


@region
class AgentView:
    """What an agent is: model, level, tools, conversation; and what it is at, while it runs.

    ``pending_calls`` are the ids of calls that began and have not ended, in the order in which they began.
    ``error_message`` is the text of the failure that ended the newest turn, until the next run.
    """

    model: ModelChoice = field(factory=lambda: ModelChoice("unknown", "unknown", "unknown"))
    thinking_level: str = OFF
    talk: Talk = field(factory=Talk)
    is_running: bool = False
    streaming: MessageStarted | MessageUpdated | None = None
    pending_calls: tuple[str, ...] = ()
    error_message: str | None = None

    @property
    def messages(self) -> Seq[Message]:
        """The conversation."""
        return self.talk.messages

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What may be called."""
        return self.talk.tools

    @property
    def system_prompt(self) -> str:
        """The instructions in force, replayed from the conversation."""
        return system_prompt(self.messages)

    @property
    def streaming_message(self) -> Message | None:
        """The message that has begun and not ended, as far as it has come."""
        return None if self.streaming is None else self.streaming.message


def first_view(
    messages: Seq[Message], tools: tuple[ToolSpec, ...], prompt: str, model: ModelChoice | None, thinking_level: str
) -> AgentView:
    """An agent as it is made; unless the conversation begins with a system message, one with the instructions does."""
    from_prompt = initial_system(prompt, tuple(tool.declaration for tool in tools))
    if from_prompt is not None and not (messages and isinstance(messages[0], SystemMessage)):
        messages = Seq((from_prompt, *messages))
    view = AgentView(thinking_level=thinking_level, talk=talk_of(Context(messages, tools)))
    return view if model is None else replace(view, model=model)


def with_messages(view: AgentView, messages: Seq[Message]) -> AgentView:
    """The agent with another conversation."""
    return replace(view, talk=talk_of(Context(messages, view.tools)))


def reset_view(view: AgentView) -> AgentView:
    """The agent without its conversation: what is left are the instructions and tools it amounts to."""
    system = current_system(view.messages)
    view = with_messages(view, Seq(() if system is None else (system,)))
    return replace(settled_view(view), error_message=None)


def started_view(view: AgentView) -> AgentView:
    """A run begins."""
    return replace(view, is_running=True, streaming=None, error_message=None)


def settled_view(view: AgentView) -> AgentView:
    """The run is over, whatever it was at."""
    return replace(view, is_running=False, streaming=None, pending_calls=())


def watch_event(view: AgentView, event: AgentEvent) -> AgentView:
    """The agent after one more event of its run."""
    match event:
        case MessageStarted() | MessageUpdated():
            return replace(view, streaming=event)
        case MessageEnded(message=message):
            return replace(view, streaming=None, talk=joined(view.talk, message))
        case ToolStarted(call_id=call_id):
            known = call_id in view.pending_calls
            return view if known else replace(view, pending_calls=(*view.pending_calls, call_id))
        case ToolEnded(call_id=call_id):
            return replace(view, pending_calls=tuple(one for one in view.pending_calls if one != call_id))
        case TurnEnded(message=AssistantMessage(error=error)) if error is not None and error.message:
            return replace(view, error_message=error.message)
        case AgentEnded():
            return replace(view, streaming=None)
        case _:
            return view
