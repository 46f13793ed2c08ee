"""Text that may be stored: no unpaired surrogates, since neither UTF-8 nor any provider takes them (decision 45)."""

__all__ = ["clean_json", "clean_text", "without_nul"]

from typing import Any


def clean_text(text: str) -> str:
    """The same text with surrogate pairs joined and each unpaired surrogate replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: Any) -> Any:
    """A JSON-like value with every text in it clean, names of members too."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_json(name): clean_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    return value


def without_nul(text: str) -> str:
    """Clean text without U+0000, which databases refuse (N-24)."""
    text = clean_text(text)
    return text.replace("\0", "") if "\0" in text else text
