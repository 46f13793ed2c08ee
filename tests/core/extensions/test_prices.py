"""What tokens cost, and which price is a model's."""

from typing import Any, cast

import pytest
from turnfold.core.extensions import Price, Prices
from turnfold.effects.spending import Spending, Spent
from turnfold.effects.transcript import ZERO_USAGE, Usage

USAGE = Usage(input=1_000_000, output=2_000_000, cache_read=3_000_000, cache_write=4_000_000, reasoning=500_000)


@pytest.mark.parametrize(
    ("price", "cost"),
    [
        (Price(1.0, 10.0), 1 + 20 + 3 + 4),
        (Price(1.0, 10.0, cache_read=0.5), 1 + 20 + 1.5 + 4),
        (Price(1.0, 10.0, cache_read=0.0, cache_write=2.0), 1 + 20 + 0 + 8),
    ],
)
def test_each_part_has_its_price_and_reasoning_is_output(price: Price, cost: float) -> None:
    assert price.of(USAGE) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("provider", "model", "found"),
    [
        ("acme", "large", 1.0),
        ("other", "large", 2.0),
        ("acme", "large-2026", 3.0),
        ("acme", "large-pro-1", 4.0),
        ("acme", "tiny", 5.0),
        ("other", "tiny", None),
    ],
)
def test_a_whole_name_wins_over_a_beginning_and_a_longer_one_over_a_shorter(
    provider: str, model: str, found: float | None
) -> None:
    names = {"acme/large": 1.0, "large": 2.0, "large-*": 3.0, "large-pro-*": 4.0, "acme/*": 5.0}
    prices = Prices({name: Price(price, 0.0) for name, price in names.items()})
    price = prices.price(provider, model)
    assert (price and price.input) == found


def test_a_plain_name_never_stands_for_a_longer_one() -> None:
    assert Prices({"large": Price(1.0, 1.0)}).price("acme", "large-pro") is None


def test_no_tokens_cost_nothing_and_others_without_a_price_are_not_guessed() -> None:
    assert Prices().cost("acme", "large", ZERO_USAGE) == 0.0
    assert Prices().cost("acme", "large", Usage(output=1)) is None
    assert Prices({"large": Price(0.0, 0.0)}).cost("acme", "large", Usage(output=1)) == 0.0


@pytest.mark.parametrize("member", ["input", "output", "cache_read", "cache_write"])
@pytest.mark.parametrize(
    ("price", "error"),
    [("1", TypeError), (True, TypeError), (-1, ValueError), (float("nan"), ValueError), (float("inf"), ValueError)],
)
def test_a_price_that_is_none_is_refused_when_it_is_made(member: str, price: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=rf"^Price\.{member} "):
        Price(**{"input": 1, "output": 1, member: price})


def test_only_what_has_a_default_of_none_may_be_none() -> None:
    with pytest.raises(TypeError, match=r"^Price\.output must be a number, not None$"):
        Price(1, cast("Any", None))


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ([], "^Prices takes a mapping from a model's name to its Price, not list$"),
        ({3: Price(1, 1)}, "^Prices are by the names of models, not by 3$"),
        ({"m": (1, 2)}, r"^Prices\['m'\] must be a Price, such as Price\(1\.0, 2\.0\), not \(1, 2\)$"),
    ],
)
def test_a_table_that_is_none_is_refused_when_it_is_made(table: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        Prices(table)


def test_what_a_run_cost_is_known_only_if_all_of_it_is() -> None:
    prices = Prices({"large": Price(1.0, 10.0), "tiny": Price(0.0, 1.0)})
    large, tiny = Spent("acme", "large", "main", USAGE), Spent("acme", "tiny", "summary", Usage(output=500_000))
    assert prices.total(Spending()) == 0.0
    assert prices.total(Spending((large, tiny))) == pytest.approx(28 + 0.5)
    assert prices.total(Spending((large, Spent("acme", "other", "main", Usage(output=1)), tiny))) is None
