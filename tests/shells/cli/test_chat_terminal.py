"""``turnfold chat`` at a terminal: a real one, 80 columns wide, with a person who types."""

import re
import sqlite3
from collections.abc import Callable

import pytest

from tests.shells.cli.conftest import Cli
from tests.shells.cli.server import Call, Length, Pause, Reply, Server, Status, Think, asked, results
from tests.shells.cli.terminal import CTRL_C, CTRL_D, Act, at_terminal, plain

Serve = Callable[[Reply], Server]


def talk(cli: Cli, *script: tuple[str, Act], arguments: tuple[str, ...] = ()) -> tuple[int, str]:
    return at_terminal(cli.monkeypatch, ["chat", "--db", str(cli.db), *arguments], script)


def test_an_answer_stands_under_its_question(cli: Cli) -> None:
    code, seen = talk(cli, ("> ", "hello\n"), ("You said: hello (1)", None), ("> ", CTRL_D))
    assert code == 0
    assert plain(seen) == (
        "openai_compatible fake-1 · conversation default · /help lists the commands\n"
        "\n> hello\nYou said: hello (1)\n\n> \n"
    )


def test_an_answer_that_is_not_complete_says_so(bare: Cli, serve: Serve) -> None:
    serve(lambda _: ["The beginning", Length()])
    code, seen = talk(bare, ("> ", "tell me\n"), ("raises it)", None), ("> ", CTRL_D))
    assert code == 0
    assert "\nThe beginning\n  (cut off at the output limit; --max-tokens raises it)\n\n> " in plain(seen)


def test_text_shows_as_it_arrives(bare: Cli, serve: Serve) -> None:
    server = serve(lambda _: ["The first half", Pause(), ", the second half"])
    on_first = (
        ("> ", "tell me\n"),
        ("The first half", None),
    )
    server.on_pause = lambda: None
    code, _ = talk(bare, *on_first, ("", go_on(server)), ("second half", None), ("> ", "/quit\n"))
    assert code == 0


class go_on(str):  # noqa: N801 (reads as an act)
    """An act that lets the server go on; types nothing."""

    def __new__(cls, server: Server) -> "go_on":
        act = super().__new__(cls, "")
        act.server = server  # type: ignore[attr-defined]
        return act

    def encode(self, *_: object) -> bytes:  # type: ignore[override]
        self.server.go_on()  # type: ignore[attr-defined]
        return b""


def test_reasoning_is_dimmed_and_calls_show_how_they_stand(bare: Cli, serve: Serve) -> None:
    def reply(body: dict[str, object]) -> list[str | Call | Think]:
        if not results(body):
            return [Think("Hm."), Call("calculator", {"expression": "1/0"})]
        return ["No."]

    serve(reply)
    code, seen = talk(bare, ("> ", "divide\n"), ("No.", None), ("> ", CTRL_D))
    assert code == 0
    assert "\x1b[2mHm.\x1b[0m" in seen
    assert re.search(r"Hm\.\n  ✗ calculator failed 0\.\d s\nNo\.\n", plain(seen))


def test_no_color_means_no_colour(bare: Cli, serve: Serve) -> None:
    serve(lambda _: [Think("Hm."), "Yes."])
    bare.monkeypatch.setenv("NO_COLOR", "1")
    _, seen = talk(bare, ("> ", "well?\n"), ("Yes.", None), ("> ", CTRL_D))
    assert not re.search(r"\x1b\[[0-9;]*m", seen)
    assert "(thinking) Hm.\nYes.\n" in plain(seen)


def test_nothing_a_model_says_can_take_the_terminal_over(bare: Cli, serve: Serve) -> None:
    serve(lambda _: ["safe\x1b]0;gotcha\x07\x1b[2J\r", " and sound"])
    _, seen = talk(bare, ("> ", "try\n"), ("sound", None), ("> ", CTRL_D))
    assert "safe]0;gotcha[2J and sound\n" in seen


def test_ctrl_c_stops_the_turn_and_not_the_conversation(bare: Cli, serve: Serve) -> None:
    server = serve(lambda body: ["Once upon", Pause()] if "story" in asked(body) else [f"You said: {asked(body)}"])
    code, seen = talk(
        bare,
        ("> ", "a story\n"),
        ("Once upon", CTRL_C),
        ("and /retry asks again", None),
        ("> ", "hello\n"),
        ("You said: hello", None),
        ("> ", CTRL_D),
    )
    assert code == 0
    assert "Once upon\n  (broken off here)\nturnfold: stopped; the message is kept, and /retry asks again\n" in plain(
        seen
    )
    assert [message["content"] for message in server.requests[-1]["messages"]] == ["a story", "hello"]
    assert plain(seen).count("(broken off here)") == 1


def test_a_second_ctrl_c_leaves(bare: Cli, serve: Serve) -> None:
    """It comes while the cut-off call has its grace to hand in a result."""
    (bare.db.parent / "deaf.py").write_text(
        'import trio\nasync def deaf() -> str:\n    """Hears nothing."""\n    await trio.sleep_forever()\n'
    )
    serve(lambda _: [Call("deaf", {})])
    code, _ = talk(bare, ("> ", "call\n"), (" deaf …", CTRL_C), ("stopping", CTRL_C), arguments=("--tool", "deaf:deaf"))
    assert code == 130


def test_ctrl_c_at_the_prompt_leaves(cli: Cli) -> None:
    """As ``--help`` says, and as the shells do: 128 + the signal."""
    code, seen = talk(cli, ("> ", CTRL_C))
    assert code == 130
    assert plain(seen).endswith("> \n")


def test_retry_asks_again_for_what_failed(bare: Cli, serve: Serve) -> None:
    refused = [Status(401, {"error": {"message": "no"}})]
    server = serve(lambda _: refused if len(server.requests) == 1 else ["Now it works."])
    code, seen = talk(
        bare,
        ("> ", "hello\n"),
        ("/retry asks again", None),
        ("> ", "/retry\n"),
        ("Now it works.", None),
        ("> ", CTRL_D),
    )
    assert code == 0
    assert (
        "turnfold: openai_compatible: the API key was not accepted (401): no; the message is "
        "kept, and /retry asks again\n"
    ) in plain(seen)
    assert [body["messages"] for body in server.requests] == [[{"role": "user", "content": "hello"}]] * 2


def test_a_failure_is_told_when_the_conversation_is_taken_up_again(bare: Cli, serve: Serve) -> None:
    serve(lambda _: [Status(429, {"error": {"message": "slow down"}})])
    bare.on_db("chat", stdin="hello\n")
    _, seen = talk(bare, ("/retry asks again", None), ("> ", CTRL_D))
    assert "> hello\nturnfold: the last message has no answer (openai_compatible: too many requests" in plain(seen)


def test_commands(cli: Cli) -> None:
    code, seen = talk(
        cli,
        ("> ", "/retry\n"),
        ("nothing waits for an answer", None),
        ("> ", "/history\n"),
        ("nothing was said yet", None),
        ("> ", "/dance\n"),
        ("there is no command /dance; /help lists those there are", None),
        ("> ", "/help\n"),
        ("Ctrl-C stops an answer", None),
        ("> ", "/etc/hosts is a message\n"),
        ("You said: /etc/hosts is a message (1)", None),
        ("> ", "\n"),
        ("> ", "/quit\n"),
    )
    assert code == 0
    assert max(len(line) for line in plain(seen).split("\n")) <= 80


def test_the_last_exchanges_are_shown_and_history_shows_all(cli: Cli) -> None:
    cli.on_db("chat", stdin="one\ntwo\nthree\nfour\n")
    _, seen = talk(cli, ("> four", None), ("> ", "/history\n"), ("> one", None), ("> four", None), ("> ", CTRL_D))
    start, _, history = plain(seen).partition("/history\n")
    assert "earlier (/history shows all 4 exchanges):\n> two\nYou said: two (2)\n\n> three\n" in start
    assert "> one\n" not in start
    assert history.startswith("> one\nYou said: one (1)\n\n> two\n")


def test_lines_pasted_together_are_one_message(cli: Cli, echo: Server) -> None:
    talk(cli, ("> ", "one\ntwo\n/quit\n"), ("You said: one", None))
    assert [asked(body) for body in echo.requests] == ["one\ntwo"]


def test_a_line_that_the_terminal_cut_is_not_sent(cli: Cli, echo: Server) -> None:
    code, seen = talk(cli, ("> ", "x" * 5000 + "\n"), ("break it into several lines", None), ("> ", "/quit\n"))
    assert code == 0
    assert "turnfold: the terminal cut a line at 4095 bytes, so it was not sent; " in plain(seen)
    assert echo.requests == []


def test_a_conversation_that_cannot_go_on_says_so(cli: Cli) -> None:
    cli.on_db("chat", stdin="hello\n")
    with sqlite3.connect(cli.db) as connection:
        connection.execute("UPDATE head SET state = ?", (b'{"version":99}',))
    connection.close()
    code, seen = talk(cli)
    assert code == 3
    assert "cannot be read (it has version 99, and this release reads version 1); restore the database" in plain(seen)


@pytest.mark.parametrize("answer", ["", "Something."])
def test_every_answer_is_consumed(bare: Cli, serve: Serve, answer: str) -> None:
    serve(lambda _: [answer] if answer else [Call("current_time", {}), ""] if not results(_) else ["Now."])
    talk(bare, ("> ", "hello\n"), (answer or "Now.", None), ("> ", CTRL_D))
    with sqlite3.connect(bare.db) as connection:
        assert connection.execute("SELECT sequence FROM consumed").fetchall() == [(1,)]
    connection.close()
