"""What a call's record says, apart from any run: how one is made, whom it waits for, and what the model sees of it."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, cast

import msgspec

from ...effects.record import CallStatus, Handover, MediaRef, ToolCall
from ...effects.tool import ToolResult
from ...effects.transcript import CallPart, Content, Sealed, TextPart, ToolResultMessage, parts_of, without_nul
from ...effects.transcript.encoding import decode_content, encode_content
from ...effects.values import UNSET, replace
from ..arguments import DEPTH_MAX, too_deep
from ..text import Words, fill
from .spec import Rules


def record_name(rules: Rules, part: CallPart) -> str:
    """The name of a call's record; raises whatever the host's function raises."""
    namer = rules.functions.record_names.get(part.name)
    return without_nul(namer(without_nul(part.arguments)) if namer else "") or without_nul(part.name)


def call_record(rules: Rules, part: CallPart, name: str, record_id: str, model_call_id: str) -> ToolCall:
    """The queued record of a call. An unregistered tool counts as one with side effects that cannot be repeated."""
    tool = rules.tools.get(part.name)
    arguments = without_nul(part.arguments)
    return ToolCall(
        id=record_id,
        status=CallStatus.QUEUED,
        rev=1,
        model_call_id=model_call_id,
        call_id=part.id,
        name=name,
        arguments=arguments,
        digest=blake2b(arguments.encode(), digest_size=8).hexdigest(),
        replayable=tool is not None and tool.replayable,
        side_effects=tool is None or tool.side_effects,
        notes=clean_notes(tool.notes) if tool is not None and tool.notes else {},
    )


def clean_notes(notes: Mapping[str, str]) -> dict[str, str]:
    """Notes of a host's as records keep them (decision 45: cleaned where they enter)."""
    return {without_nul(name): without_nul(text) for name, text in notes.items()}


def interrupted_outcome(words: Words, replayable: bool, side_effects: bool) -> tuple[CallStatus, str]:
    """What becomes of a call that started and did not finish, by its traits (HO-05)."""
    if side_effects and not replayable:
        return CallStatus.NEEDS_REVIEW, words.needs_review
    return CallStatus.INTERRUPTED, words.interrupted_replayable if replayable else words.interrupted


_TOO_DEEP = f"they are nested more than {DEPTH_MAX} levels deep"


def parse_arguments(text: str) -> Mapping[str, Any] | str:
    """The arguments as an object, or what is wrong with them; blank text is an empty object (decisions 12 and 43).

    How deep they may be nested does not depend on how deep the caller is, so they are the same whenever they are read.
    """
    if not text.strip():
        return {}
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return f"they are not valid JSON ({error})"
    except RecursionError:
        return _TOO_DEEP
    if too_deep(value, DEPTH_MAX):
        return _TOO_DEEP
    if not isinstance(value, dict):
        return f"expected a JSON object, got {type(value).__name__}"
    return cast("Mapping[str, Any]", value)


def effective_arguments(call: ToolCall) -> str:
    """The arguments that the tool gets: those of an approval that changed them, else the model's."""
    decision = call.decision
    return decision.arguments if decision is not None and decision.approved and decision.arguments else call.arguments


def paused(call: ToolCall) -> bool:
    """Whether the call waits for a person's decision, or has one that was not carried out."""
    return call.status == CallStatus.AWAITING_DECISION and call.handover is Handover.NONE


def waiting(call: ToolCall, now: int) -> bool:
    """Whether the run must wait for somebody else to settle or decide this call; nobody can after its time."""
    if call.settled:
        return False
    if paused(call):
        return call.decision is None and not expired(call.expires_at, now)
    return call.handover is Handover.AWAIT


def expired(end: int | None, now: int) -> bool:
    """Whether a time is over, if there is one."""
    return end is not None and end <= now


def model_content(call: ToolCall, words: Words) -> tuple[Content, bool]:
    """What the model sees of a record that is out of the runtime's hands, and whether it is an error.

    Where a person changed the arguments, it is told so in front of the result (DC-02, DC-10).
    """
    content, is_error = _content(call, words)
    if effective_arguments(call) is call.arguments:
        return content, is_error
    note = fill(words.edited, arguments=effective_arguments(call))
    if content is None or isinstance(content, str):
        return note + (content or ""), is_error
    return (TextPart(note), *content), is_error


def _content(call: ToolCall, words: Words) -> tuple[Content, bool]:
    if call.parts is not None:
        return decode_content(call.parts), False
    error = None if call.handover in (Handover.DETACHED, Handover.SUBMITTED) else call.error
    if call.status == CallStatus.FAILED and error is not None:
        return error_text(error), True
    if call.result is not None:
        return call.result, call.status == CallStatus.FAILED
    if error is not None and call.settled:
        return error_text(error), True
    return fill(words.cancelled, name=call.name, call_id=call.call_id), True


def error_text(message: str) -> str:
    """An error as the model sees it: a JSON object with the single member ``error``."""
    return msgspec.json.encode({"error": message}).decode()


def result_message(part: CallPart, content: Content, is_error: bool) -> Sealed:
    """The result of one call, sealed for the context."""
    return Sealed.of(ToolResultMessage(part.id, part.name, content, is_error))


def result_fields(result: ToolResult) -> dict[str, Any]:
    """What a tool's result makes of its record."""
    text = without_nul("\n".join(part.text for part in parts_of(result.content) if isinstance(part, TextPart)))
    if result.is_error:
        return {"status": CallStatus.FAILED, "error": text}
    parts = None
    if not isinstance(result.content, str) and result.content is not None:
        parts = encode_content(result.content)
    media = tuple(_clean_media(ref) for ref in result.media)
    return {"status": CallStatus.SUCCEEDED, "result": text, "parts": parts, "media": media}


def _clean_media(ref: MediaRef) -> MediaRef:
    return replace(ref, key=without_nul(ref.key), mime=without_nul(ref.mime), sha256=without_nul(ref.sha256))


class NotJson(ValueError):
    """A value of the host's that JSON cannot hold."""


def json_text(value: Any) -> str:
    """A host's value as JSON text, empty for an absent one; raises ``NotJson``."""
    if value is UNSET:
        return ""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotJson(str(error) or type(error).__name__) from error
