"""The head of a checkpoint: a few numbers, whatever the length of the run. Its version is checked before all else."""

import attrs
import msgspec

from ...effects.transcript import ZERO_USAGE, DecodeError, Usage
from ...effects.values import frozen

HEAD_VERSION = 1


@frozen
class Head:
    """Where a run is: turns and iterations taken, the bounds of its last claim, and whether its answer was delivered.

    ``corrections``, ``charged``, ``base`` and ``spent_ms`` are those of the run's goal.
    """

    version: int = HEAD_VERSION
    turns: int = 0
    iterations: int = 0
    after: int = 0
    claimed: int = 0
    delivered: bool = False
    corrections: int = 0
    charged: int = 0
    base: Usage = ZERO_USAGE
    spent_ms: int = 0


_NAMES = tuple(attribute.name for attribute in attrs.fields(Head))
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Head)
_version = msgspec.json.Decoder(dict[str, msgspec.Raw])


def encode_head(head: Head) -> bytes:
    """The head as compact JSON, without what is as it is at the start."""
    told = {name: value for name in _NAMES if (value := getattr(head, name)) and value != ZERO_USAGE}
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
