"""``main`` itself: what it prints and returns for the command line as such, and that nothing ever shows a traceback."""

import os
import subprocess
import sys

import pytest
from turnfold.shells.cli import main, runs

from tests.shells.cli.conftest import Cli


def test_help_names_every_command_and_exit_code(bare: Cli) -> None:
    result = bare("--help")
    assert result.code == 0
    for word in (
        "demo",
        "chat",
        "runs",
        "show",
        "resume",
        "waiting",
        "decide",
        "settle",
        "cancel",
        "exit codes",
        "TURNFOLD_API_KEY",
    ):
        assert word in result.out


def test_it_says_its_version(bare: Cli) -> None:
    result = bare("--version")
    assert result.code == 0
    assert result.out.startswith("turnfold ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "the following arguments are required: COMMAND; turnfold --help shows what there is"),
        (("show",), "the following arguments are required: RUN; turnfold show --help shows what there is"),
        (("chat", "--colour"), "unrecognized arguments: --colour; turnfold chat --help shows what there is"),
        (
            ("probe", "openai", "gpt", "--colour", "x"),
            "unrecognized arguments: --colour x; turnfold probe --help shows what there is",
        ),
        (
            ("runs", "--limit", "0"),
            "argument --limit: '0' is not a number above 0; turnfold runs --help shows what there is",
        ),
    ],
)
def test_a_wrong_flag_is_one_line(bare: Cli, arguments: tuple[str, ...], line: str) -> None:
    result = bare(*arguments)
    assert (result.code, result.out, result.err) == (2, "", f"turnfold: {line}\n")


def test_an_unknown_command_is_one_line(bare: Cli) -> None:
    result = bare("dance")
    assert result.code == 2
    assert result.err.startswith("turnfold: argument COMMAND: invalid choice: 'dance'")
    assert result.err.count("\n") == 1


def fault(_: object) -> int:
    raise RuntimeError("the moon\nis full")


def test_what_should_not_happen_is_one_line_too(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "run", fault)
    result = bare("runs")
    assert result.code == 70
    assert result.err == (
        "turnfold: something went wrong that should not (RuntimeError: the moon is full); "
        "run it again with --debug and report what that shows\n"
    )


@pytest.mark.parametrize("arguments", [("--debug", "runs"), ("runs", "--debug")])
def test_debug_shows_where_an_error_came_from(
    bare: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(runs, "run", fault)
    result = bare(*arguments)
    assert "Traceback" in result.err
    assert "in fault" in result.err


def test_ctrl_c_is_no_error_to_explain(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> int:
        raise BaseExceptionGroup("", [KeyboardInterrupt()])

    monkeypatch.setattr(runs, "run", interrupted)
    result = bare("runs")
    assert (result.code, result.err) == (130, "")


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "turnfold.shells.cli", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("turnfold ")


def test_a_reader_that_has_had_enough_is_no_error(cli: Cli) -> None:
    """As with ``turnfold show … | head``."""
    cli.on_db("chat", stdin="hello\n")
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "turnfold.shells.cli", "show", "chat-default", "--json", "--db", str(cli.db)]
    with open(writing, "wb") as nobody:
        result = subprocess.run(command, stdout=nobody, stderr=subprocess.PIPE, timeout=60)
    assert (result.returncode, result.stderr) == (141, b"")


def test_closed_streams_are_no_error(cli: Cli) -> None:
    """As with ``turnfold chat <&- >&- 2>&-``."""
    command = [sys.executable, "-m", "turnfold.shells.cli", "chat", "--db", str(cli.db)]
    closing = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command]
    assert subprocess.run(closing, timeout=60).returncode == 0


def test_a_terminal_that_lacks_a_character_is_no_error(cli: Cli) -> None:
    cli.on_db("chat", stdin="grüße\n")
    command = [sys.executable, "-m", "turnfold.shells.cli", "show", "chat-default", "--db", str(cli.db)]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, capture_output=True, env=environment, timeout=60)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"You said: gr??e (1)" in result.stdout


def test_main_takes_its_arguments_from_the_process(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["turnfold", "runs", "--db", "nowhere.db"])
    assert main() == 3
