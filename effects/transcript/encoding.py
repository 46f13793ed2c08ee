"""Messages to and from JSON, lossless, and ``Sealed``: a message that stays bytes until somebody reads it.

Members that have their default are left out, so absent stays absent; ``extra`` carries explicit nulls. Errors name
the member by its path.
"""

from collections.abc import Callable
from typing import Any, get_args, get_origin

import attrs
import cattrs
import msgspec
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn
from cattrs.preconf.msgspec import MsgspecJsonConverter, make_converter
from cattrs.strategies import configure_tagged_union
from cattrs.v import format_exception

from ..values import UnsetType
from .messages import (
    AssistantMessage,
    AssistantPart,
    CallPart,
    Content,
    CustomMessage,
    ImagePart,
    Message,
    Part,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolResultMessage,
    UserMessage,
)
from .text import clean_json

__all__ = [
    "DecodeError",
    "Sealed",
    "converter_for_values",
    "decode_content",
    "decode_message",
    "encode_content",
    "encode_message",
    "structure",
    "tag",
]

_PART_TAGS: dict[type, str] = {TextPart: "text", ThinkingPart: "thinking", ImagePart: "image", CallPart: "call"}
_MESSAGE_TAGS: dict[type, str] = {
    SystemMessage: "system",
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResultMessage: "tool",
    CustomMessage: "custom",
}


class DecodeError(ValueError):
    """Stored or received data that is not what it should be; the text names the member and what is wrong with it."""


def converter_for_values() -> MsgspecJsonConverter:
    """A cattrs converter for frozen values: defaults are left out, unions of parts and messages are tagged."""
    converter = make_converter(detailed_validation=True)
    for scalar in (str, int, bool):
        converter.register_structure_hook(scalar, _scalar)
    converter.register_structure_hook_factory(_is_tuple, _tuple)

    def unstructure(cls: type) -> Callable[[Any], dict[str, Any]]:
        return make_dict_unstructure_fn(cls, converter, _cattrs_omit_if_default=True)

    def structured(cls: type[Any]) -> Callable[[Any, Any], Any]:
        return make_dict_structure_fn(cls, converter)

    converter.register_unstructure_hook_factory(attrs.has, unstructure)
    converter.register_structure_hook_factory(attrs.has, structured)
    for union in (AssistantPart, TextPart | ImagePart, Part):
        tag(converter, union, _PART_TAGS)
    converter.register_structure_hook(Any | UnsetType, lambda value, _: value)
    _content(converter)
    tag(converter, Message, _MESSAGE_TAGS)
    return converter


def _scalar(value: Any, wanted: type[Any]) -> Any:
    """The value, if it is one: left alone, cattrs makes a text of anything and a truth of any text."""
    if wanted not in (str, int, bool):
        return wanted(value)  # an enumeration of texts
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise DecodeError(f"expected {wanted.__name__}, got {type(value).__name__}")
    return value


def _is_tuple(wanted: Any) -> bool:
    return get_origin(wanted) is tuple and get_args(wanted)[-1] is ...


def _tuple(wanted: Any, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    many = list[get_args(wanted)[0]]
    items = converter.get_structure_hook(many)

    def structured(value: Any, _: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise DecodeError(f"expected a list, got {type(value).__name__}")
        return tuple(items(value, many))

    return structured


def tag(converter: cattrs.Converter, union: Any, tags: dict[type, str] | None = None) -> None:
    """Tell the members of a union apart by a member ``type`` that holds the class's tag (its own name by default)."""
    names = {cls: tags[cls] if tags else cls.__name__ for cls in get_args(union)}
    configure_tagged_union(union, converter, tag_generator=names.__getitem__, tag_name="type")
    known = set(names.values())
    member = converter.get_structure_hook(union)

    def structured(value: Any, _: Any) -> Any:
        match value:
            case {"type": str(name)} if name in known:
                return member(value, union)
            case _:
                raise DecodeError(f"expected an object whose type is one of {', '.join(names.values())}")

    converter.register_structure_hook(union, structured)


def _content(converter: cattrs.Converter) -> None:
    parts = tuple[TextPart | ImagePart, ...]

    def unstructure(content: Content) -> Any:
        return content if content is None or isinstance(content, str) else converter.unstructure(content, parts)

    converter.register_unstructure_hook(Content, unstructure)


def structure(converter: cattrs.Converter, value: Any, wanted: Any) -> Any:
    """A value of a type from JSON-like data; raises ``DecodeError`` with the path of each wrong member."""
    try:
        return converter.structure(value, wanted)
    except Exception as error:
        lines = cattrs.transform_error(error, path="$", format_exception=_explain)
        raise DecodeError("; ".join(lines)) from error


def _explain(error: BaseException, wanted: type[Any] | None) -> str:
    return str(error) if isinstance(error, DecodeError) else format_exception(error, wanted)


_converter = converter_for_values()


def encode_message(message: Message) -> bytes:
    """A message as compact JSON."""
    return msgspec.json.encode(_converter.unstructure(message, Message))


def encode_content(content: Content) -> str:
    """The content of a message as compact JSON text, made storable."""
    return msgspec.json.encode(clean_json(_converter.unstructure(content, Content))).decode()


def decode_content(text: str) -> Content:
    """The content in the JSON text; raises ``DecodeError``."""
    content: Content = structure(_converter, _json(text.encode()), Content)
    return content


def decode_message(raw: bytes) -> Message:
    """The message in the JSON; raises ``DecodeError``."""
    message: Message = structure(_converter, _json(raw), Message)
    return message


def _json(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"not JSON: {error}") from error


class Sealed:
    """A message as it is stored, opened on first use. Equal when the bytes are."""

    __slots__ = ("_message", "raw")

    def __init__(self, raw: bytes, message: Message | None = None) -> None:
        self.raw = raw
        self._message = message

    @classmethod
    def of(cls, message: Message) -> "Sealed":
        """Seal a message, keeping it at hand; unpaired surrogates in it are replaced (decision 45)."""
        try:
            return cls(encode_message(message), message)
        except UnicodeEncodeError:
            return cls(msgspec.json.encode(clean_json(_converter.unstructure(message, Message))))

    def open(self) -> Message:
        """The message; raises ``DecodeError`` when the bytes are none."""
        if self._message is None:
            self._message = decode_message(self.raw)
        return self._message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sealed) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"Sealed({self.raw!r})"


assert set(get_args(Message)) == set(_MESSAGE_TAGS)
