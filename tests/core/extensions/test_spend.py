"""What is counted, when the last turn is granted, and what is refused."""

import pytest
from turnfold.core.extensions import Price, Prices
from turnfold.core.extensions.policies import Refusal, Spend
from turnfold.effects.transcript import AssistantMessage, Spent, Usage

PRICES = Prices({"cheap": Price(0.0, 1.0), "dear": Price(0.0, 100.0)})


def answer(model: str, output: int) -> AssistantMessage:
    return AssistantMessage(provider="acme", model=model, usage=Usage(output=output * 1_000_000))


def test_tokens_are_counted_per_model() -> None:
    spend = Spend(1000.0, PRICES).counted(answer("cheap", 1)).counted(answer("dear", 2)).counted(answer("cheap", 3))
    assert {model: usage.output for model, usage in spend.used.items()} == {
        ("acme", "cheap"): 4_000_000,
        ("acme", "dear"): 2_000_000,
    }
    assert spend.spent == pytest.approx(204.0)


def test_tokens_of_models_that_were_given_up_count_too() -> None:
    besides = (Spent("p", "dear", usage=Usage(output=1_000_000)),)
    spend = Spend(1_000.0, PRICES).counted(AssistantMessage(provider="p", model="cheap", besides=besides))
    assert spend.spent == 100.0
    with pytest.raises(Refusal, match="unknown"):
        spend.counted(AssistantMessage(model="cheap", besides=(Spent("", "unknown", usage=Usage(1)),)))


def test_below_the_ceiling_every_turn_goes_on() -> None:
    spend = Spend(2.0, PRICES).counted(answer("cheap", 1))
    assert spend.before_turn() is spend
    assert not spend.asked(offers_tools=True).last


def test_at_the_ceiling_one_last_turn_is_granted_and_nothing_after_it() -> None:
    spend = Spend(1.0, PRICES).counted(answer("cheap", 1)).before_turn().asked(offers_tools=False)
    assert spend.last
    with pytest.raises(Refusal, match=r"ceiling of 1 is reached \(1 spent\)"):
        spend.asked(offers_tools=False)


def test_a_request_beyond_the_ceiling_is_refused_unless_granted() -> None:
    with pytest.raises(Refusal):
        Spend(1.0, PRICES).counted(answer("cheap", 1)).asked(offers_tools=False)


def test_a_grant_is_no_use_to_a_request_with_tools() -> None:
    """The run it was granted to failed; the next one does not inherit it."""
    with pytest.raises(Refusal):
        Spend(1.0, PRICES).counted(answer("cheap", 1)).before_turn().asked(offers_tools=True)


def test_a_model_without_a_price_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match="'acme/secret'"):
        Spend(1.0, PRICES).counted(answer("secret", 1))
    assert Spend(1.0, PRICES).counted(answer("secret", 0)).spent == 0.0


def test_a_ceiling_of_nothing_asks_nobody() -> None:
    with pytest.raises(Refusal):
        Spend(0.0, PRICES).asked(offers_tools=True)
