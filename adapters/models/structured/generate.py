"""One call to a model for a text, or for an object of a type: the three doors, and the order of events behind them.

``generate`` gives a text, ``generate_object`` a value, ``stream_object`` shows the value while it is written. An object
may take several calls: the next strategy after one that the provider refuses, and once more where what came cannot be
decoded. What all of them used is told, in success and in failure.
"""

import json
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Generic, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from ....effects.model import ModelPort, ModelRequest
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
from ..config import ModelConfig
from ..vendors import Strategy, Vendor
from .answer import Answer, Attempt, PartialObject, usage_of
from .decode import UndecodedError, decode_object
from .errors import CallFailedError, RefusedError, TruncatedError, UndecodableError
from .schema import OutputSchema, schema_for
from .strategies import Form, Memory
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
    """What to ask. ``reasoning`` is off unless a level is given; ``max_output_tokens`` 0: no limit of this request.

    ``language`` is that of the texts we add, which ``words`` replaces. ``strategy`` comes first instead of the
    vendor's. ``vendor`` says what a model is whose port does not tell. ``options`` are passed on to the provider.
    """

    input: Content
    instruction: str = ""
    max_output_tokens: int = 0
    language: str = "en"
    words: StructuredWords | None = None
    strategy: Strategy | None = None
    vendor: Vendor | None = None
    reasoning: str = "off"
    purpose: str = "generate"
    options: Mapping[str, Any] = field(default=_NO_OPTIONS, repr=False)


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
    answer = generation.answer
    return Generated(answer.text, answer.stop, answer.raw_stop, tuple(generation.attempts))


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
                raise UndecodableError(str(wrong), generation.attempts, text) from wrong
            more = (AssistantMessage((TextPart(text),)), UserMessage(generation.words.ask_again(str(wrong))))
        else:
            yield GeneratedObject(value, text, tuple(generation.attempts))
            return


_memories: WeakKeyDictionary[ModelPort, Memory] = WeakKeyDictionary()


class _Generation:
    """The calls for one text or object. ``answer`` is the last one, ``attempts`` all of them."""

    def __init__(self, model: ModelPort, ask: Ask | str, schema: OutputSchema | None) -> None:
        self.ask = Ask(ask) if isinstance(ask, str) else ask
        self.words = self.ask.words or structured_words(self.ask.language)
        self.attempts: list[Attempt] = []
        self.answer = Answer()
        self._model = model
        self._schema = schema
        self._schema_text = json.dumps(schema.schema, ensure_ascii=False) if schema is not None else ""
        self._memory = _memory_of(model)
        config = getattr(model, "config", None)
        self._config = config if isinstance(config, ModelConfig) else None

    async def call(self, more: tuple[Message, ...]) -> AsyncGenerator[str, None]:
        """Ask, by the next strategy after each that is refused; gives the pieces of the object's text.

        Raises ``CallFailedError`` for other failures, and for a refusal that nothing comes after.
        """
        while True:
            form, is_last = self._form()
            request = self._request(form, more)
            answer = self.answer = Answer(form.tools[0].name if form.tools else "")
            try:
                async with closing(self._model.stream(request)) as deltas:
                    async for delta in deltas:
                        if text := answer.feed(delta):
                            yield text
            finally:
                answer.finish()
                self.attempts.append(
                    Attempt(request.model_call_id, form.strategy, answer.usage, answer.stop, answer.error)
                )
            error = answer.error
            if error is None:
                return
            if is_last or answer.said or not self._memory.refuses(form, error, self._schema_text, self._names):
                raise self._failed(error)

    def object_text(self) -> str:
        """The text that holds the object; raises ``RefusedError`` and ``TruncatedError``, whatever it holds."""
        answer = self.answer
        if answer.stop is StopReason.REFUSAL:
            raise RefusedError("the model refused to answer", self.attempts, answer.text)
        if answer.stop is StopReason.LENGTH:
            raise TruncatedError("the output reached its limit; ask with more tokens", self.attempts, answer.text)
        return answer.text

    def _failed(self, error: ModelError) -> Exception:
        if error.kind is ErrorKind.REFUSED and self._schema is not None:
            return RefusedError(error.message, self.attempts, self.answer.text)
        return CallFailedError(error, self.attempts, self.answer.text)

    def _form(self) -> tuple[Form, bool]:
        """How to ask now, and whether there is no other way."""
        if self._schema is None:
            return Form(Strategy.NONE), True
        vendor = self.ask.vendor or (self._config and self._config.vendor)
        forms = self._memory.forms(vendor, self.ask.strategy, self._schema, self.words, self._schema_text)
        return forms[0], len(forms) == 1

    def _request(self, form: Form, more: tuple[Message, ...]) -> ModelRequest:
        ask = self.ask
        return ModelRequest(
            _new_call_id(),
            Seq([UserMessage(ask.input), *more]),
            "\n\n".join(filter(None, (ask.instruction, form.shown))),
            form.tools,
            max_output_tokens=ask.max_output_tokens,
            purpose=ask.purpose,
            options={"reasoning": ask.reasoning, **ask.options, **self._merged(form.options)},
        )

    def _merged(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The members of the body that ask for a shape; where they hold other settings too, with those."""
        merged = dict(wanted)
        for name, value in wanted.items():
            if name not in ("generationConfig", "text"):
                continue
            set_before = [self._config.options if self._config else _NO_OPTIONS, self.ask.options]
            objects = [options[name] for options in set_before if isinstance(options.get(name), dict)]
            merged[name] = {key: item for each in (*objects, value) for key, item in each.items()}
        return merged

    @property
    def _names(self) -> tuple[str, ...]:
        return (self._config.model, self._config.host) if self._config else ()


def _memory_of(model: ModelPort) -> Memory:
    """What is remembered about a model, for as long as it is there."""
    try:
        return _memories.setdefault(model, Memory())
    except TypeError:  # it cannot be remembered: it has no hash, or nothing may refer to it weakly
        return Memory()


def _new_call_id() -> str:
    """A fresh UUIDv7, so that a host's own record of the call can carry the same id."""
    random = secrets.randbits(74)
    value = time.time_ns() // 1_000_000 << 80 | 7 << 76 | random >> 62 << 64 | 2 << 62 | random & 2**62 - 1
    return str(UUID(int=value))
