"""OpenAI's SDK as both of OpenAI's protocols use it: on our HTTP client, and with nothing from the environment."""

from types import ModuleType
from typing import Any

from .config import ModelConfig
from .connections import Connection, SdkConnection
from .environment import overruled

__all__ = ["sdk_connection", "sdk_headers"]


def sdk_headers(sdk: ModuleType, config: ModelConfig) -> dict[str, Any]:
    """The headers that differ from what the SDK would send."""
    headers: dict[str, Any] = overruled("OPENAI_CUSTOM_HEADERS", sdk.omit)
    headers |= {"OpenAI-Organization": sdk.omit, "OpenAI-Project": sdk.omit}
    if not config.api_key:
        headers["Authorization"] = sdk.omit
    return headers


def sdk_connection(sdk: ModuleType, config: ModelConfig, http_client: Any) -> Connection:
    """The SDK's client on an HTTP client, which never asks twice."""
    client = sdk.AsyncOpenAI(
        api_key=config.api_key or "none",
        base_url=config.base_url,
        max_retries=0,
        http_client=http_client,
    )
    return SdkConnection(sdk, client, config.api_key)
