"""What differs between vendors, as data: adding one that speaks a known protocol is adding a row.

Read ``Vendor`` for what a row says, ``Thinking`` for how reasoning is asked for, then the rows. ``vendor_of`` gives a
copy that may be changed, ``through`` the same vendor behind somebody else's gateway.
"""

from collections.abc import Mapping
from copy import deepcopy
from enum import StrEnum
from typing import Any

from ...effects.values import field, frozen, replace

__all__ = [
    "VENDORS",
    "CallIds",
    "Gateway",
    "Rerank",
    "Strategy",
    "Thinking",
    "Vendor",
    "brands",
    "protocols_of",
    "strategies_of",
    "through",
    "vendor_of",
]


class Strategy(StrEnum):
    """How a model is made to answer with an object of a given shape.

    ``none``: it is only told to. ``json_schema``: the format of its answer is the schema, strictly. ``json_object``:
    its answer is some JSON object, and the schema is shown to it. ``forced_tool``: it must call one tool, whose
    arguments are the object. ``gemini``: Gemini's own schema for its answer.
    """

    NONE = "none"
    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    FORCED_TOOL = "forced_tool"
    GEMINI = "gemini"


class Rerank(StrEnum):
    """The shape of a vendor's rerank requests: as Cohere and Jina have it, or DashScope's own."""

    COMPATIBLE = "compatible"
    DASHSCOPE = "dashscope"


@frozen
class Thinking:
    """How a vendor is told whether and how hard to think; what is empty is not said.

    ``off`` are the members of the body that switch thinking off, ``on`` those that go with every level. ``effort`` is
    where the level goes, a member or a path to one with dots; ``levels`` are those that the vendor calls otherwise.
    ``always`` are members that go with every request, whatever the level, to the models that think unasked: those whose
    names begin as the pattern ``thinkers`` says. Only the Responses API has any: other models there reject them.
    """

    off: Mapping[str, Any] = field(factory=dict[str, Any])
    on: Mapping[str, Any] = field(factory=dict[str, Any])
    effort: str = ""
    levels: Mapping[str, str] = field(factory=dict[str, str])
    always: Mapping[str, Any] = field(factory=dict[str, Any])
    thinkers: str = ""


class CallIds(StrEnum):
    """What a call id must look like: as the protocol says, or exactly nine letters and digits."""

    PROTOCOL = "protocol"
    NINE = "nine"


@frozen
class Vendor:
    """One brand, or one of the protocols that it speaks.

    ``name`` is what its outputs carry as their provider, so it never changes its meaning. ``protocol`` names a wire
    format (``protocols`` has them). ``base_url`` is the address the vendor documents, empty where there is none.
    ``strips`` and ``appends`` make the protocol's own prefix of what people configure: a trailing one of ``strips`` is
    taken off the path before ``appends`` is put there, so that an address works with and without it. ``max_tokens`` is
    the name of the member that limits the output. ``structured`` is how the vendor is made to answer with an object
    where nobody says otherwise, ``lacks`` are strategies of the protocol that the vendor has not. ``asks_for_usage``:
    whether a stream tells its usage only when asked. ``reasoning_due`` is the member that no output with calls may be
    without: these servers reject a history whose calls came without a thought, as another model's do. ``bridges``:
    whether an output must stand between results and what the user says next. ``unsigned`` stands for the signature of
    the first of some calls that came without any, where the server wants one. ``sealed``: whether reasoning can only go
    back with its encrypted content. ``tools_due``: whether a conversation with calls in it must have the member
    ``tools`` though none are on offer; most servers reject an empty one.
    """

    name: str
    protocol: str
    base_url: str = ""
    key_optional: bool = False
    strips: tuple[str, ...] = ()
    appends: str = ""
    max_tokens: str = "max_tokens"
    structured: Strategy = Strategy.NONE
    lacks: frozenset[Strategy] = frozenset()
    thinking: Thinking = Thinking()
    rerank: Rerank = Rerank.COMPATIBLE
    call_ids: CallIds = CallIds.PROTOCOL
    asks_for_usage: bool = True
    reasoning_due: str = ""
    bridges: bool = False
    unsigned: str = ""
    sealed: bool = False
    tools_due: bool = False

    def supports(self, strategy: Strategy) -> bool:
        """Whether the vendor can be made to answer with an object in this way."""
        return strategy in strategies_of(self.protocol) and strategy not in self.lacks


@frozen
class Gateway:
    """Somebody else's server in front of a vendor, and the protocol that it speaks.

    ``keeps_thinking``: whether it passes the vendor's members about thinking on.
    """

    protocol: str = "openai-chat"
    keeps_thinking: bool = False


_FORMATS = frozenset({Strategy.NONE, Strategy.JSON_SCHEMA, Strategy.JSON_OBJECT, Strategy.FORCED_TOOL})
_STRATEGIES = {
    "openai-chat": _FORMATS,
    "openai-responses": _FORMATS,
    "anthropic-messages": frozenset({Strategy.NONE, Strategy.FORCED_TOOL}),
    "gemini-generate": frozenset({Strategy.NONE, Strategy.FORCED_TOOL, Strategy.GEMINI}),
}


def strategies_of(protocol: str) -> frozenset[Strategy]:
    """The strategies that a protocol has words for; of an unknown one, that no words are needed."""
    return _STRATEGIES.get(protocol, frozenset({Strategy.NONE}))


_CHAT, _RESPONSES, _MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
_UNSIGNED = "skip_thought_signature_validator"  # documented for calls that another model made
_EFFORT = Thinking(effort="reasoning_effort")
_SWITCH = Thinking(off={"thinking": {"type": "disabled"}}, on={"thinking": {"type": "enabled"}})
_ADAPTIVE = Thinking(on={"thinking": {"type": "adaptive"}}, effort="output_config.effort", levels={"minimal": "low"})
_QWEN = Thinking(
    off={"enable_thinking": False, "chat_template_kwargs": {"enable_thinking": False}}, on={"enable_thinking": True}
)
_ENCRYPTED = {"include": ["reasoning.encrypted_content"]}
_SUMMARIES = Thinking(on={**_ENCRYPTED, "reasoning": {"summary": "auto"}}, effort="reasoning.effort")
_THINKERS = r"(?!.*-chat)(ft:)?(o\d|gpt-([5-9]|\d\d)|codex-)"  # the others reject a request for encrypted reasoning

# Where a vendor has an address per region, the row has the one of its home; keys of another region need another.
_ROWS = (
    Vendor(
        "openai",
        _CHAT,
        "https://api.openai.com/v1",
        max_tokens="max_completion_tokens",
        structured=Strategy.JSON_SCHEMA,
        thinking=_EFFORT,
    ),
    Vendor(
        "anthropic",
        _MESSAGES,
        "https://api.anthropic.com",
        strips=("/v1",),
        structured=Strategy.FORCED_TOOL,
        thinking=_ADAPTIVE,
    ),
    Vendor(
        "google",
        "gemini-generate",
        "https://generativelanguage.googleapis.com",
        strips=("/v1beta",),
        structured=Strategy.GEMINI,
        unsigned=_UNSIGNED,
    ),
    Vendor(
        "deepseek",
        _CHAT,
        "https://api.deepseek.com",
        structured=Strategy.JSON_OBJECT,
        lacks=frozenset({Strategy.JSON_SCHEMA}),
        thinking=replace(_SWITCH, effort="reasoning_effort"),
        reasoning_due="reasoning_content",
    ),
    Vendor(
        "alibaba",
        _CHAT,
        "https://dashscope.aliyuncs.com",
        strips=("/compatible-mode/v1", "/api/v1"),
        appends="/compatible-mode/v1",
        structured=Strategy.JSON_OBJECT,
        thinking=_QWEN,
        rerank=Rerank.DASHSCOPE,
    ),
    Vendor(
        "moonshot",
        _CHAT,
        "https://api.moonshot.ai/v1",
        structured=Strategy.JSON_OBJECT,
        thinking=_SWITCH,
        reasoning_due="reasoning_content",
    ),
    Vendor(
        "zhipu",
        _CHAT,
        "https://open.bigmodel.cn/api/paas/v4",
        structured=Strategy.JSON_OBJECT,
        thinking=_SWITCH,
    ),
    Vendor(
        "volcengine",
        _RESPONSES,
        "https://ark.cn-beijing.volces.com/api/v3",
        max_tokens="max_output_tokens",
        lacks=frozenset({Strategy.JSON_SCHEMA, Strategy.JSON_OBJECT}),
        thinking=_SWITCH,
    ),
    Vendor(
        "minimax",
        _CHAT,
        "https://api.minimax.io/v1",
        thinking=replace(_SWITCH, on={"thinking": {"type": "adaptive"}}),
    ),
    Vendor("xai", _CHAT, "https://api.x.ai/v1", structured=Strategy.JSON_SCHEMA, thinking=_EFFORT),
    Vendor(
        "mistral",
        _CHAT,
        "https://api.mistral.ai/v1",
        structured=Strategy.JSON_SCHEMA,
        thinking=_EFFORT,
        call_ids=CallIds.NINE,
        asks_for_usage=False,
        bridges=True,
    ),
    Vendor(
        "openrouter",
        _CHAT,
        "https://openrouter.ai/api/v1",
        structured=Strategy.JSON_SCHEMA,
        thinking=Thinking(off={"reasoning": {"effort": "none"}}, effort="reasoning.effort"),
    ),
    Vendor("typesafe", _CHAT, thinking=_EFFORT),
    Vendor("ollama", _CHAT, "http://localhost:11434", True, ("/v1",), "/v1", thinking=_EFFORT),
    Vendor("openai_compatible", _CHAT, key_optional=True, thinking=_EFFORT),
)

_FURTHER = (
    Vendor(
        "openai",
        _RESPONSES,
        "https://api.openai.com/v1",
        max_tokens="max_output_tokens",
        structured=Strategy.JSON_SCHEMA,
        thinking=replace(_SUMMARIES, always=_ENCRYPTED, thinkers=_THINKERS),
        sealed=True,
    ),
    Vendor(
        "google",
        _CHAT,
        "https://generativelanguage.googleapis.com",
        strips=("/v1beta/openai", "/v1beta"),
        appends="/v1beta/openai",
        structured=Strategy.JSON_SCHEMA,
        thinking=_EFFORT,
        unsigned=_UNSIGNED,
    ),
    Vendor(
        "deepseek",
        _MESSAGES,
        "https://api.deepseek.com/anthropic",
        strips=("/v1",),
        structured=Strategy.FORCED_TOOL,
        thinking=replace(_SWITCH, effort="output_config.effort"),
    ),
    Vendor(
        "minimax",
        _MESSAGES,
        "https://api.minimax.io/anthropic",
        strips=("/v1",),
        structured=Strategy.FORCED_TOOL,
    ),
    Vendor("volcengine", _CHAT, "https://ark.cn-beijing.volces.com/api/v3", thinking=_SWITCH),
    Vendor("openai_compatible", _RESPONSES, key_optional=True, max_tokens="max_output_tokens", thinking=_SUMMARIES),
    Vendor("openai_compatible", _MESSAGES, key_optional=True, strips=("/v1",), thinking=_ADAPTIVE),
)

VENDORS: Mapping[str, Vendor] = {vendor.name: vendor for vendor in _ROWS}
"""The known brands by name, in the order in which they are listed to people; each with its first protocol."""


def brands() -> list[str]:
    """The names of the known brands, in the order in which they are listed to people; a list of your own."""
    return list(VENDORS)


def protocols_of(brand: str) -> list[str]:
    """The protocols that a brand speaks at its own address, the usual one first; none for an unknown brand."""
    return [row.protocol for row in (*_ROWS, *_FURTHER) if row.name == brand]


def vendor_of(brand: str, protocol: str = "") -> Vendor | None:
    """A copy of the brand's row whose maps are nobody else's, for its usual protocol or another that it speaks."""
    for row in (*_ROWS, *_FURTHER):
        if row.name == brand and protocol in ("", row.protocol):
            return replace(row, thinking=deepcopy(row.thinking))
    return None


def through(vendor: Vendor, gateway: Gateway) -> Vendor:
    """The vendor behind a gateway: its name stays, and what describes its own address and body goes.

    What its models demand of a conversation stays, as the gateway hands it on: the form of call ids, outputs between
    results and users, encrypted reasoning. Members about thinking stay if the gateway keeps them: those that the vendor
    has for the gateway's protocol, and what stands for thoughts and signatures that are due.
    """
    own = vendor if vendor.protocol == gateway.protocol else vendor_of(vendor.name, gateway.protocol) or vendor
    structured = vendor.structured if vendor.structured in strategies_of(gateway.protocol) else Strategy.FORCED_TOOL
    keeps = gateway.keeps_thinking
    return Vendor(
        vendor.name,
        gateway.protocol,
        key_optional=vendor.key_optional,
        max_tokens="max_output_tokens" if gateway.protocol == _RESPONSES else "max_tokens",
        structured=structured,
        thinking=own.thinking if keeps else _USUAL.get(gateway.protocol, Thinking()),
        rerank=vendor.rerank,
        call_ids=vendor.call_ids,
        reasoning_due=own.reasoning_due if keeps else "",
        bridges=own.bridges,
        unsigned=own.unsigned if keeps else "",
        sealed=own.sealed,
        tools_due=vendor.protocol == _MESSAGES,
    )


_USUAL = {_CHAT: _EFFORT, _RESPONSES: Thinking(effort="reasoning.effort"), _MESSAGES: _ADAPTIVE}
"""How the protocols themselves ask for reasoning."""
