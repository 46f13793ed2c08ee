"""Which piece of a provider's stream belongs to which block: the one place that knows, for all protocols.

A protocol tells the ``Assembler`` what arrived, in its own words; ``take`` gives the deltas that follow from it. Blocks
are numbered in the order in which they appear. Pieces may come interleaved, under an index, under an id, or under
nothing at all; ids and names may come late (decision 23).
"""

from ...effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    DeltaKind,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from ...effects.transcript import CallPart, ModelError, StopReason, Usage, clean_text
from ...effects.transcript.boundary import Target

__all__ = ["Assembler"]


class _Block:
    """A block that pieces may still come for. ``half``: the first half of a surrogate pair, whose other half is due."""

    __slots__ = ("filled", "half", "id", "index", "key", "kind", "name", "redacted", "restated", "signature")

    def __init__(self, index: int, key: int | None, kind: DeltaKind, id: str, name: str) -> None:
        self.index = index
        self.key = key
        self.kind = kind
        self.id = id
        self.name = name
        self.half = ""
        self.filled = False
        self.redacted = False
        self.signature: str | None = None
        self.restated: str | None = None


class Assembler:
    """The deltas of one answer by ``target``.

    Protocols that name their blocks use ``open``, ``append``, ``sign`` and ``close`` with the provider's index as the
    key; those that only say what a piece is use ``say`` and ``call``.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._ready: list[Delta] = []
        self._open: dict[int, _Block] = {}
        self._by_key: dict[int, _Block] = {}
        self._by_id: dict[str, _Block] = {}
        self._last: _Block | None = None
        self._last_call: _Block | None = None
        self._blocks = 0
        self._calls = 0
        self._started = False
        self._usage: Usage | None = None

    @property
    def started(self) -> bool:
        """Whether the provider has said anything at all."""
        return self._started

    @property
    def usage(self) -> Usage:
        """The tokens reported so far."""
        return self._usage or Usage()

    def take(self) -> list[Delta]:
        """The deltas since the last time this was asked."""
        ready, self._ready = self._ready, []
        return ready

    def start(self, response_id: str | None, response_model: str | None) -> None:
        """The provider answers; only the first time counts."""
        if not self._started:
            self._started = True
            target = self._target
            self._ready.append(Started(target.api, target.provider, target.model, response_id, response_model))

    # Blocks that the provider names.

    def open(self, key: int | None, kind: DeltaKind, id: str = "", name: str = "") -> None:
        """A block begins under ``key``; whatever had that key before is complete."""
        if key in self._by_key:
            self._end(self._by_key[key])
        block = self._begin(key, kind, clean_text(id), clean_text(name))
        if kind is DeltaKind.CALL:
            self._last_call = block

    def append(self, key: int | None, kind: DeltaKind, text: str) -> None:
        """More text of the block under ``key``; where there is none of that kind, of the last one of that kind."""
        block = self._keyed(key)
        if block is not None and block.kind is kind:
            self._fill(block, text)
        elif kind is not DeltaKind.CALL:
            self.say(kind, text)
        elif self._last_call is not None:
            self._fill(self._last_call, text)

    def sign(self, key: int | None, signature: str, redacted: bool = False) -> None:
        """A piece of the block's signature, or the whole payload of a redacted block."""
        block = self._keyed(key)
        if block is not None:
            block.signature = (block.signature or "") + signature
            block.redacted = block.redacted or redacted

    def sign_last(self, kind: DeltaKind, signature: str) -> None:
        """The signature of what was said last, if that is of this kind and has none; else of a block that says nothing.

        A whole one: unlike ``sign``, this never adds to another.
        """
        if self._last is None or self._last.kind is not kind or self._last.signature:
            self._end_last_unless_call()
            self._begin(None, kind)
        self.sign(None, signature)

    def hide(self, payload: str) -> None:
        """A block that says nothing and is only there to go back to the provider."""
        self._end_last_unless_call()
        block = self._begin(None, DeltaKind.THINKING)
        block.signature, block.redacted = payload, True
        self._end(block)

    def restate(self, key: int | None, arguments: str) -> None:
        """The arguments of the call under ``key`` are these, whatever its pieces said."""
        block = self._keyed(key)
        if block is not None and block.kind is DeltaKind.CALL:
            block.restated = clean_text(arguments)

    def is_empty(self, key: int | None) -> bool:
        """Whether the block under ``key`` is there and has no text yet."""
        block = self._keyed(key)
        return block is not None and not block.filled

    def close(self, key: int | None) -> None:
        """The block under ``key`` is complete."""
        block = self._keyed(key)
        if block is not None:
            self._end(block)

    # Pieces that only say what they are.

    def say(self, kind: DeltaKind, text: str, signature: str | None = None) -> None:
        """More text or reasoning: of the last block if that is of the same kind, else of a new one."""
        if not text:
            return
        block = self._last
        if block is None or block.kind is not kind or block.signature != signature:
            self._end_last_unless_call()
            block = self._begin(None, kind)
            block.signature = signature
        self._fill(block, text)

    def call(self, key: int | None, id: str, name: str, arguments: str) -> None:
        """A piece of a tool call, found by index, then by id, then as the last one (decision 23)."""
        id, name = clean_text(id), clean_text(name)
        block = self._find_call(key, id, name)
        if block is None:
            self._end_last_unless_call()
            block = self._begin(key, DeltaKind.CALL, id, name)
        else:
            self._learn(block, key, id, name)
        self._last = self._last_call = block
        if arguments:
            self._fill(block, arguments)

    # The end.

    def count(self, usage: Usage) -> None:
        """Tokens so far; replaces what was reported before."""
        if usage != self._usage:
            self._usage = usage
            self._ready.append(UsageReported(usage))

    def finish(self, stop: StopReason, raw_stop: str | None) -> None:
        """The answer is complete. An ordinary stop with calls in it is a stop for tools."""
        for block in list(self._open.values()):
            self._end(block)
        if stop is StopReason.STOP and self._calls:
            stop = StopReason.TOOL_USE
        self._ready.append(StreamFinished(stop, raw_stop))

    def fail(self, error: ModelError, raw_stop: str | None = None) -> None:
        """The answer will never be complete; its open blocks stay open. Of one that never began is told whose it is."""
        if not self._blocks:
            self.start(None, None)
        self._ready.append(StreamFailed(error, raw_stop))

    def _begin(self, key: int | None, kind: DeltaKind, id: str = "", name: str = "") -> _Block:
        block = _Block(self._blocks, key, kind, id, name)
        self._blocks += 1
        self._open[block.index] = self._last = block
        if key is not None:
            self._by_key[key] = block
        if kind is DeltaKind.CALL:
            self._calls += 1
            self._by_id.setdefault(block.id, block)
        self._ready.append(BlockStarted(block.index, kind, block.id, block.name))
        return block

    def _keyed(self, key: int | None) -> _Block | None:
        """The open block under ``key``, or the last one where no key is given."""
        block = self._last if key is None else self._by_key.get(key)
        return block if block is not None and block.index in self._open else None

    def _find_call(self, key: int | None, id: str, name: str) -> _Block | None:
        """The call that a piece belongs to; none if it begins one.

        A new id under a used index begins a call, and so does a new name without one. A known id without a name goes on
        with its call, whatever its index; with a name, only where there is no index to say otherwise. A piece without
        id and name goes on with the last call.
        """
        if key is not None and (block := self._by_key.get(key)) is not None:
            other_id = id and block.id and id != block.id
            renamed = not id and _differs(name, block.name)
            return None if other_id or renamed else block
        if id and (block := self._by_id.get(id)) is not None:
            same = not name or ((key is None or block.key is None) and not _differs(name, block.name))
            return block if same else None
        block = self._last_call
        if block is None or (key is not None and (id or name)):
            return None
        return block if not (id and block.id) and not (name and block.name) else None

    def _learn(self, block: _Block, key: int | None, id: str, name: str) -> None:
        if key is not None and block.key is None:
            block.key = key
            self._by_key[key] = block
        if (id and not block.id) or (name and not block.name):
            block.id = block.id or id
            block.name = block.name or name
            self._by_id.setdefault(block.id, block)
            self._ready.append(BlockStarted(block.index, block.kind, block.id, block.name))

    def _fill(self, block: _Block, text: str) -> None:
        """Pass text on. A pair of surrogates cut in two is joined first, so every delta is storable as it is."""
        if not text:
            return
        block.filled = True
        if not text.isascii():
            text, block.half = _split_pair(block.half + text)
        elif block.half:
            text, block.half = clean_text(block.half + text), ""
        if text:
            self._ready.append(BlockDelta(block.index, text))

    def _end_last_unless_call(self) -> None:
        if self._last is not None and self._last.kind is not DeltaKind.CALL:
            self._end(self._last)

    def _end(self, block: _Block) -> None:
        if self._open.pop(block.index, None) is None:
            return
        if block.half:
            self._ready.append(BlockDelta(block.index, clean_text(block.half)))
        if self._last is block:
            self._last = None
        signature = None if block.signature is None else clean_text(block.signature)
        part = None if block.restated is None else CallPart(block.id, block.name, block.restated, signature)
        self._ready.append(BlockEnded(block.index, signature, block.redacted, part=part))


def _differs(name: str, known: str) -> bool:
    return bool(name and known and name != known)


def _split_pair(text: str) -> tuple[str, str]:
    """Clean text, and the high surrogate at its end that may yet find its other half."""
    half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    return clean_text(text[: len(text) - len(half)]), half
