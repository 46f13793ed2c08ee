"""The main log: what the model saw, in order, as entries that are written once and opened when needed.

An entry is ``[operation, messages, calls]``: the messages as they entered the context, and for an output the pairs of
(record id, provider's call id) of its calls, so that a resume finds the records without opening a message.
"""

from enum import StrEnum
from typing import Any

import msgspec

from ...effects.transcript import DecodeError, Sealed
from ...effects.values import frozen


class EntryKind(StrEnum):
    """What an entry is. Later releases add kinds and never reuse a name."""

    INPUT = "input"
    OUTPUT = "output"
    RESULTS = "results"
    SUPERSEDED = "superseded"
    REJECTED = "rejected"
    VOIDED = "voided"


@frozen
class Entry:
    """One entry: what entered the context, and for an output its calls as (record id, provider's call id)."""

    kind: EntryKind
    items: tuple[Sealed, ...]
    calls: tuple[tuple[str, str], ...] = ()


_encoder = msgspec.json.Encoder()
_decoder: "msgspec.json.Decoder[tuple[str, tuple[msgspec.Raw, ...], tuple[tuple[str, str], ...]]]" = (
    msgspec.json.Decoder(tuple[str, tuple[msgspec.Raw, ...], tuple[tuple[str, str], ...]])
)


def encode_entry(entry: Entry) -> bytes:
    """The entry as compact JSON."""
    messages: list[Any] = [msgspec.Raw(item.raw) for item in entry.items]
    return _encoder.encode((entry.kind.value, messages, entry.calls))


def decode_entry(raw: bytes) -> Entry:
    """The entry in the JSON, its messages still sealed; raises ``DecodeError``."""
    try:
        kind, messages, calls = _decoder.decode(raw)
        return Entry(EntryKind(kind), tuple(Sealed(bytes(message)) for message in messages), calls)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise DecodeError(str(error)) from error
