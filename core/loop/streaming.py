"""Folding a model's deltas into a message, batch by batch.

``Partial`` is what has arrived of one answer. Its texts are ropes, so a batch costs what it carries, never what came
before it; the message is put together once, at the end, unless a viewer asks before.
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
from ...effects.partial import OpenBlock, Partial, part_of
from ...effects.sequence import Seq
from ...effects.transcript import AssistantMessage, AssistantPart, CallPart, ThinkingPart
from ...effects.values import frozen, replace

Terminal = StreamFinished | StreamFailed


@frozen
class Growth:
    """What one batch added to one block: its new text (joined), and whether the block itself is new or renamed.

    ``anew``: the block began again, so what was known of it before this batch is void.
    """

    index: int
    block: OpenBlock
    text: str
    announced: bool
    anew: bool = False


def fold_deltas(partial: Partial, deltas: tuple[Delta, ...]) -> tuple[Partial, tuple[Growth, ...], Terminal | None]:
    """The answer after a batch, what the batch added (in the order of the blocks), and the terminal delta if it came.

    A second ``Started`` is ignored; text for a block that was never announced opens a text block; a block stays of the
    kind it had first unless it begins again; whatever follows a terminal delta is ignored.
    """
    blocks = dict(partial.blocks)
    texts: dict[int, list[str]] = {}
    announced: set[int] = set()
    anew: set[int] = set()
    started, usage, besides, terminal = partial.started, partial.usage, partial.besides, None
    for delta in deltas:
        if type(delta) is BlockDelta:
            grown = texts.get(delta.index)
            if grown is None:
                grown = texts[delta.index] = []
                if delta.index not in blocks:
                    blocks[delta.index] = OpenBlock(DeltaKind.TEXT)
                    announced.add(delta.index)
            grown.append(delta.text)
        elif isinstance(delta, BlockStarted):
            if delta.again:
                texts.pop(delta.index, None)
                anew.add(delta.index)
            blocks[delta.index] = _announce(None if delta.again else blocks.get(delta.index), delta)
            announced.add(delta.index)
            texts.setdefault(delta.index, [])
        elif isinstance(delta, BlockEnded):
            if delta.index in blocks:
                if delta.part is not None:
                    texts[delta.index] = []
                blocks[delta.index] = _end(blocks[delta.index], delta)
        elif isinstance(delta, UsageReported):
            usage, besides = delta.usage, delta.besides
        elif isinstance(delta, Started):
            started = started or delta
        elif isinstance(delta, StreamFinished | StreamFailed):
            terminal = delta
            break
    growths: list[Growth] = []
    for index in blocks:
        if index not in texts:
            continue
        text = "".join(texts[index])
        if text:
            blocks[index] = replace(blocks[index], text=blocks[index].text.append(text))
        growths.append(Growth(index, blocks[index], text, index in announced, index in anew))
    return Partial(started, blocks, usage, besides), tuple(growths), terminal


def message_of(partial: Partial, terminal: StreamFinished, at: int) -> AssistantMessage:
    """The whole output of a finished answer; text is made storable, and empty unsigned text is left out."""
    if terminal.message is not None:
        return terminal.message
    started = partial.started or Started()
    parts = (_part(block) for block in partial.blocks.values())
    return AssistantMessage(
        parts=tuple(part for part in parts if part is not None),
        api=started.api,
        provider=started.provider,
        model=started.model,
        stop=terminal.stop,
        raw_stop=terminal.raw_stop,
        usage=partial.usage,
        response_id=started.response_id,
        timestamp=at,
        besides=partial.besides,
    )


def _announce(block: OpenBlock | None, delta: BlockStarted) -> OpenBlock:
    if block is None:
        return OpenBlock(delta.kind, delta.id, delta.name, extra=delta.extra)
    return replace(block, id=block.id or delta.id, name=block.name or delta.name, extra={**block.extra, **delta.extra})


def _end(block: OpenBlock, delta: BlockEnded) -> OpenBlock:
    part = delta.part
    if part is not None:
        text = Seq((part.arguments,))
        return OpenBlock(
            DeltaKind.CALL, part.id, part.name, text, part.signature, False, part.extra, part.arguments_error
        )
    signature = block.signature if delta.signature is None else delta.signature
    return replace(
        block,
        signature=signature,
        redacted=block.redacted or delta.redacted,
        extra={**block.extra, **delta.extra} if delta.extra else block.extra,
    )


def _part(block: OpenBlock) -> AssistantPart | None:
    """The block as a part, unless it says nothing at all."""
    part = part_of(block)
    if isinstance(part, CallPart) or part.text or part.signature:
        return part
    return part if isinstance(part, ThinkingPart) and part.redacted else None
