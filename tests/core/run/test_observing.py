"""Extensions at work, step by step: what they are shown, when their slices are saved, and what one that raises does."""

from typing import Any

import msgspec
import pytest
from turnfold.core.run import CallOutcome, Extension, Origin, RunSpec
from turnfold.effects.feed import InputMessage
from turnfold.effects.journal import SaveStep
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.model import CallModel, StreamFailed
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.question import AskPolicy, CallPolicy, Confirm, PolicyGiven, Submit
from turnfold.effects.tool import RunTool, ToolCutOff, ToolSpec
from turnfold.effects.transcript import AssistantMessage, ErrorKind, ModelError, ToolDeclaration, text_of
from turnfold.effects.values import replace

from tests.core.run.byhand import ByHand, calls, text
from tests.core.run.resumed import left_by, resumed

SPEC = RunSpec("run", tools=(ToolSpec(ToolDeclaration("look")), ToolSpec(ToolDeclaration("pay"), has_policy=True)))
GONE = StreamFailed(ModelError(ErrorKind.ABORTED, "no"))


class Diary(Extension):
    """Keeps what it is shown, in order."""

    name = "diary"

    def start(self) -> Any:
        return ["start"]

    def instruction(self, state: Any) -> str:
        return f" {len(state)} entries\ud800 "

    def on_claim(self, state: Any, messages: tuple[InputMessage, ...]) -> Any:
        return [*state, *(f"claim {message.id}" for message in messages)]

    def on_output(self, state: Any, output: AssistantMessage) -> Any:
        return [*state, f"output {text_of(output)}"]

    def on_call(self, state: Any, outcome: CallOutcome) -> Any:
        return [*state, f"{outcome.call.name} {outcome.call.status} {outcome.origin.value}"]

    def on_restore(self, state: Any, blocks: Any, calls: Any) -> Any:
        return [*state, f"restore {len(blocks)} {len(calls)}"]


def diary(run: ByHand) -> Any:
    return run.state.extended.slices["diary"]


def saved(run: ByHand) -> list[Any]:
    """The slice in each step, or nothing where it is not in it."""
    steps = [effect.step for effect in run.asked if isinstance(effect, SaveStep)]
    return [msgspec.json.decode(step.values.get("extension/diary") or b"null") for step in steps]


def test_an_extension_is_shown_all_in_order_and_saved_where_it_changed() -> None:
    run = ByHand(SPEC, extensions=(Diary(),)).start()
    assert run.until(CallModel).request.instruction == "1 entries\ufffd"
    run.orders.append(next(effect for effect in run.asked if isinstance(effect, CallModel)))
    run.say(*calls("look"))
    run.say(*text("hello"))
    run.to_the_end()
    written = ["start", "claim m1", "output ", "look succeeded executed", "output hello"]
    assert diary(run) == written
    assert saved(run) == [written[:3], written[:4], written, None]


@pytest.mark.parametrize(
    ("policy", "entry"),
    [
        (CallPolicy(submit=Submit("r")), "pay awaiting_decision submitted"),
        (CallPolicy(confirm=Confirm()), "pay awaiting_decision executed"),
    ],
)
def test_a_call_that_is_handed_over_is_told(policy: CallPolicy, entry: str) -> None:
    run = ByHand(SPEC, extensions=(Diary(),)).start()
    run.say(*calls("pay"))
    run.tell(PolicyGiven(run.now, run.until(AskPolicy).ticket, policy))
    while "pay" not in diary(run)[-1] and run.orders:
        run.answer_one()
    assert diary(run)[3] == entry


def test_what_becomes_of_calls_when_the_run_ends_is_not_told() -> None:
    run = ByHand(SPEC, extensions=(Diary(),)).start()
    run.say(*calls("look"))
    tool = run.until(RunTool)
    run.tell(CancelAsked(run.now))
    run.tell(ToolCutOff(run.now, tool.ticket))
    run.to_the_end()
    assert diary(run) == ["start", "claim m1", "output "]


def test_a_claim_that_led_to_nothing_is_observed_again_and_not_saved() -> None:
    first = ByHand(SPEC, extensions=(Diary(),)).start()
    first.say(*text("hello"))
    first.to_the_end()
    first.messages.append(InputMessage("more", "m2"))
    run = resumed(first)
    run.say(GONE)
    assert isinstance(run.to_the_end().outcome, Failed)
    assert diary(run)[-1] == "claim m2"
    assert saved(run)[-1] is None
    again = resumed(run, resume=left_by(run, before=left_by(first)))
    again.until(CallModel)
    assert diary(again).count("claim m2") == 1


def test_what_is_restored_is_told_before_anything_else() -> None:
    first = ByHand(SPEC, extensions=(Diary(),)).start()
    first.say(*calls("look"))
    first.until(RunTool)
    run = resumed(first)
    run.until(CallModel)
    assert diary(run)[3:5] == ["restore 1 1", "look interrupted restored"]


@pytest.mark.parametrize("method", ["start", "instruction", "on_claim", "on_output", "on_call", "encode"])
def test_an_extension_that_raises_fails_the_run_and_is_asked_no_more(method: str) -> None:
    """Decision 19"""

    class Broken(Diary):
        pass

    def fail(*arguments: Any) -> Any:
        raise ValueError("oh")

    broken = Broken()
    setattr(broken, method, fail)
    run = ByHand(SPEC, extensions=(broken,)).start()
    while run.orders and not run.waits_for(CallModel):
        run.answer_one()
    if run.waits_for(CallModel):
        run.say(*calls("look"))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.EXTENSION
    where = "start" if method == "encode" else method
    assert outcome.message == f"the extension 'diary' failed in {where}: ValueError: oh"


def test_a_failure_without_words_is_told_by_its_kind() -> None:
    class Broken(Diary):
        def on_claim(self, state: Any, messages: Any) -> Any:
            raise KeyError

    outcome = ByHand(SPEC, extensions=(Broken(),)).start().to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.message == "the extension 'diary' failed in on_claim: KeyError"


def test_slices_and_extensions_must_match_both_ways() -> None:
    """RT-17 and RT-22"""

    class Other(Diary):
        name = "other"

    class Light(Diary):
        name = "light"
        stateful = False

    first = ByHand(SPEC, extensions=(Diary(), Light())).start()
    first.say(*text("hello"))
    assert first.to_the_end().outcome == Delivered("hello", 1)
    left = left_by(first)
    assert {name for name in left.values if name.startswith("extension/")} == {"extension/diary"}
    told = {
        (): "it has state for extension 'diary', which is not registered",
        (Diary(), Other()): "it has no state for extension 'other'",
    }
    for extensions, problem in told.items():
        run = ByHand(SPEC, resume=left, extensions=extensions).start()
        outcome = run.to_the_end().outcome
        assert isinstance(outcome, Failed)
        assert outcome.message == f"the checkpoint of run 'run' cannot be resumed: {problem}"
    spoilt = replace(left, values={**left.values, "extension/diary": b"["})
    outcome = ByHand(SPEC, resume=spoilt, extensions=(Diary(),)).start().to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert "the state of extension 'diary' cannot be restored: " in outcome.message
    assert isinstance(ByHand(SPEC, resume=left, extensions=(Diary(), Light())).start().to_the_end().outcome, Delivered)


def test_origins_have_the_names_that_hosts_know() -> None:
    assert [origin.value for origin in Origin] == ["executed", "submitted", "restored"]


def test_an_extension_behind_one_that_raised_is_asked_no_more() -> None:
    class Broken(Diary):
        name = "broken"

        def on_output(self, state: Any, output: Any) -> Any:
            raise ValueError("oh")

    # An output that is refused is observed with its calls in one event.
    tools = (ToolSpec(ToolDeclaration("finish"), completion=True),)
    run = ByHand(RunSpec("run", tools=tools), extensions=(Broken(), Diary())).start()
    run.say(*calls("finish", "finish"))
    run.to_the_end()
    assert diary(run) == ["start", "claim m1"]


def test_a_slice_that_is_not_saved_is_kept_while_the_run_goes_on() -> None:
    class Light(Diary):
        stateful = False

    run = ByHand(SPEC, extensions=(Light(),)).start()
    run.say(*calls("look"))
    run.say(*text("hello"))
    run.to_the_end()
    assert diary(run)[-2:] == ["look succeeded executed", "output hello"]
    assert len(saved(run)) == 3
    assert saved(run) == [None, None, None]
