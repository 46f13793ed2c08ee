"""What the program around a run answers and adds: the set-up beside model, tools and limits, in one value."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..adapters.schemas import check_with_rust
from ..core.arguments import Accepted, ToolArguments, prepare
from ..core.extensions import Pricing
from ..core.run import Extension, Functions, SpecError
from ..effects.question import Guard, Policy, Reconcile
from ..effects.tool import Tool, ToolSpec
from ..effects.values import frozen, replace

__all__ = ["NO_HOST", "Host", "SchemaCheck", "reconcilers_of"]


@frozen
class Host:
    """What a run asks of the program around it; nothing of it is needed.

    ``guard`` reviews each text before it is delivered. ``policies`` say, per tool, what to do with a call before it
    starts (they win over a tool's own). ``fallback`` gives the value that ends a run which cannot end otherwise, from
    the reason; ``final_notice`` is what the model is told in the last iteration of a turn. ``prices`` say what
    tokens of a model cost, for ``Limits.cost``. ``record_names`` name the records of a tool's calls. ``extensions`` are
    told in order.

    ``fallback``, ``prices`` and ``record_names`` must be pure, for they run inside the fold.
    """

    guard: Guard | None = None
    policies: Mapping[str, Policy] = {}
    fallback: Callable[[str], Any] | None = None
    final_notice: str = ""
    prices: Pricing | None = None
    record_names: Mapping[str, Callable[[str], str]] = {}
    extensions: tuple[Extension, ...] = ()

    def __attrs_post_init__(self) -> None:
        """Raises ``TypeError`` for what cannot be asked: nobody should learn that from a run that was paid for."""
        if self.prices is not None and not callable(getattr(self.prices, "cost", None)):
            wanted = "such as Prices, with cost(provider, model, usage)"
            raise TypeError(f"Host.prices must be a table {wanted}, not {type(self.prices).__name__}")
        if self.guard is not None and not callable(getattr(self.guard, "review", None)):
            wanted = "an object with async def review(self, view) -> Verdict"
            raise TypeError(f"Host.guard must be {wanted}, not {type(self.guard).__name__}")
        asked = {f"policies[{name!r}]": policy for name, policy in self.policies.items()}
        asked |= {f"record_names[{name!r}]": function for name, function in self.record_names.items()}
        if self.fallback is not None:
            asked["fallback"] = self.fallback
        for name, function in asked.items():
            if not callable(function):
                raise TypeError(f"Host.{name} must be a function, not {type(function).__name__}")

    def policies_of(self, tools: Sequence[Tool]) -> Mapping[str, Policy]:
        """The policy of each tool that has one."""
        own: dict[str, Policy] = {}
        for tool in tools:
            policy: Policy | None = getattr(tool, "policy", None)
            if policy is not None:
                own[tool.spec.name] = policy
        return own | dict(self.policies)

    def asked(self, tools: Sequence[Tool]) -> dict[str, Any]:
        """Whom a shell asks: the last members of its ``Ports``, by name."""
        return {"policies": self.policies_of(tools), "reconcilers": reconcilers_of(tools), "guard": self.guard}

    def functions(self, tools: Sequence[Tool]) -> Functions:
        """What runs inside the fold; the arguments of an edited call are checked against its tool's schema."""
        checks = {tool.spec.name: SchemaCheck(tool.spec) for tool in tools}
        cost = None if self.prices is None else self.prices.cost
        return Functions(self.record_names, checks, self.fallback, cost)

    def specs(self, tools: Sequence[Tool]) -> tuple[ToolSpec, ...]:
        """The tools as the fold knows them; raises ``SpecError`` for a policy of a tool that is not there."""
        policies, reconcilers = self.policies_of(tools), reconcilers_of(tools)
        unknown = self.policies.keys() - {tool.spec.name for tool in tools}
        if unknown:
            raise SpecError(f"policies are given for tools the run does not have: {', '.join(sorted(unknown))}")
        return tuple(
            replace(tool.spec, has_policy=tool.spec.name in policies, reconciles=tool.spec.name in reconcilers)
            for tool in tools
        )


NO_HOST = Host()


def reconcilers_of(tools: Sequence[Tool]) -> Mapping[str, Reconcile]:
    """What finds out, per tool, what became of a call that was cut off."""
    found: dict[str, Reconcile] = {}
    for tool in tools:
        reconcile: Reconcile | None = getattr(tool, "reconcile", None)
        if reconcile is not None:
            found[tool.spec.name] = reconcile
    return found


@frozen
class SchemaCheck:
    """Says what is wrong with arguments under a tool's schema: nothing, or a text. Nothing is made to fit."""

    tool: ToolSpec

    def __call__(self, arguments: Mapping[str, Any]) -> str:
        """Check; raises ``SchemaError`` for a schema that cannot be used."""
        found = self._ready.check(dict(arguments))
        return "" if isinstance(found, Accepted) else found

    def wrong(self, arguments: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        """The same as places and problems."""
        return self._ready.wrong(dict(arguments))

    @property
    def _ready(self) -> ToolArguments:
        return prepare(self.tool.name, self.tool.declaration.parameters, check_with_rust, coercing=False)
