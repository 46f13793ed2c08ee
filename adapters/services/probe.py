"""Whether a brand can be reached with a key: one question that changes nothing and costs nothing."""

from typing import Any, cast

from .brands import KEY_SERVICES, Auth, Listing, listing_of
from .client import Query, ServiceClient
from .endpoint import Endpoint
from .failures import unexpected
from .inputs import check_endpoint

__all__ = ["member_of", "probe"]


async def probe(client: ServiceClient, brand: str, endpoint: Endpoint, *, timeout_s: float = 30.0) -> None:
    """Return if the brand answers at the endpoint and accepts its key; raises ``ServiceError`` that says why not.

    An unknown brand is an ``UnsupportedError``. It proves the key, not that a certain model may be asked, nor that the
    account has credit left.
    """
    listing = listing_of(brand)
    check_endpoint(endpoint)
    listing = KEY_SERVICES.get(brand, listing)
    answer = await client.ask(endpoint, query_for(listing, endpoint, listing.url(endpoint), timeout_s), dict[str, Any])
    wanted = dict if brand in KEY_SERVICES else list
    denied = brand == "alibaba" and answer.get("success") is not True
    if denied or not isinstance(member_of(answer, listing.member), wanted):
        raise unexpected(endpoint, f"{endpoint.host} does not answer as {brand} does; check the base URL")


def query_for(listing: Listing, endpoint: Endpoint, url: str, timeout_s: float) -> Query:
    """The request for a page."""
    bearer = listing.auth is Auth.BEARER
    return Query(url, headers=listing.headers(endpoint), bearer=bearer, timeout_s=timeout_s)


def member_of(value: Any, path: str) -> Any:
    """What is at a path with dots in nested objects; nothing where the path leads nowhere."""
    for name in path.split("."):
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return value
