"""A spend ceiling: once so much is spent, a run gets one last turn without tools to say where it stands, and ends.

A value, folded from turn to turn: ``counted`` after each answer, ``before_turn`` before each further one, ``asked``
before each request. ``shells.policies.SpendCeiling`` keeps it and gives the answers to an agent's hooks.
"""

from collections.abc import Mapping
from enum import Enum

from ....effects.transcript import ZERO_USAGE, AssistantMessage, Usage
from ....effects.values import field, frozen, replace
from ..prices import Prices
from .words import ENGLISH, PolicyWords

__all__ = ["Refusal", "Spend"]

UNPRICED = (
    "there is no price for model {name!r}, so its spending cannot be limited: add one to the table (0 if it is free)"
)
SPENT = "the spend ceiling of {ceiling:g} is reached ({spent:g} spent): raise it, or use another agent"


class Refusal(Exception):
    """The policy does not let the run go on; the text says why and what to do."""


class Stage(Enum):
    """Where the last turn is: not due, granted and not yet asked for, or under way."""

    OPEN = "open"
    GRANTED = "granted"
    LAST = "last"


@frozen
class Spend:
    """What was spent, and how much may be.

    ``ceiling`` is in the currency of ``prices``; ``used`` are the tokens by provider and model. What is counted stays
    counted from run to run.
    """

    ceiling: float
    prices: Prices
    words: PolicyWords = ENGLISH
    used: Mapping[tuple[str, str], Usage] = field(factory=dict[tuple[str, str], Usage])
    stage: Stage = Stage.OPEN

    @property
    def spent(self) -> float:
        """What the tokens used so far cost."""
        return sum(self.prices.cost(*model, usage) or 0.0 for model, usage in self.used.items())

    @property
    def reached(self) -> bool:
        """Whether nothing is left."""
        return self.spent >= self.ceiling

    @property
    def last(self) -> bool:
        """Whether the turn under way is the last one."""
        return self.stage is Stage.LAST

    def counted(self, answer: AssistantMessage) -> "Spend":
        """With the tokens of one more answer, and of what was asked in vain for it.

        Raises ``Refusal`` for a model that has no price.
        """
        used = dict(self.used)
        for spent in answer.spent:
            model = (spent.provider, spent.model)
            if self.prices.cost(*model, spent.usage) is None:
                raise Refusal(UNPRICED.format(name=spent.name))
            used[model] = used.get(model, ZERO_USAGE) + spent.usage
        return replace(self, used=used)

    def before_turn(self) -> "Spend":
        """Another turn is wanted: the last one is granted if the ceiling is reached."""
        return replace(self, stage=Stage.GRANTED) if self.reached else self

    def asked(self, *, offers_tools: bool) -> "Spend":
        """The model is about to be asked. Raises ``Refusal`` beyond the ceiling, except for the last turn, once."""
        if self.stage is Stage.GRANTED and not offers_tools:
            return replace(self, stage=Stage.LAST)
        if self.reached:
            raise Refusal(SPENT.format(ceiling=self.ceiling, spent=self.spent))
        return replace(self, stage=Stage.OPEN)
