"""What a run is set up with: data (``RunSpec``) and the host's pure functions (``Rules``).

Neither is part of the state: a run resumed under another set-up goes on under that one.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from ...effects.handed_in import check_kind
from ...effects.tool import ToolSpec
from ...effects.transcript import Usage
from ...effects.values import field, frozen
from ..text import ENGLISH, Words
from .extension import Extension
from .fingerprint import AgentParts, fingerprint

NO_OPTIONS: Mapping[str, Any] = {}


class SpecError(ValueError):
    """A run that cannot be set up like this."""


@frozen
class Limits:
    """Bounds of a run; 0 is no bound where nothing else is said. Those of a whole run count from its last answer.

    ``iterations`` (at least one) are model calls per turn, ``turns`` claims of input, ``corrections`` outputs that may
    be put right (0: none). ``tokens`` and ``cost`` (in the currency of the price table) cap what a run may use.

    In milliseconds: ``tool_ms`` for a call whose tool says nothing, ``first_token_ms`` and ``stall_ms`` for a model to
    begin and to go on, ``run_ms`` for the run while it is executed (waiting is free). ``lease_ms`` is how long a
    crashed execution keeps others out, ``poll_ms`` how often the feed is asked although it gave no signal.
    """

    iterations: int = 20
    turns: int = 0
    lease_ms: int = 30_000
    poll_ms: int = 5_000
    corrections: int = 1
    tokens: int = 0
    cost: float = 0.0
    tool_ms: int = 0
    first_token_ms: int = 0
    stall_ms: int = 0
    run_ms: int = 0


DEFAULT_LIMITS = Limits()


@frozen
class Retries:
    """How a model that failed for a passing reason is asked again (decision 24): ``times`` per model call.

    The first delay is ``first_ms``, each further one twice that, at most ``longest_ms``. A delay that the provider asks
    for is honoured up to ``patience_ms``; one that is longer fails the run. All in milliseconds.
    """

    times: int = 2
    first_ms: int = 500
    longest_ms: int = 10_000
    patience_ms: int = 60_000


DEFAULT_RETRIES = Retries()


@frozen
class ModelSpec:
    """What a run needs to know of its model; ``options`` go to the provider as they are."""

    max_output_tokens: int = 0
    options: Mapping[str, Any] = NO_OPTIONS


@frozen
class RunSpec:
    """One run, as data. ``sequential`` runs every batch one call at a time.

    ``discard_undelivered`` drops text that newer input superseded from what the model sees; the record keeps it.
    ``guarded``: a guard reviews each text before it is delivered. ``final_notice`` replaces what the model is told in
    the last iteration of a turn.
    """

    run_id: str
    instruction: str = ""
    tools: tuple[ToolSpec, ...] = ()
    model: ModelSpec = field(factory=ModelSpec)
    limits: Limits = DEFAULT_LIMITS
    sequential: bool = False
    discard_undelivered: bool = False
    guarded: bool = False
    final_notice: str = ""
    retries: Retries = DEFAULT_RETRIES


Cost = Callable[[str, str, Usage], float | None]
"""What tokens cost, from the provider and the model that used them; ``None`` where there is no telling."""


@frozen
class Functions:
    """The host's pure functions; one that raises ends the run as failed.

    ``record_names`` gives, per tool, the name its records carry, from the raw arguments. ``checks`` says, per tool,
    what is wrong with arguments (nothing: an empty text). ``fallback`` gives the value that ends a run which cannot end
    otherwise, from the reason: ``corrections_exhausted``, ``budget_exhausted`` or ``guard_rejected``. ``cost`` says
    what tokens of a model cost (nothing: there is no telling).
    """

    record_names: Mapping[str, Callable[[str], str]] = {}
    checks: Mapping[str, Callable[[Mapping[str, Any]], str]] = {}
    fallback: Callable[[str], Any] | None = None
    cost: Cost | None = None


NO_FUNCTIONS = Functions()


@frozen
class Rules:
    """The set-up the fold works under: the data, the host's pure functions, and its extensions in order.

    ``agent`` is the fingerprint of the set-up (decision 35), ``completion`` the names of the tools that may end the
    run, sorted.
    """

    spec: RunSpec
    tools: Mapping[str, ToolSpec]
    words: Words = ENGLISH
    functions: Functions = NO_FUNCTIONS
    extensions: tuple[Extension, ...] = ()
    agent: bytes = b""
    completion: tuple[str, ...] = ()


def rules_for(
    spec: RunSpec,
    words: Words = ENGLISH,
    functions: Functions = NO_FUNCTIONS,
    extensions: Sequence[Extension] = (),
) -> Rules:
    """Check a set-up.

    Raises ``SpecError`` for a missing run id, a tool or an extension registered twice, or limits that are none, or out
    of range.
    """
    if not spec.run_id:
        raise SpecError("a run needs an id")
    tools: dict[str, ToolSpec] = {}
    for tool in spec.tools:
        if tool.name in tools:
            raise SpecError(f"the tool {tool.name!r} is registered twice; give one of them another name")
        tools[tool.name] = tool
    names = [extension.name for extension in extensions]
    for name in names:
        if not name or names.count(name) > 1:
            problem = f"is registered twice (as {name!r})" if name else "has no name"
            raise SpecError(f"an extension {problem}; give each a name of its own")
    _check_limits(spec)
    if spec.limits.cost and functions.cost is None:
        raise SpecError("the cost is limited, but nothing says what tokens cost; give the run prices")
    for what, given in (("record names", functions.record_names), ("checks", functions.checks)):
        unknown = set(given) - set(tools)
        if unknown:
            raise SpecError(f"{what} are given for tools the run does not have: {', '.join(sorted(unknown))}")
    completion = tuple(sorted(name for name, tool in tools.items() if tool.completion))
    agent = fingerprint(_parts(spec, names))
    return Rules(spec, tools, words, functions, tuple(extensions), agent, completion)


def _check_limits(spec: RunSpec) -> None:
    limits, retries = spec.limits, spec.retries
    _check_numbers(limits, Limits, "limits")
    _check_numbers(retries, Retries, "retries")
    if limits.iterations < 1 or limits.turns < 0:
        raise SpecError("a run needs at least one iteration per turn, and a limit of turns that is not negative")
    if limits.lease_ms < 1 or limits.poll_ms < 1:
        raise SpecError("the lease and the polling interval must be at least a millisecond")
    bounds = (limits.corrections, limits.tokens, limits.cost, limits.tool_ms, limits.first_token_ms, limits.stall_ms)
    if min(*bounds, limits.run_ms) < 0:
        raise SpecError("a limit cannot be negative; 0 means that there is none")
    if retries.times < 0 or min(retries.first_ms, retries.longest_ms, retries.patience_ms) < 0:
        raise SpecError("retries and their delays cannot be negative; 0 times means that there are none")


def _check_numbers(value: object, wanted: type[Limits] | type[Retries], name: str) -> None:
    check_kind(value, SpecError, name, wanted, "turnfold.shells")
    for member in attrs.fields(wanted):
        number, kinds = getattr(value, member.name), (int, float) if member.name == "cost" else (int,)
        if isinstance(number, bool) or not isinstance(number, kinds) or math.isnan(number):
            what = "a number" if float in kinds else "a whole number"
            raise SpecError(f"{wanted.__name__}.{member.name} must be {what}, not {number!r}")


def _parts(spec: RunSpec, extensions: Sequence[str]) -> AgentParts:
    return AgentParts(
        instruction=spec.instruction,
        model=(spec.model.max_output_tokens, spec.model.options),
        tools=spec.tools,
        extensions=tuple(extensions),
    )
