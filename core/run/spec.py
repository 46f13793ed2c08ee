"""What a run is set up with: data (``RunSpec``) and the host's pure functions (``Rules``).

Neither is part of the state: a run resumed under another set-up goes on under that one.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...effects.tool import ToolSpec
from ...effects.values import field, frozen
from ..text import ENGLISH, Words

NO_OPTIONS: Mapping[str, Any] = {}


class SpecError(ValueError):
    """A run that cannot be set up like this."""


@frozen
class Limits:
    """Bounds of a run. ``iterations`` are model calls per turn, ``turns`` claims of input (0: any number).

    ``lease_ms`` is how long a crashed execution keeps others out; ``poll_ms`` how often the feed is asked although it
    gave no signal; both in milliseconds.
    """

    iterations: int = 20
    turns: int = 0
    lease_ms: int = 30_000
    poll_ms: int = 5_000


DEFAULT_LIMITS = Limits()


@frozen
class ModelSpec:
    """What a run needs to know of its model; ``options`` go to the provider as they are."""

    max_output_tokens: int = 0
    options: Mapping[str, Any] = NO_OPTIONS


@frozen
class RunSpec:
    """One run, as data. ``sequential`` runs every batch one call at a time.

    ``discard_undelivered`` drops text that newer input superseded from what the model sees; the record keeps it.
    """

    run_id: str
    instruction: str = ""
    tools: tuple[ToolSpec, ...] = ()
    model: ModelSpec = field(factory=ModelSpec)
    limits: Limits = DEFAULT_LIMITS
    sequential: bool = False
    discard_undelivered: bool = False


@frozen
class Rules:
    """The set-up the fold works under. ``record_names`` gives, per tool, the name its records carry.

    A record name is computed from the raw arguments and must be pure; one that raises ends the run as failed.
    """

    spec: RunSpec
    tools: Mapping[str, ToolSpec]
    words: Words = ENGLISH
    record_names: Mapping[str, Callable[[str], str]] = {}


def rules_for(
    spec: RunSpec, words: Words = ENGLISH, record_names: Mapping[str, Callable[[str], str]] | None = None
) -> Rules:
    """Check a set-up; raises ``SpecError`` for a missing run id, a tool registered twice, or limits out of range."""
    if not spec.run_id:
        raise SpecError("a run needs an id")
    tools: dict[str, ToolSpec] = {}
    for tool in spec.tools:
        if tool.name in tools:
            raise SpecError(f"the tool {tool.name!r} is registered twice; give one of them another name")
        tools[tool.name] = tool
    limits = spec.limits
    if limits.iterations < 1 or limits.turns < 0:
        raise SpecError("a run needs at least one iteration per turn, and a limit of turns that is not negative")
    if limits.lease_ms < 1 or limits.poll_ms < 1:
        raise SpecError("the lease and the polling interval must be at least a millisecond")
    unknown = set(record_names or {}) - set(tools)
    if unknown:
        raise SpecError(f"record names are given for tools the run does not have: {', '.join(sorted(unknown))}")
    return Rules(spec, tools, words, record_names or {})
