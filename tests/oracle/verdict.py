"""What a comparison says: equal, different by a rule of decision 46, or different without an explanation."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from tests.oracle.wire import Raw, difference

EQUAL = "equal"
UNEXPLAINED = "unexplained"


@attrs.frozen
class Verdict:
    """``kind`` is ``equal``, a letter of decision 46, or ``unexplained``; ``why`` is the first difference."""

    kind: str
    why: str = ""


def judge(case: Raw, ours: Any, theirs: Any) -> Verdict:
    """Compare, and look for the rule that explains a difference: a predicate over the case alone."""
    found = difference(ours, theirs)
    if found is None:
        return Verdict(EQUAL)
    letter = next((letter for letter, holds in RULES.items() if holds(case)), UNEXPLAINED)
    return Verdict(letter, found)


def _answers(case: Raw) -> Iterator[list[Raw]]:
    for answer in case.get("answers", ()):
        if "events" in answer:
            yield answer["events"]


def _no_terminal(case: Raw) -> bool:
    return any(all(event.get("type") not in ("done", "error") for event in events) for events in _answers(case))


def _second_start(case: Raw) -> bool:
    return any(sum(event.get("type") == "start" for event in events) > 1 for events in _answers(case))


def _arguments_error(case: Raw) -> bool:
    messages = (event.get("message") for events in _answers(case) for event in events)
    return any("argumentsError" in block for message in messages if message for block in message["content"])


def _not_expressible(case: Raw) -> bool:
    actions = case.get("hooks", {}).get("finishTurn") or ()
    steps = (step for steps in case.get("outcomes", {}).values() for step in steps)
    wishes = (step["result"].get("terminate") for step in steps if step["do"] == "return")
    return any(action not in (None, "continue", "end") for action in actions) or any(
        wish is not None and not isinstance(wish, bool) for wish in wishes
    )


def _default_stream(case: Raw) -> bool:
    return case.get("stream") == "missing"


def _empty_text(case: Raw) -> bool:
    steps = (step for steps in case.get("outcomes", {}).values() for step in steps)
    raised = [step["message"] for step in steps if step["do"] == "throw"]
    raised += [answer["throw"] for answer in case.get("answers", ()) if "throw" in answer]
    raised += [failure["message"] for failure in case.get("failures", ())]
    return "" in raised


def _listener_raises(case: Raw) -> bool:
    return any("throw" in reaction for one in case.get("listeners", ()) for reaction in one["reactions"])


def _second_result(case: Raw) -> bool:
    """A result of a call that has one already, be it a made-up one: an output or something said closed the call."""
    waiting, known = set[str](), set[str]()
    for message in case.get("messages", ()) if case.get("function") == "transformMessages" else ():
        if message["role"] == "toolResult":
            if message["toolCallId"] in known - waiting:
                return True
            waiting.discard(message["toolCallId"])
        elif message["role"] in ("assistant", "user"):
            blocks = message.get("content") if message["role"] == "assistant" else ()
            waiting = {block["id"] for block in blocks or () if block["type"] == "toolCall"}
            known |= waiting
    return False


RULES: Mapping[str, Callable[[Raw], bool]] = {
    "a": _no_terminal,
    "b": _second_start,
    "c": _arguments_error,
    "d": _not_expressible,
    "e": _default_stream,
    "f": _empty_text,
    "g": _listener_raises,
    "i": _second_result,
}
