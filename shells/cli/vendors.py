"""``turnfold vendors``: the brands there are, a line for each protocol of each: that fits 80 columns."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from ...adapters.models import VENDORS, Vendor, vendor_of
from ...adapters.models.vendors import protocols_of
from .report import json_text
from .style import style_for, wrapped
from .table import table

__all__ = ["run"]

_HEADINGS = ("BRAND", "PROTOCOL", "ADDRESS")
_NOTE = "Each needs a key but where it is optional. --protocol names another protocol than a brand's first."


def run(arguments: Namespace) -> int:
    """Print the brands, in their order."""
    if arguments.json:
        print(json_text([_data(vendor) for vendor in VENDORS.values()]))
        return 0
    style = style_for(sys.stdout)
    for line in table(_HEADINGS, [row for name in VENDORS for row in _rows(name)], style):
        print(line)
    if style.moves:
        for line in wrapped(_NOTE, style.width):
            print(style.dim(line))
    return 0


def _rows(name: str) -> Iterator[tuple[str, str, str]]:
    for protocol in protocols_of(name):
        vendor = vendor_of(name, protocol)
        assert vendor is not None
        key = "key optional" if vendor.key_optional else ""
        if vendor.base_url:
            yield name, protocol, vendor.base_url + (f" ({key})" if key else "")
        else:
            yield name, protocol, f"(say --base-url{'; ' if key else ''}{key})"


def _data(vendor: Vendor) -> dict[str, Any]:
    return {
        "brand": vendor.name,
        "protocols": protocols_of(vendor.name),
        "base_url": vendor.base_url,
        "key_optional": vendor.key_optional,
        "structured": vendor.structured.value,
        "rerank": vendor.rerank.value,
    }
