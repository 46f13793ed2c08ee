"""Extensions at work: their slices are made, restored, shown what happens, and saved when they changed.

An observer that raises leaves its text in ``failed``, and the next gate ends the run with it (decision 19).
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...effects.transcript import DecodeError, clean_text
from ...effects.values import replace
from .extension import Extension
from .saving import SLICE, touch
from .spec import Rules
from .state import RunState

Observe = Callable[[Extension, Any], Any]


def begin_extensions(state: RunState, rules: Rules) -> RunState:
    """A run that has just begun: every slice is new, and will be saved with the first step."""
    if not rules.extensions:
        return state
    return _instruct(observe(state, rules, "start", lambda extension, _: extension.start(), anew=True), rules)


def restore_extensions(state: RunState, rules: Rules, values: Mapping[str, bytes], begun: bool) -> RunState:
    """The slices as saved; raises ``DecodeError`` unless set-up and checkpoint have the same ones (RT-17, RT-22).

    A run that has not ``begun``, whose model never gave an output, may have saved none: they are new in any case.
    """
    stored = {name.removeprefix(SLICE): raw for name, raw in values.items() if name.startswith(SLICE)}
    slices: dict[str, Any] = {}
    for extension in rules.extensions:
        name = extension.name
        if not extension.stateful:
            try:
                slices[name] = extension.start()
            except Exception as error:
                return _failed(state, extension, "start", error)
            continue
        if not begun:
            stored.pop(name, None)
            continue
        if name not in stored:
            raise DecodeError(f"it has no state for extension {name!r}")
        try:
            slices[name] = extension.decode(stored.pop(name))
        except Exception as error:
            raise DecodeError(f"the state of extension {name!r} cannot be restored: {_told(error)}") from error
    if stored:
        raise DecodeError(f"it has state for extension {min(stored)!r}, which is not registered")
    if not begun:
        return begin_extensions(state, rules)
    return _instruct(replace(state, extended=replace(state.extended, slices=slices)), rules)


def _instruct(state: RunState, rules: Rules) -> RunState:
    """What the extensions add to the instruction, each in a paragraph of its own (RT-25)."""
    if state.extended.failed:
        return state
    texts: list[str] = []
    for extension in rules.extensions:
        try:
            text = clean_text(extension.instruction(state.extended.slices.get(extension.name))).strip()
        except Exception as error:
            return _failed(state, extension, "instruction", error)
        if text:
            texts.append(text)
    return replace(state, extended=replace(state.extended, instruction="\n\n".join(texts)))


def observe(state: RunState, rules: Rules, what: str, ask: Observe, anew: bool = False) -> RunState:
    """Show every extension what happened, in order; slices that changed go with the next step."""
    extended = state.extended
    if not rules.extensions or extended.failed:
        return state
    slices, dirty = dict(extended.slices), dict(extended.dirty)
    for extension in rules.extensions:
        name = extension.name
        try:
            before = slices.get(name)
            after = ask(extension, before)
            if anew or after != before:
                slices[name] = after
                if extension.stateful:
                    dirty[name] = extension.encode(after)
        except Exception as error:
            return _failed(replace(state, extended=replace(extended, slices=slices)), extension, what, error)
    if not anew and dirty == extended.dirty:
        return replace(state, extended=replace(extended, slices=slices))
    return touch(replace(state, extended=replace(extended, slices=slices, dirty=dirty)))


def _failed(state: RunState, extension: Extension, what: str, error: Exception) -> RunState:
    text = f"the extension {extension.name!r} failed in {what}: {_told(error)}"
    return replace(state, extended=replace(state.extended, failed=text))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
