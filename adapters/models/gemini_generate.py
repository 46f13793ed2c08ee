"""Google's Gemini API (``generateContent``) in its own words, without an SDK: what is sent.

Apart from ``gemini_reader``, which is the way back. Thought signatures go back in the very part they came with. What
changed between generations of the models is told by their names: see ``generations``. Options are members of the
body; ``generationConfig`` among them is merged with ours. Read ``build_request`` first.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from types import ModuleType
from typing import Any

from ...effects.model import ModelRequest
from ...effects.transcript import (
    AssistantMessage,
    CallPart,
    Content,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
    clean_json,
    parts_of,
)
from ...effects.transcript.boundary import Boundary
from .config import ModelConfig
from .connections import Connection, PlainConnection
from .gemini_reader import GeminiReader, is_own_part
from .generations import LATEST, generation_of, stand_in_for
from .prompt import (
    arguments_of,
    begun_by_user,
    collapsed_system,
    in_turns,
    level_of,
    messages_of,
    options_of,
    text_of_parts,
    tools_of,
    valid_name,
)
from .protocols import WireProtocol
from .wire import as_object

__all__ = ["GEMINI_GENERATE", "build_request", "thinking_config", "valid_id"]

_MADE_HERE = re.compile(r"call_\d+(_\d+)?")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}==|[A-Za-z0-9+/_-]{3}=)?")
_BUDGETS = {"minimal": 512, "low": 2_048, "medium": 8_192}
_LARGEST_BUDGET = 24_576


def valid_id(id: str) -> str:
    """A call id as this protocol takes it: letters, digits, ``_`` and ``-``, at most 64."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id)[:64]


def thinking_config(model: str, level: str) -> dict[str, Any]:
    """How the model is told to think: by a level since Gemini 3, by a budget of tokens before, not at all before 2.5.

    Only the smaller ones of 2.5 can be told not to. Levels that not every model of a generation has are rounded.
    """
    generation = generation_of(model)
    if not level or generation < 2.5:
        return {}
    if level == "off":
        return {"thinkingBudget": 0} if generation < LATEST and "flash" in model else {}
    if generation < LATEST:
        return {"thinkingBudget": _BUDGETS.get(level, _LARGEST_BUDGET), "includeThoughts": True}
    known = {"minimal": "low", "low": "low", "medium": "high" if "gemini-3-pro" in model else "medium"}
    return {"thinkingLevel": known.get(level, "high"), "includeThoughts": True}


def build_request(request: ModelRequest, config: ModelConfig, boundary: Boundary | None = None) -> dict[str, Any]:
    """The body of a request. Raises ``DecodeError`` for a sealed message that holds none, and nothing else."""
    messages = messages_of(request, config, valid_id, boundary)
    contents = _Contents(config)
    opening = {"role": "user", "parts": [{"text": config.wording.opening}]}
    sent = in_turns(contents.of(messages), "parts", alone=_is_response)  # nothing else may be beside responses
    body: dict[str, Any] = {"contents": begun_by_user(sent, opening)}
    if system := collapsed_system(request.instruction, messages):
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if tools := tools_of(request, messages):
        body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in tools]}]
    settings: dict[str, Any] = {}
    if limit := request.max_output_tokens or config.max_output_tokens:
        settings["maxOutputTokens"] = limit
    if thinking := thinking_config(config.model, level_of(request, config)):
        settings["thinkingConfig"] = thinking
    options = options_of(request, config)
    options.pop("stream", None)  # the address says it
    for given in (config.options, request.options):
        settings |= as_object(clean_json(given.get("generationConfig")))
    if settings:
        options["generationConfig"] = settings
    return {**body, **options}


class _Contents:
    """Messages as contents for models of one generation."""

    def __init__(self, config: ModelConfig) -> None:
        self._latest = generation_of(config.model) >= LATEST
        self._unsigned = stand_in_for(config)
        self._wording = config.wording
        self._names: dict[str, str] = {}

    def of(self, messages: Iterable[Message]) -> Iterator[dict[str, Any]]:
        """Users and outputs in the order in which they spoke; the results of a batch are one content."""
        for is_result, group in groupby(messages, lambda message: isinstance(message, ToolResultMessage)):
            if is_result:
                results = [message for message in group if isinstance(message, ToolResultMessage)]
                yield from self._results(results)
                continue
            for message in group:
                if isinstance(message, UserMessage) and (parts := _shown(message.content)):
                    yield {"role": "user", "parts": parts}
                elif isinstance(message, AssistantMessage) and (parts := list(self._output(message))):
                    yield {"role": "model", "parts": parts}

    def _output(self, message: AssistantMessage) -> Iterator[dict[str, Any]]:
        calls = [part for part in message.parts if isinstance(part, CallPart)]
        unsigned = not any(_signature(part) for part in calls)
        for part in message.parts:
            if isinstance(part, CallPart):
                self._names[part.id] = name = valid_name(part.name)
                call = {"name": name, "args": arguments_of(part.arguments) or {}, **self._id(part.id)}
                signature = self._unsigned if unsigned and part is calls[0] else _signature(part)
                yield {"functionCall": call, **({"thoughtSignature": signature} if signature else {})}
            elif isinstance(part, ThinkingPart) and part.redacted:
                own = arguments_of(part.signature or "") or {}
                if is_own_part(own):
                    yield own
            elif signature := _signature(part):
                thought = {"thought": True} if isinstance(part, ThinkingPart) else {}
                yield {"text": part.text, **thought, "thoughtSignature": signature}
            elif part.text.strip():
                yield {"text": part.text, **({"thought": True} if isinstance(part, ThinkingPart) else {})}

    def _results(self, results: list[ToolResultMessage]) -> Iterator[dict[str, Any]]:
        """The responses to a batch. Gemini 3 takes images in them, if they have data; others follow as the user's."""
        parts: list[dict[str, Any]] = []
        images: list[dict[str, Any]] = []
        for result in results:
            shown = [part for part in parts_of(result.content) if isinstance(part, ImagePart)]
            within = [_image(part) for part in shown if self._latest and not part.url]
            after = [_image(part) for part in shown if not self._latest or part.url]
            text = text_of_parts(result.content) or (self._wording.tool_image_follows if after else "")
            response: dict[str, Any] = {
                "name": self._names.get(result.call_id) or valid_name(result.name),
                "response": {"error" if result.is_error else "output": text},
                **self._id(result.call_id),
            }
            if within:
                response["parts"] = within
            images += after
            parts.append({"functionResponse": response})
        yield {"role": "user", "parts": parts}
        if images:
            yield {"role": "user", "parts": [{"text": self._wording.tool_images}, *images]}

    def _id(self, id: str) -> dict[str, str]:
        """The id of a call that came with one; older models reject any."""
        return {"id": id} if self._latest and not _MADE_HERE.fullmatch(id) else {}


def _is_response(content: dict[str, Any]) -> bool:
    return "functionResponse" in content["parts"][0]


def _shown(content: Content) -> list[dict[str, Any]]:
    """Content as parts; a text that says nothing is an error here, so it is left out."""
    return [
        _image(part) if isinstance(part, ImagePart) else {"text": part.text}
        for part in parts_of(content)
        if isinstance(part, ImagePart) or part.text.strip()
    ]


def _image(part: ImagePart) -> dict[str, Any]:
    if part.url:
        return {"fileData": {"fileUri": part.url, "mimeType": part.mime}}
    return {"inlineData": {"mimeType": part.mime, "data": part.data}}


def _signature(part: TextPart | ThinkingPart | CallPart) -> str:
    """The thought signature of a part, if it is one: the API takes bytes, and anything else is an error."""
    signature = part.signature or ""
    return signature if _BASE64.fullmatch(signature) else ""


def _tool(tool: ToolDeclaration) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": tool.name, "parametersJsonSchema": tool.parameters}
    if tool.description:
        declared["description"] = tool.description
    return declared


def _headers(httpx: ModuleType, config: ModelConfig) -> dict[str, Any]:
    if not config.api_key:
        return {}
    return {"Authorization": f"Bearer {config.api_key}"} if config.bearer else {"x-goog-api-key": config.api_key}


def _connect(httpx: ModuleType, config: ModelConfig, http_client: Any) -> Connection:
    return PlainConnection(http_client, config.base_url, {"alt": "sse"})


GEMINI_GENERATE = WireProtocol(
    name="gemini-generate",
    sdk="httpx",
    path="/v1beta/models/{model}:streamGenerateContent",
    id_rule=valid_id,
    build=build_request,
    reader=GeminiReader,
    headers=_headers,
    connect=_connect,
    http_client="AsyncClient",
)
