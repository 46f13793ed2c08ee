"""What the agent loop itself says to a model, in English and Chinese; every text may be replaced (decision 36)."""

from ...effects.values import frozen

__all__ = ["CHINESE", "ENGLISH", "AgentWords"]


@frozen
class AgentWords:
    """The catalogue. Placeholders in braces are filled in by name; a text need not use all it is given."""

    tool_not_found: str
    invalid_arguments: str
    blocked: str
    aborted: str
    timed_out: str
    truncated: str
    unfinished: str
    not_run: str
    model_timed_out: str
    run_timed_out: str
    too_many_turns: str


ENGLISH = AgentWords(
    tool_not_found="Tool {name} not found",
    invalid_arguments='Invalid arguments for tool "{name}": {problem}',
    blocked="Tool execution was blocked",
    aborted="Operation aborted",
    timed_out='Tool call "{name}" was stopped after {seconds} seconds without a result.',
    truncated=(
        'Tool call "{name}" was not executed: the response hit the output token limit, so its arguments may be '
        "truncated. Re-issue the tool call with complete arguments."
    ),
    unfinished='Tool call "{name}" was cut off because the run failed: {problem}',
    not_run='Tool call "{name}" was not executed because the run failed: {problem}',
    model_timed_out="The model said nothing for {seconds} seconds.",
    run_timed_out="The run was stopped after {seconds} seconds.",
    too_many_turns="The run was stopped at its limit of turns ({turns}).",
)

CHINESE = AgentWords(
    tool_not_found="未找到工具 {name}",
    invalid_arguments="工具“{name}”的参数无效：{problem}",
    blocked="工具执行已被阻止",
    aborted="操作已中止",
    timed_out="工具调用“{name}”超过 {seconds} 秒没有结果，已停止。",
    truncated="工具调用“{name}”未执行：回复达到输出长度上限，参数可能不完整。请用完整的参数重新调用。",
    unfinished="工具调用“{name}”因运行失败而中断：{problem}",
    not_run="工具调用“{name}”因运行失败而未执行：{problem}",
    model_timed_out="模型超过 {seconds} 秒没有回应。",
    run_timed_out="运行超过 {seconds} 秒，已停止。",
    too_many_turns="运行达到回合上限（{turns}），已停止。",
)
