"""The spend ceiling of ``core.extensions.policies`` as hooks of an agent: what keeps it from one turn to the next.

The permission gate needs nothing of the kind: it is a hook itself.
"""

from ..core.extensions.policies import Spend
from ..effects.agent import FinishAction
from ..effects.hook import FinishTurn, PrepareNextTurn, PrepareRequest
from ..effects.transcript import UserMessage
from .agent_hooks import Update

__all__ = ["SpendCeiling"]


class SpendCeiling:
    """Three hooks that end an agent's run once its tokens have cost so much::

        ceiling = SpendCeiling(Spend(0.50, Prices({"acme/large": Price(3.0, 15.0)})))
        hooks = AgentHooks(
            prepare_next_turn=ceiling.prepare_next_turn,
            prepare_request=ceiling.prepare_request,
            finish_turn=ceiling.finish_turn,
        )
        agent = Agent(model, tools=tools, hooks=hooks)

    Answers are counted when their turn is over, so the ceiling is crossed by at most one turn and the last one. If the
    agent wants to go on then, that is the last turn: it has a notice and no tools, and what is queued after it stays
    queued. Later runs are refused before the model is asked. One object serves one agent; ``spend`` may be read, and
    replaced between runs to raise the ceiling.
    """

    def __init__(self, spend: Spend) -> None:
        self.spend = spend

    def prepare_next_turn(self, order: PrepareNextTurn) -> Update | None:
        """Take the tools away and say so, if the coming turn is the last one."""
        before, self.spend = self.spend, self.spend.before_turn()
        if self.spend is before:
            return None
        return Update(tools=(), messages=(UserMessage(self.spend.words.last_turn, order.turn.message.timestamp),))

    def prepare_request(self, order: PrepareRequest) -> None:
        """Raise ``Refusal`` if nothing may be spent any more."""
        self.spend = self.spend.asked(offers_tools=bool(order.context.tools))

    def finish_turn(self, order: FinishTurn) -> FinishAction | None:
        """Count the answer; end the run after the last turn."""
        last = self.spend.last
        self.spend = self.spend.counted(order.turn.message)
        return FinishAction.END if last else None
