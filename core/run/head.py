"""The head of a checkpoint: a few numbers, whatever the length of the run. Its version is checked before all else."""

import attrs
import msgspec

from ...effects.spending import Spending, Spent
from ...effects.transcript import DecodeError, Usage
from ...effects.values import frozen

HEAD_VERSION = 1


Row = tuple[str, str, str, int, int, int, int, int]
"""A row of a spending: provider, model, purpose, and the parts of the usage in their order."""


@frozen
class Head:
    """Where a run is: turns and iterations taken, the bounds of its last claim, and whether its answer was delivered.

    ``corrections``, ``charged``, ``base`` and ``spent_ms`` are those of the run's goal, ``spent`` is what its models
    have used. Heads written before models were told apart have no ``spent``, and a mere sum as their ``base``.
    """

    version: int = HEAD_VERSION
    turns: int = 0
    iterations: int = 0
    after: int = 0
    claimed: int = 0
    delivered: bool = False
    corrections: int = 0
    charged: int = 0
    base: tuple[Row, ...] | Usage = ()
    spent_ms: int = 0
    spent: tuple[Row, ...] = ()


_NAMES = tuple(attribute.name for attribute in attrs.fields(Head))
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Head)
_version = msgspec.json.Decoder(dict[str, msgspec.Raw])


def encode_head(head: Head) -> bytes:
    """The head as compact JSON, without what is as it is at the start."""
    told = {name: value for name in _NAMES if (value := getattr(head, name))}
    return _encoder.encode(told)


def decode_head(raw: bytes) -> Head:
    """The head in the JSON; raises ``DecodeError``, naming both versions when it is of another one (N-21)."""
    try:
        version = msgspec.json.decode(_version.decode(raw).get("version", msgspec.Raw(b"null")))
        if version != HEAD_VERSION:
            raise DecodeError(f"it has version {version!r}, and this release reads version {HEAD_VERSION}")
        return _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"it cannot be read: {error}") from error


def rows_of(spending: Spending) -> tuple[Row, ...]:
    """A spending as it is stored."""
    return tuple((row.provider, row.model, row.purpose, *_parts_of(row.usage)) for row in spending.rows)


def spending_of(stored: tuple[Row, ...] | Usage) -> Spending:
    """A spending as it was stored; a mere sum is nobody's."""
    if isinstance(stored, Usage):
        return Spending().plus(Spent(usage=stored))
    return Spending(tuple(Spent(*row[:3], Usage(*row[3:])) for row in stored))


def spent_so_far(head: Head, usage: Usage) -> Spending:
    """What a run has used by a head; where that does not tell models apart, nobody's usage that was stored with it."""
    return spending_of(head.spent or usage)


def _parts_of(usage: Usage) -> tuple[int, int, int, int, int]:
    return usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning
