"""What tokens cost, by model. The figures are the host's: a table shipped with the product would soon be wrong."""

import math
from collections.abc import Mapping
from typing import Any, Protocol, cast

from ...effects.spending import Spending
from ...effects.transcript import Usage
from ...effects.values import field, frozen

__all__ = ["Price", "Prices", "Pricing"]

MILLION = 1_000_000


class Pricing(Protocol):
    """Whatever knows what tokens cost: ``Prices``, or a host's own."""

    def cost(self, provider: str, model: str, usage: Usage) -> float | None:
        """What these tokens of this model cost; ``None`` if there is no telling. It must be pure."""
        ...


def _of_price(_: object, attribute: Any, price: object) -> None:
    if price is None and attribute.default is None:
        return
    if isinstance(price, bool) or not isinstance(price, int | float):
        raise TypeError(f"Price.{attribute.name} must be a number, not {price!r}")
    if not math.isfinite(price) or price < 0:
        raise ValueError(f"Price.{attribute.name} cannot be {price!r}: tokens cost something, or nothing (0)")


def _of_table(_: object, __: object, table: object) -> None:
    if not isinstance(table, Mapping):
        raise TypeError(f"Prices takes a mapping from a model's name to its Price, not {type(table).__name__}")
    for name, price in cast("Mapping[object, object]", table).items():
        if not isinstance(name, str):
            raise TypeError(f"Prices are by the names of models, not by {name!r}")
        if not isinstance(price, Price):
            raise TypeError(f"Prices[{name!r}] must be a Price, such as Price(1.0, 2.0), not {price!r}")


@frozen
class Price:
    """The price of a million tokens of each part of a usage, in the host's currency.

    Reading from and writing to a cache cost as much as other input unless told otherwise. Reasoning is output. Raises
    ``TypeError`` for what is no number, and ``ValueError`` for one that is negative or not finite.
    """

    input: float = field(validator=_of_price)
    output: float = field(validator=_of_price)
    cache_read: float | None = field(default=None, validator=_of_price)
    cache_write: float | None = field(default=None, validator=_of_price)

    def of(self, usage: Usage) -> float:
        """What these tokens cost."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        parts = (
            usage.input * self.input,
            usage.output * self.output,
            usage.cache_read * read,
            usage.cache_write * write,
        )
        return sum(parts) / MILLION


@frozen
class Prices:
    """Prices by ``provider/model`` or by ``model`` alone; a name that ends with ``*`` stands for all that begin so.

    A whole name wins over a beginning, and a longer beginning over a shorter one. A plain name never stands for a
    longer one, which may well be another and dearer model::

        Prices({"acme/large": Price(3.0, 15.0), "small-*": Price(0.2, 0.8)})

    Raises ``TypeError`` for anything but a mapping from names to prices.
    """

    table: Mapping[str, Price] = field(factory=dict[str, Price], validator=_of_table)

    def price(self, provider: str, model: str) -> Price | None:
        """The price of a model's tokens; nothing if the table does not say."""
        names = (f"{provider}/{model}", model)
        for name in names:
            if name in self.table:
                return self.table[name]
        fitting = [key for key in self.table if key.endswith("*") and any(name.startswith(key[:-1]) for name in names)]
        return self.table[max(fitting, key=len)] if fitting else None

    def cost(self, provider: str, model: str, usage: Usage) -> float | None:
        """What these tokens of this model cost: nothing for none, and ``None`` if there is no telling."""
        if not usage.total:
            return 0.0
        price = self.price(provider, model)
        return None if price is None else price.of(usage)

    def total(self, spending: Spending) -> float | None:
        """What a run cost, from ``RunResult.spending``; ``None`` if the price of any of it is not known."""
        costs = [self.cost(row.provider, row.model, row.usage) for row in spending.rows]
        known = [cost for cost in costs if cost is not None]
        return sum(known, 0.0) if len(known) == len(costs) else None
