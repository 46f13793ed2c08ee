"""The parts of a request that are the same for every protocol: which messages, which tools, what the system says.

What leaves here is valid for the model and has no unpaired surrogates; a protocol only has to put it into its shape.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from difflib import get_close_matches
from typing import Any, cast

from ...effects.handed_in import LEVELS
from ...effects.model import ModelRequest
from ...effects.transcript import (
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ToolDeclaration,
    UserMessage,
    clean_json,
    clean_text,
    parts_of,
)
from ...effects.transcript.boundary import Boundary, IdRule
from ...effects.transcript.declared import current_tools, system_prompt
from .config import ModelConfig
from .vendors import CallIds
from .wire import as_object

__all__ = [
    "arguments_of",
    "begun_by_user",
    "boundary_for",
    "cache_breakpoints_of",
    "collapsed_system",
    "data_url",
    "in_turns",
    "level_of",
    "messages_of",
    "nine_characters",
    "options_of",
    "reasoning_of",
    "system_update",
    "text_of_parts",
    "tools_of",
    "valid_name",
    "wrong_level",
]


def wrong_level(options: Mapping[str, Any]) -> str:
    """What is wrong with the level of reasoning among some options, for people; empty where nothing is.

    An object is no level but a member of the body, which is the provider's to judge.
    """
    level = options.get("reasoning", "")
    if level == "" or isinstance(level, Mapping) or (isinstance(level, str) and level in LEVELS):
        return ""
    meant = get_close_matches(level.lower(), LEVELS, 1) if isinstance(level, str) else []
    return f"reasoning is one of {', '.join(LEVELS)}, not {level!r}{f'; did you mean {meant[0]}?' if meant else ''}"


def boundary_for(config: ModelConfig, id_rule: IdRule) -> Boundary:
    """What makes any transcript valid for the model: by the vendor's rule for call ids, or else the protocol's."""
    nine = config.vendor.call_ids is CallIds.NINE
    return Boundary(config.target, nine_characters if nine else id_rule, config.wording)


def nine_characters(id: str) -> str:
    """A call id of exactly nine letters and digits: itself if it is one, else a digest of it."""
    if re.fullmatch("[a-zA-Z0-9]{9}", id):
        return id
    return hashlib.sha256(id.encode("utf-8", "replace")).hexdigest()[:9] if id else ""


def messages_of(
    request: ModelRequest, config: ModelConfig, id_rule: IdRule, boundary: Boundary | None
) -> tuple[Message, ...]:
    """The context as the model may see it, and the notice; without the instruction, which is the system's."""
    boundary = boundary or boundary_for(config, id_rule)
    messages = boundary.fit(request.context)
    return (*messages, UserMessage(clean_text(request.notice))) if request.notice else messages


def begun_by_user(sent: list[dict[str, Any]], opening: dict[str, Any]) -> list[dict[str, Any]]:
    """What is sent, for a protocol whose conversations the user begins: before an output comes the opening."""
    return sent if not sent or sent[0].get("role") == "user" else [opening, *sent]


def in_turns(
    sent: Iterable[dict[str, Any]], member: str, alone: Callable[[dict[str, Any]], bool] = lambda message: False
) -> list[dict[str, Any]]:
    """What is sent, for a protocol whose roles take turns: neighbours of one role are one, but for those ``alone``.

    ``member`` is the list of what a message says; it must be nobody else's.
    """
    turns: list[dict[str, Any]] = []
    for message in sent:
        if turns and turns[-1]["role"] == message["role"] and not alone(turns[-1]) and not alone(message):
            turns[-1][member] += message[member]
        else:
            turns.append(message)
    return turns


def tools_of(request: ModelRequest, messages: Iterable[Message]) -> tuple[ToolDeclaration, ...]:
    """The tools on offer: the request's own, or those that system messages have brought and not taken away."""
    return tuple(map(_sendable, request.tools or current_tools(messages)))


def options_of(request: ModelRequest, config: ModelConfig) -> dict[str, Any]:
    """The members that go into the body last: the configuration's, then the request's.

    Three options are not members: ``api_key``, which goes elsewhere, ``reasoning`` as a level, which every protocol
    says in its own way, and ``cache_breakpoints``, which not every protocol has.
    """
    options: dict[str, Any] = clean_json({**config.options, **request.options})
    options.pop("api_key", None)
    options.pop("cache_breakpoints", None)
    if isinstance(options.get("reasoning"), str):
        del options["reasoning"]
    return options


def reasoning_of(request: ModelRequest, config: ModelConfig) -> dict[str, Any]:
    """The members that say how hard the model shall think (``minimal``, ``low``, ``high`` ...), or not (``off``).

    They are said as the vendor has them; none where nobody asked, or where the vendor has no word for it.
    """
    level, thinking = level_of(request, config), config.vendor.thinking
    if level in ("", "off"):
        return deepcopy(dict(thinking.off)) if level else {}
    body = deepcopy(dict(thinking.on))
    if thinking.effort:
        *path, last = thinking.effort.split(".")
        place = body
        for name in path:
            place = place.setdefault(name, {})
        place[last] = thinking.levels.get(level, level)
    return body


def cache_breakpoints_of(request: ModelRequest, config: ModelConfig) -> dict[str, Any]:
    """What marks the ends of what a provider shall cache, in its own words; empty where nobody asked."""
    return clean_json(as_object({**config.options, **request.options}.get("cache_breakpoints")))


def level_of(request: ModelRequest, config: ModelConfig) -> str:
    """The level of reasoning that was asked for; empty where nobody asked."""
    level = {**config.options, **request.options}.get("reasoning")
    return clean_text(level) if isinstance(level, str) else ""


# What the system says.


def system_update(message: SystemMessage) -> str:
    """A system message in mid-conversation, told as the change it is."""
    told = [text_of_parts(message.content)]
    for name, section in (message.sections or {}).items():
        if section is None:
            told.append(f'Removed system prompt section "{name}".')
        else:
            told.append(f'Updated system prompt section "{name}":\n\n{section}')
    return _paragraphs(told)


def collapsed_system(instruction: str, messages: Iterable[Message]) -> str:
    """What the system says in the end, for a protocol that knows no system message in mid-conversation."""
    return _paragraphs([clean_text(instruction), system_prompt(messages)])


def _paragraphs(texts: Iterable[str | None]) -> str:
    return "\n\n".join(text for text in texts if text)


# Small pieces.


def text_of_parts(content: str | tuple[TextPart | ImagePart, ...] | None) -> str:
    """The text of some content, its parts joined by line breaks."""
    return "\n".join(part.text for part in parts_of(content) if isinstance(part, TextPart))


def data_url(image: ImagePart) -> str:
    """Where to find an image: its address, or itself as one."""
    return image.url or f"data:{image.mime};base64,{image.data}"


def valid_name(name: str) -> str:
    """The name of a called tool as providers accept it: a model may have called anything."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


def arguments_of(raw: str) -> dict[str, Any] | None:
    """The arguments if the raw text is a JSON object without numbers out of range."""
    try:
        value = json.loads(raw, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return cast("dict[str, Any]", clean_json(value) if "\\u" in raw else value)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number out of range")
    return number


def _sendable(tool: ToolDeclaration) -> ToolDeclaration:
    """A declaration with clean text, whose schema says that it is of an object: providers insist."""
    parameters: dict[str, Any] = clean_json(dict(tool.parameters))
    schema: dict[str, Any] = {"type": "object", "properties": {}, **parameters}
    return ToolDeclaration(clean_text(tool.name), clean_text(tool.description), schema)
