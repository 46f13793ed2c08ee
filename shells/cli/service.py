"""What the commands that look at a brand ask, where and with which key: flags, then the environment, then its row."""

import os
from argparse import Namespace

from ...adapters.models import VENDORS, Vendor
from ...adapters.models.config import api_key_for
from ...adapters.services import Endpoint, endpoint_at
from .environment import tell_of_address, variable
from .exits import CliError
from .keys import check_key, check_way, key_of

__all__ = ["brand_of", "endpoint_of", "model_of"]


def brand_of(arguments: Namespace) -> str:
    """The brand that is asked for; raises ``CliError`` if nobody said one."""
    brand = os.environ.get("TURNFOLD_BRAND", "") if arguments.brand is None else arguments.brand
    if not brand.strip():
        raise CliError(f"no brand was named; say BRAND or set TURNFOLD_BRAND, to one of {', '.join(VENDORS)}")
    return brand


def model_of(arguments: Namespace) -> str:
    """The model that is asked for, empty if none is: that of the environment goes with the brand of the environment.

    Raises ``CliError`` for a name that is empty: it is most likely a variable that is not set.
    """
    if arguments.model is not None and not arguments.model.strip():
        raise CliError("no model was named; say which, or leave it out to ask about the key alone")
    return arguments.model or (os.environ.get("TURNFOLD_MODEL", "").strip() if arguments.brand is None else "")


def endpoint_of(arguments: Namespace, vendor: Vendor, needs_key: bool = True) -> Endpoint:
    """The endpoint of the brand; raises ``ConfigError``, ``CliError`` and ``ServiceError``."""
    brand = vendor.name
    tell_of_address(arguments, brand, os.environ)
    url = arguments.base_url or variable(os.environ, brand, "BASE_URL") or vendor.base_url
    if not url:
        raise CliError(f"{brand} has no address of its own; say --base-url")
    key = key_of(arguments, brand, os.environ)
    if key or needs_key:
        check_key(vendor, key, os.environ)
        key = api_key_for(vendor, key)
    check_way(vendor, url, bool(key or "?" in url), arguments.allow_http)
    return endpoint_at(url, key, name=brand, allow_http=arguments.allow_http)
