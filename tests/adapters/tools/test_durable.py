"""What a function tool is to a durable run: options that reach its spec, control results, and who may wait."""

from typing import Any

import pytest
from turnfold.adapters.tools import CannotSuspendError, FunctionTool, Toolbox, ToolContext, tool
from turnfold.adapters.tools.function import result_of
from turnfold.effects.question import CallPolicy, Confirm, Finding, NeverHappened
from turnfold.effects.tool import Await, Complete, Control, Detached, Invocation, ToolResult
from turnfold.shells.host import Host

CONTROLS = [Await({"op": 1}), Detached("started", {"op": 1}), Complete({"v": 1}, fixed=True)]


async def nowhere(update: ToolResult) -> None: ...


async def confirm(invocation: Invocation) -> CallPolicy:
    return CallPolicy(confirm=Confirm())


async def look_up(invocation: Invocation) -> Finding:
    return NeverHappened()


def invocation(can_suspend: bool = True) -> Invocation:
    return Invocation("key", "ask", {}, "call", "model", can_suspend)


def asking(answer: Control, in_thread: bool) -> FunctionTool[..., Any]:
    async def ask() -> Any:
        return answer

    def ask_in_thread() -> Any:
        return answer

    return tool(name="ask")(ask_in_thread if in_thread else ask)


def test_options_for_durable_runs_reach_the_spec() -> None:
    @tool(completion=True, timeout_ms=1_500, policy=confirm, reconcile=look_up)
    def finish() -> None: ...

    spec = finish.spec
    assert (spec.completion, spec.timeout_ms, spec.has_policy, spec.reconciles) == (True, 1_500, True, True)
    assert (finish.policy, finish.reconcile) == (confirm, look_up)


def test_none_of_them_is_on_unless_it_is_asked_for() -> None:
    @tool
    def look() -> None: ...

    spec = look.spec
    assert (spec.completion, spec.timeout_ms, spec.has_policy, spec.reconciles) == (False, 0, False, False)
    assert (look.policy, look.reconcile) == (None, None)


def test_each_of_them_says_one_thing() -> None:
    def look() -> None: ...

    def told(**options: Any) -> tuple[bool, int, bool, bool]:
        spec = tool(**options)(look).spec
        return spec.completion, spec.timeout_ms, spec.has_policy, spec.reconciles

    assert told(completion=True) == (True, 0, False, False)
    assert told(timeout_ms=1) == (False, 1, False, False)
    assert told(policy=confirm) == (False, 0, True, False)
    assert told(reconcile=look_up) == (False, 0, False, True)


def test_notes_must_be_text() -> None:
    """A number in them would go into records that no store can read again."""
    notes: Any = {"risk": 1}
    with pytest.raises(TypeError, match=r"ToolSpec\.notes must hold text, not 'risk': 1"):
        tool(name="look", notes=notes)(lambda: None)


def test_a_run_finds_what_its_tools_bring_along() -> None:
    """Policies and reconcilers, each under the name that the model knows; a policy of the host's wins."""
    made = tool(name="pay", policy=confirm, reconcile=look_up)(lambda: None)
    plain = tool(name="look")(lambda: None)
    assert Host().policies_of([made, plain]) == {"pay": confirm}
    assert Host(policies={"look": confirm}).policies_of([made, plain]) == {"pay": confirm, "look": confirm}

    async def other(invocation: Invocation) -> None: ...

    assert Host(policies={"pay": other}).policies_of([made, plain]) == {"pay": other}
    specs = Host(policies={"look": confirm}).specs([made, plain])
    assert [(spec.has_policy, spec.reconciles) for spec in specs] == [(True, True), (True, False)]


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("answer", CONTROLS)
async def test_a_control_result_is_passed_on_as_it_is(answer: Control, in_thread: bool) -> None:
    """Decision 42: returned, so that nothing swallows it; also through a toolbox."""
    made = asking(answer, in_thread)
    assert await made.run(invocation(), nowhere) is answer
    assert await Toolbox([made]).run(invocation(), nowhere) is answer


@pytest.mark.parametrize("answer", CONTROLS)
def test_a_control_result_is_no_value_to_write_down(answer: Control) -> None:
    assert result_of(answer) is answer


@pytest.mark.parametrize("in_thread", [False, True])
async def test_waiting_is_refused_where_nobody_can_wait(in_thread: bool) -> None:
    """Decision 18: enforced where it is asked."""
    made = asking(Await(), in_thread)
    for port in (made, Toolbox([made])):
        with pytest.raises(CannotSuspendError, match="asked to wait for an outside result, which is not possible here"):
            await port.run(invocation(can_suspend=False), nowhere)


@pytest.mark.parametrize("answer", CONTROLS[1:])
async def test_only_waiting_needs_somebody_who_can(answer: Control) -> None:
    """What becomes of the others where they cannot be is for the run to say."""
    assert await asking(answer, False).run(invocation(can_suspend=False), nowhere) is answer


async def test_a_tool_within_a_tool_cannot_wait() -> None:
    """Decision 18: ``without_suspend`` is the same call otherwise."""
    inner = asking(Await(), False)
    seen: list[Invocation] = []

    class Outer:
        spec = inner.spec

        async def run(self, invocation: Invocation, progress: Any) -> Any:
            seen.append(invocation.without_suspend())
            return await inner.run(seen[0], progress)

    with pytest.raises(CannotSuspendError):
        await Toolbox([Outer()]).run(invocation(), nowhere)
    assert seen == [invocation(can_suspend=False)]
    assert seen[0].without_suspend() == seen[0]


@pytest.mark.parametrize("can_suspend", [True, False])
@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_function_can_see_whether_it_may_wait(in_thread: bool, can_suspend: bool) -> None:
    async def ask(context: ToolContext) -> Any:
        return Await() if context.can_suspend else "nobody is there"

    def ask_in_thread(context: ToolContext) -> Any:
        return Await() if context.can_suspend else "nobody is there"

    made: FunctionTool[..., Any] = tool(ask_in_thread if in_thread else ask)
    answer = await made.run(invocation(can_suspend), nowhere)
    assert answer == (Await() if can_suspend else ToolResult("nobody is there"))


def test_a_context_made_by_hand_cannot_wait() -> None:
    assert ToolContext().can_suspend is False
