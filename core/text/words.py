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
