"""What a request carries past everything that logs; that no log has it is tried out in ``test_credentials``."""

import httpx
from turnfold.adapters.models.discreet import carrying, on_request


async def hooked(query: dict[str, str]) -> httpx.Request:
    request = httpx.Request("POST", "https://x.example/v1?alt=sse&kind=old", headers={"X-Mine": "old"})
    await on_request(query)(request)
    return request


async def test_a_request_carries_headers_and_query_while_they_are_given() -> None:
    with carrying({"x-mine": "new"}), carrying({"x-mine": "newer"}):
        request = await hooked({"kind": "new&shiny", "token": "t"})
    assert request.headers["X-Mine"] == "newer"
    assert dict(request.url.params) == {"alt": "sse", "kind": "new&shiny", "token": "t"}
    await request.extensions["trace"]("connection.connect_tcp.started", {})
    assert str(request.url) == "https://x.example/v1?alt=sse&kind=old"


async def test_afterwards_requests_carry_nothing() -> None:
    with carrying({"X-Mine": "new"}):
        pass
    request = await hooked({})
    assert request.headers["X-Mine"] == "old"
    assert str(request.url) == "https://x.example/v1?alt=sse&kind=old"
