"""A model that is made to answer in a shape: ``ShapedModel``, which asks by the next strategy where one is refused.

It is a ``ModelPort`` over one model, so that rules over several (``FallbackModel``) go on top of it, and each of those
is asked in its own way. Every call that it makes is told to the ``Calls`` of whoever wants the answer.
"""

import json
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from ....effects.model import Delta, ModelPort, ModelRequest, StreamFailed
from ....effects.values import frozen, replace
from ..attempts import closing
from ..config import ModelConfig
from ..fallback import FallbackModel, who_is_asked
from ..vendors import Strategy, Vendor
from .answer import Answer, Attempt
from .schema import OutputSchema
from .strategies import Form, Memory
from .words import StructuredWords

__all__ = ["Calls", "Shape", "new_call_id", "shaped"]

_NO_OPTIONS: Mapping[str, Any] = {}


@frozen
class Shape:
    """What to make of a model's answer: the shape (none: a text), and what ``Ask`` says about how to ask for it."""

    schema: OutputSchema | None
    words: StructuredWords
    strategy: Strategy | None
    vendor: Vendor | None
    reasoning: str


class Calls:
    """The calls that were made for one answer. ``answer`` is what the last of them said, ``attempts`` are all."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.attempts: list[Attempt] = []


def shaped(model: ModelPort, shape: Shape, calls: Calls) -> ModelPort:
    """The model, made to answer in a shape; of a ``FallbackModel`` every candidate is, in its own way.

    Raises ``ConfigError`` where a strategy was chosen that one of them has not.
    """
    if isinstance(model, FallbackModel):
        return model.around(lambda candidate: shaped(candidate, shape, calls))
    return ShapedModel(model, shape, calls)


class ShapedModel:
    """One model, made to answer in a shape. ``config`` is the model's, where it has one."""

    def __init__(self, model: ModelPort, shape: Shape, calls: Calls) -> None:
        config = getattr(model, "config", None)
        self.config = config if isinstance(config, ModelConfig) else None
        self._model = model
        self._shape = shape
        self._text = json.dumps(shape.schema.schema, ensure_ascii=False) if shape.schema is not None else ""
        self._calls = calls
        self._memory = _memory_of(model)
        self._form()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The deltas of the first answer whose strategy is not refused."""
        is_refused = True
        while is_refused:
            is_refused = False
            form, is_last = self._form()
            asked = self._asked(request, form)
            answer = self._calls.answer = Answer(form.tools[0].name if form.tools else "")
            try:
                async with closing(self._model.stream(asked)) as deltas:
                    async for delta in deltas:
                        answer.feed(delta)
                        if isinstance(delta, StreamFailed) and not is_last and self._refuses(form, answer):
                            is_refused = True
                            break
                        yield delta
            finally:
                answer.finish()
                self._calls.attempts.append(self._attempt(asked, form, answer))

    def _form(self) -> tuple[Form, bool]:
        """How to ask now, and whether there is no other way."""
        shape = self._shape
        if shape.schema is None:
            return Form(Strategy.NONE), True
        vendor = self.config.vendor if self.config is not None else shape.vendor
        forms = self._memory.forms(vendor, shape.strategy, shape.schema, shape.words, self._text)
        return forms[0], len(forms) == 1

    def _refuses(self, form: Form, answer: Answer) -> bool:
        """Whether the provider does not take the strategy, before anything was seen."""
        names = (self.config.model, self.config.host) if self.config is not None else ()
        if answer.said or answer.error is None:
            return False
        return self._memory.refuses(form, answer.error, self._text, names)

    def _attempt(self, asked: ModelRequest, form: Form, answer: Answer) -> Attempt:
        provider, model = who_is_asked(self, asked)
        return Attempt(
            asked.model_call_id,
            form.strategy,
            answer.usage,
            answer.stop,
            answer.error,
            answer.provider or provider,
            answer.model or model,
        )

    def _asked(self, request: ModelRequest, form: Form) -> ModelRequest:
        """The request in this form, as a call of its own."""
        thinking = {"reasoning": level} if (level := self._level(request)) else {}
        return replace(
            request,
            model_call_id=new_call_id(),
            instruction="\n\n".join(filter(None, (request.instruction, form.shown))),
            tools=form.tools,
            options={**thinking, **request.options, **self._merged(form.options, request.options)},
        )

    def _level(self, request: ModelRequest) -> str:
        """How hard the model shall think: as the asker says, else as the model is set up, else not at all."""
        if self._shape.reasoning or self.config is None:
            return self._shape.reasoning or "off"
        given, thinking = {**self.config.options, **request.options}, self.config.vendor.thinking
        members = {"reasoning", thinking.effort.partition(".")[0], *thinking.off}
        return "" if any(given.get(name) for name in members) else "off"

    def _merged(self, wanted: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
        """The members of the body that ask for a shape; where they hold other settings too, with those."""
        merged = dict(wanted)
        for name, value in wanted.items():
            if name not in ("generationConfig", "text"):
                continue
            set_before = [self.config.options if self.config is not None else _NO_OPTIONS, asked]
            objects = [options[name] for options in set_before if isinstance(options.get(name), dict)]
            merged[name] = {key: item for each in (*objects, value) for key, item in each.items()}
        return merged


_memories: WeakKeyDictionary[ModelPort, Memory] = WeakKeyDictionary()


def _memory_of(model: ModelPort) -> Memory:
    """What is remembered about a model, for as long as it is there."""
    try:
        return _memories.setdefault(model, Memory())
    except TypeError:  # it cannot be remembered: it has no hash, or nothing may refer to it weakly
        return Memory()


def new_call_id() -> str:
    """A fresh UUIDv7, so that a host's own record of the call can carry the same id."""
    random = secrets.randbits(74)
    value = time.time_ns() // 1_000_000 << 80 | 7 << 76 | random >> 62 << 64 | 2 << 62 | random & 2**62 - 1
    return str(UUID(int=value))
