"""What is read of a stored run without executing it."""

import pytest
from turnfold.core.run.fingerprint import AgentParts, fingerprint
from turnfold.core.run.log import Entry, EntryKind, encode_entry
from turnfold.core.run.stored import arguments_schema, tool_of
from turnfold.effects.journal import Resume
from turnfold.effects.record import CallStatus, ToolCall
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import AssistantMessage, CallPart, DecodeError, Sealed, TextPart, ToolDeclaration

SCHEMA = {"type": "object", "required": ["amount"]}


def output(*names: str, first: int = 0) -> bytes:
    """An output with text and calls, whose records are ``r0``, ``r1`` …"""
    parts = tuple(CallPart(f"p{place}", name, "{}") for place, name in enumerate(names))
    message = Sealed.of(AssistantMessage((TextPart("So."), *parts)))
    pairs = tuple((f"r{first + place}", f"p{place}") for place in range(len(names)))
    return encode_entry(Entry(EntryKind.OUTPUT, (message,), pairs))


def record(record_id: str) -> ToolCall:
    return ToolCall(record_id, CallStatus.AWAITING_DECISION, name="another name")


def stored(*log: bytes) -> Resume:
    agent = fingerprint(AgentParts("", (0, {}), (ToolSpec(ToolDeclaration("pay", "", SCHEMA)),), ()))
    return Resume(state=b"{}", logs={"main": log}, values={"agent": agent})


def test_a_call_is_of_the_tool_that_the_model_named() -> None:
    resume = stored(output("ask", "pay"), encode_entry(Entry(EntryKind.RESULTS, ())), output("look", first=2))
    assert [tool_of(resume, record(f"r{place}")) for place in range(3)] == ["ask", "pay", "look"]


def test_a_call_that_is_in_no_output_goes_by_the_name_of_its_record() -> None:
    assert tool_of(stored(output("pay")), record("r7")) == "another name"
    assert tool_of(Resume(), record("r0")) == "another name"


def test_the_schema_is_that_of_the_tool_when_the_run_was_saved() -> None:
    resume = stored(output("ask", "pay"))
    assert arguments_schema(resume, record("r1")) == SCHEMA
    assert arguments_schema(resume, record("r0")) is None
    assert arguments_schema(Resume(logs=resume.logs), record("r1")) is None


def test_a_log_that_cannot_be_read_says_so() -> None:
    with pytest.raises(DecodeError):
        tool_of(stored(b"garbage"), record("r0"))
