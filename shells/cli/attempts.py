"""How the model is asked, once and again, as an execution's own events tell it.

While a run waits to ask again, its display says nothing.
"""

from ...effects.clock import Woke
from ...effects.display import BlockView, CallView, UpsertBlock
from ...effects.lifecycle import Publish
from ...effects.model import (
    CallModel,
    CancelModel,
    ModelBroke,
    ModelCutOff,
    ModelStreamed,
    StreamFailed,
    StreamFinished,
)
from ...effects.transcript import ErrorKind
from ...effects.values import frozen, replace
from ...effects.vocabulary import Effect, Event

__all__ = ["Attempts", "Trouble"]

_REASONS = {
    ErrorKind.RATE_LIMITED: "rate limited",
    ErrorKind.TIMEOUT: "no answer in time",
    ErrorKind.NETWORK: "the network failed",
    ErrorKind.UNAVAILABLE: "the provider is not available",
    ErrorKind.PROTOCOL: "the answer broke off",
}


@frozen
class Trouble:
    """An attempt failed. ``calls``: some were shown, which are gone now; ``again``: the model is asked once more."""

    reason: str
    calls: bool = False
    again: bool = False


class Attempts:
    """Follows the events of executions, one after another."""

    def __init__(self) -> None:
        self._asking = False
        self._failed: Trouble | None = None
        self._calls: set[str] = set()

    def follow(self, event: Event, effects: tuple[Effect, ...]) -> Trouble | None:
        """Take in an event; what there is to say now about how the model is asked, if anything."""
        told: Trouble | None = None
        if self._asking:
            self._look_at(effects)
            if _over(event, effects):
                reason, self._asking = _reason(event), False
                told = self._failed = Trouble(reason, bool(self._calls)) if reason else None
        if _any(effects, CallModel):
            failed, self._failed, self._asking = self._failed, None, True
            self._calls.clear()
            told = replace(failed, again=True) if failed is not None else None
        return told

    def _look_at(self, effects: tuple[Effect, ...]) -> None:
        """Which calls are shown of an answer."""
        shown = (operation for effect in effects if isinstance(effect, Publish) for operation in effect.operations)
        for operation in shown:
            match operation:
                case UpsertBlock(block=BlockView(id=block_id, call=CallView())):
                    self._calls.add(block_id)
                case _:
                    pass

    def ended(self) -> None:
        """The execution is over."""
        self._asking, self._failed = False, None
        self._calls.clear()


def _over(event: Event, effects: tuple[Effect, ...]) -> bool:
    """Whether no answer is awaited any more."""
    match event:
        case ModelCutOff() | ModelBroke() | ModelStreamed(deltas=(*_, StreamFailed() | StreamFinished())):
            return True
        case _:
            return _any(effects, CancelModel)


def _reason(event: Event) -> str:
    """Why the model may have to be asked again."""
    match event:
        case Woke():
            return _REASONS[ErrorKind.TIMEOUT]
        case ModelStreamed(deltas=(*_, StreamFailed(error=error))):
            return _REASONS.get(error.kind, "")
        case _:
            return ""


def _any(effects: tuple[Effect, ...], kind: type[Effect]) -> bool:
    return any(isinstance(effect, kind) for effect in effects)
