"""Keys as the command line knows them: from where one is taken, where it may go, and what to say when there is none."""

import sys
from argparse import Namespace
from collections.abc import Mapping
from urllib.parse import urlsplit

from ...adapters.models import Vendor
from ...adapters.models.config import base_url_for, check_secrecy
from .environment import owner_of, variable
from .exits import CliError

__all__ = ["check_key", "check_way", "key_of", "warn_of_key"]


def key_of(arguments: Namespace, brand: str, environ: Mapping[str, str]) -> str:
    """The key for the brand; empty if there is none.

    A key in the vendor's own variable is never used: it may be meant for another program, and another address.
    """
    return arguments.api_key or variable(environ, brand, "API_KEY")


def check_key(vendor: Vendor, key: str, environ: Mapping[str, str]) -> None:
    """Raises ``CliError`` where a key is needed and there is none."""
    if key.strip() or vendor.key_optional:
        return
    name = vendor.name
    owner = owner_of(environ, name, "API_KEY")
    if owner:
        raise CliError(f"{name} needs an API key: TURNFOLD_API_KEY belongs to {owner} (TURNFOLD_BRAND); say --api-key")
    own = [variable for variable in _own_variables(name) if environ.get(variable)]
    ignored = f" ({own[0]} is set, but only TURNFOLD_API_KEY is read)" if own else ""
    raise CliError(f"{name} needs an API key: set TURNFOLD_API_KEY{ignored}, or say --api-key")


def check_way(vendor: Vendor, base_url: str, secret: bool, allow_http: bool) -> None:
    """Raises ``CliError`` where something ``secret`` would travel unencrypted to another machine.

    Raises ``ConfigError`` for an address that is none.
    """
    url, _ = base_url_for(vendor, base_url or None)
    if secret and not check_secrecy(url, False, allow_http):
        raise CliError(
            f"the API key would travel unencrypted to {urlsplit(url).netloc}: use https, "
            "or say --allow-http if the network in between is yours"
        )


def warn_of_key(arguments: Namespace) -> None:
    """Say on standard error that a key on the command line is no secret, if there is one."""
    if arguments.api_key:
        print("turnfold: anybody on this machine can see a key on the command line; set TURNFOLD_API_KEY instead",
              file=sys.stderr)  # fmt: skip


def _own_variables(brand: str) -> tuple[str, ...]:
    name = f"{brand.upper()}_API_KEY"
    return ("GEMINI_API_KEY", name) if brand == "google" else (name,)
