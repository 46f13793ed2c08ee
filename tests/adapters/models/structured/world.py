"""Types to ask for, and servers that answer one request after the other."""

import json
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import attrs
import msgspec
import trio

from tests.adapters.models.loopback import Answer, Asked, says, streams


@attrs.frozen
class Answered:
    """What most tests ask for."""

    title: str
    note: str | None = None


ANSWERED = attrs.make_class("answer", {"title": attrs.field(type=str), "note": attrs.field(type=str | None)})


@attrs.frozen
class Node:
    """A type that contains itself."""

    name: Annotated[str, msgspec.Meta(description="how it is called")]
    children: "list[Node]" = attrs.field(factory=list)


def chat(*texts: str, finish: str = "stop", tool: str = "", usage: int = 3, refusal: str = "") -> Answer:
    """An answer as Chat Completions streams it: text, or the arguments of a call."""
    chunks: list[dict[str, Any]] = []
    for place, text in enumerate(texts):
        delta: dict[str, Any] = {"content": text}
        if tool:
            name = {"id": "c1", "type": "function"} if place == 0 else {}
            function = {"arguments": text, **({"name": tool} if place == 0 else {})}
            delta = {"tool_calls": [{"index": 0, **name, "function": function}]}
        chunks.append({"id": "r1", "choices": [{"index": 0, "delta": delta}]})
    if refusal:
        chunks.append({"id": "r1", "choices": [{"index": 0, "delta": {"refusal": refusal}}]})
    counted = {"prompt_tokens": usage, "completion_tokens": 2, "total_tokens": usage + 2}
    chunks.append({"id": "r1", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    chunks.append({"id": "r1", "choices": [], "usage": counted})
    return streams([*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"])


def rejects(message: str, status: str = "400 Bad Request") -> Answer:
    """A provider that does not take the request."""
    page = json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()
    return says(status, page, Content_Type="application/json")


def in_turn(*answers: Answer) -> Answer:
    """One answer after the other; the last one for ever."""
    left = list(answers)

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(stream, asked)

    return answer


def by_body(answer_to: Callable[[dict[str, Any]], Answer]) -> Answer:
    """An answer that depends on the request."""

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await answer_to(asked.body)(stream, asked)

    return answer


def members(bodies: Iterable[dict[str, Any]], *names: str) -> list[list[str]]:
    """Which of some members each request has."""
    return [[name for name in names if name in body] for body in bodies]
