"""What went wrong with a call, as a ``ServiceError`` with words for people.

Which kind a failure is comes from ``effects.transcript.failures``. Texts of the HTTP library are never used: some of
them hold headers and addresses.
"""

import json
import time
from collections.abc import Mapping
from typing import Any

from ...effects.transcript import ErrorKind, ModelError, clean_text
from ...effects.transcript.failures import Trouble, kind_of_report, tls_reason, trouble_of
from ...effects.transcript.reports import Report, is_markup, is_report, reported, shown_code
from ...effects.transcript.waiting import retry_after_ms, retry_info_ms
from ...effects.values import replace
from .endpoint import Endpoint
from .errors import ServiceError

__all__ = ["of_exception", "of_status", "of_success", "unexpected"]

_EXCERPT = 512


def unexpected(endpoint: Endpoint, phrase: str) -> ServiceError:
    """The service answered, and not what its interface promises."""
    return ServiceError(ModelError(ErrorKind.PROTOCOL, f"{endpoint.label}: {phrase}"))


def of_status(
    endpoint: Endpoint, status: int, headers: Mapping[str, str], page: bytes, model: str = ""
) -> ServiceError:
    """The failure that an answer with this status is. ``page`` is its beginning, ``model`` the one that was asked."""
    text = page.decode("utf-8", "replace").strip()
    value = _json(text)
    report = _reported(endpoint, value)
    if not report.said and not is_markup(text) and not text.startswith(("{", "[")):
        report = replace(report, said=text)
    now = time.time()
    kind = kind_of_report(status, report, retry_after_ms(headers, now, limited=False))
    delay = retry_after_ms(headers, now, kind is ErrorKind.RATE_LIMITED)
    failed = _told(endpoint, kind, status, report, model)
    request_id = headers.get("x-request-id") or headers.get("request-id") or ""
    return ServiceError(
        replace(
            failed,
            request_id=_excerpt(request_id, endpoint) or None,
            retry_after_ms=retry_info_ms(value) if delay is None else delay,
        )
    )


def of_success(endpoint: Endpoint, page: bytes, model: str = "") -> ServiceError | None:
    """The failure that a success is which holds an error report in place of what was asked for; none for all others."""
    value = _json(page.decode("utf-8", "replace"))
    if not is_report(value):
        return None
    report = _reported(endpoint, value)
    return ServiceError(_told(endpoint, kind_of_report(report.status, report), report.status, report, model))


def _told(endpoint: Endpoint, kind: ErrorKind, status: int, report: Report, model: str) -> ModelError:
    message = f"{endpoint.label}: {_phrase(endpoint, kind, status, model)}"
    if status:
        message += f" ({status})"
    if said := _excerpt(report.said, endpoint):
        message += f": {said}"
    code = shown_code(report.code, (endpoint.api_key,), endpoint.secrets)
    return ModelError(kind, message, status, _line(code or "") or None)


def of_exception(endpoint: Endpoint, raised: BaseException) -> ServiceError:
    """The failure behind whatever the HTTP client raised."""
    trouble = trouble_of(raised)
    phrase = _TROUBLES.get(trouble) or f"the client failed with {type(raised).__name__}"
    message = f"{endpoint.label}: {phrase.format(host=endpoint.host)}"
    if trouble is Trouble.TLS and (why := _excerpt(tls_reason(raised), endpoint)):
        message += f": {why}"
    return ServiceError(ModelError(trouble.kind, message))


_TROUBLES = {
    Trouble.TIMEOUT: "{host} did not answer in time",
    Trouble.TLS: "no secure connection to {host}; check the base URL and the certificates of this machine",
    Trouble.NO_HOST: "there is no host called {host}; check the base URL",
    Trouble.REFUSED: "{host} refused the connection; is the server running, and is the base URL right?",
    Trouble.BROKEN: "the connection to {host} broke off",
    Trouble.UNSENDABLE: "the request cannot be sent: check the base URL",
    Trouble.UNDECODABLE: "{host} sent an answer that cannot be decoded",
}

_PHRASES = {
    ErrorKind.UNAUTHORIZED: "the API key was not accepted",
    ErrorKind.FORBIDDEN: "the API key may not do this",
    ErrorKind.NOT_FOUND: "{host} has nothing at this address; check the base URL",
    ErrorKind.RATE_LIMITED: "too many requests",
    ErrorKind.QUOTA: "the account's quota or credit is used up",
    ErrorKind.OVERFLOW: "the request is too long",
    ErrorKind.INVALID_REQUEST: "the request was rejected",
    ErrorKind.TIMEOUT: "{host} gave up waiting",
    ErrorKind.REFUSED: "the request was refused by a content filter",
    ErrorKind.UNAVAILABLE: "{host} cannot answer at the moment",
}


def _phrase(endpoint: Endpoint, kind: ErrorKind, status: int, model: str) -> str:
    if 300 <= status < 400:
        phrase = "{host} redirects, and redirects are not followed; put the address it points to in the base URL"
    elif kind is ErrorKind.NOT_FOUND and model:
        phrase = "{host} has no model {model}, or nothing at this address; check the model's name and the base URL"
    else:
        phrase = _PHRASES.get(kind, "{host} gave an unexpected answer")
    return phrase.format(host=endpoint.host, model=_line(endpoint.struck(model)))


def _reported(endpoint: Endpoint, value: Any) -> Report:
    return reported(value, f"{endpoint.name} {endpoint.host}")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _excerpt(text: str, endpoint: Endpoint) -> str:
    """The beginning of somebody else's text, on one line, without secrets; at most 512 bytes of it."""
    return _line(endpoint.scrubbed(text))


def _line(text: str) -> str:
    line = " ".join(clean_text(text).split())
    line = "".join(character if character.isprintable() else "\ufffd" for character in line[: _EXCERPT + 1])
    raw = line.encode()
    return line if len(raw) <= _EXCERPT else raw[:_EXCERPT].decode("utf-8", "ignore") + "…"
