"""The process record and what viewers are told of it.

While an answer streams in, its blocks are shown under ids that they keep. Text before the first call is the candidate;
it becomes a block only when calls follow it, or when it is superseded, rejected or broken off (decision 2).
"""

from ...effects.display import (
    AppendCandidate,
    AppendText,
    BlockView,
    CallView,
    ClearCandidate,
    Operation,
    RemoveBlocks,
    UpsertBlock,
)
from ...effects.model import DeltaKind
from ...effects.record import Block, BlockKind, CallStatus, Standing, ToolCall
from ...effects.sequence import Seq
from ...effects.transcript import (
    AssistantMessage,
    CallPart,
    Part,
    TextPart,
    ThinkingPart,
    calls_of,
    clean_text,
    text_of,
)
from ...effects.values import replace
from ..loop import Asking, Growth, Partial, text_so_far
from .identity import mint
from .state import RunState, StreamedBlock


def show(state: RunState, *operations: Operation) -> RunState:
    """Tell viewers, with this event."""
    return replace(state, notices=(*state.notices, *operations))


def set_candidate(state: RunState, text: str) -> RunState:
    """Make ``text`` the candidate that viewers see, whatever they saw before."""
    before = "".join(state.process.candidate)
    if text == before:
        return state
    if text.startswith(before):
        state = show(state, AppendCandidate(text[len(before) :]))
    else:
        state = show(state, ClearCandidate(), *((AppendCandidate(text),) if text else ()))
    return replace(state, process=replace(state.process, candidate=Seq((text,) if text else ())))


def show_growth(state: RunState, growths: tuple[Growth, ...]) -> RunState:
    """Show what one batch of deltas added to the answer under way; all of it anew where a block became another."""
    if any(_became_another(state, growth) for growth in growths):
        state = withdraw(state)
        blocks = _partial(state).blocks.items()
        growths = tuple(Growth(index, block, "".join(block.text), True) for index, block in blocks)
    for grown in growths:
        # A surrogate pair split over two batches shows as two marks until the output is complete (decision 45).
        growth = replace(grown, text=clean_text(grown.text))
        match growth.block.kind:
            case DeltaKind.CALL:
                state = _show_call(state, growth)
            case DeltaKind.TEXT if not _calls_shown(state):
                state = _show_candidate(state, growth)
            case _:
                state = _show_text(state, growth)
    return state


def finalise(state: RunState, message: AssistantMessage) -> tuple[RunState, tuple[Block, ...]]:
    """The definitive blocks of a complete output, under the ids they were shown with where their kinds agree.

    The text of an output without calls is no block but the candidate. Blocks are not added to the record yet: the
    caller does that together with the calls.
    """
    parts = _block_parts(message)
    shown = _shown(state)
    agree = [streamed.kind for _, streamed, _ in shown] == [kind for kind, _ in parts]
    if not agree and shown:
        state = show(state, RemoveBlocks(tuple(block.id for _, _, block in shown), withdrawn=True))
    blocks: list[Block] = []
    for place, (kind, part) in enumerate(parts):
        index, streamed, before = shown[place] if agree else (None, None, None)
        state, block = _definitive(state, kind, part, len(state.process.blocks) + place + 1, before)
        blocks.append(block)
        name = part.name if isinstance(part, CallPart) else ""
        if index is None or streamed is None or (block, name) != (_as_shown(state, index, before), streamed.name):
            state = show(state, UpsertBlock(_early_view(block, name)))
    state = set_candidate(state, "" if calls_of(message) else text_of(message))
    return replace(state, process=replace(state.process, streamed={})), tuple(blocks)


def withdraw(state: RunState) -> RunState:
    """Take back what was shown of an answer that does not count."""
    shown = _shown(state)
    if shown:
        state = show(state, RemoveBlocks(tuple(block.id for _, _, block in shown), withdrawn=True))
    state = set_candidate(state, "")
    return replace(state, process=replace(state.process, streamed={}))


def keep_text(state: RunState, text: str, standing: Standing) -> RunState:
    """Record undelivered text as a block that says what became of it; the next step carries it."""
    state = set_candidate(state, "")
    state, block_id = mint(state)
    block = Block(block_id, len(state.process.blocks) + 1, state.model.call_id, BlockKind.CONTENT, text, "", standing)
    state = show(state, UpsertBlock(block_view(block, None)))
    saving = replace(state.saving, blocks={**state.saving.blocks, block_id: block}, mark=state.saving.mark + 1)
    return replace(state, saving=saving, process=replace(state.process, blocks=state.process.blocks.append(block)))


def block_view(block: Block, call: ToolCall | None) -> BlockView:
    """A block as viewers see it: without arguments and results."""
    view = None
    if call is not None:
        view = CallView(call.id, call.name, call.status, call.started_at, call.completed_at)
    return BlockView(block.id, block.position, block.model_call_id, block.kind, block.text, view, block.standing)


def _early_view(block: Block, name: str) -> BlockView:
    if block.kind is not BlockKind.TOOL_CALL:
        return block_view(block, None)
    return block_view(block, ToolCall(block.call_id, CallStatus.QUEUED, name=name))


def _block_parts(message: AssistantMessage) -> list[tuple[BlockKind, Part]]:
    with_text = bool(calls_of(message))
    kinds: list[tuple[BlockKind, Part]] = []
    for part in message.parts:
        if isinstance(part, CallPart):
            kinds.append((BlockKind.TOOL_CALL, part))
        elif isinstance(part, ThinkingPart) and part.text:
            kinds.append((BlockKind.THINKING, part))
        elif isinstance(part, TextPart) and part.text and with_text:
            kinds.append((BlockKind.CONTENT, part))
    return kinds


def _partial(state: RunState) -> Partial:
    phase = state.loop.phase
    assert isinstance(phase, Asking)
    return phase.partial


def _shown(state: RunState) -> list[tuple[int, StreamedBlock, Block]]:
    streamed = state.process.streamed.items()
    return [(index, block, block.block) for index, block in streamed if block.block is not None]


def _as_shown(state: RunState, index: int, block: Block | None) -> Block | None:
    if block is None or block.kind is BlockKind.TOOL_CALL:
        return block
    return replace(block, text="".join(_partial(state).blocks[index].text))


def _definitive(
    state: RunState, kind: BlockKind, part: Part, position: int, before: Block | None
) -> tuple[RunState, Block]:
    text = part.text if isinstance(part, TextPart | ThinkingPart) else ""
    if before is not None:
        return state, replace(before, position=position, text=text)
    state, block_id = mint(state)
    record_id = ""
    if kind is BlockKind.TOOL_CALL:
        state, record_id = mint(state)
    return state, Block(block_id, position, state.model.call_id, kind, text, record_id)


def _calls_shown(state: RunState) -> bool:
    return any(block.kind is BlockKind.TOOL_CALL for block in state.process.streamed.values())


def _show_candidate(state: RunState, growth: Growth) -> RunState:
    if not growth.text:
        return state
    process = state.process
    return replace(
        state,
        notices=(*state.notices, AppendCandidate(growth.text)),
        process=replace(
            process,
            candidate=process.candidate.append(growth.text),
            streamed={**process.streamed, growth.index: StreamedBlock(BlockKind.CONTENT)},
        ),
    )


def _show_text(state: RunState, growth: Growth) -> RunState:
    if not growth.text:
        return state
    shown = state.process.streamed.get(growth.index)
    if shown is not None and shown.block is not None:
        return show(state, AppendText(shown.block.id, growth.text))
    kind = BlockKind.THINKING if growth.block.kind is DeltaKind.THINKING else BlockKind.CONTENT
    return _open(state, growth.index, kind, text=clean_text("".join(growth.block.text)))


def _show_call(state: RunState, growth: Growth) -> RunState:
    shown = state.process.streamed.get(growth.index)
    name = growth.block.name
    if shown is None or shown.block is None:
        state = _candidate_to_blocks(state)
        return _open(state, growth.index, BlockKind.TOOL_CALL, name=name)
    if not growth.announced or name == shown.name:
        return state
    state = show(state, UpsertBlock(_early_view(shown.block, name)))
    renamed = {**state.process.streamed, growth.index: replace(shown, name=name)}
    return replace(state, process=replace(state.process, streamed=renamed))


def _became_another(state: RunState, growth: Growth) -> bool:
    shown = state.process.streamed.get(growth.index)
    return shown is not None and (growth.anew or shown.kind is not _KINDS[growth.block.kind])


_KINDS = {
    DeltaKind.TEXT: BlockKind.CONTENT,
    DeltaKind.THINKING: BlockKind.THINKING,
    DeltaKind.CALL: BlockKind.TOOL_CALL,
}


def _candidate_to_blocks(state: RunState) -> RunState:
    if not state.process.candidate:
        return state
    state = set_candidate(state, "")
    for index, shown in state.process.streamed.items():
        if shown.kind is BlockKind.CONTENT and shown.block is None:
            state = _open(state, index, BlockKind.CONTENT, text=text_so_far(_partial(state).blocks[index]))
    return state


def _open(state: RunState, index: int, kind: BlockKind, text: str = "", name: str = "") -> RunState:
    state, block_id = mint(state)
    record_id = ""
    if kind is BlockKind.TOOL_CALL:
        state, record_id = mint(state)
    position = len(state.process.blocks) + len(_shown(state)) + 1
    block = Block(block_id, position, state.model.call_id, kind, text, record_id)
    state = show(state, UpsertBlock(_early_view(block, name)))
    # The text of a block under way lives in the loop's rope, so what is remembered here does not grow.
    streamed = {**state.process.streamed, index: StreamedBlock(kind, replace(block, text=""), name)}
    return replace(state, process=replace(state.process, streamed=streamed))
