"""What a model is asked: the context by reference, the instruction with what extensions add, and what is on offer."""

from ...effects.model import ModelRequest
from ..text import fill
from .goal import final_iteration, tools_told
from .spec import Rules
from .state import RunState


def request_for(state: RunState, rules: Rules, model_call_id: str, length: int) -> ModelRequest:
    """The request with the first ``length`` items of the context."""
    spec, context = rules.spec, state.loop.context
    final = final_iteration(state, rules)
    offered = [tool for tool in spec.tools if tool.completion or not final]
    added = state.extended.instruction
    return ModelRequest(
        model_call_id=model_call_id,
        context=context if length == len(context) else context.cut(length),
        instruction=f"{spec.instruction}\n\n{added}".strip() if added else spec.instruction,
        tools=tuple(tool.declaration for tool in offered),
        notice=_notice(rules) if final and spec.tools else "",
        max_output_tokens=spec.model.max_output_tokens,
        options=spec.model.options,
    )


def _notice(rules: Rules) -> str:
    """What the model is told in the last iteration of a turn (N-02)."""
    if rules.spec.final_notice:
        return rules.spec.final_notice
    words = rules.words
    return fill(words.final_notice_completion, tools=tools_told(rules)) if rules.completion else words.final_notice
