"""What was used, told apart by model and purpose: only so can it be priced (decision 26)."""

from functools import reduce

from .transcript import ZERO_USAGE, Spent, Usage, clean_text
from .values import frozen, replace

__all__ = ["MAX_ROWS", "NO_SPENDING", "Spending", "Spent"]

MAX_ROWS = 12
"""How many models and purposes are told apart, at most: a record of a run must stay small, whatever its models say."""

MAX_NAME = 80
"""How many characters of a name count."""


@frozen
class Spending:
    """Tokens by model and purpose, each once, in the order in which they were first used.

    Models beyond ``MAX_ROWS`` are counted together, as those that never said who they are: no token is lost.
    """

    rows: tuple[Spent, ...] = ()

    @property
    def total(self) -> Usage:
        """All of it together."""
        return sum((row.usage for row in self.rows), ZERO_USAGE)

    def plus(self, *spent: Spent) -> "Spending":
        """This and what was used besides; nothing used leaves no row."""
        return reduce(Spending._plus, spent, self)

    def _plus(self, more: Spent) -> "Spending":
        if more.usage == ZERO_USAGE:
            return self
        provider, model, purpose = (clean_text(name)[:MAX_NAME] for name in more.key)
        more = Spent(provider, model, purpose, more.usage)
        place = self._place_of(more)
        if place is None and len(self.rows) >= MAX_ROWS - 1:
            more = Spent(usage=more.usage)
            place = self._place_of(more)
        if place is None:
            return Spending((*self.rows, more))
        row = replace(self.rows[place], usage=self.rows[place].usage + more.usage)
        return Spending((*self.rows[:place], row, *self.rows[place + 1 :]))

    def since(self, before: "Spending") -> "Spending":
        """What was added to ``before``, from which this has grown."""
        earlier = {row.key: row.usage for row in before.rows}
        grown = (replace(row, usage=row.usage - earlier.get(row.key, ZERO_USAGE)) for row in self.rows)
        return Spending(tuple(row for row in grown if row.usage != ZERO_USAGE))

    def _place_of(self, wanted: Spent) -> int | None:
        return next((place for place, row in enumerate(self.rows) if row.key == wanted.key), None)


NO_SPENDING = Spending()
