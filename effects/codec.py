"""Values to JSON and back, for recordings and stores.

Everything that crosses the border can be written; everything a store or a recording holds can be read. A model
request is written as the length and the chained digest of its context, which is enough to compare two runs and does
not grow a trace with the square of its length.

An event says what arrived, so its texts may hold halves of surrogate pairs, which JSON in UTF-8 cannot: such a value is
written as ``{"escaped": …}``, with every text in it escaped (decision 45). What is stored never has any.
"""

import base64
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from cattrs.preconf.msgspec import MsgspecJsonConverter

from .display import Operation
from .model import Delta, ModelRequest
from .outcome import Outcome
from .question import Finding, Ruling
from .record import Block, ToolCall
from .tool import Control
from .transcript.encoding import DecodeError, Sealed, converter_for_values, encode_message, structure, tag
from .transcript.text import escape_halves, map_texts, unescape_halves
from .vocabulary import Effect, Event

__all__ = [
    "DecodeError",
    "decode_block",
    "decode_call",
    "decode_event",
    "decode_outcome",
    "decode_value",
    "dump",
    "encode",
    "encode_effect",
    "encode_event",
    "encode_outcome",
    "from_data",
    "load",
    "to_data",
]

T = TypeVar("T")


def _bytes_out(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def _bytes_in(value: Any, _: Any) -> bytes:
    match value:
        case str():
            return value.encode()
        case bytes():
            return value
        case {"base64": str(text)}:
            return base64.b64decode(text, validate=True)
        case _:
            raise ValueError("expected text or base64")


def _request_out(request: ModelRequest) -> dict[str, Any]:
    def raw(item: Any) -> bytes:
        return item.raw if isinstance(item, Sealed) else encode_message(item)

    return {
        "model_call_id": request.model_call_id,
        "context": {"length": len(request.context), "digest": request.context.digest(raw)},
        "instruction": request.instruction,
        "tools": [tool.name for tool in request.tools],
        "notice": request.notice,
        "max_output_tokens": request.max_output_tokens,
        "purpose": request.purpose,
        "options": dict(request.options),
        **({"model": _converter.unstructure(request.model)} if request.model is not None else {}),
    }


def _outcome_out(outcome: Outcome | None) -> Any:
    return None if outcome is None else _converter.unstructure(outcome, Outcome)


_converter = converter_for_values()
_converter.register_unstructure_hook(bytes, _bytes_out)
_converter.register_structure_hook(bytes, _bytes_in)
_converter.register_unstructure_hook(ModelRequest, _request_out)
for _union in (Outcome, Delta, Operation, Control, Ruling, Finding):
    tag(_converter, _union)
_converter.register_unstructure_hook(Outcome | None, _outcome_out)


@cache
def _events() -> MsgspecJsonConverter:
    """The converter once it knows events: recordings need them, a run does not, and they take long to prepare."""
    tag(_converter, Event)
    return _converter


_encoder = msgspec.json.Encoder()
_call_decoder = msgspec.json.Decoder(ToolCall)
_block_decoder = msgspec.json.Decoder(Block)


def to_data(value: Any, union: Any = None) -> Any:
    """A value as JSON-ready data; ``union`` is the union it is a member of, if it must be told apart again."""
    return _events().unstructure(value, union)


def from_data(data: Any, wanted: type[T]) -> T:
    """A value of one type (or of a union that ``to_data`` was told) from JSON-like data; raises ``DecodeError``."""
    value: T = structure(_events(), data, wanted)
    return value


def encode(value: Any) -> bytes:
    """A single value (a call, a block, a usage ...) as compact JSON without its defaults."""
    return _encoder.encode(_converter.unstructure(value))


def encode_event(event: Event) -> bytes:
    """An event as compact JSON, tagged with its type."""
    return dump(_events().unstructure(event, Event))


def encode_effect(effect: Effect) -> bytes:
    """An effect as compact JSON, tagged with its type."""
    return dump({"type": type(effect).__name__, **_converter.unstructure(effect)})


def dump(data: Any) -> bytes:
    """JSON-ready data as compact JSON; what UTF-8 cannot hold is written escaped, and ``load`` reads it as it was."""
    try:
        return _encoder.encode(data)
    except UnicodeEncodeError:
        return _encoder.encode({"escaped": map_texts(msgspec.to_builtins(data), escape_halves)})


def encode_outcome(outcome: Outcome | None) -> bytes:
    """An outcome as compact JSON, tagged with its type; ``null`` for none."""
    return b"null" if outcome is None else _encoder.encode(_converter.unstructure(outcome, Outcome))


def decode_event(raw: bytes) -> Event:
    """The event in the JSON; raises ``DecodeError``."""
    event: Event = structure(_events(), load(raw), Event)
    return event


def load(raw: bytes) -> Any:
    """What ``dump`` was given; raises ``DecodeError``."""
    data = _json(raw)
    if not isinstance(data, dict) or cast("dict[str, Any]", data).keys() != {"escaped"}:
        return cast("Any", data)
    try:
        return map_texts(data["escaped"], unescape_halves)
    except ValueError as error:
        raise DecodeError(f"not escaped as it should be: {error}") from error


def decode_outcome(raw: bytes) -> Outcome | None:
    """The outcome in the JSON, or none for ``null``; raises ``DecodeError``."""
    value = _json(raw)
    return None if value is None else structure(_converter, value, Outcome)


def decode_call(raw: bytes) -> ToolCall:
    """The call record in the JSON; raises ``DecodeError``."""
    return _native(_call_decoder, raw)


def decode_block(raw: bytes) -> Block:
    """The block in the JSON; raises ``DecodeError``."""
    return _native(_block_decoder, raw)


def decode_value(raw: bytes, wanted: type[T]) -> T:
    """A value of one type from JSON; raises ``DecodeError``."""
    return from_data(_json(raw), wanted)


def _json(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"not JSON: {error}") from error


def _native(decoder: "msgspec.json.Decoder[T]", raw: bytes) -> T:
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(str(error)) from error
