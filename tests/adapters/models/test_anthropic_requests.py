"""What is sent to Anthropic beyond what all protocols share: thoughts by generation, what they forbid, and caching."""

import json
import time
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension
from turnfold.adapters.models.anthropic_blocks import ArrivingBlock
from turnfold.adapters.models.anthropic_messages import build_request
from turnfold.adapters.models.config import ModelConfig
from turnfold.adapters.models.prompt import wrong_level
from turnfold.adapters.models.vendors import vendor_of
from turnfold.effects.handed_in import LEVELS
from turnfold.effects.model import ModelRequest
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
)
from turnfold.effects.transcript.boundary import Wording

OLDER, LATEST = "claude-sonnet-4-5", "claude-opus-4-8"
TOOL = ToolDeclaration("answer", "Hand in the answer.")
SIGNED = ThinkingPart("Hm", "c2lnbmVk")
CALL = CallPart("c1", "f", "{}")
ASKED = UserMessage("Hi")
RESULT = ToolResultMessage("c1", "f", "ok")
FORCED: dict[str, Any] = {"tool_choice": {"type": "tool", "name": "answer"}}


@pytest.fixture
def shown(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(JSONSnapshotExtension)


def config_for(model: str = OLDER, brand: str = "anthropic", **changes: Any) -> ModelConfig:
    vendor = vendor_of(brand, "anthropic-messages")
    assert vendor is not None
    return ModelConfig(vendor=vendor, model=model, base_url="https://x.example", **changes)


def body_of(config: ModelConfig, *messages: Message, **members: Any) -> dict[str, Any]:
    body = build_request(ModelRequest("call-1", Seq(messages or (ASKED,)), **members), config)
    json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    return body


def said_by(config: ModelConfig, *parts: Any) -> AssistantMessage:
    target = config.target
    return AssistantMessage(parts, target.api, target.provider, target.model)


# --- how hard to think


@pytest.mark.parametrize(
    "model",
    [
        "claude-3-5-haiku-latest",
        "claude-3-7-sonnet-20250219",
        "claude-opus-4-1-20250805",
        "claude-sonnet-4-20250514",
        "claude-sonnet-4-5",
        "claude-haiku-4-5@20251001",
        "claude-sonnet-4-6",
        "claude-opus-4-8",
        "claude-sonnet-5",
        "claude-fable-5",
        "claude-of-tomorrow",
    ],
)
def test_a_claude_is_told_how_hard_to_think_as_its_generation_has_it(model: str, shown: SnapshotAssertion) -> None:
    config = config_for(model)
    bodies = {level: body_of(config, options={"reasoning": level}) for level in LEVELS}
    told = ("thinking", "output_config", "max_tokens")
    assert {level: {name: body.get(name) for name in told} for level, body in bodies.items()} == shown
    assert not {"thinking", "output_config"} & body_of(config).keys()


def test_a_claude_behind_another_server_is_told_the_same_and_another_model_in_the_vendors_words() -> None:
    def told(model: str, brand: str) -> Any:
        return body_of(config_for(model, brand), options={"reasoning": "low"})["thinking"]

    assert told("anthropic/claude-sonnet-4.5", "openai_compatible") == {"type": "enabled", "budget_tokens": 2_048}
    assert told("us.anthropic.claude-opus-4-6-v1:0", "openai_compatible") == {"type": "adaptive"}
    assert told("deepseek-chat", "deepseek") == {"type": "enabled"}


def test_a_budget_is_beside_the_limit_of_the_answer_as_far_as_the_model_can_write() -> None:
    def limit(model: str, limit: int) -> int:
        options = {"reasoning": "high"}
        return body_of(config_for(model), max_output_tokens=limit, options=options)["max_tokens"]

    assert limit("claude-sonnet-4-5", 1_000) == 17_384
    assert limit("claude-opus-4-1", 20_000) == 32_000
    assert limit("claude-opus-4-5", 20_000) == 36_384
    assert limit("claude-sonnet-4", 64_000) == 64_000
    assert limit("claude-sonnet-4", 100_000) == 100_000


@pytest.mark.parametrize("level", ["hgih", "High", True, 3, None, "none"])
def test_what_is_no_level_of_reasoning_can_be_told(level: Any) -> None:
    assert repr(level) in wrong_level({"reasoning": level})
    assert all(each in wrong_level({"reasoning": level}) for each in LEVELS)


@pytest.mark.parametrize("options", [{}, {"reasoning": ""}, {"reasoning": {"effort": "none"}}, {"reasoning": "max"}])
def test_levels_objects_and_nothing_at_all_are_right(options: dict[str, Any]) -> None:
    assert wrong_level(options) == ""


# --- what thoughts forbid


@pytest.mark.parametrize("model", [OLDER, LATEST])
def test_sampling_of_ones_own_is_left_out_beside_thoughts(model: str) -> None:
    options = {"temperature": 0.2, "top_p": 0.5, "top_k": 5}
    assert not options.keys() & body_of(config_for(model), options={**options, "reasoning": "low"}).keys()
    assert not options.keys() & body_of(config_for(model, options=options), options={"reasoning": "low"}).keys()
    allowed = {"temperature": 1, "top_p": 0.95}
    assert allowed.items() <= body_of(config_for(model), options={**allowed, "reasoning": "low"}).items()
    assert options.items() <= body_of(config_for(model), options={**options, "reasoning": "off"}).items()
    assert options.items() <= body_of(config_for("claude-3-5-haiku"), options={**options, "reasoning": "low"}).items()


@pytest.mark.parametrize("kind", ["tool", "any"])
def test_with_a_forced_tool_no_thoughts_are_asked_for(kind: str) -> None:
    choice = {"tool_choice": {"type": kind, "name": "answer"}}
    for model in (OLDER, LATEST):
        body = body_of(config_for(model), tools=(TOOL,), options={"reasoning": "high", **choice})
        assert "thinking" not in body
        assert body["max_tokens"] == 16_384
        assert body["tool_choice"] == choice["tool_choice"]
    own_budget = {"thinking": {"type": "enabled", "budget_tokens": 2_048}}
    assert "thinking" not in body_of(config_for(), tools=(TOOL,), options={**own_budget, **choice})
    assert "thinking" in body_of(config_for(), options={"reasoning": "high", "tool_choice": {"type": "auto"}})
    own_word = {"thinking": {"type": "disabled"}}
    assert own_word.items() <= body_of(config_for(), tools=(TOOL,), options={**own_word, **choice}).items()


def test_a_model_that_thinks_unasked_is_told_not_to_where_a_tool_is_forced() -> None:
    off = {"type": "disabled"}
    for config in (config_for("claude-sonnet-5"), config_for("deepseek-chat", "deepseek")):
        for level in ("high", "off", ""):
            assert body_of(config, tools=(TOOL,), options={"reasoning": level, **FORCED})["thinking"] == off
    for model in ("claude-fable-5", "claude-opus-5-5"):  # these cannot be told
        assert "thinking" not in body_of(config_for(model), tools=(TOOL,), options={"reasoning": "off", **FORCED})


def test_with_a_budget_a_turn_that_began_without_a_thought_goes_on_without() -> None:
    """Another model's calls come without thoughts; the API takes no others where there is a budget."""
    config, level = config_for(), {"reasoning": "low"}
    theirs = AssistantMessage((TextPart("I'll look"), CALL), model="another")
    own = said_by(config, SIGNED, CALL)
    more = (said_by(config, CallPart("c2", "f", "{}")), ToolResultMessage("c2", "f", "ok"))

    def thinks(*messages: Message, config: ModelConfig = config) -> bool:
        return "thinking" in body_of(config, ASKED, *messages, options=level)

    assert not thinks(theirs, RESULT)
    assert not thinks(theirs, RESULT, *more)
    assert not thinks(theirs, RESULT, UserMessage("what the user adds is beside the results"))
    assert thinks(theirs, RESULT, said_by(config, TextPart("Done.")), UserMessage("And now?"))
    assert thinks(own, RESULT)
    assert thinks(own, RESULT, *more)
    assert thinks(said_by(config, ThinkingPart("", "ZW5j", redacted=True), CALL), RESULT)
    assert thinks(theirs, RESULT, config=config_for(LATEST)), "a model that decides itself takes any"
    budget = {"thinking": {"type": "enabled", "budget_tokens": 2_048}}
    body = body_of(config_for(options=budget), ASKED, theirs, RESULT, options={"temperature": 0.2})
    assert "thinking" not in body
    assert body["temperature"] == 0.2


# --- conversations


def test_no_output_ends_with_a_thought() -> None:
    config = config_for()
    hidden = ThinkingPart("", "ZW5j", redacted=True)

    def content(*parts: Any) -> list[Any]:
        return body_of(config, ASKED, said_by(config, *parts), UserMessage("go on"))["messages"]

    joined = [{"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "go on"}]}]
    assert content(SIGNED) == content(hidden, SIGNED) == content(SIGNED, TextPart(" ")) == joined
    assert [block["type"] for block in content(SIGNED, TextPart("a"), SIGNED, hidden)[1]["content"]] == [
        "thinking",
        "text",
    ]


def own(type: str, **members: Any) -> ThinkingPart:
    return ThinkingPart("", json.dumps({"type": type, **members}), redacted=True)


SEARCH = own("server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"})
FOUND = own("web_search_tool_result", tool_use_id="srvtoolu_1", content=[])
OWN_CALL = own("mcp_tool_use", id="mcptoolu_1", name="f", server_name="s", input={})


def outputs(*messages: Message) -> list[list[str]]:
    sent = body_of(config_for(), ASKED, *messages)["messages"]
    return [[block["type"] for block in message["content"]] for message in sent if message["role"] == "assistant"]


def test_a_call_of_the_providers_own_tools_that_never_came_to_a_result_stays_away() -> None:
    """The API rejects it for ever; so it is after a limit that was reached, or where no more pauses were allowed."""
    config, later = config_for(), UserMessage("go on")
    text = TextPart("I search.")
    assert outputs(said_by(config, text, SEARCH), later) == [["text"]]
    assert outputs(said_by(config, text, SEARCH, OWN_CALL)) == [["text"]]
    assert outputs(said_by(config, SIGNED, SEARCH), later) == []
    assert outputs(said_by(config, text, SEARCH, FOUND, OWN_CALL), later) == [
        ["text", "server_tool_use", "web_search_tool_result"]
    ]


def test_such_a_call_is_kept_where_its_result_is_still_to_come_or_came_later_in_the_turn() -> None:
    config, more = config_for(), (said_by(config_for(), CallPart("c2", "f", "{}")), ToolResultMessage("c2", "f", "ok"))
    called = (said_by(config, SEARCH, CALL), RESULT)
    kept, left = ["server_tool_use", "tool_use"], ["tool_use"]
    assert outputs(*called) == [kept]
    assert outputs(*called, *more) == [kept, left]
    assert outputs(*called, UserMessage("stop")) == [left]
    assert outputs(*called, said_by(config, TextPart("Done."))) == [left, ["text"]]
    found = said_by(config, FOUND, TextPart("Done."))
    assert outputs(*called, *more, found, UserMessage("And?")) == [kept, left, ["web_search_tool_result", "text"]]
    assert outputs(said_by(config, TextPart("a"), OWN_CALL), UserMessage("b"), *called) == [["text"], kept]


def test_a_call_of_the_providers_own_tools_with_an_id_that_is_none_stays_away() -> None:
    assert outputs(said_by(config_for(), TextPart("a"), own("server_tool_use", id=["x"]))) == [["text"]]


def test_an_error_without_words_gets_some() -> None:
    config = config_for(wording=Wording(no_result="[nichts]"))

    def result(content: Any, is_error: bool) -> dict[str, Any]:
        message = ToolResultMessage("c1", "f", content, is_error=is_error)
        return body_of(config, ASKED, said_by(config, CALL), message)["messages"][-1]["content"][0]

    assert result(" ", True)["content"] == [{"type": "text", "text": "[nichts]"}]
    assert result("No.", True)["content"] == [{"type": "text", "text": "No."}]
    assert result((ImagePart("aGk=", "image/png"),), True)["content"][0]["type"] == "image"
    assert "content" not in result("", False)


def test_users_and_outputs_take_turns() -> None:
    config = config_for()
    said = [
        UserMessage("a"),
        UserMessage("b"),
        said_by(config, TextPart("c")),
        said_by(config, SIGNED, CALL),
        RESULT,
        UserMessage("d"),
    ]
    messages = body_of(config, *said, notice="e")["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    kinds = [[block["type"] for block in message["content"]] for message in messages]
    assert kinds == [["text", "text"], ["text", "thinking", "tool_use"], ["tool_result", "text", "text"]]


def test_what_a_text_cites_goes_back_to_the_same_model_only() -> None:
    config = config_for()
    cited = TextPart("It is so.", '{"citations":[{"type":"char_location","cited_text":"so"}]}')
    kept = {"type": "text", "text": "It is so.", "citations": [{"type": "char_location", "cited_text": "so"}]}
    assert body_of(config, ASKED, said_by(config, cited))["messages"][1]["content"] == [kept]
    bare = [{"type": "text", "text": "It is so."}]
    other = AssistantMessage((cited,), "anthropic-messages", "anthropic", "another")
    assert body_of(config, ASKED, other)["messages"][1]["content"] == bare
    for signature in ('{"citations":"x"}', '{"citations":[]}', "c2lnbmVk", "[1]"):
        odd = said_by(config, TextPart("It is so.", signature))
        assert body_of(config, ASKED, odd)["messages"][1]["content"] == bare


def test_a_block_costs_what_it_is_long() -> None:
    block = ArrivingBlock({"type": "thinking", "thinking": "", "signature": ""})
    arguments = ArrivingBlock({"type": "server_tool_use", "input": {}})
    begun = time.process_time()
    for _ in range(30_000):
        block.take({"type": "thinking_delta", "thinking": "x" * 100})
        arguments.take({"type": "input_json_delta", "partial_json": "x" * 100})
    assert len(block.whole()["thinking"]) == 3_000_000
    assert arguments.whole() == {}
    assert time.process_time() - begun < 5  # in fact a tenth of a second; were it copied each time, it would be twenty


# --- caching


def test_the_ends_of_what_shall_be_cached_are_marked(shown: SnapshotAssertion) -> None:
    marker = {"type": "ephemeral", "ttl": "1h"}
    config = config_for(options={"cache_breakpoints": marker})
    said = (ASKED, said_by(config, SIGNED, TextPart("Both."), CALL), RESULT)
    tools = (ToolDeclaration("f", "Do."), TOOL)
    whole = body_of(config, *said, instruction="Be kind.", tools=tools)
    assert {"whole": whole, "bare": body_of(config), "notice": body_of(config, *said, notice="Answer.")} == shown
    assert json.dumps(whole).count('"cache_control"') == 3
    assert (
        body_of(config_for(), *said, options={"cache_breakpoints": marker}, instruction="Be kind.", tools=tools)
        == whole
    )


@pytest.mark.parametrize("marker", [None, {}, True, "ephemeral"])
def test_a_marker_that_is_none_marks_nothing(marker: Any) -> None:
    assert body_of(config_for(options={"cache_breakpoints": marker})) == body_of(config_for())
