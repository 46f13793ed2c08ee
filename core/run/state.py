"""All the memory a run has: one field for each of its small machines, and none of its own.

Each region says in its own words what it is doing (a phase), what it wants and has not asked for, and what it has in
flight. Nothing here is saved as it is: ``head`` and ``log`` say what a checkpoint holds, and a restart begins with
nothing in flight.
"""

from collections.abc import Mapping
from typing import Any

from ...effects.display import Operation
from ...effects.feed import InputMessage
from ...effects.outcome import Outcome
from ...effects.record import Block, BlockKind, Completion, PlanTask, ToolCall
from ...effects.sequence import Seq
from ...effects.spending import NO_SPENDING, Spending
from ...effects.transcript import Spent
from ...effects.values import field, region
from ..loop import Loop
from .head import Head
from .keys import Keys
from .phases import (
    CallPhase,
    CallQueued,
    LeasePhase,
    LifePhase,
    NoLease,
    NoStep,
    Resting,
    SavingPhase,
    TurnPhase,
    Unstarted,
    Unwatched,
    WatchPhase,
)


@region
class Turn:
    """How far the conversation is: ``turns`` since the last delivered outcome, ``iterations`` of this one.

    ``claim`` is what a guard is told the turn is about, ``first_call`` the place of the turn's first record, and
    ``passing`` the places in the context of what holds for this turn only: rejected outputs and their prompts.
    """

    phase: TurnPhase = field(factory=Resting)
    turns: int = 0
    iterations: int = 0
    text_retries: int = 0
    claim: tuple[InputMessage, ...] = ()
    first_call: int = 0
    passing: tuple[int, ...] = ()


@region
class Goal:
    """What would end the run: the ``active`` completion, if any.

    ``corrections`` are used since the last answer, the last of them for the output that made the log ``charged`` long;
    ``base`` is what the run had used by its last answer, and ``spent_ms`` how long earlier executions took since.
    """

    active: Completion | None = None
    corrections: int = 0
    charged: int = 0
    base: Spending = NO_SPENDING
    spent_ms: int = 0


@region
class Extended:
    """The extensions' slices by name, those that are not saved as bytes, and what they add to the instruction.

    ``failed`` says which of them raised. ``agent`` is the set-up's fingerprint where that has to be saved, ``changed``
    what of the agent is not as it was.
    """

    slices: Mapping[str, Any] = {}
    dirty: Mapping[str, bytes] = {}
    instruction: str = ""
    failed: str = ""
    agent: bytes | None = None
    changed: tuple[str, ...] = ()


@region
class ModelRegion:
    """The model call in flight, and the one that is withdrawn (``cancelled`` once asked for) and has yet to answer.

    ``late`` is what the withdrawn call has used so far; it is counted with its answer. ``tries`` have failed of this
    call, which is asked again at ``retry_at``; it has to say something by ``until`` (0: whenever).
    """

    wanted: bool = False
    ticket: int | None = None
    withdrawn: int | None = None
    cancelled: bool = False
    call_id: str = ""
    late: tuple[Spent, ...] = ()
    tries: int = 0
    retry_at: int = 0
    until: int = 0


@region
class LiveCall:
    """One call of the running batch: its newest record, its block, and which revision is being or has been saved."""

    record: ToolCall
    index: int
    block: Block
    phase: CallPhase = field(factory=CallQueued)
    writing: int | None = None
    saved_rev: int = 0


@region
class Batch:
    """The live calls by record id, in call order; ``owed`` are those that want something asked for.

    ``open`` counts those that are not settled; ``cut`` says that the output was cut off at its length limit; ``until``
    is the nearest time at which a tool is to be stopped (0: none); ``deciding`` that decisions are carried out.
    """

    live: Mapping[str, LiveCall] = {}
    owed: tuple[str, ...] = ()
    open: int = 0
    cut: bool = False
    until: int = 0
    deciding: bool = False


@region
class StreamedBlock:
    """A block of the answer under way, as viewers know it: no block at all while its text is the candidate."""

    kind: BlockKind
    block: Block | None = None
    name: str = ""


@region
class Process:
    """The blocks in order, and the answer under way by provider index.

    ``candidate`` is the text that viewers see as the answer to be; ``calls`` are the records of closed batches,
    ``spending`` is what the models have used so far.
    """

    blocks: Seq[Block] = field(factory=Seq)
    streamed: Mapping[int, StreamedBlock] = {}
    candidate: Seq[str] = field(factory=Seq)
    spending: Spending = NO_SPENDING
    plan: tuple[PlanTask, ...] = ()
    calls: Seq[ToolCall] = field(factory=Seq)


@region
class LogTail:
    """What the main log has, wants cut, and wants added.

    ``stored`` entries are saved; ``keep`` of them stay. ``held`` entries, and the ``keys`` of the input among them,
    wait for the output they led to, since a log ends with an output or a verdict on one; ``ready`` ones go with the
    next step. ``head`` belongs to the end of the log: a step without a new output leaves it as it was, so no claim is
    saved without its input.
    """

    stored: int = 0
    keep: int = 0
    held: tuple[bytes, ...] = ()
    keys: tuple[bytes, ...] = ()
    ready: tuple[bytes, ...] = ()
    head: Head = field(factory=Head)


@region
class Saving:
    """Marks: ``mark`` is the last number given out, ``saved`` the last one acknowledged, ``wanted`` the highest a gate
    waits for. The rest is what the next step would carry.
    """

    phase: SavingPhase = field(factory=NoStep)
    mark: int = 0
    saved: int = 0
    wanted: int = 0
    log: LogTail = field(factory=LogTail)
    seen: tuple[bytes, ...] = ()
    blocks: Mapping[str, Block] = {}
    calls: Mapping[str, ToolCall] = {}
    removed_blocks: tuple[str, ...] = ()
    removed_calls: tuple[str, ...] = ()
    outcome: Outcome | None = None


@region
class FeedRegion:
    """Input: what was claimed, the latest known of, and polls by number (``wanted`` > ``asked`` >= ``answered``).

    The last claim's bounds are ``after`` and ``claimed``; ``seen`` are the keys of all input that entered the context.
    """

    watch: WatchPhase = field(factory=Unwatched)
    wanted: int = 0
    asked: int = 0
    answered: int = 0
    latest: int = 0
    after: int = 0
    claimed: int = 0
    claim: tuple[int, int] | None = None
    claiming: bool = False
    seen: Keys = field(factory=Keys)


@region
class Lease:
    """The attempt, which ``began`` then, and its lease: it runs out at ``until`` and is renewed from ``renew_at`` on
    (0: never yet).
    """

    phase: LeasePhase = field(factory=NoLease)
    attempt: int = 0
    asked: int | None = None
    until: int = 0
    renew_at: int = 0
    renew: bool = False
    take_over: bool = False
    began: int = 0


@region
class Clock:
    """``now`` is the latest time heard of; it never goes back. ``wake`` is the wake-up asked for."""

    now: int = 0
    wake: int | None = None
    poll_at: int = 0


@region
class Tickets:
    """Identity: the execution's seed and how many ids it gave; the last ticket and what each ticket in flight asks."""

    seed: bytes = b""
    minted: int = 0
    last: int = 0
    in_flight: Mapping[int, tuple[type, str]] = {}


@region
class RunState:
    """One run, between two events; ``notices``, what viewers are to be told, leave with the event they came from."""

    life: LifePhase = field(factory=Unstarted)
    turn: Turn = field(factory=Turn)
    goal: Goal = field(factory=Goal)
    extended: Extended = field(factory=Extended)
    loop: Loop = field(factory=Loop)
    model: ModelRegion = field(factory=ModelRegion)
    batch: Batch = field(factory=Batch)
    process: Process = field(factory=Process)
    saving: Saving = field(factory=Saving)
    feed: FeedRegion = field(factory=FeedRegion)
    lease: Lease = field(factory=Lease)
    clock: Clock = field(factory=Clock)
    tickets: Tickets = field(factory=Tickets)
    notices: tuple[Operation, ...] = ()
