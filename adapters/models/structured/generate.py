"""One call to a model for a text, or for an object of a type: the three doors, and the order of events behind them.

``generate`` gives a text, ``generate_object`` a value, ``stream_object`` shows the value while it is written. An object
may take several calls: the next strategy after one that the provider refuses, and once more where what came cannot be
decoded. What all of them used is told, in success and in failure. Of a ``FallbackModel`` each candidate is asked in its
own way, and by its rules.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Generic, TypeVar

from ....effects.model import ModelPort, ModelRequest, StreamFailed
from ....effects.sequence import Seq
from ....effects.transcript import (
    AssistantMessage,
    Content,
    ErrorKind,
    Message,
    ModelError,
    StopReason,
    TextPart,
    Usage,
    UserMessage,
)
from ....effects.values import field, frozen
from ..attempts import closing
from ..config import ConfigError
from ..prompt import wrong_level
from ..vendors import Strategy, Vendor
from .answer import Attempt, PartialObject, usage_of
from .asked import wrong_input
from .decode import UndecodedError, decode_object
from .errors import CallFailedError, RefusedError, TruncatedError, UndecodableError
from .schema import OutputSchema, schema_for
from .shaping import Calls, Shape, new_call_id, shaped
from .words import StructuredWords, structured_words

__all__ = [
    "Ask",
    "Attempt",
    "Generated",
    "GeneratedObject",
    "ObjectSoFar",
    "generate",
    "generate_object",
    "stream_object",
]

T = TypeVar("T")

_NO_OPTIONS: Mapping[str, Any] = {}


@frozen
class Ask:
    """What to ask. ``max_output_tokens`` 0: no limit of this request.

    Raises ``ConfigError`` without anything to ask, for an ``input`` that is neither a text nor a tuple of ``TextPart``
    and ``ImagePart``, for an image that is not base64, and for a level of reasoning that is none.

    ``reasoning`` is a level, or ``off``; where none is given the model thinks as it was set up to, and not at all
    unless it was. ``language`` is that of the texts we add, which ``words`` replaces. ``strategy`` comes first instead
    of the vendor's. ``vendor`` says what a model is whose port does not tell. ``options`` go on to the provider.
    """

    input: Content
    instruction: str = ""
    max_output_tokens: int = 0
    language: str = "en"
    words: StructuredWords | None = None
    strategy: Strategy | None = None
    vendor: Vendor | None = None
    reasoning: str = ""
    purpose: str = "generate"
    options: Mapping[str, Any] = field(default=_NO_OPTIONS, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.input is None:
            raise ConfigError("there is nothing to ask: the input is None")
        wrong = wrong_input(self.input) or wrong_level({"reasoning": self.reasoning or ""}) or wrong_level(self.options)
        if wrong:
            raise ConfigError(wrong)


@frozen
class Generated:
    """A text and how it ended; a refusal or a reached limit is for the caller to look at."""

    text: str
    stop: StopReason
    raw_stop: str | None
    attempts: tuple[Attempt, ...]

    @property
    def usage(self) -> Usage:
        """The tokens of all attempts."""
        return usage_of(self.attempts)


@frozen
class GeneratedObject(Generic[T]):
    """A value, and the text it was read from."""

    value: T
    text: str
    attempts: tuple[Attempt, ...]

    @property
    def usage(self) -> Usage:
        """The tokens of all attempts."""
        return usage_of(self.attempts)


@frozen
class ObjectSoFar:
    """What an object holds while it is written, as JSON-like data. A new ``attempt`` begins from nothing."""

    data: Any
    attempt: int


async def generate(model: ModelPort, ask: Ask | str, output: OutputSchema | None = None) -> Generated:
    """The model's answer, of the shape ``output`` if that is given. Raises ``CallFailedError`` and ``ConfigError``."""
    generation = _Generation(model, ask, output)
    async with aclosing(generation.call(())) as call:
        async for _ in call:
            pass
    answer, attempts = generation.calls.answer, generation.calls.attempts
    return Generated(answer.text, answer.stop, answer.raw_stop, tuple(attempts))


async def generate_object(model: ModelPort, wanted: type[T], ask: Ask | str) -> GeneratedObject[T]:
    """The model's answer as a value of an attrs class, a dataclass, a msgspec struct or a TypedDict.

    Raises ``RefusedError``, ``TruncatedError``, ``UndecodableError`` after a second attempt, ``CallFailedError``;
    before any call ``SchemaTypeError`` and ``ConfigError``. Members beyond the type's are ignored; its own checks count
    as decoding.
    """
    async with aclosing(stream_object(model, wanted, ask)) as parts:
        async for part in parts:
            if isinstance(part, GeneratedObject):
                return part
    raise AssertionError("a stream of an object ends with the object, or raises")


async def stream_object(
    model: ModelPort, wanted: type[T], ask: Ask | str
) -> AsyncGenerator[ObjectSoFar | GeneratedObject[T], None]:
    """As ``generate_object``, and what the object holds so far each time that something is added; the value is last."""
    generation = _Generation(model, ask, schema_for(wanted))
    more: tuple[Message, ...] = ()
    for number in (1, 2):
        shown: Any = None
        partial = PartialObject()
        async with aclosing(generation.call(more)) as texts:
            async for text in texts:
                data = partial.feed(text)
                if data is not None and data != shown:
                    shown = data
                    yield ObjectSoFar(data, number)
        text = generation.object_text()
        try:
            value = decode_object(text, wanted)
        except UndecodedError as wrong:
            if number == 2:
                raise UndecodableError(str(wrong), generation.calls.attempts, text) from wrong
            more = (AssistantMessage((TextPart(text),)), UserMessage(generation.words.ask_again(str(wrong))))
        else:
            yield GeneratedObject(value, text, tuple(generation.calls.attempts))
            return


class _Generation:
    """The calls for one text or object."""

    def __init__(self, model: ModelPort, ask: Ask | str, schema: OutputSchema | None) -> None:
        self.ask = ask if isinstance(ask, Ask) else Ask(ask)
        self.words = self.ask.words or structured_words(self.ask.language)
        self.calls = Calls()
        self._schema = schema
        shape = Shape(schema, self.words, self.ask.strategy, self.ask.vendor, self.ask.reasoning)
        self._model = shaped(model, shape, self.calls)

    async def call(self, more: tuple[Message, ...]) -> AsyncGenerator[str, None]:
        """Ask; gives the pieces of the object's text. Raises ``CallFailedError`` where nobody answers."""
        ask, error = self.ask, None
        request = ModelRequest(
            new_call_id(),
            Seq([UserMessage(ask.input), *more]),
            ask.instruction,
            max_output_tokens=ask.max_output_tokens,
            purpose=ask.purpose,
            options=ask.options,
        )
        async with closing(self._model.stream(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, StreamFailed):
                    error = delta.error
                elif text := self.calls.answer.piece(delta):
                    yield text
        error = error or self.calls.answer.error
        if error is not None:
            raise self._failed(error)

    def object_text(self) -> str:
        """The text that holds the object; raises ``RefusedError`` and ``TruncatedError``, whatever it holds."""
        answer, attempts = self.calls.answer, self.calls.attempts
        if answer.stop is StopReason.REFUSAL:
            raise RefusedError("the model refused to answer", attempts, answer.text)
        if answer.stop is StopReason.LENGTH:
            raise TruncatedError("the output reached its limit; ask with more tokens", attempts, answer.text)
        return answer.text

    def _failed(self, error: ModelError) -> Exception:
        answer, attempts = self.calls.answer, self.calls.attempts
        if error.kind is ErrorKind.REFUSED and self._schema is not None:
            return RefusedError(error.message, attempts, answer.text)
        return CallFailedError(error, attempts, answer.text)
