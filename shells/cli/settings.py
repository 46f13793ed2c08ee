"""How a conversation is set up: flags first, then the environment, then what it was set up with the last time.

All but the key is kept with the run as its ``meta``, so that ``turnfold resume`` needs no flags. A key is never stored,
nor that it may travel unencrypted, and it is never sent to an address that only the database names: whoever made that
file would get it.
"""

import importlib
import sys
from argparse import Namespace
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from ...adapters.models import VENDORS, ConfigError, RemoteModel, Vendor, make_model, vendor_of
from ...adapters.models.config import is_loopback, vendor_for
from ...adapters.models.vendors import protocols_of
from ...adapters.tools import FunctionTool, Toolbox, tool
from ...effects.values import field, frozen
from ..perform import Tool
from .builtin_tools import BUILTIN_TOOLS
from .environment import owner_of, tell_of_address, variable
from .exits import CliError
from .keys import check_key, check_way, key_of

__all__ = ["Settings", "settings_for", "spoken_to"]

_NOTHING: Mapping[str, str] = {}
_OF_A_BRAND = ("model", "protocol", "base_url", "base_url_cut")


@frozen
class Settings:
    """One conversation's model, instruction and tools.

    ``protocol``: how the brand is spoken to (empty: as usual). ``max_tokens`` limits each answer (0: as the provider
    does).
    """

    brand: str
    model: str
    protocol: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    system: str = ""
    max_tokens: int = 0
    builtin_tools: bool = True
    extra_tools: tuple[str, ...] = ()
    allow_http: bool = False

    @property
    def meta(self) -> dict[str, str]:
        """What is kept with the run. An address loses its query, where some providers want a key."""
        return {
            "kind": "chat",
            "brand": self.brand,
            "model": self.model,
            "protocol": self.protocol,
            "base_url": self.base_url.partition("?")[0],
            "base_url_cut": "yes" if "?" in self.base_url else "",
            "system": self.system,
            "max_tokens": str(self.max_tokens or ""),
            "builtin_tools": "yes" if self.builtin_tools else "",
        }

    def make_model(self) -> RemoteModel:
        """The model; raises ``ConfigError``."""
        return make_model(
            self.brand,
            self.model,
            self.base_url or None,
            self.api_key or None,
            protocol=self.protocol,
            allow_http=self.allow_http,
        )

    def make_tools(self) -> tuple[Tool, ...]:
        """The tools; raises ``CliError`` and ``ToolDefinitionError``."""
        tools: list[Tool] = [*BUILTIN_TOOLS] if self.builtin_tools else []
        tools += [_loaded(name) for name in self.extra_tools]
        Toolbox(tools)
        return tuple(tools)


def settings_for(arguments: Namespace, environ: Mapping[str, str], stored: Mapping[str, str] = _NOTHING) -> Settings:
    """The settings of a command; raises ``CliError`` and ``ConfigError`` where something is missing or unknown."""

    def chosen(name: str) -> str:
        given: str | None = getattr(arguments, name)
        return given or variable(environ, brand, name.upper()) or stored.get(name, "")

    brand = arguments.brand or environ.get("TURNFOLD_BRAND", "") or stored.get("brand", "")
    remembered = not arguments.brand and not environ.get("TURNFOLD_BRAND")
    if brand != stored.get("brand"):
        stored = {name: value for name, value in stored.items() if name not in _OF_A_BRAND}
    model, protocol = chosen("model"), chosen("protocol")
    if not brand:
        raise CliError(f"no brand was named; say --brand or set TURNFOLD_BRAND, to one of {', '.join(VENDORS)}")
    with _told_where_from(brand, remembered):
        vendor_for(brand)
    if not model:
        owner = owner_of(environ, brand, "MODEL")
        how = f"TURNFOLD_MODEL belongs to {owner} (TURNFOLD_BRAND); say --model" if owner else ""
        raise CliError(f"no model was named; {how or 'say --model or set TURNFOLD_MODEL'}")
    base_url = chosen("base_url")
    api_key = key_of(arguments, brand, environ)
    with _told_where_from(brand, remembered):
        vendor = spoken_to(brand, protocol)
        check_key(vendor, api_key, environ)
    if not (arguments.base_url or variable(environ, brand, "BASE_URL")):
        _check_stored_address(base_url, vendor, bool(api_key), bool(stored.get("base_url_cut")))
    tell_of_address(arguments, brand, environ)
    check_way(vendor, base_url, bool(api_key.strip()), arguments.allow_http)
    builtin: bool | None = arguments.tools
    return Settings(
        brand=brand,
        model=model,
        protocol=protocol,
        base_url=base_url,
        api_key=api_key,
        system=stored.get("system", "") if arguments.system is None else arguments.system,
        max_tokens=arguments.max_tokens or _count(stored.get("max_tokens", "")),
        builtin_tools=bool(stored.get("builtin_tools", "yes")) if builtin is None else builtin,
        extra_tools=tuple(arguments.tool or ()),
        allow_http=arguments.allow_http,
    )


def spoken_to(brand: str, protocol: str) -> Vendor:
    """The brand's row for a protocol, the usual one if empty; raises ``CliError`` for one that it does not speak."""
    vendor = vendor_of(brand, protocol)
    if vendor is None:
        known = ", ".join(protocols_of(brand))
        raise CliError(f"{brand} does not speak {protocol!r}, only {known}; say one of these with --protocol")
    return vendor


@contextmanager
def _told_where_from(brand: str, remembered: bool) -> Generator[None]:
    """What is wrong with a brand that nobody named today is a riddle, unless it is said who named it."""
    try:
        yield
    except (CliError, ConfigError) as error:
        if not remembered:
            raise
        raise CliError(f"{error}; {brand} is remembered from the last time, and --brand names another one") from error


def _check_stored_address(base_url: str, vendor: Vendor, has_key: bool, cut: bool) -> None:
    if not base_url:
        return
    if cut:
        raise CliError(f"the query of the base URL {base_url} was not stored; give the whole URL with --base-url")
    try:
        local = is_loopback(urlsplit(base_url).hostname or "")
    except ValueError:
        local = False
    if has_key and not local and base_url.rstrip("/") != vendor.base_url:
        raise CliError(
            f"your key would be sent to {base_url}, which only the database names; "
            f"if that is right, say so with --base-url {base_url}"
        )


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _loaded(name: str) -> Tool:
    """The tool that ``MODULE:NAME`` names: one of ours, or a function to make one of."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise CliError(f"--tool takes MODULE:NAME, such as mytools:search, and not {name!r}; write it so")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise CliError(f"cannot load the tool {name!r} ({what}); name a function in a module that is here") from error
    if isinstance(found, FunctionTool):
        return cast("FunctionTool[..., Any]", found)
    if not callable(found):
        raise CliError(f"{name!r} is no function but a {type(found).__name__}; name a function, or a turnfold tool")
    return tool(cast("Callable[..., Any]", found))
