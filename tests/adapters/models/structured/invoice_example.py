"""An answer as a value of a type of one's own, from the second of two models, since the first cannot be had.

README.md quotes this and shows what it prints. The models are scripts, so that it needs neither key nor network.
"""

import attrs
import trio
from turnfold.adapters.models import FallbackModel, ScriptedModel, fail, say
from turnfold.adapters.models.structured import generate_object
from turnfold.effects.transcript import ErrorKind

FIRST = ScriptedModel([fail("no credit left", ErrorKind.QUOTA)])
SECOND = ScriptedModel([say('{"number": "4711", "cents": 2000, "due": null}')])


@attrs.frozen
class Invoice:
    number: str
    cents: int
    due: str | None


async def main() -> None:
    model = FallbackModel([FIRST, SECOND])
    found = await generate_object(model, Invoice, "Read this invoice: no. 4711, 20 euros.")
    print(found.value)
    print(f"{len(found.attempts)} attempts, {found.usage.total} tokens")


trio.run(main)
