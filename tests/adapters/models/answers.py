"""Answers as the fixtures write them down, and the streams of the fixtures."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from turnfold.adapters.models.anthropic_messages import ANTHROPIC_MESSAGES
from turnfold.adapters.models.config import ModelConfig
from turnfold.adapters.models.gemini_generate import GEMINI_GENERATE
from turnfold.adapters.models.openai_chat import OPENAI_CHAT
from turnfold.adapters.models.openai_responses import OPENAI_RESPONSES
from turnfold.adapters.models.protocols import WireProtocol
from turnfold.adapters.models.reader import is_whole
from turnfold.adapters.models.sse import EventDecoder
from turnfold.adapters.models.vendors import vendor_of
from turnfold.effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    DeltaKind,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)

FIXTURES = Path(__file__).parents[3] / "fixtures" / "streams"
PROTOCOLS: dict[str, WireProtocol] = {
    protocol.name: protocol for protocol in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC_MESSAGES, GEMINI_GENERATE)
}
BRANDS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "gemini-generate": "google",
}
STREAMS = sorted(path.relative_to(FIXTURES).with_suffix("").as_posix() for path in FIXTURES.glob("*/*.sse"))


def stream_of(name: str) -> tuple[str, bytes, dict[str, Any]]:
    """The protocol of a fixture, its bytes, and the answer it must give."""
    path = FIXTURES / name
    answer = json.loads(path.with_suffix(".json").read_text())
    del answer["about"]
    return path.parent.name, path.with_suffix(".sse").read_bytes(), answer


def config_of(protocol: str, **changes: Any) -> ModelConfig:
    """A configuration for a protocol's own vendor."""
    vendor = vendor_of(BRANDS[protocol], protocol)
    assert vendor is not None
    return ModelConfig(vendor=vendor, model="the-model", base_url=vendor.base_url, api_key="sk-secret-key", **changes)


def read(protocol: str, pieces: Iterable[bytes]) -> Iterator[Delta]:
    """The deltas of a stream that arrives in these pieces, without a network."""
    reader = PROTOCOLS[protocol].reader(config_of(protocol))
    decoder = EventDecoder()
    for piece in pieces:
        for event in decoder.feed(piece):
            yield from reader.feed(event.name, event.data)
        if reader.over:
            break
    else:
        for event in decoder.flush():
            if is_whole(event.data):
                yield from reader.feed(event.name, event.data)
    yield from reader.finish()


def answer_of(deltas: Iterable[Delta]) -> dict[str, Any]:
    """The answer that deltas make, in the fixtures' form; fails where they break the contract of a port."""
    started, terminal = Started(), None
    counted: dict[str, int] = dict.fromkeys(("input", "cache_read", "cache_write", "output", "reasoning"), 0)
    parts: dict[int, dict[str, Any]] = {}
    for delta in deltas:
        assert terminal is None, "nothing may follow the terminal delta"
        match delta:
            case Started():
                assert not parts, "an answer starts before its blocks"
                started = delta
            case BlockStarted(index, kind):
                part = parts.setdefault(index, {"type": kind.value, "text": "", "signature": None, "redacted": False})
                assert part["type"] == kind.value
                assert list(parts) == list(range(len(parts))), "blocks are numbered as they appear"
                part |= {"id": part.get("id") or delta.id, "name": part.get("name") or delta.name}
            case BlockDelta(index, text):
                assert text, "an empty delta says nothing"
                assert not parts[index].get("ended"), "nothing may come for a block that has ended"
                text.encode()
                parts[index]["text"] += text
            case BlockEnded(index, signature, redacted, _, whole):
                assert not parts[index].get("ended"), "a block ends once"
                parts[index] |= {"signature": signature, "redacted": redacted, "ended": True}
                if whole is not None:
                    assert (whole.id, whole.name) == (parts[index]["id"], parts[index]["name"])
                    parts[index]["text"] = whole.arguments
            case UsageReported(usage):
                counted = {name: getattr(usage, name) for name in counted}
            case StreamFinished() | StreamFailed():
                terminal = delta
    assert terminal is not None, "a stream ends with a terminal delta"
    failed = isinstance(terminal, StreamFailed)
    assert failed or all(part.get("ended") for part in parts.values()), "a complete answer has no open block"
    return {
        "response_id": started.response_id,
        "response_model": started.response_model,
        "parts": [part for part in map(_part, parts.values()) if part is not None],
        "usage": counted,
        "stop": None if failed else terminal.stop.value,
        "raw_stop": terminal.raw_stop,
        "error": _error(terminal) if failed else None,
    }


def _part(part: dict[str, Any]) -> dict[str, Any] | None:
    text = part["text"]
    signed = {"signature": part["signature"]} if part["signature"] else {}
    match part["type"]:
        case DeltaKind.CALL:
            return {"type": "call", "id": part["id"], "name": part["name"], "arguments": text, **signed}
        case DeltaKind.TEXT:
            return {"type": "text", "text": text, **signed} if text or signed else None
        case _:
            kept = {"type": "thinking", "text": text, "signature": part["signature"], "redacted": part["redacted"]}
            return kept if text or part["signature"] else None


def _error(failed: StreamFailed) -> dict[str, Any]:
    error = failed.error
    told: dict[str, Any] = {"kind": error.kind.value, "code": error.code, "status": error.status}
    return {name: value for name, value in told.items() if value}
