"""A call that a person decides: the run is suspended, somebody approves a smaller sum, and the next execution goes on.

README.md quotes this and shows what it prints. The model is a script, so that it needs neither key nor network.
"""

import trio
from turnfold.adapters.models import ScriptedModel, call, say
from turnfold.adapters.stores import MemoryStore, Store
from turnfold.adapters.tools import CallPolicy, Confirm, tool
from turnfold.effects.feed import InputMessage
from turnfold.effects.lifecycle import RunResult
from turnfold.effects.record import CallDecision
from turnfold.effects.tool import Invocation
from turnfold.shells import Runtime

MODEL = ScriptedModel([call("refund", {"order": "4711", "cents": 2000}), say("You get 15 euros back.")])


async def large_sums(invocation: Invocation) -> CallPolicy:
    large = invocation.arguments["cents"] > 1000
    return CallPolicy(confirm=Confirm({"why": "more than 10 euros"}, expires_in_ms=86_400_000) if large else None)


@tool(side_effects=True, policy=large_sums)
async def refund(order: str, cents: int) -> str:
    """Refund a customer."""
    return f"refunded {cents} cents of order {order}"


async def execute(store: Store) -> RunResult:
    feed, journal = store.feed("chat"), store.journal("run")
    return await Runtime().run("run", model=MODEL, tools=[refund], feed=feed, journal=journal)


async def main() -> None:
    with MemoryStore() as store:
        await store.append("chat", InputMessage("Order 4711 arrived broken."))
        (waits,) = (await execute(store)).outcome.waits_for
        paused = await store.call("run", waits)
        print(paused.status, paused.arguments, paused.payload)
        decision = CallDecision(approved=True, arguments='{"order": "4711", "cents": 1500}', digest=paused.digest)
        await store.decide("run", waits, decision)
        print((await execute(store)).text)
        print((await store.call("run", waits)).result)


trio.run(main)
