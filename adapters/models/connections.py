"""How a request leaves: through a vendor's SDK, or plainly over httpx where there is none for the protocol.

Apart from ``exchange``, which knows time limits and failures and nothing of how a request is put together. Both kinds
follow no redirects and repeat nothing; what an SDK would read from the environment is overruled: the ``headers`` here
are those to leave out. Those to send come by another way: see ``discreet``.
"""

import json
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Protocol

__all__ = ["Connection", "PlainConnection", "SdkConnection"]


class Connection(Protocol):
    """Connections to one address."""

    async def ask(self, path: str, body: Mapping[str, Any], headers: Mapping[str, Any], api_key: str) -> Any:
        """Send a request; gives the open response."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class SdkConnection:
    """A vendor's SDK. Its client puts the request together; its stream object is only used for the response in it."""

    def __init__(self, sdk: ModuleType, client: Any, api_key: str) -> None:
        self._sdk = sdk
        self._client = client
        self._api_key = api_key

    async def ask(self, path: str, body: Mapping[str, Any], headers: Mapping[str, Any], api_key: str) -> Any:
        """Send a request, with this key if it is another than usual; gives the open response."""
        client = self._client if api_key == self._api_key else self._client.with_options(api_key=api_key)
        stream = await client.post(
            path,
            cast_to=object,
            body=body,
            options={"headers": headers},
            stream=True,
            stream_cls=self._sdk.AsyncStream[object],
        )
        return stream.response

    async def aclose(self) -> None:
        """Close the SDK's connections."""
        await self._client.close()


class PlainConnection:
    """An ``httpx.AsyncClient``. The key is a header like others (see ``discreet``), and is never in the address."""

    def __init__(self, http: Any, base_url: str, query: Mapping[str, str]) -> None:
        self._http = http
        self._base_url = base_url
        self._query = dict(query)

    async def ask(self, path: str, body: Mapping[str, Any], headers: Mapping[str, Any], api_key: str) -> Any:
        """Send a request; gives the open response. A success has no other look at its body than the caller's."""
        request = self._http.build_request(
            "POST",
            self._base_url + path,
            params=self._query,
            content=json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(),
            headers={"Content-Type": "application/json", "Accept": "text/event-stream", **headers},
        )
        return await self._http.send(request, stream=True, follow_redirects=False)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
