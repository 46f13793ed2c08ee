"""The hook that guards the fold has teeth, and bites nobody else."""

import contextlib
import os
import socket
import sqlite3
import subprocess
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from turnfold.effects.codec import decode_event, encode_event
from turnfold.effects.lifecycle import RunStarted
from turnfold.effects.sequence import Seq

from tests.rules.purity import ImpureError, pure


def load_a_module() -> None:
    with contextlib.suppress(ImportError):
        import this_is_not_loaded  # type: ignore[import-not-found]  # noqa: F401


@pytest.mark.parametrize(
    "reach_out",
    [
        lambda: open(os.devnull).close(),
        lambda: Path("nowhere").touch(),
        lambda: os.listdir("."),
        lambda: os.remove("nowhere"),
        lambda: os.putenv("NOWHERE", "1"),
        lambda: os.system("true"),
        lambda: subprocess.run(["true"], check=False),
        lambda: socket.socket(),
        lambda: socket.getaddrinfo("localhost", 80),
        lambda: urllib.request.urlopen("http://localhost:1/"),
        lambda: sqlite3.connect(":memory:"),
        load_a_module,
    ],
)
def test_reaching_out_is_caught(reach_out: Callable[[], object]) -> None:
    with pytest.raises(ImpureError, match="touched the world"), pure():
        reach_out()


def test_reaching_out_is_caught_even_where_it_is_swallowed() -> None:
    with pytest.raises(ImpureError, match="open"), pure(), contextlib.suppress(Exception):
        open(os.devnull).close()


def test_computing_is_let_pass() -> None:
    with pure():
        made = attrs.make_class("Made", ["a"], frozen=True)(1)
        assert made == attrs.evolve(made)
        assert decode_event(encode_event(RunStarted(1, b"\xff"))) == RunStarted(1, b"\xff")
        assert Seq([1]).append(2).digest(lambda item: bytes([item]))
        assert id(made) == id(made)


def test_afterwards_everything_is_allowed_again() -> None:
    with pytest.raises(ImpureError), pure():
        os.listdir(".")
    assert os.listdir(".")


def test_an_exception_of_the_code_itself_goes_through() -> None:
    with pytest.raises(ZeroDivisionError), pure():
        assert 1 / 0


def test_one_inside_another_is_still_armed_after_it() -> None:
    def inner_and_then_out() -> None:
        with pure():
            assert id(1)
        os.listdir(".")

    with pytest.raises(ImpureError), pure():
        inner_and_then_out()


def test_other_threads_are_left_alone() -> None:
    go, done = threading.Event(), threading.Event()
    seen: list[list[str]] = []

    def look() -> None:
        go.wait(10)
        seen.append(os.listdir("."))
        done.set()

    threading.Thread(target=look).start()
    with pure():
        go.set()
        assert done.wait(10)
    assert seen
