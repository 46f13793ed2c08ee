"""Where each brand lists its models, and what proves that a key is accepted: data.

Apart from ``adapters.models.vendors``, which says how a brand's models are asked: rooms of adapters do not know each
other, and a list is found elsewhere than a chat.
"""

from collections.abc import Mapping
from enum import StrEnum

from ...effects.values import frozen, replace
from .endpoint import Endpoint

__all__ = ["KEY_SERVICES", "Auth", "Listing", "Pages", "listing_of"]


class Auth(StrEnum):
    """How a key is shown."""

    BEARER = "bearer"
    ANTHROPIC = "anthropic"
    GOOGLE = "google"


class Pages(StrEnum):
    """How a list goes on: after the last id (under one of two names), by a cursor, by numbers, or not at all."""

    ONE = "one"
    AFTER = "after"
    AFTER_ID = "after_id"
    CURSOR = "cursor"
    NUMBERED = "numbered"


_NO_QUERY: Mapping[str, str | int] = {}


@frozen
class Listing:
    """Where and how a brand lists its models.

    ``path`` is below the base URL once an ending in ``strips`` is off it; ``member`` is where the list is, a path with
    dots; ``query`` goes with every page.
    """

    path: str = "models"
    strips: tuple[str, ...] = ()
    member: str = "data"
    auth: Auth = Auth.BEARER
    pages: Pages = Pages.AFTER
    query: Mapping[str, str | int] = _NO_QUERY

    def url(self, endpoint: Endpoint, query: Mapping[str, str | int] = _NO_QUERY) -> str:
        """The address of a page."""
        return endpoint.at(f"{self.root(endpoint)}/{self.path}", {**self.query, **query})

    def root(self, endpoint: Endpoint) -> str:
        """The path that the brand's own addresses lie below."""
        ending = next(filter(endpoint.path.endswith, self.strips), "")
        return endpoint.path.removesuffix(ending)

    def headers(self, endpoint: Endpoint) -> Mapping[str, str]:
        """How the key is shown where it is no bearer token."""
        if self.auth is Auth.ANTHROPIC:
            return {"X-Api-Key": endpoint.api_key, "Anthropic-Version": "2023-06-01"}
        return {"X-Goog-Api-Key": endpoint.api_key} if self.auth is Auth.GOOGLE else {}


_USUAL = Listing()

_LISTINGS: Mapping[str, Listing] = {
    "openai": _USUAL,
    "anthropic": Listing("v1/models", ("/v1",), auth=Auth.ANTHROPIC, pages=Pages.AFTER_ID, query={"limit": 1000}),
    "google": Listing("v1beta/models", ("/v1beta",), "models", Auth.GOOGLE, Pages.CURSOR, {"pageSize": 1000}),
    "deepseek": _USUAL,
    "alibaba": Listing(
        "api/v1/models",
        ("/compatible-mode/v1", "/api/v1"),
        "output.models",
        pages=Pages.NUMBERED,
        query={"page_size": 100},
    ),
    "moonshot": _USUAL,
    "zhipu": _USUAL,
    "volcengine": _USUAL,
    "minimax": _USUAL,
    "xai": _USUAL,
    "mistral": _USUAL,
    "openrouter": replace(_USUAL, query={"output_modalities": "all"}),
    "typesafe": replace(_USUAL, member="models"),
    "ollama": Listing("api/tags", ("/v1",), "models", pages=Pages.ONE),
    "openai_compatible": _USUAL,
}

KEY_SERVICES: Mapping[str, Listing] = {"openrouter": Listing("key")}
"""What to ask instead of the list where that needs no key and so would prove nothing; the answer is an object."""


def listing_of(brand: str) -> Listing | None:
    """Where the brand lists its models; nothing for a brand that nobody knows."""
    return _LISTINGS.get(brand)
