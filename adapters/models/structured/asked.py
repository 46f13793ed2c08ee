"""What is wrong with something that is to be asked: said in words for people, before anything is sent."""

import binascii
from typing import cast

from ....effects.transcript import ImagePart, TextPart

__all__ = ["wrong_input"]

_MAY_BE = "the input is a text, or a tuple of TextPart and ImagePart"


def wrong_input(content: object) -> str:
    """What is wrong with an input, for people; empty where nothing is."""
    if isinstance(content, str):
        return ""
    if not isinstance(content, tuple):
        return f"{_MAY_BE}, not {_kind(content)}"
    for place, part in enumerate(cast("tuple[object, ...]", content), 1):
        if isinstance(part, ImagePart):
            wrong = _wrong_image(part.url, part.data)
        elif isinstance(part, TextPart):
            wrong = _wrong_text(part.text)
        else:
            wrong = f"{_MAY_BE}, and holds {_kind(part)}"
        if wrong:
            return f"{wrong} (part {place} of the input)"
    return ""


def _wrong_text(text: object) -> str:
    return "" if isinstance(text, str) else f"the text of a TextPart is a str, not {_kind(text)}"


def _wrong_image(url: object, data: object) -> str:
    """An image is found at its address, or else is itself sent as base64, which no provider reads leniently."""
    if url:
        return "" if isinstance(url, str) else f"the url of an ImagePart is a str, not {_kind(url)}"
    if not isinstance(data, str):
        return f"the data of an ImagePart is base64 in a str, not {_kind(data)}: base64.b64encode(data).decode()"
    if not data:
        return "an ImagePart has data, or else a url"
    return "" if _is_base64(data) else "the data of an ImagePart is not base64"


def _is_base64(data: str) -> bool:
    """Whether it is base64, which may be broken into lines."""
    try:
        return bool(binascii.a2b_base64("".join(data.split()), strict_mode=True))
    except ValueError:
        return False


def _kind(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
