"""The tools that a chat offers unless told otherwise: they look at nothing but their arguments and the clock."""

import ast
from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ...adapters.tools import FunctionTool, tool

__all__ = ["BUILTIN_TOOLS", "calculator", "current_time"]

MAX_DIGITS = 1000
"""How many digits a result may have: enough for any honest sum, and no way to keep a processor busy."""

Number = int | float


def current_time(zone: str = "UTC") -> str:
    """The current date and time.

    Args:
        zone: a time zone such as Europe/Berlin or UTC.
    """
    try:
        # UTC is there on machines too that have no database of time zones.
        now = datetime.now(UTC if zone == "UTC" else ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone {zone!r}; use a name such as Europe/Berlin, or UTC") from None
    return now.strftime("%A, %Y-%m-%d %H:%M:%S %Z")


def calculator(expression: str) -> str:
    """Work out an arithmetic expression with + - * / // % ** and brackets.

    Args:
        expression: for example (3 + 4) * 2 ** 10.
    """
    if len(expression) > MAX_DIGITS:
        raise ValueError(f"the expression has {len(expression)} characters, and {MAX_DIGITS} are allowed")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        value = _value(tree.body)
    except SyntaxError:
        raise ValueError("this is no arithmetic expression") from None
    except ZeroDivisionError:
        raise ValueError("division by zero") from None
    except (OverflowError, RecursionError, MemoryError):
        raise ValueError("the result is too large") from None
    return str(value)


_OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
}


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _bounded(_OPERATORS[type(op)](_value(left), _value(right)))
        case _:
            raise SyntaxError("not arithmetic")


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base).bit_length() * abs(exponent) > 4 * MAX_DIGITS:
        raise OverflowError
    value: object = base**exponent
    if not isinstance(value, int | float):
        raise ValueError("the result is no real number")
    return _bounded(value)


def _bounded(value: Number) -> Number:
    if isinstance(value, int) and value.bit_length() > 4 * MAX_DIGITS:
        raise OverflowError
    return value


BUILTIN_TOOLS: tuple[FunctionTool[..., str], ...] = (
    tool(replayable=True)(current_time),
    tool(replayable=True)(calculator),
)
