"""What the policies say to a model, in English and Chinese; every text may be replaced (decision 36)."""

from ....effects.values import frozen

__all__ = ["CHINESE", "ENGLISH", "PolicyWords"]


@frozen
class PolicyWords:
    """The catalogue. Placeholders in braces are filled in by name; a text need not use all it is given."""

    tool_not_permitted: str
    arguments_not_permitted: str
    last_turn: str


ENGLISH = PolicyWords(
    tool_not_permitted="Blocked: the tool {name} is not permitted here. Do not call it again; go on without it.",
    arguments_not_permitted="Blocked: the tool {name} is permitted here, but not with these arguments.",
    last_turn=(
        "The budget of this task is used up, and there are no tools any more. This is the last answer: say what was "
        "done, what was found, and what is left to do."
    ),
)

CHINESE = PolicyWords(
    tool_not_permitted="已阻止：此处不允许使用工具 {name}。请不要再次调用，改用其他方式继续。",
    arguments_not_permitted="已阻止：此处允许使用工具 {name}，但不允许使用这些参数。",
    last_turn="本任务的预算已用完，不能再使用工具。这是最后一次回答：请说明已完成的工作、得到的结果和尚未完成的部分。",
)
