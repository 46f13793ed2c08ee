"""Tables and other long things on terminals of any width: nothing is dropped, and what may be copied is never cut."""

import pytest
from turnfold.adapters.models import VENDORS
from turnfold.shells.cli.style import PLAIN, Style, folded, wrapped
from turnfold.shells.cli.table import table

from tests.shells.cli.conftest import Cli
from tests.shells.cli.terminal import at_terminal, plain

HEADINGS = ("NAME", "STATE", "ADDRESS")
ROWS = (("one", "fine", "https://one.test/v1"), ("two", "it waits for somebody", "https://two.test/v1"))
ADDRESS = "https://" + "long." * 20 + "test"


def terminal(width: int) -> Style:
    return Style(moves=True, width=width)


def test_a_row_that_fits_stands_on_one_line() -> None:
    lines = table(HEADINGS, ROWS, terminal(80))
    assert lines == table(HEADINGS, ROWS, PLAIN)
    assert lines[1] == "one   fine                   https://one.test/v1"


def test_a_row_that_does_not_fit_goes_on_in_the_next_line() -> None:
    assert table(HEADINGS, ROWS, terminal(40)) == [
        "NAME  STATE",
        "    ADDRESS",
        "one   fine",
        "    https://one.test/v1",
        "two   it waits for somebody",
        "    https://two.test/v1",
    ]


def test_words_are_wrapped_and_never_cut() -> None:
    lines = table(("A", "B"), [("several words that go on", ADDRESS)], terminal(20))
    assert lines == ["A", "    B", "several words that", "go on", f"    {ADDRESS}"]


def test_what_is_no_terminal_gets_a_line_a_row() -> None:
    assert len(table(HEADINGS, [("x" * 200, "y" * 200, ADDRESS)], PLAIN)) == 2


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_all_of_every_vendor_is_shown_at_any_width(bare: Cli, width: int) -> None:
    _, seen = at_terminal(bare.monkeypatch, ["vendors"], [], width=width)
    lines = plain(seen).split("\n")
    assert "--protocol names another" in " ".join(" ".join(lines).split())
    for vendor in VENDORS.values():
        assert any(line.split()[:1] == [vendor.name] for line in lines)
        assert not vendor.base_url or any(vendor.base_url in line.split() for line in lines)
        addresses = [line for line in lines if line.startswith(vendor.name) and "//" in line]
        assert width < 80 or not vendor.base_url or addresses
    assert all(len(line) <= width for line in lines if width >= 80 or "//" not in line)


def test_wrapping_keeps_ids_in_one_piece() -> None:
    assert wrapped(f"see {ADDRESS} now", 30) == ["see", ADDRESS, "now"]


def test_folding_does_not_count_colours() -> None:
    style = Style(colours=True)
    text = f"{style.bold('one two')} three  four"
    assert folded(text, 13, "  ") == [f"{style.bold('one two')} three", "  four"]
    assert folded("short", 3) == ["short"]
