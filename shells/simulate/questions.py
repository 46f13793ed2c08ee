"""How the host of a world answers what it is asked: what its tools give, what to do with calls, and what it finds out.

A reconciler that knows tells the truth: what the tool gave if it ran, and that nothing happened if it did not.
"""

from ...effects.question import (
    AskGuard,
    AskPolicy,
    AskReconcile,
    NeverHappened,
    OutcomeUnknown,
    PolicyGiven,
    QuestionFailed,
    Reconciled,
    Verdict,
    VerdictGiven,
)
from ...effects.tool import (
    Await,
    Complete,
    Detached,
    RunTool,
    ToolControlled,
    ToolFailed,
    ToolResult,
    ToolReturned,
)
from ...effects.transcript import TextPart
from .executor import Answer, Executor
from .scenario import Behaviour, Knowledge
from .world import World

__all__ = ["Question", "answer_of", "given_by"]

Question = AskPolicy | AskReconcile | AskGuard


def answer_of(world: World, executor: Executor, question: Question) -> Answer:
    """What the host answers."""
    match question:
        case AskPolicy(invocation=invocation):
            policy = world.scenario.policies[invocation.name]
            world.witness.calls.policy_given(invocation.key, policy)
            return (QuestionFailed if isinstance(policy, str) else PolicyGiven), (policy,)
        case AskReconcile():
            return _finding(world, question)
        case AskGuard():
            return _verdict(world, executor, question)


def _finding(world: World, question: AskReconcile) -> Answer:
    invocation = question.invocation
    knowledge = world.scenario.knowledge.get(invocation.name, Knowledge.UNSURE)
    if knowledge is Knowledge.FAILS:
        return QuestionFailed, ("simulated: nobody can be asked",)
    if knowledge is Knowledge.UNSURE or _may_still_happen(world, invocation.key):
        return Reconciled, (OutcomeUnknown(),)
    if invocation.key in world.witness.starts:
        return Reconciled, (ToolResult(f"{invocation.name} happened"),)
    world.witness.calls.never_happened(invocation.key)
    return Reconciled, (NeverHappened(),)


def _may_still_happen(world: World, key: str) -> bool:
    """Whether an execution that was overtaken, and does not know it, is about to call the tool."""
    orders = (pending.order for executor in world.alive for pending in executor.waiting_for(RunTool))
    return key not in world.witness.starts and any(
        isinstance(order, RunTool) and order.invocation.key == key for order in orders
    )


def _verdict(world: World, executor: Executor, question: AskGuard) -> Answer:
    review, view = world.next_review(), question.view
    world.witness.ends.guard_sees(executor, question)
    if review.error:
        executor.blamed.add("guard")
        return QuestionFailed, (review.error,)
    noted = {call.id: {"guard": review.note} for call in view.calls} if review.note else {}
    return VerdictGiven, (Verdict(review.ruling, noted),)


# --- tools


def given_by(world: World, order: RunTool, behaviour: Behaviour | None) -> Answer:
    """What a tool that has begun will answer."""
    name, number = order.invocation.name, len(world.witness.starts)
    text = f"{name} result {number}"
    match behaviour:
        case Behaviour.FAILS:
            return ToolFailed, (f"{name} failed",)
        case Behaviour.ERROR:
            return ToolReturned, (ToolResult(f"{name} found nothing", is_error=True),)
        case Behaviour.PARTS:
            return ToolReturned, (ToolResult((TextPart(text), TextPart("more"))),)
        case Behaviour.AWAITS:
            return ToolControlled, (Await({"from": name}),)
        case Behaviour.DETACHES:
            return ToolControlled, (Detached(f"{name} receipt {number}"),)
        case Behaviour.BABBLES:
            return ToolControlled, (Await(1j),)
        case Behaviour.COMPLETES | Behaviour.FIXES:
            value = {"value": number}
            world.witness.ends.value_given(order.invocation, value)
            return ToolControlled, (Complete(value, behaviour is Behaviour.FIXES),)
        case _:
            return ToolReturned, (ToolResult(text),)
