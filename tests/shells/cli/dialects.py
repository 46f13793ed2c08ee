"""Model servers that speak one protocol each, and answer a question of arithmetic by asking for a tool first."""

import json
from collections.abc import Iterator
from typing import Any

import attrs

QUESTION = "what is 6 * 7?"
CALL = {"expression": "6 * 7"}
PIECES = ("It is ", "42", ".")


@attrs.frozen
class Dialect:
    """A protocol: a brand that speaks it, where it is asked, what is read of a request and what is answered."""

    brand: str
    base: str
    path: str

    def result(self, body: dict[str, Any]) -> str:
        """What the tool gave, if the request says so."""
        raise NotImplementedError

    def question(self, body: dict[str, Any]) -> str:
        """The first thing that the user said."""
        raise NotImplementedError

    def calls(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        """The events of an answer that thinks, says something and calls the calculator."""
        raise NotImplementedError

    def says(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        """The events of the last answer."""
        raise NotImplementedError


class Chat(Dialect):
    def result(self, body: dict[str, Any]) -> str:
        return "".join(message["content"] for message in body["messages"] if message["role"] == "tool")

    def question(self, body: dict[str, Any]) -> str:
        return body["messages"][0]["content"]

    def calls(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        arguments = json.dumps(CALL)
        function = {"name": "calculator", "arguments": arguments[:8]}
        yield self._chunk({"content": "Let me see."})
        yield self._chunk({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})
        yield self._chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[8:]}}]})
        yield self._chunk({}, "tool_calls")
        yield "", "[DONE]"

    def says(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        for piece in PIECES:
            yield self._chunk({"content": piece})
        yield self._chunk({}, "stop")
        yield "", "[DONE]"

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> tuple[str, dict[str, Any]]:
        return "", {"id": "r", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


class Responses(Dialect):
    def result(self, body: dict[str, Any]) -> str:
        return "".join(item["output"] for item in body["input"] if item.get("type") == "function_call_output")

    def question(self, body: dict[str, Any]) -> str:
        return body["input"][0]["content"]

    def calls(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        arguments = json.dumps(CALL)
        call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "calculator"}
        yield from self._text("Let me see.")
        yield self._event("response.output_item.added", output_index=1, item={**call, "arguments": ""})
        for piece in (arguments[:8], arguments[8:]):
            yield self._event("response.function_call_arguments.delta", output_index=1, item_id="fc_1", delta=piece)
        yield self._event("response.output_item.done", output_index=1, item={**call, "arguments": arguments})
        yield self._event("response.completed", response={"id": "r", "status": "completed"})

    def says(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        yield from self._text(*PIECES)
        yield self._event("response.completed", response={"id": "r", "status": "completed"})

    def _text(self, *pieces: str) -> Iterator[tuple[str, dict[str, Any]]]:
        message = {"type": "message", "id": "m1", "role": "assistant"}
        part = {"type": "output_text", "text": "".join(pieces)}
        yield self._event("response.output_item.added", output_index=0, item={**message, "content": []})
        for piece in pieces:
            yield self._event("response.output_text.delta", output_index=0, item_id="m1", content_index=0, delta=piece)
        yield self._event("response.output_item.done", output_index=0, item={**message, "content": [part]})

    def _event(self, type: str, **members: Any) -> tuple[str, dict[str, Any]]:
        return type, {"type": type, **members}


class Messages(Dialect):
    def result(self, body: dict[str, Any]) -> str:
        blocks = [block for message in body["messages"] for block in message["content"]]
        results = [block["content"] for block in blocks if block["type"] == "tool_result"]
        return "".join(part["text"] for content in results for part in content)

    def question(self, body: dict[str, Any]) -> str:
        return body["messages"][0]["content"][0]["text"]

    def calls(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        arguments = json.dumps(CALL)
        yield self._event("message_start", message={"id": "r", "content": [], "usage": {"input_tokens": 5}})
        yield from self._text("Let me see.")
        call = {"type": "tool_use", "id": "c1", "name": "calculator", "input": {}}
        yield self._event("content_block_start", index=1, content_block=call)
        for piece in (arguments[:8], arguments[8:]):
            yield self._event("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": piece})
        yield self._event("content_block_stop", index=1)
        yield from self._end("tool_use")

    def says(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        yield self._event("message_start", message={"id": "r", "content": [], "usage": {"input_tokens": 5}})
        yield from self._text(*PIECES)
        yield from self._end("end_turn")

    def _text(self, *pieces: str) -> Iterator[tuple[str, dict[str, Any]]]:
        yield self._event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in pieces:
            yield self._event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield self._event("content_block_stop", index=0)

    def _end(self, stop: str) -> Iterator[tuple[str, dict[str, Any]]]:
        yield self._event("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 5})
        yield self._event("message_stop")

    def _event(self, type: str, **members: Any) -> tuple[str, dict[str, Any]]:
        return type, {"type": type, **members}


class Gemini(Dialect):
    def result(self, body: dict[str, Any]) -> str:
        parts = [part for content in body["contents"] for part in content["parts"]]
        return "".join(part["functionResponse"]["response"]["output"] for part in parts if "functionResponse" in part)

    def question(self, body: dict[str, Any]) -> str:
        return body["contents"][0]["parts"][0]["text"]

    def calls(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        yield self._chunk({"text": "Let me see."})
        yield self._chunk({"functionCall": {"name": "calculator", "args": CALL}}, "STOP")

    def says(self) -> Iterator[tuple[str, dict[str, Any] | str]]:
        *pieces, last = PIECES
        for piece in pieces:
            yield self._chunk({"text": piece})
        yield self._chunk({"text": last}, "STOP")

    def _chunk(self, part: dict[str, Any], finish: str = "") -> tuple[str, dict[str, Any]]:
        ending = {"finishReason": finish} if finish else {}
        return "", {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, **ending}]}


DIALECTS: dict[str, Dialect] = {
    "openai-chat": Chat("openai_compatible", "/v1", "/v1/chat/completions"),
    "openai-responses": Responses("openai_compatible", "/v1", "/v1/responses"),
    "anthropic-messages": Messages("openai_compatible", "/v1", "/v1/messages"),
    "gemini-generate": Gemini("google", "", "/v1beta/models/fake-1:streamGenerateContent?alt=sse"),
}


def wire(event: tuple[str, dict[str, Any] | str]) -> bytes:
    """An event as it is sent."""
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
