"""A transcript on its way out to a model: ``fit`` makes any transcript valid for any model.

Apart from ``messages`` because it is the one place with rules about a *whole* transcript. The stored transcript is
never rewritten for a provider's sake; what leaves is repaired each time, and what is valid leaves as the very objects
that came in. Read ``Target``, then ``fit``, then ``_Fitting``, which takes one message after the other.

What is promised of the result (decisions 15, 16, 25):

- every call is answered exactly once, directly after its output: open calls are closed with an error result, results
  without a call and second results are left out, a system message waits until no call is open;
- outputs that failed or were broken off are left out, and so are a host's own messages;
- for the model that wrote an output it stays as it is, signatures, hidden and empty signed reasoning included; for any
  other model reasoning becomes plain text, or nothing when there is no text, and signatures are left out;
- call ids are unique and not empty, and another model's ids are valid by the target's rule;
- no text has an unpaired surrogate.

It is pure, it never raises, it costs what the transcript is long, and doing it twice changes nothing.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, TypeVar

from ..sequence import Seq
from ..values import frozen, replace
from .encoding import Sealed
from .messages import (
    AssistantMessage,
    AssistantPart,
    CallPart,
    Content,
    CustomMessage,
    ImagePart,
    Message,
    StopReason,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
)
from .text import WHITE_SPACE, clean_json, clean_text

__all__ = ["DEFAULT_WORDING", "Boundary", "IdRule", "Target", "Wording", "fit"]

T = TypeVar("T")

IdRule = Callable[[str], str]
"""Makes a call id valid for a provider. A valid id must come back unchanged; two ids may become the same."""


@frozen
class Target:
    """The model that will read the transcript. ``images``: whether it can see any."""

    api: str = ""
    provider: str = ""
    model: str = ""
    images: bool = True

    def wrote(self, message: AssistantMessage) -> bool:
        """Whether the output is this very model's own."""
        return message.model == self.model and message.provider == self.provider and message.api == self.api


@frozen
class Wording:
    """The texts that the model sees in place of what could not be sent, or could not be sent where it belongs.

    ``tool_image_follows`` and ``tool_images`` are for protocols whose tool results are text only: what stands in a
    result that is nothing but images, and what introduces the images of a batch, which follow it. ``opening`` is for
    protocols in which the user begins, before an output that is the first of a transcript; ``bridge`` is an output
    between results and what the user says next, for servers that insist on one.
    """

    no_result: str = "No result provided"
    image_omitted: str = "(image omitted: model does not support images)"
    tool_image_omitted: str = "(tool image omitted: model does not support images)"
    tool_image_follows: str = "(see the images below)"
    tool_images: str = "Images from the tool results above:"
    opening: str = "(the conversation begins)"
    bridge: str = "Done."


DEFAULT_WORDING = Wording()


def fit(
    messages: Iterable[Message | Sealed],
    target: Target,
    id_rule: IdRule = str,
    wording: Wording = DEFAULT_WORDING,
    closed_at: int | None = None,
) -> tuple[Message, ...]:
    """The transcript as ``target`` may see it; ``closed_at`` is the timestamp of results that had to be made up.

    Raises ``DecodeError`` for a sealed message that holds no message, and nothing else.
    """
    fitting = _Fitting(target, id_rule, wording, closed_at)
    for item in messages:
        fitting.add(item.open() if isinstance(item, Sealed) else item)
    return fitting.result()


class Boundary:
    """``fit`` for one target again and again: of a context that only grew, only the new end is looked at."""

    def __init__(
        self,
        target: Target,
        id_rule: IdRule = str,
        wording: Wording = DEFAULT_WORDING,
        closed_at: int | None = None,
    ) -> None:
        self.target = target
        self._new = lambda: _Fitting(target, id_rule, wording, closed_at)
        self._fitting = self._new()
        self._seen: Seq[Message | Sealed] = Seq()

    def fit(self, context: Seq[Message | Sealed]) -> tuple[Message, ...]:
        """What ``fit`` gives for the context; raises ``DecodeError`` as ``fit`` does."""
        seen, self._seen = self._seen, Seq()
        if len(context) < len(seen) or context.cut(len(seen)) != seen:
            seen = Seq()
        if not seen:
            self._fitting = self._new()
        for index in range(len(seen), len(context)):
            item = context[index]
            self._fitting.add(item.open() if isinstance(item, Sealed) else item)
        self._seen = context
        return self._fitting.result()


class _Fitting:
    """A transcript while it is taken in, message by message."""

    def __init__(self, target: Target, id_rule: IdRule, wording: Wording, closed_at: int | None) -> None:
        self._target = target
        self._id_rule = id_rule
        self._wording = wording
        self._closed_at = closed_at
        self._out: list[Message] = []
        self._held: list[SystemMessage] = []
        self._open: dict[int, CallPart] = {}
        self._awaited: dict[str, deque[int]] = {}
        self._used: set[str] = set()
        self._calls = 0

    def add(self, message: Message) -> None:
        """Take in the next message."""
        match message:
            case AssistantMessage():
                self._close()
                if message.stop not in (StopReason.ERROR, StopReason.ABORTED):
                    self._out.append(self._output(message))
            case ToolResultMessage():
                self._answer(message)
            case UserMessage():
                self._close()
                content = self._content(message.content, self._wording.image_omitted)
                self._out.append(_changed(message, content=content, extra=_clean_extra(message.extra)))
            case SystemMessage():
                (self._held if self._open else self._out).append(_clean_system(message))
            case CustomMessage():
                pass

    def result(self) -> tuple[Message, ...]:
        """The transcript so far, with what is still open closed. More may be added afterwards."""
        return (*self._out, *map(self._made_up, self._open.values()), *self._held)

    def _close(self) -> None:
        if self._open:
            self._out.extend(map(self._made_up, self._open.values()))
            self._settled()

    def _settled(self) -> None:
        self._open.clear()
        self._awaited.clear()
        self._out.extend(self._held)
        self._held.clear()

    def _made_up(self, call: CallPart) -> ToolResultMessage:
        content = (TextPart(self._wording.no_result),)
        return ToolResultMessage(call.id, call.name, content, is_error=True, timestamp=self._closed_at)

    def _answer(self, message: ToolResultMessage) -> None:
        awaited = self._awaited.get(message.call_id)
        if not awaited:
            return
        call = self._open.pop(awaited.popleft())
        content = self._content(message.content, self._wording.tool_image_omitted)
        self._out.append(
            _changed(
                message,
                call_id=_same_or(message.call_id, call.id),
                name=_clean(message.name),
                content=content,
                extra=_clean_extra(message.extra),
            )
        )
        if not self._open:
            self._settled()

    def _output(self, message: AssistantMessage) -> AssistantMessage:
        own = self._target.wrote(message)
        parts: list[AssistantPart] = []
        for part in message.parts:
            fitted = self._call(part, own) if isinstance(part, CallPart) else _said(part, own)
            if fitted is not None:
                parts.append(fitted)
        unchanged = len(parts) == len(message.parts) and all(a is b for a, b in zip(parts, message.parts, strict=True))
        return _changed(message, parts=message.parts if unchanged else tuple(parts), extra=_clean_extra(message.extra))

    def _call(self, part: CallPart, own: bool) -> CallPart:
        self._calls += 1
        fitted = _changed(
            part,
            id=_same_or(part.id, self._id(part.id, own)),
            name=_clean(part.name),
            arguments=_clean_arguments(part.arguments),
            signature=part.signature and _clean(part.signature) if own else None,
            extra=_clean_extra(part.extra),
        )
        self._open[self._calls] = fitted
        self._awaited.setdefault(part.id, deque()).append(self._calls)
        return fitted

    def _id(self, wanted: str, own: bool) -> str:
        """The id itself if it can be had, else one made from the call's place in the transcript (decision 16)."""
        cleaned = _clean(wanted)
        valid = cleaned if own else self._id_rule(cleaned)
        if not valid or valid in self._used:
            valid = self._made_id()
        self._used.add(valid)
        return valid

    def _made_id(self) -> str:
        place = f"call_{self._calls}"
        for attempt in range(100):
            candidate = self._id_rule(f"{place}_{attempt}" if attempt else place)
            if candidate and candidate not in self._used:
                return candidate
        return next(name for n in count() if (name := f"{place}_{n}" if n else place) not in self._used)

    def _content(self, content: Content, placeholder: str) -> Content:
        """Clean content; pictures that the model cannot see give way to a text, one for each row of them."""
        if content is None or isinstance(content, str):
            return () if content is None else _clean(content)
        parts: list[TextPart | ImagePart] = []
        for part in content:
            if isinstance(part, TextPart):
                parts.append(_clean_text_part(part, own=True))
            elif self._target.images:
                parts.append(_clean_image(part))
            elif not (parts and isinstance(last := parts[-1], TextPart) and last.text == placeholder):
                parts.append(TextPart(placeholder))
        same = len(parts) == len(content) and all(a is b for a, b in zip(parts, content, strict=True))
        return content if same else tuple(parts)


def _said(part: TextPart | ThinkingPart, own: bool) -> TextPart | ThinkingPart | None:
    """Text or reasoning as the reader may see it, if at all (decision 25)."""
    if isinstance(part, TextPart):
        return _clean_text_part(part, own)
    if part.redacted:
        return _clean_thinking(part) if own else None
    if own and part.signature:
        return _clean_thinking(part)
    if not part.text.strip(WHITE_SPACE):
        return None
    return _clean_thinking(part) if own else TextPart(_clean(part.text))


def _clean_text_part(part: TextPart, own: bool) -> TextPart:
    if not own:
        return part if part == TextPart(text := _clean(part.text)) else TextPart(text)
    signature = part.signature and _clean(part.signature)
    return _changed(part, text=_clean(part.text), signature=signature, extra=_clean_extra(part.extra))


def _clean_thinking(part: ThinkingPart) -> ThinkingPart:
    signature = part.signature and _clean(part.signature)
    return _changed(part, text=_clean(part.text), signature=signature, extra=_clean_extra(part.extra))


def _clean_image(part: ImagePart) -> ImagePart:
    url = part.url and _clean(part.url)
    return _changed(part, data=_clean(part.data), mime=_clean(part.mime), url=url, extra=_clean_extra(part.extra))


def _clean_system(message: SystemMessage) -> SystemMessage:
    content = message.content
    if content is None or isinstance(content, str):
        content = () if content is None else _clean(content)
    else:
        content = tuple(_clean_text_part(part, own=True) for part in content if isinstance(part, TextPart))
    tools = message.tools_added
    return _changed(
        message,
        content=_same_or(message.content, content),
        sections=message.sections and _clean_extra(message.sections),
        tools_added=tools and _same_or(tools, tuple(map(_clean_tool, tools))),
        extra=_clean_extra(message.extra),
    )


def _clean_tool(tool: ToolDeclaration) -> ToolDeclaration:
    return _changed(
        tool,
        name=_clean(tool.name),
        description=_clean(tool.description),
        parameters=_clean_extra(tool.parameters),
        extra=_clean_extra(tool.extra),
    )


def _clean(text: str) -> str:
    return text if text.isascii() else clean_text(text)


def _clean_extra(members: Mapping[str, Any]) -> Mapping[str, Any]:
    return _same_or(members, clean_json(dict(members))) if members else members


def _clean_arguments(arguments: str) -> str:
    """Clean argument text; unpaired surrogates that hide behind JSON escapes are replaced too (decision 15)."""
    arguments = _clean(arguments)
    if "\\ud" not in arguments and "\\uD" not in arguments:
        return arguments
    return _ESCAPES.sub(lambda found: "\\ufffd" if found.group(1) else found.group(), arguments)


_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPES = re.compile(rf"{_HIGH}{_LOW}|({_HIGH}|{_LOW})|\\.", re.DOTALL)


def _same_or(old: T, new: Any) -> T:
    return old if old == new else new


def _changed(value: T, **members: Any) -> T:
    """The value itself unless a member is another object than before."""
    changes = {name: member for name, member in members.items() if member is not getattr(value, name)}
    return replace(value, **changes) if changes else value
