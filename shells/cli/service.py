"""Where a brand is and with which key, for the commands that look at one: flags, then the environment, then its row.

The environment is for one brand: what it says does not go to another one, above all not the key.
"""

import os
from argparse import Namespace

from ...adapters.models.config import api_key_for, vendor_for
from ...adapters.services import Endpoint, endpoint_at
from .exits import CliError
from .keys import check_key

__all__ = ["endpoint_of", "key_of", "url_of"]


def endpoint_of(arguments: Namespace, needs_key: bool = True) -> Endpoint:
    """The endpoint of the brand; raises ``ConfigError``, ``CliError`` and ``ServiceError``."""
    vendor = vendor_for(arguments.brand)
    url = url_of(arguments)
    if not url:
        raise CliError(f"{vendor.name} has no address of its own; say --base-url")
    key = key_of(arguments)
    if key or needs_key:
        check_key(vendor, key, os.environ)
        key = api_key_for(vendor, key)
    return endpoint_at(url, key, name=vendor.name)


def url_of(arguments: Namespace) -> str:
    """The address of the brand; empty if nobody said one."""
    return arguments.base_url or _environment(arguments.brand, "BASE_URL") or vendor_for(arguments.brand).base_url


def key_of(arguments: Namespace) -> str:
    """The key for the brand; empty if there is none."""
    return arguments.api_key or _environment(arguments.brand, "API_KEY")


def _environment(brand: str, name: str) -> str:
    meant = os.environ.get("TURNFOLD_BRAND", "")
    return os.environ.get(f"TURNFOLD_{name}", "") if meant in ("", brand) else ""
