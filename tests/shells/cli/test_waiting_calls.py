"""``turnfold waiting``, ``decide``, ``settle`` and ``cancel``: what a person does about calls that wait."""

import json
import os
import pty
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call
from turnfold.adapters.stores import SqliteStore
from turnfold.adapters.tools import tool
from turnfold.effects.feed import InputMessage
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.question import CallPolicy, Confirm
from turnfold.effects.record import CallDecision, CallStatus, ToolCall
from turnfold.effects.tool import Await, Detached, Invocation
from turnfold.shells.cli import main
from turnfold.shells.runtime import Runtime

from tests.shells.cli.conftest import Cli
from tests.shells.cli.server import Call, Reply, Server, results
from tests.shells.cli.terminal import CTRL_D, at_terminal, plain, shown

Serve = Callable[[Reply], Server]


async def confirm(_: Invocation) -> CallPolicy:
    return CallPolicy(confirm=Confirm({"why": "money"}))


@tool(side_effects=True, policy=confirm)
async def pay(amount: int, to: str = "") -> str:
    """Pay."""
    return f"paid {amount}"


@tool
async def ask(question: str) -> Await:
    """Ask somebody."""
    return Await({"question": question})


@tool
async def work() -> Detached:
    """Work on it elsewhere."""
    return Detached("job 7")


def suspended(cli: Cli, *names: str, run_id: str = "shop-1", **meta: str) -> dict[str, str]:
    """A run that waits for these calls; their ids by name. It was made by a program of its own unless ``meta`` says."""
    output = [call(name, {"pay": {"amount": 5}, "ask": {"question": "?"}, "work": {}}[name]) for name in names]

    async def execute() -> dict[str, str]:
        with SqliteStore(cli.db) as store:
            await store.create_run(run_id, "talk", meta)
            await store.append("talk", InputMessage("hi"))
            said = output[0]
            for more in output[1:]:
                said = said + more
            result = await Runtime().run(
                run_id,
                model=ScriptedModel([said, "ok"]),
                feed=store.feed("talk"),
                journal=store.journal(run_id),
                tools=(pay, ask, work),
            )
            return {record.name: record.id for record in result.calls}

    return trio.run(execute)


def stored(cli: Cli, call_id: str, run_id: str = "shop-1") -> ToolCall:
    async def look() -> ToolCall | None:
        with SqliteStore(cli.db) as store:
            return await store.call(run_id, call_id)

    found = trio.run(look)
    assert found is not None
    return found


def outcome(cli: Cli, run_id: str = "shop-1") -> object:
    async def look() -> object:
        with SqliteStore(cli.db) as store:
            summary = await store.run(run_id)
            return summary and summary.outcome

    return trio.run(look)


# --- waiting


def test_waiting_shows_what_is_to_be_done_and_on_what(bare: Cli) -> None:
    ids = suspended(bare, "pay", "ask", "work")
    result = bare.on_db("waiting")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    paid = lines.index("decision     pay(amount=5)")
    assert lines[paid + 1] == f"  call  {ids['pay']}"
    assert lines[paid + 2].startswith("  run   shop-1  since 20")
    assert lines[paid + 3] == '  about {"why":"money"}'
    assert 'result       ask(question="?")' in lines
    assert "outstanding  work()" in lines
    assert lines[-3:] == [
        "",
        "turnfold decide CALL --approve --db DB  (or --reject, --arguments, --result)",
        "turnfold settle CALL --result TEXT --db DB  (or --error)",
    ]


def test_waiting_says_only_what_helps(bare: Cli) -> None:
    suspended(bare, "ask")
    assert "turnfold decide" not in bare.on_db("waiting").out
    assert bare.on_db("waiting", "--conversation", "other").out == "no call waits for anybody\n"
    assert "may be more" not in bare.on_db("waiting").out
    assert "there may be more: --limit shows them" in bare.on_db("waiting", "--limit", "1").out


def test_waiting_as_json_has_everything(bare: Cli) -> None:
    ids = suspended(bare, "pay", "work")
    found = {listed["call"]["name"]: listed for listed in json.loads(bare.on_db("waiting", "--json").out)}
    paid = found["pay"]
    assert (paid["run_id"], paid["conversation"], paid["kind"], paid["holds_up"]) == (
        "shop-1",
        "talk",
        "decision",
        True,
    )
    assert (paid["call"]["id"], paid["call"]["arguments"], paid["expired"]) == (ids["pay"], '{"amount":5}', False)
    assert set(paid["call"]) == {field.name for field in attrs.fields(ToolCall)}
    assert (found["work"]["kind"], found["work"]["holds_up"]) == ("outstanding", False)
    assert json.loads(bare.on_db("waiting", "--json", "--conversation", "other").out) == []


def test_a_decision_that_comes_too_late_is_marked(bare: Cli) -> None:
    async def fill() -> None:
        with SqliteStore(bare.db) as store:
            journal = store.journal("r")
            attempt = (await journal.begin(1)).attempt
            await journal.save_call(attempt, ToolCall("c", CallStatus.AWAITING_DECISION, 1, name="pay", expires_at=1))

    trio.run(fill)
    assert bare.on_db("waiting").out.startswith("expired      pay()\n")
    result = bare.on_db("decide", "c", "--approve")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "turnfold: the decision on call 'c' was refused: the time to decide is over; "
        "turnfold show r --db DB shows how it stands\n"
    )


def test_what_waits_fits_the_terminal_and_commands_nothing(bare: Cli) -> None:
    async def fill() -> None:
        with SqliteStore(bare.db) as store:
            journal = store.journal("r" * 60)
            attempt = (await journal.begin(1)).attempt
            nasty = {"arguments": '{"x":"' + "word " * 60 + '"}', "payload": '"\x1b[2J' + "y" * 300 + '"'}
            paused = ToolCall("c" * 36, CallStatus.AWAITING_DECISION, 1, name="p\x1b[2J", **nasty)
            await journal.save_call(attempt, paused)

    trio.run(fill)
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    with open(slave, "w") as terminal:
        bare.monkeypatch.setattr(sys, "stdout", terminal)
        bare.monkeypatch.setenv("NO_COLOR", "1")
        assert main(["waiting", "--db", str(bare.db)]) == 0
        seen = shown(terminal, master)
    os.close(master)
    assert "\x1b" not in seen
    lines = seen.split("\n")
    # Ids and commands are there to be copied, so they are in one piece.
    assert all(len(line) <= 80 for line in lines if not line.startswith(("  run ", "turnfold ")))


# --- decide


@pytest.mark.parametrize(
    ("flags", "decision", "told"),
    [
        (("--approve",), CallDecision(True), "approved pay(amount=5)"),
        (("--approve", "--by", "Ann"), CallDecision(True, by="Ann"), "approved pay(amount=5)"),
        (("--reject", "too much"), CallDecision(reason="too much"), "rejected pay: too much"),
        (("--reject", ""), CallDecision(), "rejected pay"),
        (
            ("--arguments", '{"amount": 3}'),
            CallDecision(True, arguments='{"amount": 3}'),
            "approved with other arguments: pay(amount=3)",
        ),
        (("--result", "by hand"), CallDecision(result="by hand"), "given as the result of pay: by hand"),
        (("--result", ""), CallDecision(result=""), "given as the result of pay: "),
    ],
)
def test_a_call_is_decided_once(bare: Cli, flags: tuple[str, ...], decision: CallDecision, told: str) -> None:
    """Decision 17: bound to what the call was asked with; the same again is no harm, another one is refused."""
    call_id = suspended(bare, "pay")["pay"]
    result = bare.on_db("decide", call_id, *flags)
    assert (result.code, result.err) == (0, "")
    assert result.out == f"{told}\nthe run shop-1 can go on: resume it with the program that made it\n"
    record = stored(bare, call_id)
    assert record.digest
    assert record.decision == attrs.evolve(decision, digest=record.digest)
    assert "no call waits" in bare.on_db("waiting").out

    assert bare.on_db("decide", call_id, *flags).out == result.out
    other = bare.on_db("decide", call_id, "--reject", "something else")
    assert (other.code, other.out) == (1, "")
    assert other.err == (
        f"turnfold: the decision on call {call_id!r} was refused: it was decided before, and differently; "
        "turnfold show shop-1 --db DB shows how it stands\n"
    )
    assert stored(bare, call_id) == record


def test_an_edit_may_add_what_the_tool_does_not_need(bare: Cli) -> None:
    call_id = suspended(bare, "pay")["pay"]
    assert bare.on_db("decide", call_id, "--arguments", ' {"amount":1,"to":"Bob"} ').code == 0


@pytest.mark.parametrize(
    ("edited", "line"),
    [
        ('{"amount":"many"}', "the arguments do not fit the tool pay: amount must be integer; nothing was decided"),
        (
            '{"to":7}',
            "the arguments do not fit the tool pay: amount must have required properties amount, to must be string; ",
        ),
        ("[1]", '--arguments takes a JSON object, such as \'{"name": "value"}\', and that is something else'),
        ("{", "the arguments do not fit the tool pay: they are not valid JSON ("),
        (
            '{"amount":' + "[" * 5_000 + "]" * 5_000 + "}",
            "the arguments do not fit the tool pay: they are nested more than 64 levels deep; ",
        ),
        ("", "--arguments takes a JSON object, and not nothing; --approve lets the call run as it is"),
        ("\udcff", "the arguments do not fit the tool pay: they are not valid JSON ("),
    ],
)
def test_edited_arguments_are_checked_before_they_are_accepted(bare: Cli, edited: str, line: str) -> None:
    """Decision 17: each place that is wrong is named, and the call still waits."""
    call_id = suspended(bare, "pay")["pay"]
    result = bare.on_db("decide", call_id, "--arguments", edited)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"turnfold: {line}")
    assert result.err.count("\n") == 1
    assert stored(bare, call_id).decision is None


def test_the_beginning_of_an_id_will_do(bare: Cli) -> None:
    ids = suspended(bare, "pay", "ask")
    one, other = ids.values()
    shared = one[: next(place for place in range(len(one)) if one[place] != other[place])]
    ambiguous = bare.on_db("decide", shared, "--approve")
    assert (ambiguous.code, ambiguous.out) == (2, "")
    both = ", ".join(sorted(ids.values()))
    assert ambiguous.err == (
        f"turnfold: more than one call has an id that begins with {shared!r}: {both}; say more of it\n"
    )
    result = bare.on_db("decide", ids["pay"][: len(shared) + 1], "--approve")
    assert result.code == 0
    assert (
        result.out.splitlines()[1] == "the run shop-1 still waits for another call; turnfold waiting --db DB lists them"
    )
    assert stored(bare, ids["pay"]).decision is not None


def test_of_many_calls_with_such_a_beginning_a_few_are_named(bare: Cli) -> None:
    async def fill() -> None:
        with SqliteStore(bare.db) as store:
            journal = store.journal("r")
            attempt = (await journal.begin(1)).attempt
            for number in range(9):
                await journal.save_call(attempt, ToolCall(f"c{number}", CallStatus.RUNNING, 1))

    trio.run(fill)
    assert bare.on_db("settle", "c", "--result", "x").err == (
        "turnfold: more than one call has an id that begins with 'c': c0, c1, c2, …; say more of it\n"
    )


@pytest.mark.parametrize("command", [("show", "\udcff"), ("resume", "\udcff"), ("cancel", "\udcff")])
def test_bytes_that_are_no_text_name_no_run(bare: Cli, command: tuple[str, ...]) -> None:
    suspended(bare, "ask")
    result = bare.on_db(*command)
    assert (result.code, result.out) == (4, "")
    assert result.err.startswith("turnfold: there is no run '\ufffd")


@pytest.mark.parametrize("given", ["nonsense", "", "%", "\udcff"])
@pytest.mark.parametrize("command", [("decide", "--approve"), ("settle", "--result", "x")])
def test_a_call_that_is_not_there_is_one_line(bare: Cli, command: tuple[str, ...], given: str) -> None:
    suspended(bare, "pay")
    name, *flags = command
    result = bare.on_db(name, given, *flags)
    assert (result.code, result.out) == (4, "")
    assert result.err.startswith("turnfold: there is no call whose id begins with ")
    assert result.err.endswith("; turnfold waiting --db DB lists those that wait\n")


def test_only_a_paused_call_is_decided(bare: Cli) -> None:
    ids = suspended(bare, "ask")
    result = bare.on_db("decide", ids["ask"], "--approve")
    assert result.code == 1
    assert result.err == (
        f"turnfold: the call {ids['ask']} waits for a result and not for a decision; "
        f"use turnfold settle {ids['ask']} --result TEXT --db DB\n"
    )
    bare.on_db("settle", ids["ask"], "--result", "x")
    result = bare.on_db("decide", ids["ask"], "--approve")
    assert (result.code, result.err) == (
        1,
        f"turnfold: the call {ids['ask']} is succeeded; turnfold waiting --db DB lists those that wait\n",
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("decide", "c"), "one of the arguments --approve --reject --arguments --result is required; "),
        (("decide", "c", "--approve", "--result", "x"), "argument --result: not allowed with argument --approve; "),
        (("decide", "--approve"), "the following arguments are required: CALL; "),
        (("settle", "c"), "one of the arguments --result --error is required; "),
        (("settle", "c", "--result", "x", "--error", "y"), "argument --error: not allowed with argument --result; "),
        (("cancel",), "the following arguments are required: RUN; "),
        (("waiting", "--limit", "none"), "argument --limit: 'none' is not a number above 0; "),
    ],
)
def test_a_wrong_flag_is_one_line(bare: Cli, arguments: tuple[str, ...], line: str) -> None:
    result = bare(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"turnfold: {line}turnfold {arguments[0]} --help shows what there is\n"


@pytest.mark.parametrize(
    "command", [("waiting",), ("decide", "c", "--approve"), ("settle", "c", "--result", "x"), ("cancel", "r")]
)
def test_none_of_these_makes_a_database(bare: Cli, command: tuple[str, ...]) -> None:
    result = bare.on_db(*command)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(f"turnfold: there is no database {bare.db}; ")
    assert not bare.db.exists()


# --- settle


@pytest.mark.parametrize(
    ("flags", "status", "result", "error"),
    [
        (("--result", "42"), CallStatus.SUCCEEDED, "42", None),
        (("--error", "nobody knows"), CallStatus.FAILED, None, "nobody knows"),
    ],
)
def test_an_awaited_call_is_settled_once(
    bare: Cli, flags: tuple[str, ...], status: CallStatus, result: str | None, error: str | None
) -> None:
    call_id = suspended(bare, "ask", kind="demo")["ask"]
    settled = bare.on_db("settle", call_id, *flags)
    assert (settled.code, settled.err) == (0, "")
    assert settled.out == f"ask {status}: {flags[1]}\nthe run shop-1 can go on: turnfold resume shop-1 --db DB\n"
    record = stored(bare, call_id)
    assert (record.status, record.result, record.error) == (status, result, error)
    assert record.completed_at is not None

    assert bare.on_db("settle", call_id, *flags).code == 0
    assert stored(bare, call_id) == record
    other = bare.on_db("settle", call_id, "--result", "something else")
    assert (other.code, other.out) == (1, "")
    assert other.err == (
        f"turnfold: the call {call_id} cannot be settled: it is {status}; "
        "turnfold waiting --db DB lists those that wait\n"
    )
    assert stored(bare, call_id) == record


def test_a_result_that_no_run_waits_for_is_taken_all_the_same(bare: Cli) -> None:
    call_id = suspended(bare, "work")["work"]
    assert outcome(bare) == Delivered("ok", 1)
    assert bare.on_db("settle", call_id, "--result", "built").out == "work succeeded: built\n"
    assert stored(bare, call_id).result == "built"


def test_a_paused_call_is_decided_and_not_settled(bare: Cli) -> None:
    call_id = suspended(bare, "pay")["pay"]
    result = bare.on_db("settle", call_id, "--result", "x")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        f"turnfold: the call {call_id} cannot be settled: it waits for a decision; "
        f"use turnfold decide {call_id} --approve --db DB\n"
    )


def test_a_call_that_needs_review_is_settled(bare: Cli) -> None:
    async def fill() -> None:
        with SqliteStore(bare.db) as store:
            journal = store.journal("r")
            attempt = (await journal.begin(1)).attempt
            await journal.save_call(attempt, ToolCall("c1", CallStatus.NEEDS_REVIEW, 1, name="pay", result="not known"))

    trio.run(fill)
    assert bare.on_db("waiting").out.startswith("review       pay()\n  call  c1\n")
    assert bare.on_db("settle", "c1", "--error", "it never arrived").out == "pay failed: it never arrived\n"
    assert stored(bare, "c1", "r").status == CallStatus.FAILED


# --- cancel


def test_a_suspended_run_is_cancelled(bare: Cli) -> None:
    """Decision 40: it needs neither tools nor a model; what is paused never ran, what was handed over stays so."""
    ids = suspended(bare, "pay", "ask")
    result = bare.on_db("cancel", "shop-1", "--reason", "the shop closed")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "the run shop-1 is cancelled\n1 of its calls still waits for somebody; turnfold waiting --db DB lists them\n"
    )
    ended = outcome(bare)
    assert isinstance(ended, Failed)
    assert (ended.kind, "the shop closed" in ended.message) == (FailureKind.CANCELLED, True)
    assert stored(bare, ids["pay"]).status == CallStatus.INTERRUPTED
    late = bare.on_db("decide", ids["pay"], "--approve")
    assert (late.code, late.out) == (1, "")
    again = bare.on_db("cancel", "shop-1")
    assert (again.code, again.out) == (
        0,
        "there is nothing to cancel: the run shop-1 is over (failed: cancelled, 1 waiting)\n",
    )


def test_a_run_is_taken_from_whoever_is_at_it(bare: Cli) -> None:
    async def begin() -> None:
        with SqliteStore(bare.db) as store:
            await store.create_run("r", meta={"holder": f"{os.uname().nodename}:{os.getpid()}"})
            await store.journal("r").begin(60_000)

    trio.run(begin)
    result = bare.on_db("cancel", "r")
    assert (result.code, result.out) == (0, f"the run r is cancelled, and was taken from process {os.getpid()}\n")
    assert bare.on_db("runs").out.splitlines()[1].split()[1:3] == ["failed:", "cancelled"]


def test_what_is_over_is_left_as_it_is(bare: Cli) -> None:
    suspended(bare, "work")
    result = bare.on_db("cancel", "shop-1")
    assert (result.code, result.out) == (
        0,
        "there is nothing to cancel: the run shop-1 is over (answered, 1 outstanding)\n",
    )
    assert outcome(bare) == Delivered("ok", 1)


def test_a_run_that_is_not_there_is_not_made(bare: Cli) -> None:
    suspended(bare, "ask")
    result = bare.on_db("cancel", "nope")
    assert (result.code, result.out) == (4, "")
    assert result.err == "turnfold: there is no run 'nope' in this store; turnfold runs --db DB lists those there are\n"
    assert "nope" not in bare.on_db("runs").out


# --- going on

TOOLS = '''
from pathlib import Path
from turnfold.adapters.tools import tool
from turnfold.effects.question import CallPolicy, Confirm
from turnfold.effects.tool import Await

async def confirm(_):
    return CallPolicy(confirm=Confirm())

@tool(side_effects=True, policy=confirm)
async def pay(amount: int) -> str:
    """Pay."""
    with open("paid", "a") as book:
        book.write(f"{amount} ")
    return f"paid {amount}"

@tool
async def ask(question: str) -> Await:
    """Ask."""
    return Await()
'''
WITH = ("--tool", "shop:pay", "--tool", "shop:ask", "--no-tools")


def chat_that_waits(cli: Cli, serve: Serve, *names: str) -> dict[str, str]:
    """A chat whose turn waits for these calls; their ids by name."""
    Path("shop.py").write_text(TOOLS)
    given = {"pay": {"amount": 5}, "ask": {"question": "?"}}
    serve(lambda body: results(body) or [Call(name, given[name]) for name in names])
    result = cli.on_db("chat", *WITH, stdin="pay\n")
    what = "a call" if len(names) == 1 else f"{len(names)} calls"
    assert (result.code, result.out) == (6, "")
    assert result.err.endswith(f"turnfold: it waits for {what}; turnfold waiting --db DB tells for what\n")
    return {listed["call"]["name"]: listed["call"]["id"] for listed in json.loads(cli.on_db("waiting", "--json").out)}


def test_a_chat_goes_on_after_a_decision_and_a_result(bare: Cli, serve: Serve) -> None:
    """The edited call runs once, with what was approved, and the model is told so (DC-02)."""
    ids = chat_that_waits(bare, serve, "pay", "ask")
    assert bare.on_db("resume", "chat-default", *WITH).code == 6
    bare.on_db("decide", ids["pay"], "--arguments", '{"amount":3}')
    assert bare.on_db("settle", ids["ask"], "--result", "by Friday").out.endswith(
        "the run chat-default can go on: turnfold resume chat-default --db DB\n"
    )
    result = bare.on_db("resume", "chat-default", *WITH)
    assert result.code == 0
    assert Path("paid").read_text() == "3 "
    assert '{"amount":3}' in result.out
    assert "paid 3" in result.out
    assert "by Friday" in result.out
    assert bare.on_db("resume", "chat-default", *WITH).err.startswith("there is nothing to go on with")
    assert Path("paid").read_text() == "3 "


def test_a_person_who_comes_back_is_told_what_the_chat_waits_for(bare: Cli, serve: Serve) -> None:
    ids = chat_that_waits(bare, serve, "ask")
    command = ["chat", *WITH, "--db", str(bare.db)]
    code, seen = at_terminal(bare.monkeypatch, command, [("/retry looks again", None), ("> ", CTRL_D)])
    assert code == 0
    waits = "it waits for a call; turnfold waiting --db DB tells for what"
    waits = waits.replace("DB", str(bare.db))
    assert f"turnfold: the last message has no answer yet: {waits}, and /retry looks again" in plain(seen)
    assert bare.on_db("runs").out.splitlines()[1].split()[1:5] == ["waits", "for", "a", "call"]

    bare.on_db("settle", ids["ask"], "--result", "by Friday")
    assert bare.on_db("runs").out.splitlines()[1].split()[1:4] == ["can", "go", "on"]
    code, seen = at_terminal(bare.monkeypatch, command, [("by Friday", None), ("> ", CTRL_D)])
    assert code == 0
    assert "what the last turn waited for is there; going on with it" in plain(seen)


def test_the_next_chat_takes_a_decided_turn_up_by_itself(bare: Cli, serve: Serve) -> None:
    ids = chat_that_waits(bare, serve, "pay")
    bare.on_db("decide", ids["pay"], "--reject", "not today")
    result = bare.on_db("chat", *WITH)
    assert result.code == 0
    assert "not today" in result.out
    assert not Path("paid").exists()


def test_an_approved_call_is_not_spent_on_a_resume_without_its_tool(bare: Cli, serve: Serve) -> None:
    ids = chat_that_waits(bare, serve, "pay")
    bare.on_db("decide", ids["pay"], "--approve")
    for command in (("resume", "chat-default"), ("chat",)):
        result = bare.on_db(*command)
        assert (result.code, result.out) == (2, "")
        assert result.err.splitlines()[-1] == (
            "turnfold: a call of pay was approved, and that tool is not here; name it with --tool MODULE:pay"
        )
    assert stored(bare, ids["pay"], "chat-default").status == CallStatus.AWAITING_DECISION
    assert bare.on_db("resume", "chat-default", *WITH).code == 0
    assert Path("paid").read_text() == "5 "


def test_a_rejected_call_needs_no_tool(bare: Cli, serve: Serve) -> None:
    ids = chat_that_waits(bare, serve, "pay")
    bare.on_db("decide", ids["pay"], "--reject", "no")
    assert bare.on_db("resume", "chat-default").code == 0


def test_somebody_who_is_at_the_run_is_named(bare: Cli) -> None:
    call_id = suspended(bare, "pay")["pay"]

    async def begin() -> None:
        with SqliteStore(bare.db) as store:
            await store.create_run("shop-1", meta={"holder": f"{os.uname().nodename}:{os.getpid()}"})
            await store.journal("shop-1").begin(60_000)

    trio.run(begin)
    told = bare.on_db("decide", call_id, "--approve").out.splitlines()[1]
    assert told.startswith(f"process {os.getpid()} holds the run until ")
    assert told.endswith("; when it is done, resume the run")
