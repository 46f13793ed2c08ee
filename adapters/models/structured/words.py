"""What a model is told about the shape of its answer, in two languages. All of it can be replaced (decision 36)."""

import re

from ....effects.values import frozen
from ..config import ConfigError

__all__ = ["CHINESE_WORDS", "ENGLISH_WORDS", "StructuredWords", "structured_words"]

_PLACEHOLDERS = {"tool": set[str](), "shown": {"schema"}, "again": {"problem"}}


@frozen
class StructuredWords:
    """The texts. A wrong placeholder is a ``ConfigError`` here, and no surprise in a prompt.

    ``tool`` describes the tool that takes the result; ``shown`` goes below the instruction where the model must be
    shown the ``{schema}``; ``again`` asks to do it again, and says the ``{problem}``.
    """

    tool: str
    shown: str
    again: str

    def __attrs_post_init__(self) -> None:
        for name, wanted in _PLACEHOLDERS.items():
            found = set(re.findall(r"\{(\w+)\}", getattr(self, name)))
            if found != wanted:
                holds = " and ".join(f"{{{placeholder}}}" for placeholder in wanted) or "no placeholder"
                raise ConfigError(f"the text {name!r} about structured output must hold {holds}, and nothing else")

    def show(self, schema: str) -> str:
        """The schema, for a model that is only told."""
        return self.shown.replace("{schema}", schema)

    def ask_again(self, problem: str) -> str:
        """A second request after an answer that was of no use."""
        return self.again.replace("{problem}", problem)


ENGLISH_WORDS = StructuredWords(
    tool="Hand in your result by calling this tool, once, with all of it as the arguments.",
    shown=(
        "Answer with a single JSON object and nothing else: no explanation, no code fence. "
        "It must conform to this JSON Schema, with every property present:\n{schema}"
    ),
    again=(
        "Your last answer could not be used: {problem}\n"
        "Do the task again, and answer with a single JSON object and nothing else."
    ),
)

CHINESE_WORDS = StructuredWords(
    tool="请调用此工具一次来提交你的结果,将完整结果作为参数。",
    shown=(
        "只回答一个 JSON 对象,不要包含任何其他内容:不要解释,不要代码块标记。"
        "它必须符合以下 JSON Schema,并包含所有属性:\n{schema}"
    ),
    again="你上次的回答无法使用:{problem}\n请重新完成任务,只回答一个 JSON 对象,不要包含任何其他内容。",
)


def structured_words(language: str) -> StructuredWords:
    """The texts in Chinese for ``zh``, and in English for all others."""
    return CHINESE_WORDS if language == "zh" else ENGLISH_WORDS
