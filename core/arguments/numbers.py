"""Numbers as JavaScript writes and reads them, since that is how error texts and coercion are defined.

Apart because it is about nothing else. Integers stay exact, whatever their size, where JavaScript would round them.
"""

import re
from math import isfinite

from ...effects.transcript.text import WHITE_SPACE

__all__ = ["number_of", "number_text", "number_text_of_float"]

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_WITH_BASE = re.compile(r"0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+")
_BASES = {"x": 16, "o": 8, "b": 2}
_BITS_MAX = 1024


def number_of(text: str) -> int | float | None:
    """The number that a text spells, or nothing if it spells none or one beyond all bounds.

    White space around it does not count. Decimal notation may leave out the digits on one side of the point; ``0x``,
    ``0o`` and ``0b`` take no sign.
    """
    text = text.strip(WHITE_SPACE)
    if _WITH_BASE.fullmatch(text):
        number = int(text[2:], _BASES[text[1].lower()])
        return number if number.bit_length() <= _BITS_MAX else None
    if not _DECIMAL.fullmatch(text):
        return None
    rounded = float(text)
    if not isfinite(rounded):
        return None
    # The float is finite, so what is left of the digits is short enough for any interpreter.
    return int(re.sub(r"^([+-]?)0+(?=[0-9])", r"\1", text)) if _INTEGER.fullmatch(text) else rounded


def number_text(number: float) -> str:
    """How JavaScript writes a number, but for integers, which are written in full."""
    return str(number) if isinstance(number, int) else number_text_of_float(number)


def number_text_of_float(number: float) -> str:
    """The shortest digits that give the number back; with an exponent below 1e-6 and from 1e21 on."""
    if not isfinite(number):
        return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The number is 0.DIGITS times ten to the point.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return sign + _spelled(digits.rstrip("0"), point)


def _spelled(digits: str, point: int) -> str:
    if 0 < point <= 21:
        padded = digits.ljust(point, "0")
        return padded[:point] + (f".{padded[point:]}" if padded[point:] else "")
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    head, rest = digits[0], digits[1:]
    return f"{head}{'.' + rest if rest else ''}e{'+' if point > 0 else '-'}{abs(point - 1)}"
