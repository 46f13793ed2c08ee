"""A run by hand that dies, and another execution that goes on from what it had stored."""

from typing import Any

from turnfold.core.run import RunSpec
from turnfold.effects.journal import Resume, SaveCall, SaveStep
from turnfold.effects.values import replace
from turnfold.shells.simulate import store

from tests.core.run.byhand import ByHand


def left_by(run: ByHand, lost: tuple[Any, ...] = (), before: Resume | None = None, **written: Any) -> Resume:
    """What a run has stored: every write that was answered. ``lost`` are answers that never counted.

    ``written`` are fields that the host wrote on all of its calls.
    """
    stored = store.Stored()
    if before is not None:
        stored = store.Stored(
            state=before.state,
            logs=before.logs,
            values=before.values,
            blocks={block.id: block for block in before.blocks},
            calls={call.id: call for call in before.calls},
            usage=before.usage,
            completion=before.completion,
            outcome=before.outcome,
        )
    for order in run.asked:
        if order in run.orders or order in lost:
            continue
        after: store.Stored | None = stored
        if isinstance(order, SaveStep):
            after = store.save_step(stored, 0, order.step)
        elif isinstance(order, SaveCall):
            after = store.save_call(stored, 0, order.call)
        assert after is not None
        stored = after
    resume = store.load(stored)
    return replace(resume, calls=tuple(replace(call, **written) for call in resume.calls))


def resumed(run: ByHand, spec: RunSpec | None = None, *, resume: Resume | None = None, **written: Any) -> ByHand:
    """The next execution of a run that died, at the same set-up unless told otherwise."""
    rules = run.rules
    more = {"words": rules.words, "functions": rules.functions, "extensions": rules.extensions}
    resume = resume or left_by(run, **written)
    following = ByHand(spec or rules.spec, resume=resume, **more)
    following.now = following.wake_at = run.now + 1
    following.messages = run.messages
    following.stored = {call.id: call for call in resume.calls}
    return following.start(b"another seed")
