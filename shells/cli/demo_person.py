"""The person in the demonstration: looks at what waits, approves a smaller voucher, and passes the bank's answer on.

Each of these is the command that anybody would use, in a process of its own, and is shown as one would type it.
"""

import msgspec

from ...adapters.stores import Store
from ...effects.record import Wait
from .database import open_existing
from .demo_agent import BANKS_ANSWER, GRANTED
from .demo_processes import now, relay, start
from .demo_report import Act
from .exits import CliError, ExitCode
from .screen import Screen
from .style import folded, wrapped

__all__ = ["answer_as_a_person"]


async def answer_as_a_person(screen: Screen, path: str, run_id: str) -> tuple[Act, ...]:
    """Decide and settle what the run waits for; tells when that was done."""
    with open_existing(path) as store:
        waiting = await store.waiting(conversation=run_id)
        names = {listed.kind: await _beginning(store, listed.call.id) for listed in waiting}
    screen.line()
    heading = screen.style.bold("a person") + screen.style.dim(" (nobody executes the run meanwhile)")
    for line in folded(heading, min(screen.style.width, 80)):
        screen.line(line)
    await _type(screen, path, "waiting", "--conversation", run_id)
    acts: list[Act] = []
    if Wait.DECISION in names:
        edited = msgspec.json.encode({"amount": GRANTED}).decode()
        await _type(screen, path, "decide", names[Wait.DECISION], "--arguments", edited, "--by", "you")
        acts.append(Act(now(), f"decides  send_voucher: approved, with {GRANTED}"))
    if Wait.RESULT in names:
        await _type(screen, path, "settle", names[Wait.RESULT], "--result", BANKS_ANSWER)
        acts.append(Act(now(), f"settles  ask_bank: {BANKS_ANSWER}"))
    return tuple(acts)


async def _beginning(store: Store, call_id: str) -> str:
    """As much of an id as no other call has, and not so little that it looks like a mistake."""
    for length in range(8, len(call_id)):
        if len(await store.calls(call_id[:length], 2)) == 1:
            return call_id[:length]
    return call_id


async def _type(screen: Screen, path: str, *words: str) -> None:
    said = " ".join(f"'{word}'" if " " in word or "{" in word else word for word in ("turnfold", *words))
    first, *rest = wrapped(f"$ {said}", min(screen.style.width, 80) - 4)
    for line in (first, *(f"  {line}" for line in rest)):
        screen.line(f"  {line}")
    process = await start(*words, "--db", path)
    try:
        await relay(screen, process, path)
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
    if code:
        raise CliError(f"turnfold {words[0]} failed with exit code {code}; run it again", ExitCode.FAILED)
