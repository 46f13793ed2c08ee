"""The functions of transcripts against their recordings: each recorded function, and ours of the same meaning."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from turnfold.adapters.proxy import message_from_wire, message_to_wire
from turnfold.adapters.proxy.wire import declaration_to_wire
from turnfold.effects.transcript import Message, SystemMessage, ToolDeclaration, UserMessage, text_of
from turnfold.effects.transcript.boundary import Target, fit
from turnfold.effects.transcript.declared import (
    current_system,
    current_tools,
    declared_tools,
    initial_system,
    same_declaration,
    system_prompt,
    system_text,
    tool_changes,
    update_text,
)
from turnfold.effects.transcript.resolving import (
    collapsed,
    first_system,
    only_adds_tools,
    plan_tools,
    redefines_tools,
    resolved,
    with_instructions,
    without_first_system,
)

from tests.oracle.verdict import Verdict, judge
from tests.oracle.wire import Raw, tool_of

CLOCK = 1_760_000_000_000


def compare(case: Raw) -> Verdict:
    """Equal, differing by a rule of decision 46, or unexplained."""
    value = FUNCTIONS[case["input"]["function"]](case["input"])
    ours = {"absent": True} if value is None else {"value": value}
    return judge(case["input"], ours, case["expected"])


# In and out.


def messages_of(case: Raw) -> tuple[Message, ...]:
    return tuple(map(message_from_wire, case["messages"]))


def system_of(case: Raw) -> SystemMessage:
    message = message_from_wire(case["message"])
    assert isinstance(message, SystemMessage)
    return message


def tools_of(raw: Iterable[Raw] | None) -> tuple[ToolDeclaration, ...]:
    return tuple(map(tool_of, raw or ()))


def out(messages: Iterable[Message]) -> list[Raw]:
    return list(map(message_to_wire, messages))


def tools_out(tools: Iterable[ToolDeclaration]) -> list[Raw]:
    return list(map(declaration_to_wire, tools))


def maybe(message: Message | None) -> Raw | None:
    return None if message is None else message_to_wire(message)


# What needs more than a name.


def _content_text(case: Raw) -> str:
    message = message_from_wire({"role": "user", "content": case["content"]})
    assert isinstance(message, UserMessage)
    return text_of(message)


def _normalize(case: Raw) -> Raw:
    context = case["context"]
    tools = tools_of(context.get("tools"))
    return {"messages": out(with_instructions(context.get("systemPrompt", ""), tools, messages_of(context)))}


def _changes(case: Raw) -> Raw:
    changes = tool_changes(tools_of(case["previous"]), tools_of(case["current"]))
    return {"toolsAdded": tools_out(changes.added), "toolsRemoved": [{"name": name} for name in changes.removed]}


def _plan(case: Raw) -> Raw:
    plan = plan_tools(messages_of(case), case["support"] == "additions")
    return {"requestTools": tools_out(plan.tools), "anchorsAdditions": plan.anchored}


def _transform(case: Raw) -> list[Raw]:
    model, ids = case["model"], case.get("idMap", {})
    target = Target(model["api"], model["provider"], model["id"], "image" in model["input"])
    return out(fit(messages_of(case), target, lambda id: ids.get(id, id), closed_at=CLOCK))


FUNCTIONS: Mapping[str, Callable[[Raw], Any]] = {
    "contentText": _content_text,
    "getSystemMessageText": lambda case: system_text(system_of(case)),
    "renderSystemMessageUpdate": lambda case: update_text(system_of(case)),
    "getCurrentTools": lambda case: tools_out(current_tools(messages_of(case))),
    "getDeclaredTools": lambda case: tools_out(declared_tools(messages_of(case))),
    "getCurrentSystemMessage": lambda case: maybe(current_system(messages_of(case))),
    "getCurrentSystemPrompt": lambda case: system_prompt(messages_of(case)),
    "getInitialSystemMessage": lambda case: maybe(first_system(messages_of(case))),
    "withoutInitialSystemMessage": lambda case: out(without_first_system(messages_of(case))),
    "collapseSystemMessages": lambda case: {"messages": out(collapsed(messages_of(case)))},
    "hasToolRedefinitions": lambda case: redefines_tools(messages_of(case)),
    "hasNonAdditiveToolChanges": lambda case: not only_adds_tools(messages_of(case)),
    "createInitialSystemMessage": lambda case: maybe(
        initial_system(case.get("systemPrompt", ""), tools_of(case.get("tools")))
    ),
    "normalizeContext": _normalize,
    "resolveTranscript": lambda case: {"messages": out(resolved(messages_of(case), case["supported"]))},
    "toToolDeclaration": lambda case: declaration_to_wire(tool_of(case["tool"])),
    "declarationsEqual": lambda case: same_declaration(tool_of(case["left"]), tool_of(case["right"])),
    "getToolStateChanges": _changes,
    "resolveTranscriptTools": _plan,
    "transformMessages": _transform,
}
