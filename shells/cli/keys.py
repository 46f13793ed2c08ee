"""Keys as the command line knows them: from where one is taken, and what to say when there is none."""

from collections.abc import Mapping

from ...adapters.models import Vendor
from .exits import CliError

__all__ = ["check_key"]


def check_key(vendor: Vendor, key: str, environ: Mapping[str, str]) -> None:
    """Raises ``CliError`` where a key is needed and there is none.

    A key in the vendor's own variable is never used: it may be meant for another program, and another address.
    """
    if key.strip() or vendor.key_optional:
        return
    own = [name for name in _own_variables(vendor.name) if environ.get(name)]
    ignored = f" ({own[0]} is set, but only TURNFOLD_API_KEY is read)" if own else ""
    raise CliError(f"{vendor.name} needs an API key: set TURNFOLD_API_KEY{ignored}, or say --api-key")


def _own_variables(brand: str) -> tuple[str, ...]:
    name = f"{brand.upper()}_API_KEY"
    return ("GEMINI_API_KEY", name) if brand == "google" else (name,)
