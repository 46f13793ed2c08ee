"""What went wrong with a model call, as a ``ModelError``: one clear line for people, a kind for programs (decision 24).

Three doors: ``of_status`` for an answer that is no success, ``of_report`` for an error that a provider reports in the
middle of an answer, ``of_exception`` for everything that a client raises. Which kind a failure is, is the same for all
services and comes from ``effects.transcript.failures``; here are the words for people. Texts of HTTP libraries are
never used, because some of them hold headers.
"""

import json
import time
from collections.abc import Mapping
from typing import Any

from ...effects.transcript import ErrorKind, ModelError
from ...effects.transcript.failures import Trouble, causes_of, kind_of_report, tls_reason, trouble_of
from ...effects.transcript.reports import Report, is_markup, is_report, reported, shown_code
from ...effects.transcript.text import clean_text
from ...effects.transcript.waiting import retry_after_ms, retry_info_ms
from ...effects.values import replace
from .config import ModelConfig

__all__ = [
    "ModelFailureError",
    "NoStreamError",
    "failure",
    "of_exception",
    "of_page",
    "of_report",
    "of_status",
]

_EXCERPT = 300


class NoStreamError(Exception):
    """A response that is no stream of events: its status and headers, and the beginning of its page."""

    def __init__(self, status: int, headers: Mapping[str, str], page: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.page = page


class ModelFailureError(Exception):
    """A model call failed, and ``error`` says how. Never leaves this package."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(error.message)
        self.error = error


# Answers that are no success.


def of_status(config: ModelConfig, status: int, headers: Mapping[str, str], body: bytes, now: float) -> ModelError:
    """The failure that an answer with this status is. ``body`` is its beginning, ``now`` seconds since the epoch."""
    text = body.decode("utf-8", "replace").strip()
    value = _json(text)
    report = _reported(config, value)
    if not report.said and not is_markup(text) and not text.startswith(("{", "[")):
        report = replace(report, said=text)
    kind = kind_of_report(status, report, retry_after_ms(headers, now, limited=False))
    delay = retry_after_ms(headers, now, kind is ErrorKind.RATE_LIMITED)
    return _error(
        config,
        kind,
        report.said,
        status=status,
        code=report.code,
        request_id=headers.get("x-request-id") or headers.get("request-id"),
        retry_after=retry_info_ms(value) if delay is None else delay,
    )


def of_page(config: ModelConfig, page: bytes, media: str = "") -> ModelError:
    """The failure that a success without a stream is: a page of some media type, or an error report in disguise."""
    text = page.decode("utf-8", "replace").strip()
    value = _json(text)
    if is_report(value):
        return of_report(config, value)
    media = media.partition(";")[0].strip().lower()
    if media.endswith("html") or text.startswith("<"):
        what = "a web page"
    else:
        what = "JSON" if media.endswith("json") or value is not None else "plain text" if text else "nothing"
    phrase = f"{config.host} answered with {what} instead of a stream of events; check the base URL"
    return _error(config, ErrorKind.PROTOCOL, phrase=phrase)


def of_report(config: ModelConfig, value: Any, request_id: str | None = None) -> ModelError:
    """The failure that a provider reports in place of the rest of its answer; a passing one unless it says more."""
    report = _reported(config, value)
    kind, status, delay = kind_of_report(report.status, report), report.status, retry_info_ms(value)
    return _error(config, kind, report.said, status=status, code=report.code, request_id=request_id, retry_after=delay)


def _reported(config: ModelConfig, value: Any) -> Report:
    return reported(value, f"{config.vendor.name} {config.host}")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# What clients raise.


def of_exception(config: ModelConfig, raised: BaseException) -> ModelError:
    """The failure behind whatever a client raised, found anywhere in its chain."""
    for error in causes_of(raised):
        if isinstance(error, NoStreamError):
            if 200 <= error.status < 300:
                return of_page(config, error.page, error.headers.get("content-type", ""))
            return of_status(config, error.status, error.headers, error.page, time.time())
    trouble = trouble_of(raised)
    if trouble is Trouble.TLS:
        return _error(config, ErrorKind.TLS, tls_reason(raised))
    if trouble is Trouble.UNKNOWN and isinstance(raised, ValueError | TypeError | RecursionError):
        phrase = "the request cannot be written as JSON: check the options"
        return _error(config, ErrorKind.INVALID_REQUEST, phrase=phrase)
    return _error(config, trouble.kind, phrase=_trouble(config, trouble, raised))


def _trouble(config: ModelConfig, trouble: Trouble, raised: BaseException) -> str:
    match trouble:
        case Trouble.TIMEOUT:
            return f"{config.host} did not answer in time"
        case Trouble.NO_HOST:
            return f"there is no host called {config.host}; check the base URL"
        case Trouble.REFUSED:
            return f"{config.host} refused the connection; is the server running, and is the base URL right?"
        case Trouble.BROKEN:
            return f"the connection to {config.host} broke off"
        case Trouble.UNSENDABLE:
            return "the request cannot be sent: check base URL and headers"
        case Trouble.UNDECODABLE:
            return f"{config.host} sent an answer that cannot be decoded"
        case _:
            return f"the client failed with {type(raised).__name__}"


# Words for people.


def failure(config: ModelConfig, kind: ErrorKind, phrase: str) -> ModelFailureError:
    """A failure in our own words, to be raised."""
    return ModelFailureError(_error(config, kind, phrase=phrase))


def _error(
    config: ModelConfig,
    kind: ErrorKind,
    said: str = "",
    *,
    phrase: str = "",
    status: int = 0,
    code: str | None = None,
    request_id: str | None = None,
    retry_after: int | None = None,
) -> ModelError:
    text = f"{config.vendor.name}: {phrase or _phrase(config, kind, status, retry_after)}"
    if status:
        text += f" ({status})"
    if said := _excerpt(said, config):
        text += f": {said}"
    code = _line(shown_code(code, (config.api_key, *config.withheld), config.secrets) or "") or None
    return ModelError(kind, text, status, code, _excerpt(request_id or "", config) or None, retry_after)


def _phrase(config: ModelConfig, kind: ErrorKind, status: int, retry_after: int | None) -> str:
    match kind:
        case ErrorKind.UNAUTHORIZED:
            return "the API key was not accepted"
        case ErrorKind.FORBIDDEN:
            return f"the API key may not use the model {config.model}"
        case ErrorKind.NOT_FOUND:
            return f"{config.host} does not know the model {config.model}; check the model's name and the base URL"
        case ErrorKind.RATE_LIMITED:
            again = "" if retry_after is None else f"; it asks to wait {retry_after / 1000:g} s"
            return f"too many requests{again}"
        case ErrorKind.QUOTA:
            return "the account's quota or credit is used up"
        case ErrorKind.OVERFLOW:
            return f"the request is too long for the model {config.model}"
        case ErrorKind.INVALID_REQUEST:
            return "the request was rejected"
        case ErrorKind.TIMEOUT:
            return f"{config.host} gave up waiting for the model"
        case ErrorKind.TLS:
            return f"no secure connection to {config.host}; check the base URL and the certificates of this machine"
        case ErrorKind.REFUSED:
            return "the request was refused by a content filter"
        case ErrorKind.PROTOCOL if 300 <= status < 400:
            return (
                f"{config.host} redirects, and redirects are not followed; put the address it points to in the base URL"
            )
        case ErrorKind.UNAVAILABLE:
            return f"{config.host} cannot answer at the moment"
        case _:
            return f"{config.host} gave an unexpected answer"


def _excerpt(text: str, config: ModelConfig) -> str:
    """The beginning of somebody else's text, on one line and without secrets."""
    return _line(config.scrubbed(text))


def _line(text: str) -> str:
    line = " ".join(clean_text(text).split())
    line = "".join(character if character.isprintable() else "\ufffd" for character in line[: _EXCERPT + 1])
    return line if len(line) <= _EXCERPT else line[:_EXCERPT] + "…"
