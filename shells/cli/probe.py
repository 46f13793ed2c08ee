"""``turnfold probe``: whether a brand can be reached and accepts the key, and whether a model of it answers."""

from argparse import Namespace

import trio

from ...adapters.models import make_model
from ...adapters.models.structured import Ask, CallFailedError, generate
from ...adapters.services import ServiceClient
from ...adapters.services import probe as probe_service
from .exits import CliError, ExitCode
from .report import usage_text
from .service import endpoint_of, key_of, url_of
from .style import clean, duration

__all__ = ["run"]

_QUESTION = Ask("Answer with the word yes, and nothing else.", max_output_tokens=16, purpose="probe")
_PATIENCE_S = 60.0


def run(arguments: Namespace) -> int:
    """Print what was found out. Raises what ``errors`` explains."""
    return trio.run(_probe, arguments)


async def _probe(arguments: Namespace) -> int:
    endpoint = endpoint_of(arguments)
    began = trio.current_time()
    async with ServiceClient() as client:
        await probe_service(client, arguments.brand, endpoint)
    key = " and accepts the key" if endpoint.api_key else ""
    print(f"{clean(arguments.brand)} answers at {endpoint.host}{key} ({_since(began)})", flush=True)
    if arguments.model:
        await _ask(arguments)
    return 0


async def _ask(arguments: Namespace) -> None:
    began = trio.current_time()
    async with make_model(arguments.brand, arguments.model, url_of(arguments), key_of(arguments)) as model:
        try:
            with trio.fail_after(_PATIENCE_S):
                found = await generate(model, _QUESTION)
        except CallFailedError as failed:
            raise CliError(str(failed), ExitCode.FAILED) from failed
        except trio.TooSlowError:
            raise CliError(f"the model did not answer within {_PATIENCE_S:g} s", ExitCode.FAILED) from None
    print(f"{clean(arguments.model)} answers ({_since(began)}; {usage_text(found.usage)})")


def _since(began: float) -> str:
    return duration(round((trio.current_time() - began) * 1000))
