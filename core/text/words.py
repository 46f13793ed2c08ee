"""Every text a model can see that is not its host's: one catalogue, two languages, overridable field by field.

An override must keep the placeholders of the text it replaces: a wrong one is an error when the run is set up, not a
surprise in a prompt (decision 36).
"""

import re
from collections.abc import Mapping
from enum import StrEnum

import attrs

from ...effects.values import frozen, replace

__all__ = ["CHINESE", "ENGLISH", "Language", "WordError", "Words", "fill", "words_for"]


class Language(StrEnum):
    """The languages that the catalogue speaks; anything else is answered in English."""

    ENGLISH = "en"
    CHINESE = "zh"


@frozen
class Words:
    """The catalogue. Placeholders in braces are filled in by name."""

    cancelled: str
    interrupted_replayable: str
    interrupted: str
    needs_review: str
    never_started: str
    unknown_tool: str
    not_offered: str
    cut_off: str
    invalid_arguments: str
    final_notice: str
    final_notice_completion: str
    batch_too_many: str
    batch_mixed: str
    separator: str
    cannot_await: str
    cannot_detach: str
    cannot_complete: str
    cannot_confirm: str
    cannot_hand_over: str
    submit_and_confirm: str
    not_json: str
    rejected: str
    rejected_for: str
    expired: str
    edited: str
    edit_invalid: str
    decision_void: str
    timed_out: str
    not_handed_over: str


ENGLISH = Words(
    cancelled="The call {name} ({call_id}) was dropped: a new message arrived before it had run.",
    interrupted_replayable="The call was interrupted and gave no result. Call the tool again if you still need it.",
    interrupted="The call was interrupted and gave no result; it is not known what it did.",
    needs_review=(
        "The call was interrupted while it was changing something outside. Whether the change happened is not known, "
        "and the call has been passed on for human review. Do not repeat it."
    ),
    never_started="The run was interrupted before this call had started. It did not run; you may call the tool again.",
    unknown_tool="There is no tool called {name}.",
    not_offered="The tool {name} was not on offer any more, so the call did not run.",
    cut_off="The output was cut off at its length limit, so the call to {name} is incomplete and did not run.",
    invalid_arguments="Invalid arguments for tool {name}: {problem}",
    final_notice="You have reached the limit of tool calls for this turn. Answer now, with what you have.",
    final_notice_completion=(
        "You have reached the limit of tool calls for this turn. Answer now, or finish with one call of {tools}, "
        "on its own; no other tool is on offer."
    ),
    batch_too_many="Only one of these tools can be called at a time: {tools}. Nothing was run.",
    batch_mixed="Each of these tools has to be called on its own, without any other call: {tools}. Nothing was run.",
    separator=", ",
    cannot_await="This tool asked to wait for an outside result, which is not possible here. It was not carried out.",
    cannot_detach="This tool asked to hand its work over, which is not possible here. It was not carried out.",
    cannot_complete="The tool {name} cannot end the run.",
    cannot_confirm="The call to {name} would need a confirmation, but it cannot pause here. It did not run.",
    cannot_hand_over="The tool {name} ends the run, so a call of it cannot be handed over. It did not run.",
    submit_and_confirm="The call to {name} cannot be submitted and confirmed at once. It did not run.",
    not_json="The tool {name} gave a value that cannot be written as JSON: {problem}",
    rejected="The call was not approved and did not run.",
    rejected_for="The call was not approved and did not run. The reason given: {reason}",
    expired="The time to approve the call was over, so it did not run.",
    edited="The call was approved with other arguments: {arguments}\nIts result:\n",
    edit_invalid="The call was approved with arguments that do not fit, so it did not run: {problem}",
    decision_void="The decision was made on other arguments than those of this call, so it did not run.",
    timed_out="The call was stopped because it took longer than {seconds} seconds. {outcome}",
    not_handed_over="The call could not be handed over, because the journal failed. It did not run.",
)

CHINESE = Words(
    cancelled="调用 {name}（{call_id}）已取消：执行之前收到了新消息。",
    interrupted_replayable="调用被中断，没有结果。如仍有需要，可以再次调用该工具。",
    interrupted="调用被中断，没有结果；无法确定它执行到了哪一步。",
    needs_review="调用在改动外部状态时被中断，改动是否生效无法确定，已转交人工审核。请不要重复调用。",
    never_started="运行在此调用开始之前中断。它没有执行；可以再次调用该工具。",
    unknown_tool="没有名为 {name} 的工具。",
    not_offered="工具 {name} 已不再提供，调用未执行。",
    cut_off="输出达到长度上限被截断，对 {name} 的调用不完整，未执行。",
    invalid_arguments="工具 {name} 的参数无效：{problem}",
    final_notice="本轮的工具调用次数已达上限。请根据已有信息直接回答。",
    final_notice_completion="本轮的工具调用次数已达上限。请直接回答，或单独调用 {tools} 之一来结束；其他工具不再提供。",
    batch_too_many="以下工具一次只能调用其中一个：{tools}。本次调用均未执行。",
    batch_mixed="以下工具必须单独调用，不能与其他调用同时发出：{tools}。本次调用均未执行。",
    separator="、",
    cannot_await="该工具要求等待外部结果，但此处无法等待。调用未执行。",
    cannot_detach="该工具要求移交任务，但此处无法移交。调用未执行。",
    cannot_complete="工具 {name} 不能结束运行。",
    cannot_confirm="对 {name} 的调用需要确认，但此处无法暂停等待。调用未执行。",
    cannot_hand_over="工具 {name} 用于结束运行，其调用不能移交。调用未执行。",
    submit_and_confirm="对 {name} 的调用不能同时提交和等待确认。调用未执行。",
    not_json="工具 {name} 返回的值无法写成 JSON：{problem}",
    rejected="调用未获批准，没有执行。",
    rejected_for="调用未获批准，没有执行。理由：{reason}",
    expired="批准该调用的期限已过，它没有执行。",
    edited="该调用获批时参数改为：{arguments}\n结果：\n",
    edit_invalid="批准时修改的参数不符合要求，调用未执行：{problem}",
    decision_void="该决定针对的是另一组参数，调用未执行。",
    timed_out="调用超过 {seconds} 秒，已被停止。{outcome}",
    not_handed_over="由于日志写入失败，调用未能移交。它没有执行。",
)

_PLACEHOLDER = re.compile(r"\{([a-z_]*)\}")


class WordError(ValueError):
    """An override that the catalogue cannot take."""


def words_for(language: str = Language.ENGLISH, overrides: Mapping[str, str] | None = None) -> Words:
    """The catalogue of a language with some texts replaced; raises ``WordError`` for a wrong name or placeholder."""
    words = CHINESE if language == Language.CHINESE else ENGLISH
    known = {attribute.name for attribute in attrs.fields(Words)}
    for name, text in (overrides or {}).items():
        if name not in known:
            raise WordError(f"there is no text called {name!r}; known ones are {', '.join(sorted(known))}")
        wanted, given = _placeholders(getattr(words, name)), _placeholders(text)
        if given != wanted:
            raise WordError(
                f"the text {name!r} must use exactly the placeholders {_named(wanted)}, not {_named(given)}"
            )
        words = replace(words, **{name: text})
    return words


def fill(text: str, **values: str) -> str:
    """A text with its placeholders filled in; nothing else in it is interpreted."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def _placeholders(text: str) -> frozenset[str]:
    return frozenset(_PLACEHOLDER.findall(text))


def _named(placeholders: frozenset[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(placeholders)) or "(none)"
