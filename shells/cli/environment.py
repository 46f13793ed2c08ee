"""The variables that name a model. They belong together: what they say of one brand does not go to another.

Above all not the key. ``TURNFOLD_BRAND`` says whose they are; without it they are for whichever brand is asked for. A
variable that is empty counts as not set.
"""

import sys
from argparse import Namespace
from collections.abc import Mapping

from .style import clean

__all__ = ["owner_of", "tell_of_address", "variable"]


def variable(environ: Mapping[str, str], brand: str, name: str) -> str:
    """What ``TURNFOLD_{name}`` says of the brand; empty if nothing."""
    return "" if owner_of(environ, brand, name) else environ.get(f"TURNFOLD_{name}", "")


def owner_of(environ: Mapping[str, str], brand: str, name: str) -> str:
    """The other brand that ``TURNFOLD_{name}`` is for; empty if it is not set, or for this one."""
    owner = environ.get("TURNFOLD_BRAND", "")
    return owner if owner != brand and environ.get(f"TURNFOLD_{name}") else ""


def tell_of_address(arguments: Namespace, brand: str, environ: Mapping[str, str]) -> None:
    """Say on standard error that the address in the environment is another brand's, where no flag names one."""
    owner = "" if arguments.base_url else owner_of(environ, brand, "BASE_URL")
    if owner:
        said = f"TURNFOLD_BASE_URL belongs to {owner} (TURNFOLD_BRAND), so it is not used for {brand}; say --base-url"
        print(f"turnfold: {clean(said)} if it is meant", file=sys.stderr)
