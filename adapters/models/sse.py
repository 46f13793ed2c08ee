"""Server-sent events, from bytes as they arrive. Pure; bounded.

The SDKs have decoders of their own, which are not used: OpenAI's takes a block that has no data (a ``retry:`` or an
``id:``, as gateways send) for a broken one, Anthropic's drops events without a name, neither is bounded, and what they
do changes from release to release. Vendors without an SDK need one anyway.
"""

from ...effects.values import frozen

__all__ = ["MAX_EVENT_BYTES", "EventDecoder", "EventTooLargeError", "ServerEvent"]

MAX_EVENT_BYTES = 16 * 2**20
"""The most bytes that one event may have."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OTHER_FIELDS = frozenset({"", "id", "retry"})  # of the standard; the first is a comment's


class EventTooLargeError(Exception):
    """An event that does not end."""


@frozen
class ServerEvent:
    """One event: its name (often none) and its data."""

    name: str
    data: str


class EventDecoder:
    """Events from chunks of bytes, however they are cut.

    ``foreign``: whether there was a line that no stream of events has, such as those of a web page.
    """

    def __init__(self) -> None:
        self.foreign = False
        self._partial: list[bytes] = []
        self._size = 0
        self._after_return = False
        self._first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that this chunk completes; raises ``EventTooLargeError``."""
        events: list[ServerEvent] = []
        if self._after_return and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_return = False
        for line in chunk.splitlines(keepends=True):
            self._partial.append(line)
            self._size += len(line)
            if self._size > MAX_EVENT_BYTES:
                raise EventTooLargeError
            if line.endswith((b"\n", b"\r")):
                event = self._line()
                if event is not None:
                    events.append(event)
        if chunk:
            self._after_return = chunk.endswith(b"\r")
        return events

    def flush(self) -> list[ServerEvent]:
        """The event that the end of the stream left unfinished, if any: it may be whole all the same."""
        if self._partial:
            self._line()
        return [self._dispatch()] if self._data else []

    def _line(self) -> ServerEvent | None:
        raw = b"".join(self._partial).rstrip(b"\r\n")
        self._partial.clear()
        if self._first:
            raw, self._first = raw.removeprefix(_BYTE_ORDER_MARK), False
        if not raw:
            event = self._dispatch() if self._data else None
            self._name, self._size = "", 0
            return event
        name, _, value = raw.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name not in _OTHER_FIELDS:
            self.foreign = True
        return None

    def _dispatch(self) -> ServerEvent:
        event = ServerEvent(self._name, "\n".join(self._data))
        self._data.clear()
        self._name, self._size = "", 0
        return event
