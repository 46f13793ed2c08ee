"""The proxy's client against its recordings: a server on this machine says what the recorded one said.

Each case runs three times, with the bytes cut as they were, all in one piece, and one by one: it makes no difference.
"""

import base64
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Any

import anyio
import httpx
from turnfold.adapters.proxy import ProxyModel, message_from_wire, message_to_wire
from turnfold.core.loop import EMPTY_PARTIAL, Partial, fold_deltas
from turnfold.effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    ModelChoice,
    ModelRequest,
    Started,
    StreamFailed,
    StreamFinished,
)
from turnfold.effects.sequence import Seq
from turnfold.shells.agent_drive import Signal

from tests.adapters.proxy.loopback import Answer, Asked, Chunk, Drop, Hang, free_port, serving
from tests.oracle.verdict import EQUAL, Verdict, judge
from tests.oracle.wire import Raw, delta_out

CLOCK = 1_760_000_000_000


def compare(case: Raw) -> Verdict:
    """Equal, differing by a rule of decision 46, or unexplained."""
    verdict = Verdict(EQUAL)
    for backend, cut in (
        ("trio", as_recorded),
        ("asyncio", as_recorded),
        ("trio", in_one_piece),
        ("asyncio", byte_by_byte),
    ):
        seen = anyio.run(_run, case, cut, backend=backend)
        verdict = judge(case["input"], comparable(case, seen), comparable(case, case["expected"]))
        if verdict.kind != EQUAL:
            break
    return verdict


# How the bytes are cut.


def as_recorded(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    return iter(chunks)


def in_one_piece(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """One piece up to what is no bytes."""
    held = b""
    for chunk in chunks:
        if isinstance(chunk, bytes):
            held += chunk
            continue
        if held:
            yield held
        held = b""
        yield chunk
    if held:
        yield held


def byte_by_byte(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    for chunk in chunks:
        if isinstance(chunk, bytes):
            yield from (chunk[at : at + 1] for at in range(len(chunk)))
        else:
            yield chunk


# One run.


TLS = ssl.create_default_context()
"""Made once, since it takes long and nobody needs it here."""


async def _run(case: Raw, cut: Callable[[Iterable[Chunk]], Iterator[Chunk]]) -> Raw:
    script = case["input"]
    response = script["response"]
    status = response.get("status", 200)
    phrase = response.get("statusText", HTTPStatus(status).phrase)
    chunks = list(cut(map(_chunk, response["chunks"])))
    with anyio.fail_after(20):
        async with serving(Answer(chunks, f"{status} {phrase}", response.get("headers", {}))) as server:
            url = server.url if not script.get("unreachable") else f"http://127.0.0.1:{free_port()}"
            url += script.get("urlSuffix", "")
            async with httpx.AsyncClient(verify=TLS, trust_env=False) as client:
                model = ProxyModel(url, script["authToken"], client=client, now=lambda: CLOCK)
                events: list[Raw] = []
                async for event in _events(model, script):
                    events.append(event)
                    for chunk in chunks:
                        if isinstance(chunk, Drop) and len(events) == len(case["expected"]["events"]) - 1:
                            chunk.now.set()
    last = events[-1]
    return {
        "events": events,
        "result": last.get("message", last.get("error")),
        "requests": list(map(_asked, server.asked)),
    }


def _chunk(raw: Any) -> Chunk:
    if isinstance(raw, str):
        return raw.encode()
    if "base64" in raw:
        return base64.b64decode(raw["base64"])
    return Drop() if "drop" in raw else Hang()


def _asked(asked: Asked) -> Raw:
    return {
        "method": asked.method,
        "path": asked.path,
        "authorization": asked.headers["authorization"],
        "contentType": asked.headers["content-type"],
        "body": asked.body.decode(),
    }


async def _events(model: ProxyModel, case: Raw) -> AsyncIterator[Raw]:
    choice = dict(case["model"])
    named = {name: choice.pop(name, "") for name in ("id", "provider", "api")}
    messages = Seq(map(message_from_wire, case["context"]["messages"]))
    request = ModelRequest("1", messages, options=case.get("options") or {}, model=ModelChoice(**named, extra=choice))
    signal, abort = Signal(), case.get("abort", {})
    if abort.get("beforeCall"):
        signal.set()
    partial, told = EMPTY_PARTIAL, 0
    async with contextlib.aclosing(model.stream_until(request, signal)) as deltas:
        async for delta in deltas:
            partial, _, _ = fold_deltas(partial, (delta,))
            if event := event_of(delta, partial):
                told += 1
                yield event
            if told == abort.get("afterEvent"):
                signal.set()


def event_of(delta: Delta, partial: Partial) -> Raw | None:
    """The recorded kind of event that a delta is; usage is none of its own."""
    so_far = message_to_wire(partial.message)
    match delta:
        case Started():
            return {"type": "start", "partial": so_far}
        case StreamFinished(message=message):
            assert message is not None
            return {
                "type": "done",
                "reason": message_to_wire(message)["stopReason"],
                "message": message_to_wire(message),
            }
        case StreamFailed(message=message):
            assert message is not None
            return {
                "type": "error",
                "reason": message_to_wire(message)["stopReason"],
                "error": message_to_wire(message),
            }
        case BlockStarted() | BlockDelta() | BlockEnded():
            return delta_out(delta, partial, so_far)
        case _:
            return None


# What is compared.


def comparable(case: Raw, seen: Raw) -> Raw:
    """Without private members, without our own, and without texts of which only the presence was recorded."""
    seen = json.loads(json.dumps(seen))
    ended: set[int] = set()
    for event in seen["events"]:
        if event["type"] == "toolcall_end":
            ended.add(event["contentIndex"])
        for message in (event[name] for name in ("partial", "message", "error") if name in event):
            _simplify(case, message, ended)
        if "toolCall" in event:
            _simplify_block(event["toolCall"], pending=False)
    _simplify(case, seen["result"], ended)
    return seen


def _simplify(case: Raw, message: Raw, ended: set[int]) -> None:
    if case["input"].get("errorKind") and message.get("errorMessage"):
        message["errorMessage"] = f"<{case['input']['errorKind']}>"
    # An output of ours always has its usage: none is all zeros.
    message.setdefault("usage", message_to_wire(message_from_wire({"role": "assistant"}))["usage"])
    pending = message["stopReason"] == "pending"
    for index, block in enumerate(message["content"]):
        _simplify_block(block, pending and index not in ended)


def _simplify_block(block: Raw, pending: bool) -> None:
    """Arguments of a call are compared once it has ended."""
    block.pop("partialJson", None)
    block.pop("argumentsError", None)
    if pending and block["type"] == "toolCall":
        block["arguments"] = None
