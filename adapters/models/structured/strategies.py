"""How a model is made to answer in a shape: what a request says for it, what comes next when a provider refuses that.

A strategy has words in some protocols only (``FORMS``), and vendors lack some of those their protocol has. A refusal is
told by what the provider says about the members that we sent, since each has a status of its own for it; what a model's
provider refused once is not tried on that model again.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ....effects.transcript import ErrorKind, ModelError, ToolDeclaration
from ....effects.values import frozen
from ..config import ConfigError
from ..vendors import Strategy, Vendor
from .schema import OutputSchema
from .strict import strictly
from .words import StructuredWords

__all__ = ["Form", "Memory", "form_of"]

_ORDER = (Strategy.GEMINI, Strategy.JSON_SCHEMA, Strategy.JSON_OBJECT, Strategy.FORCED_TOOL, Strategy.NONE)
_SHOWN = frozenset({Strategy.JSON_OBJECT, Strategy.NONE})
_NO_OPTIONS: Mapping[str, Any] = {}


@frozen
class Form:
    """What goes into a request: members of the body, a tool to be called, and what is added to the instruction."""

    strategy: Strategy
    options: Mapping[str, Any] = _NO_OPTIONS
    tools: tuple[ToolDeclaration, ...] = ()
    shown: str = ""


def form_of(strategy: Strategy, protocol: str, schema: OutputSchema, words: StructuredWords, text: str) -> Form:
    """How a strategy asks for a schema in a protocol; ``text`` is the schema as JSON."""
    write = _FORMS.get((protocol, strategy))
    tools = (ToolDeclaration(schema.name, words.tool, schema.schema),) if strategy is Strategy.FORCED_TOOL else ()
    shown = words.show(text) if strategy in _SHOWN else ""
    return Form(strategy, write(schema) if write else _NO_OPTIONS, tools, shown)


def _named(schema: OutputSchema) -> dict[str, Any]:
    described = strictly(dict(schema.schema)) if schema.closed else schema.schema
    return {"name": schema.name, "schema": described, "strict": schema.closed}


def _chat_schema(schema: OutputSchema) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": _named(schema)}}


def _responses_schema(schema: OutputSchema) -> dict[str, Any]:
    return {"text": {"format": {"type": "json_schema", **_named(schema)}}}


def _gemini_schema(schema: OutputSchema) -> dict[str, Any]:
    return {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema.schema}}


def _gemini_tool(schema: OutputSchema) -> dict[str, Any]:
    return {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [schema.name]}}}


_FORMS: Mapping[tuple[str, Strategy], Callable[[OutputSchema], dict[str, Any]]] = {
    ("openai-chat", Strategy.JSON_SCHEMA): _chat_schema,
    ("openai-chat", Strategy.JSON_OBJECT): lambda schema: {"response_format": {"type": "json_object"}},
    ("openai-chat", Strategy.FORCED_TOOL): lambda schema: {
        "tool_choice": {"type": "function", "function": {"name": schema.name}}
    },
    ("openai-responses", Strategy.JSON_SCHEMA): _responses_schema,
    ("openai-responses", Strategy.JSON_OBJECT): lambda schema: {"text": {"format": {"type": "json_object"}}},
    ("openai-responses", Strategy.FORCED_TOOL): lambda schema: {
        "tool_choice": {"type": "function", "name": schema.name}
    },
    ("anthropic-messages", Strategy.FORCED_TOOL): lambda schema: {"tool_choice": {"type": "tool", "name": schema.name}},
    ("gemini-generate", Strategy.GEMINI): _gemini_schema,
    ("gemini-generate", Strategy.FORCED_TOOL): _gemini_tool,
}


# What is tried, and what comes next.

_REFUSING_STATUSES = frozenset({400, 404, 415, 422})
"""With any other status (none, a 5xx) the failure may be over the next time, whatever it speaks of."""

_REFUSING_KINDS = frozenset({ErrorKind.INVALID_REQUEST, ErrorKind.NOT_FOUND, ErrorKind.PROTOCOL})
_FORMAT_WORDS = r"response.?format|json.?schema|json.?object|json.?mode|structured.?output|text\.?format"
_TOO_MUCH = (
    r"specified schema|too many states|schema in generation.?config|nested schema properties|allowed nesting depth"
)
_WORDS = {
    Strategy.JSON_SCHEMA: re.compile(_FORMAT_WORDS, re.IGNORECASE),
    Strategy.JSON_OBJECT: re.compile(_FORMAT_WORDS, re.IGNORECASE),
    Strategy.FORCED_TOOL: re.compile(rf"tool|function.?call|{_TOO_MUCH}", re.IGNORECASE),
    Strategy.GEMINI: re.compile(
        r"response.?(json.?)?schema|response.?mime.?type|json.?schema|json.?mode|structured.?output|" + _TOO_MUCH,
        re.IGNORECASE,
    ),
}
_ABOUT_THE_SCHEMA = re.compile(
    r"invalid (json )?schema|schema is (too|not)|unsupported (json )?schema|" + _TOO_MUCH, re.IGNORECASE
)
_ABOUT_ONE_FORMAT = re.compile(r"schema|type", re.IGNORECASE)


class Memory:
    """What the provider of one model has refused: strategies, and strategies for single schemas (by their text)."""

    def __init__(self) -> None:
        self._refused = set[tuple[Strategy, str]]()

    def forms(
        self, vendor: Vendor | None, first: Strategy | None, schema: OutputSchema, words: StructuredWords, text: str
    ) -> list[Form]:
        """How to ask, in order of preference; never empty. Raises ``ConfigError`` for a first strategy nobody has.

        A vendor that is not known takes anything that needs no words of its protocol.
        """
        protocol = vendor.protocol if vendor is not None else ""
        usable = {Strategy.NONE, *(each for each in _ORDER if vendor is not None and vendor.supports(each))}
        if first is not None and first not in usable:
            whose = f"{vendor.name} by the protocol {protocol}" if vendor is not None else "a model of unknown make"
            raise ConfigError(f"the strategy {first.value} is not there for {whose}; leave it out, or choose another")
        if schema.recursive and protocol == "gemini-generate":
            usable = {Strategy.NONE}  # unrolls what contains itself, and only where it is not required
        start = first or (vendor.structured if vendor is not None else Strategy.NONE)
        chain = [strategy for strategy in _ORDER[_ORDER.index(start) :] if strategy in usable]
        allowed = [strategy for strategy in chain if not self._refused & {(strategy, ""), (strategy, text)}]
        return [form_of(strategy, protocol, schema, words, text) for strategy in allowed or [Strategy.NONE]]

    def refuses(self, form: Form, error: ModelError, text: str, names: Iterable[str] = ()) -> bool:
        """Whether a failure is the provider's refusal of a strategy; if so it is remembered.

        ``names`` (of the model, of its host) mean nothing in what the provider says.
        """
        known = _WORDS.get(form.strategy)
        if known is None or error.kind not in _REFUSING_KINDS or error.status not in _REFUSING_STATUSES:
            return False
        said = f"{error.code or ''} {error.message}"
        for name in names:
            said = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "", said)  # not of other words: one is called "m"
        if not known.search(said):
            return False
        self._refused.add((form.strategy, text if _ABOUT_THE_SCHEMA.search(said) else ""))
        if form.strategy is Strategy.JSON_SCHEMA and not _ABOUT_ONE_FORMAT.search(said):
            self._refused.add((Strategy.JSON_OBJECT, ""))  # it is the member that is not known
        return True
