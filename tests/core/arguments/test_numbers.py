"""Numbers as JavaScript writes and reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.arguments.numbers import number_of, number_text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("-3.5", -3.5),
        ("+5", 5),
        ("5.", 5),
        (".5", 0.5),
        ("1e3", 1000),
        ("1E-2", 0.01),
        ("007", 7),
        ("0x1F", 31),
        ("0b101", 5),
        ("0o17", 15),
        ("\u00a0 42\ufeff\n", 42),
        ("1e-400", 0),
    ],
)
def test_the_spellings_of_numbers_are_read(text: str, number: float) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "--5",
        "1_000",
        "0x",
        "-0x1f",
        "0b2",
        "0x1.8",
        "1e",
        "five",
        "\uff15",
        "\u0085 5",
        "Infinity",
        "NaN",
    ],
)
def test_nothing_else_is_a_number(text: str) -> None:
    assert number_of(text) is None


@pytest.mark.parametrize("text", ["1e999", "9" * 400, "-" + "9" * 400, "0x" + "f" * 300])
def test_a_number_beyond_all_bounds_is_none(text: str) -> None:
    assert number_of(text) is None


def test_integers_stay_exact() -> None:
    """Decision 48, where JavaScript would round."""
    assert number_of("12345678901234567891") == 12345678901234567891
    assert number_of("0" * 5_000 + "1") == 1
    assert number_text(2**70 + 1) == str(2**70 + 1)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (100.0, "100"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (1.25e-9, "1.25e-9"),
        (0.1, "0.1"),
        (5e-324, "5e-324"),
        (123456.789, "123456.789"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_an_exponent_is_written_only_where_javascript_writes_one(number: float, text: str) -> None:
    assert number_text(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_written_is_read_as_the_same_number(number: float) -> None:
    read = number_of(number_text(number))
    assert read is not None
    # JavaScript writes as few digits as tell the number from its neighbours, and zeros for the others.
    assert float(read) == number


@given(st.integers(-(2**900), 2**900))
def test_an_integer_is_read_as_it_was_written(number: int) -> None:
    assert number_of(number_text(number)) == number
