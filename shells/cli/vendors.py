"""``turnfold vendors``: the brands there are."""

import sys
from argparse import Namespace
from typing import Any

from ...adapters.models import VENDORS, Vendor
from ...adapters.models.vendors import protocols_of
from .report import json_text
from .style import style_for
from .table import table

__all__ = ["run"]

_HEADINGS = ("BRAND", "KEY", "PROTOCOLS", "ADDRESS")


def run(arguments: Namespace) -> int:
    """Print the brands, in their order."""
    if arguments.json:
        print(json_text([_data(vendor) for vendor in VENDORS.values()]))
        return 0
    for line in table(_HEADINGS, [*map(_row, VENDORS.values())], style_for(sys.stdout)):
        print(line)
    return 0


def _row(vendor: Vendor) -> tuple[str, str, str, str]:
    key = "optional" if vendor.key_optional else "needed"
    return vendor.name, key, ", ".join(protocols_of(vendor.name)), vendor.base_url or "(say --base-url)"


def _data(vendor: Vendor) -> dict[str, Any]:
    return {
        "brand": vendor.name,
        "protocols": protocols_of(vendor.name),
        "base_url": vendor.base_url,
        "key_optional": vendor.key_optional,
        "structured": vendor.structured.value,
        "rerank": vendor.rerank.value,
    }
