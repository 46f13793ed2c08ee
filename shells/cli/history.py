"""What was said in a stored run, read from its checkpoint without beginning an attempt.

The main log is what the model saw, so it holds the questions and the answers; what was claimed after it, and what was
never claimed at all, stands in the feed.
"""

from ...adapters.stores import SqliteStore
from ...core.run.head import decode_head
from ...core.run.log import EntryKind, decode_entry
from ...effects.journal import Resume
from ...effects.transcript import AssistantMessage, DecodeError, UserMessage, calls_of, text_of
from ...effects.values import frozen
from .exits import CliError, ExitCode

__all__ = ["Exchange", "exchanges", "unanswered"]


@frozen
class Exchange:
    """What somebody said, what the model did about it (tool names, in order), and what it answered."""

    question: str
    calls: tuple[str, ...] = ()
    answer: str = ""


def exchanges(run_id: str, resume: Resume | None) -> tuple[Exchange, ...]:
    """The exchanges in a run's log, oldest first; raises ``CliError`` for a checkpoint that cannot be read."""
    found: list[Exchange] = []
    for kind, message in _messages(run_id, resume):
        if kind is EntryKind.INPUT:
            found.append(Exchange(text_of(message)))
        elif isinstance(message, AssistantMessage):
            last = found.pop() if found else Exchange("")
            calls = (*last.calls, *(call.name for call in calls_of(message)))
            answer = last.answer if calls_of(message) else text_of(message).strip()
            found.append(Exchange(last.question, calls, answer))
    return tuple(found)


async def unanswered(store: SqliteStore, conversation: str, run_id: str, resume: Resume | None) -> tuple[str, ...]:
    """What was said and is not in the log: it waits for an answer."""
    after = 0
    if resume is not None and resume.state is not None:
        try:
            after = decode_head(resume.state).claimed
        except DecodeError as error:
            raise _unreadable(run_id, error) from error
    return tuple(message.content for _, message in await store.messages(conversation, after))


def _messages(run_id: str, resume: Resume | None) -> list[tuple[EntryKind, UserMessage | AssistantMessage]]:
    try:
        entries = [decode_entry(raw) for raw in resume.logs.get("main", ())] if resume is not None else []
        opened = [(entry.kind, item.open()) for entry in entries for item in entry.items]
    except DecodeError as error:
        raise _unreadable(run_id, error) from error
    return [(kind, message) for kind, message in opened if isinstance(message, UserMessage | AssistantMessage)]


def _unreadable(run_id: str, error: DecodeError) -> CliError:
    return CliError(
        f"the checkpoint of {run_id} cannot be read ({error}); restore the database from a backup, "
        "or begin another conversation with --conversation",
        ExitCode.DATABASE,
    )
