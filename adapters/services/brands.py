"""Where each brand is, where it lists its models, and what proves that a key is accepted: data.

Read ``endpoint_for`` for an endpoint at a brand's own address. Apart from ``adapters.models.vendors``, which says how a
brand's models are asked: rooms of adapters do not know each other, and a list is found elsewhere than a chat.
"""

from collections.abc import Mapping
from enum import StrEnum

from ...effects.values import frozen, replace
from .endpoint import Endpoint, endpoint_at
from .errors import misconfigured, unknown_brand

__all__ = ["KEY_SERVICES", "Auth", "Listing", "Pages", "endpoint_for", "listing_of"]


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
    "google": Listing(
        "v1beta/models", ("/v1beta/openai", "/v1beta"), "models", Auth.GOOGLE, Pages.CURSOR, {"pageSize": 1000}
    ),
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


_ADDRESSES: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com/v1beta/openai",
    "deepseek": "https://api.deepseek.com",
    "alibaba": "https://dashscope.aliyuncs.com/compatible-mode/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "zhipu": "https://open.bigmodel.cn/api/paas/v4",
    "volcengine": "https://ark.cn-beijing.volces.com/api/v3",
    "minimax": "https://api.minimax.io/v1",
    "xai": "https://api.x.ai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "ollama": "http://localhost:11434/v1",
}
"""The address of each brand's compatible services, where it documents one; lists are found from there as well."""


def listing_of(brand: str) -> Listing:
    """Where the brand lists its models; raises ``UnsupportedError`` for a brand that nobody knows."""
    listing = _LISTINGS.get(str(brand))
    if listing is None:
        raise unknown_brand(brand, _LISTINGS)
    return listing


def endpoint_for(
    brand: str, api_key: str | None = None, base_url: str | None = None, *, allow_http: bool = False
) -> Endpoint:
    """The endpoint of a brand, at its own address unless ``base_url`` is another; raises ``ServiceError``.

    Addresses are those of a vendor's home region; keys of another region need another.
    """
    listing_of(brand)
    url = base_url or _ADDRESSES.get(brand)
    if not url:
        raise misconfigured(f"{brand} needs a base URL, such as https://example.com/v1")
    return endpoint_at(url, api_key, name=brand, allow_http=allow_http)
