"""What can happen to a connection, in the right kind and inside the right time: for everything that can be asked.

The tables are those of the models. Statuses one by one are in ``test_failures``.
"""

import json
import socket

import pytest
import trio
from turnfold.adapters.services import ServiceClient, ServiceError, Stage, endpoint_at
from turnfold.effects.transcript import ErrorKind

from tests.adapters.models.loopback import KEY, Answer, Asked, free_port, in_real_time, says, serving, signed_by_itself
from tests.adapters.models.test_failure_injection import AT_ONCE, TIMED
from tests.adapters.services.world import CALLS, assert_no_secret

PAGE_S = 2.0
"""As long as an error page may take."""


async def timed(url: str, name: str, timeout_s: float = 0.5) -> tuple[ServiceError, float]:
    """The failure of a call, and how many seconds it took."""
    async with ServiceClient(connect_s=0.3) as client:
        began = trio.current_time()
        with pytest.raises(ServiceError) as failed:
            await CALLS[name](client, endpoint_at(url, KEY), timeout_s)
    assert_no_secret(failed)
    return failed.value, trio.current_time() - began


async def timed_answer(answer: Answer, name: str, timeout_s: float = 0.5) -> tuple[ServiceError, float]:
    async with serving(answer) as server:
        found = await timed(server.url, name, timeout_s)
        assert len(server.asked) == 1, "a call is not repeated on its own"
    return found


@pytest.mark.parametrize("what", ["no head", "reset", "429", "503", "529", "html", "redirect"])
@in_real_time
async def test_a_failure_is_told_inside_its_time(what: str) -> None:
    """Whatever was asked; everything is asked at once, since most of it is waiting."""
    answer_for, kind, least, most = TIMED[what]
    told: dict[str, tuple[ErrorKind, bool]] = {}

    async def asks(name: str) -> None:
        failed, seconds = await timed_answer(answer_for("openai-chat"), name)
        told[name] = failed.kind, least <= seconds < most

    async with trio.open_nursery() as nursery:
        for name in CALLS:
            nursery.start_soon(asks, name)
    assert told == dict.fromkeys(CALLS, (kind, True))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("status", "kind", "stage"),
    [
        (400, ErrorKind.INVALID_REQUEST, Stage.CAPABILITY),
        (401, ErrorKind.UNAUTHORIZED, Stage.AUTHENTICATE),
        (402, ErrorKind.QUOTA, Stage.CAPABILITY),
        (403, ErrorKind.FORBIDDEN, Stage.AUTHORIZE),
        (404, ErrorKind.NOT_FOUND, Stage.CAPABILITY),
        (413, ErrorKind.OVERFLOW, Stage.CAPABILITY),
        (500, ErrorKind.UNAVAILABLE, Stage.CONNECT),
        (504, ErrorKind.TIMEOUT, Stage.CONNECT),
    ],
)
@in_real_time
async def test_a_status_is_a_kind_whatever_was_asked(name: str, status: int, kind: ErrorKind, stage: Stage) -> None:
    failed, _ = await timed_answer(says(f"{status} X", b'{"error": {"message": "no"}}'), name)
    assert (failed.kind, failed.stage, failed.status) == (kind, stage, status)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ({"error": {"message": "no", "code": "insufficient_quota"}}, ErrorKind.QUOTA),
        ({"base_resp": {"status_code": 1004, "status_msg": "login fail"}}, ErrorKind.UNAUTHORIZED),
    ],
)
@in_real_time
async def test_a_success_that_holds_a_report_is_that_failure(name: str, page: object, kind: ErrorKind) -> None:
    failed, _ = await timed_answer(says("200 OK", json.dumps(page).encode()), name)
    assert failed.kind is kind


@pytest.mark.parametrize("name", CALLS)
@in_real_time
async def test_a_port_where_nobody_listens_is_told_at_once(name: str) -> None:
    failed, seconds = await timed(f"http://127.0.0.1:{free_port()}", name)
    assert failed.kind is ErrorKind.NETWORK
    assert seconds < AT_ONCE


@in_real_time
async def test_a_server_that_takes_no_connection_is_given_up_after_its_time() -> None:
    """A queue of connections that is full: nobody refuses, and nobody answers, whatever is asked."""
    told: dict[str, tuple[ErrorKind, bool]] = {}

    async def asks(name: str, port: int) -> None:
        failed, seconds = await timed(f"http://127.0.0.1:{port}", name, 5.0)
        told[name] = failed.kind, 0.3 <= seconds < 0.3 + AT_ONCE

    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        async with trio.open_nursery() as nursery:
            for name in CALLS:
                nursery.start_soon(asks, name, full.getsockname()[1])
    assert told == dict.fromkeys(CALLS, (ErrorKind.TIMEOUT, True))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("certificates")
@in_real_time
async def test_a_certificate_that_signed_itself_is_not_believed(name: str) -> None:
    """The key is never sent: the connection is not secure, and says why in one line."""
    async with signed_by_itself() as (port, heard):
        failed, seconds = await timed(f"https://127.0.0.1:{port}", name, 5.0)
    assert (failed.kind, failed.stage) == (ErrorKind.TLS, Stage.CONNECT)
    assert f"127.0.0.1:{port}" in str(failed)
    assert "self-signed certificate" in str(failed)
    assert seconds < 2 * AT_ONCE
    assert heard == []


# Error pages.


def beginning(status: str, page: bytes, *, breaks_off: bool) -> Answer:
    """A status and the beginning of its page, and then nothing."""

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await stream.send_all(f"HTTP/1.1 {status}\r\nContent-Length: 9000\r\n\r\n".encode() + page)
        if breaks_off:
            await stream.aclose()
        else:
            await trio.sleep_forever()

    return answer


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("status", "kind"), [("400 X", ErrorKind.INVALID_REQUEST), ("503 X", ErrorKind.UNAVAILABLE)])
@in_real_time
async def test_a_torn_page_is_told_by_its_status(name: str, status: str, kind: ErrorKind) -> None:
    torn = b'{"error": {"message": "the reason is'
    for answer in (says(status, torn), beginning(status, torn, breaks_off=True)):
        failed, seconds = await timed_answer(answer, name, 5.0)
        assert failed.kind is kind
        assert "the reason" not in str(failed)
        assert seconds < AT_ONCE


@pytest.mark.parametrize(("timeout_s", "least"), [(0.3, 0.3), (9.0, PAGE_S)])
@in_real_time
async def test_a_page_that_does_not_come_is_told_by_its_status_and_what_has_come(
    timeout_s: float, least: float
) -> None:
    """However long the call might take, and also when its time ends meanwhile."""
    failed, seconds = await timed_answer(beginning("401 X", b"no such key", breaks_off=False), "probe", timeout_s)
    assert (failed.kind, failed.status) == (ErrorKind.UNAUTHORIZED, 401)
    assert str(failed).endswith("(401): no such key")
    assert least <= seconds < least + AT_ONCE


@in_real_time
async def test_a_caller_need_not_wait_for_a_page() -> None:
    async with serving(beginning("401 X", b"no", breaks_off=False)) as server, ServiceClient() as client:
        with trio.move_on_after(0.2) as scope:
            await CALLS["probe"](client, endpoint_at(server.url, KEY), 9.0)
    assert scope.cancelled_caught
