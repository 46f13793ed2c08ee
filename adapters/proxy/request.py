"""What is sent to the proxy: the model, the whole context as messages, and the few options that may travel.

Pure. The messages are made fit for any model first (decision 15): every call answered, no halves of characters.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from ...effects.model import ModelChoice, ModelRequest
from ...effects.transcript import Message, UserMessage, clean_json
from ...effects.transcript.boundary import Boundary, fit
from ...effects.transcript.declared import initial_system
from .wire import message_to_wire, model_to_wire

__all__ = ["OPTIONS", "PATH", "RequestError", "build_body"]

PATH = "/api/stream"
"""Where requests go, right behind the proxy's URL."""

OPTIONS = (
    "temperature",
    "samplingParams",
    "maxTokens",
    "reasoning",
    "cacheRetention",
    "sessionId",
    "headers",
    "metadata",
    "transport",
    "thinkingBudgets",
    "maxRetryDelayMs",
)
"""The options that are sent, in the order in which they are; everything else stays here, keys above all."""


class RequestError(ValueError):
    """A request that cannot be written as JSON; the text says no more, since options may hold anything."""


def build_body(request: ModelRequest, model: ModelChoice, boundary: Boundary) -> bytes:
    """The body of a request; raises ``RequestError``.

    Numbers that are not finite become null. A limit of the output that the request has counts where no option says one.
    """
    options = {name: request.options[name] for name in OPTIONS if name in request.options}
    if request.max_output_tokens and "maxTokens" not in options:
        limited = {**options, "maxTokens": request.max_output_tokens}
        options = {name: limited[name] for name in OPTIONS if name in limited}
    try:
        messages = list(map(message_to_wire, _messages(request, boundary)))
        body: Any = {
            "model": clean_json(model_to_wire(model)),
            "context": {"messages": messages},
            "options": clean_json(options),
        }
        return msgspec.json.encode(body)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RequestError(f"the request cannot be written as JSON ({type(error).__name__}): check options") from None


def _messages(request: ModelRequest, boundary: Boundary) -> Iterator[Message]:
    """The context as the model may see it; the request's own instruction and tools are what the system says first."""
    first = initial_system(request.instruction, request.tools)
    if first is not None:
        yield from fit((first,), boundary.target)
    yield from boundary.fit(request.context)
    if request.notice:
        yield from fit((UserMessage(request.notice),), boundary.target)
