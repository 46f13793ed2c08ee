"""One call's arguments against a schema, as the tests write it."""

from typing import Any

from turnfold.adapters.schemas import check_with_rust
from turnfold.core.arguments import Accepted, prepare

__all__ = ["about", "accepted", "told"]


def accepted(schema: Any, arguments: Any, **options: bool) -> Any:
    """The arguments that the tool gets."""
    result = prepare("tool", schema, check_with_rust, **options).check(arguments)
    assert isinstance(result, Accepted), result
    return result.arguments


def told(schema: Any, arguments: Any, **options: bool) -> list[str]:
    """The lines of the error."""
    result = prepare("tool", schema, check_with_rust, **options).check(arguments)
    assert isinstance(result, str), result
    head, _, rest = result.partition("\n")
    assert head == 'Validation failed for tool "tool":'
    return [line.removeprefix("  - ") for line in rest.partition("\n\nReceived arguments:\n")[0].splitlines()]


def about(schema: Any, value: Any) -> Any:
    """What becomes of one value in the place of a required member; the problem, if it is refused."""
    result = prepare("tool", {"type": "object", "properties": {"v": schema}, "required": ["v"]}, check_with_rust).check(
        {"v": value}
    )
    return result.arguments["v"] if isinstance(result, Accepted) else result.splitlines()[1].removeprefix("  - v: ")
