"""``turnfold probe``: whether a brand can be reached and accepts the key, and whether a model of it answers."""

import os
import sys
from argparse import Namespace

import trio

from ...adapters.models import RemoteModel, make_model
from ...adapters.models.config import vendor_for
from ...adapters.models.structured import Ask, CallFailedError, generate
from ...adapters.models.vendors import protocols_of
from ...adapters.services import Endpoint, ServiceClient
from ...adapters.services import probe as probe_service
from .environment import variable
from .exits import CliError, ExitCode
from .keys import warn_of_key
from .report import usage_text
from .screen import Screen
from .service import brand_of, endpoint_of, model_of
from .settings import spoken_to
from .style import clean, duration

__all__ = ["run"]

_QUESTION = Ask("Answer with the word yes, and nothing else.", max_output_tokens=16, purpose="probe")
_PATIENCE_S = 60.0


def run(arguments: Namespace) -> int:
    """Print what was found out. Raises what ``errors`` explains."""
    warn_of_key(arguments)
    return trio.run(_probe, arguments)


async def _probe(arguments: Namespace) -> int:
    brand, name = brand_of(arguments), model_of(arguments)
    vendor_for(brand)
    protocol: str = arguments.protocol or variable(os.environ, brand, "PROTOCOL")
    vendor = spoken_to(brand, protocol)
    usual = vendor.protocol == protocols_of(brand)[0]
    if not usual and not name:
        raise CliError(f"only a model can show whether {brand} speaks {protocol}; name a MODEL as well")
    endpoint, screen = endpoint_of(arguments, vendor), Screen(sys.stdout)
    model = _model(arguments, endpoint, name, protocol) if name else None
    if usual:
        await _ask_for_the_list(endpoint, screen)
    if model is not None:
        where = "" if usual else f" at {endpoint.host} by {protocol}"
        await _ask_the_model(model, clean(f"{name} answers{where}"), screen)
    return 0


def _model(arguments: Namespace, endpoint: Endpoint, name: str, protocol: str) -> RemoteModel:
    url = endpoint.url + (f"?{endpoint.query}" if endpoint.query else "")
    return make_model(endpoint.name, name, url, endpoint.api_key, protocol=protocol, allow_http=arguments.allow_http)


async def _ask_for_the_list(endpoint: Endpoint, screen: Screen) -> None:
    """Brands list their models in one way, whatever their models are spoken to in."""
    began = trio.current_time()
    with screen.hinting(f"asking {endpoint.host} …"):
        async with ServiceClient() as client:
            await probe_service(client, endpoint.name, endpoint)
    key = " and accepts the key" if endpoint.api_key else ""
    screen.line(f"{clean(endpoint.name)} answers at {endpoint.host}{key} ({_since(began)})")


async def _ask_the_model(model: RemoteModel, answers: str, screen: Screen) -> None:
    began = trio.current_time()
    with screen.hinting("asking the model …"):
        async with model:
            try:
                with trio.fail_after(_PATIENCE_S):
                    found = await generate(model, _QUESTION)
            except CallFailedError as failed:
                raise CliError(str(failed), ExitCode.FAILED) from failed
            except trio.TooSlowError:
                raise CliError(f"the model did not answer within {_PATIENCE_S:g} s", ExitCode.FAILED) from None
    screen.line(f"{answers} ({_since(began)}; {usage_text(found.usage)})")


def _since(began: float) -> str:
    return duration(round((trio.current_time() - began) * 1000))
