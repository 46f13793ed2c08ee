"""The head of a checkpoint: a few numbers, whatever the length of the run. Its version is checked before all else."""

import msgspec

from ...effects.transcript import DecodeError
from ...effects.values import frozen

HEAD_VERSION = 1


@frozen
class Head:
    """Where a run is: turns and iterations taken, the bounds of its last claim, and whether its text was delivered."""

    version: int = HEAD_VERSION
    turns: int = 0
    iterations: int = 0
    after: int = 0
    claimed: int = 0
    delivered: bool = False


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Head)
_version = msgspec.json.Decoder(dict[str, msgspec.Raw])


def encode_head(head: Head) -> bytes:
    """The head as compact JSON."""
    return _encoder.encode(head)


def decode_head(raw: bytes) -> Head:
    """The head in the JSON; raises ``DecodeError``, naming both versions when it is of another one (N-21)."""
    try:
        version = msgspec.json.decode(_version.decode(raw).get("version", msgspec.Raw(b"null")))
        if version != HEAD_VERSION:
            raise DecodeError(f"it has version {version!r}, and this release reads version {HEAD_VERSION}")
        return _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"it cannot be read: {error}") from error
