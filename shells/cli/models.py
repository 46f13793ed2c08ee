"""``turnfold models``: what a brand offers."""

import sys
from argparse import Namespace
from typing import Any

import attrs
import trio

from ...adapters.models.config import vendor_for
from ...adapters.services import Catalogue, ListedModel, ServiceClient, discover
from ...adapters.services.brands import KEY_SERVICES
from .keys import warn_of_key
from .report import json_text
from .screen import Screen
from .service import brand_of, endpoint_of
from .style import clean, style_for
from .table import table

__all__ = ["run"]

_HEADINGS = ("MODEL", "TYPE", "INPUTS", "WINDOW", "OUTPUT", "NAME")


def run(arguments: Namespace) -> int:
    """Print the models of a brand. Raises what ``errors`` explains."""
    warn_of_key(arguments)
    brand = brand_of(arguments)
    catalogue = trio.run(_discover, arguments, brand)
    if arguments.json:
        print(json_text([*map(_data, catalogue.models)]))
    elif not catalogue.models:
        print(f"{clean(brand)} offers no models to this key")
    else:
        for line in table(_HEADINGS, [*map(_row, catalogue.models)], style_for(sys.stdout)):
            print(line)
    for problem in catalogue.problems:
        print(f"turnfold: {clean(problem)}", file=sys.stderr)
    return 0


async def _discover(arguments: Namespace, brand: str) -> Catalogue:
    endpoint = endpoint_of(arguments, vendor_for(brand), needs_key=brand not in KEY_SERVICES)
    async with ServiceClient() as client:
        with Screen(sys.stdout).hinting(f"asking {endpoint.host} …"):
            return await discover(client, brand, endpoint)


def _data(model: ListedModel) -> dict[str, Any]:
    """A model as JSON-ready data; what the list does not tell is null."""
    return {name: value or None for name, value in attrs.asdict(model).items()}


def _row(model: ListedModel) -> tuple[str, ...]:
    name = "" if model.name == model.id else clean(model.name)
    inputs = ", ".join(("text", *model.inputs))
    return clean(model.id), model.type.value, inputs, _size(model.context_window), _size(model.max_output_tokens), name


def _size(tokens: int) -> str:
    return str(tokens) if tokens else "-"
