"""``turnfold models``: what a brand offers."""

import sys
from argparse import Namespace

import attrs
import trio

from ...adapters.services import Catalogue, ListedModel, ServiceClient, discover
from ...adapters.services.brands import KEY_SERVICES
from .report import json_text
from .service import endpoint_of
from .style import clean, style_for
from .table import table

__all__ = ["run"]

_HEADINGS = ("MODEL", "TYPE", "INPUTS", "WINDOW", "OUTPUT", "NAME")


def run(arguments: Namespace) -> int:
    """Print the models of a brand. Raises what ``errors`` explains."""
    catalogue = trio.run(_discover, arguments)
    if arguments.json:
        print(json_text([attrs.asdict(model) for model in catalogue.models]))
    elif not catalogue.models:
        print(f"{clean(arguments.brand)} offers no models to this key")
    else:
        for line in table(_HEADINGS, [*map(_row, catalogue.models)], style_for(sys.stdout)):
            print(line)
    for problem in catalogue.problems:
        print(f"turnfold: {clean(problem)}", file=sys.stderr)
    return 0


async def _discover(arguments: Namespace) -> Catalogue:
    endpoint = endpoint_of(arguments, needs_key=arguments.brand not in KEY_SERVICES)
    async with ServiceClient() as client:
        return await discover(client, arguments.brand, endpoint)


def _row(model: ListedModel) -> tuple[str, ...]:
    name = "" if model.name == model.id else clean(model.name)
    inputs = ", ".join(("text", *model.inputs))
    return clean(model.id), model.type.value, inputs, _size(model.context_window), _size(model.max_output_tokens), name


def _size(tokens: int) -> str:
    return str(tokens) if tokens else "-"
