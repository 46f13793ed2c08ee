"""Which models a brand offers: its list, to the last page. ``listed`` reads entries, ``brands`` says where it is."""

from collections.abc import Mapping
from typing import Any, cast

import anyio

from ...effects.values import frozen
from .brands import Listing, Pages, listing_of
from .client import Query, ServiceClient
from .endpoint import Endpoint
from .errors import ServiceError
from .failures import unexpected
from .inputs import check_endpoint
from .listed import ListedModel, details_of, reader_for
from .probe import member_of, query_for

__all__ = ["Catalogue", "discover"]

MAX_PAGES = 200
"""No brand has so many; a list that does not end is a broken one."""

DETAILS_AT_ONCE = 4


@frozen
class Catalogue:
    """The models in the order of the list. ``problems``: what could not be found out about some, a line each."""

    models: tuple[ListedModel, ...] = ()
    problems: tuple[str, ...] = ()


async def discover(client: ServiceClient, brand: str, endpoint: Endpoint, *, timeout_s: float = 60.0) -> Catalogue:
    """The models of a brand; ``timeout_s`` is for each request.

    Raises ``ServiceError``, of which ``UnsupportedError`` is for a brand whose list nobody knows.
    """
    listing = listing_of(brand)
    check_endpoint(endpoint)
    entries = await _entries(client, listing, endpoint, timeout_s)
    read = reader_for(brand)
    found = [model for model in map(read, entries) if model is not None]
    if brand == "ollama":
        return await _with_details(client, listing, endpoint, found, timeout_s)
    return Catalogue(tuple(found))


async def _entries(
    client: ServiceClient, listing: Listing, endpoint: Endpoint, timeout_s: float
) -> list[Mapping[str, Any]]:
    """All entries of the list, page by page; raises ``ServiceError``."""
    entries: list[Mapping[str, Any]] = []
    cursor: Mapping[str, str | int] | None = {"page_no": 1} if listing.pages is Pages.NUMBERED else {}
    seen: list[Mapping[str, str | int]] = []
    while cursor is not None:
        if cursor in seen or len(seen) >= MAX_PAGES:
            raise unexpected(endpoint, f"the list of models of {endpoint.host} does not end")
        seen.append(cursor)
        query = query_for(listing, endpoint, listing.url(endpoint, cursor), timeout_s)
        page = await client.ask(endpoint, query, dict[str, Any])
        part = member_of(page, listing.member)
        if part is None and listing.pages is Pages.ONE:
            part = []
        if not isinstance(part, list):
            raise unexpected(endpoint, f"{endpoint.host} gave no list of models; check the base URL")
        listed = cast("list[Any]", part)
        entries += [cast("dict[str, Any]", entry) for entry in listed if isinstance(entry, dict)]
        cursor = _next_page(listing.pages, page, len(seen), len(listed), len(entries))
    return entries


def _next_page(
    pages: Pages, page: Mapping[str, Any], number: int, here: int, so_far: int
) -> Mapping[str, str | int] | None:
    """What to ask for the page after this one; nothing if there is none."""
    match pages:
        case Pages.AFTER | Pages.AFTER_ID:
            last = page.get("last_id")
            return {pages.value: last} if page.get("has_more") is True and isinstance(last, str) and last else None
        case Pages.CURSOR:
            token = page.get("nextPageToken")
            return {"pageToken": token} if isinstance(token, str) and token else None
        case Pages.NUMBERED:
            total = member_of(page, "output.total")
            more = isinstance(total, int) and so_far < total and here > 0
            return {"page_no": number + 1} if more else None
        case Pages.ONE:
            return None


async def _with_details(
    client: ServiceClient, listing: Listing, endpoint: Endpoint, models: list[ListedModel], timeout_s: float
) -> Catalogue:
    """The models of Ollama, each asked for its details; one that does not tell is listed without."""
    url = endpoint.at(f"{listing.root(endpoint)}/api/show")
    detailed = list(models)
    problems: dict[int, str] = {}
    limiter = anyio.CapacityLimiter(DETAILS_AT_ONCE)

    async def show(place: int, model: ListedModel) -> None:
        async with limiter:
            try:
                query = Query(url, {"model": model.id}, timeout_s=timeout_s, model=model.id)
                detailed[place] = details_of(model, await client.ask(endpoint, query, dict[str, Any]))
            except ServiceError as failed:
                problems[place] = f"{model.id}: no details ({failed})"

    async with anyio.create_task_group() as tasks:
        for place, model in enumerate(models):
            tasks.start_soon(show, place, model)
    return Catalogue(tuple(detailed), tuple(problems[place] for place in sorted(problems)))
