"""What a docstring says about a tool: the text for the model, and a description of each parameter.

Docstrings are read in the Google style. Only the section of the arguments is taken out of the text, since it moves
into the schema; what a tool returns or raises is worth telling the model.
"""

import inspect
import re

__all__ = ["read_docstring"]

_SECTION = re.compile(r"(Args|Arguments|Parameters):\s*")
_ITEM = re.compile(r"(?P<name>\w+)\s*(\([^)]*\))?\s*:\s*(?P<text>.*)")


def read_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The text without its section of arguments, and that section as parameter name → description."""
    lines = inspect.cleandoc(docstring or "").split("\n")
    start = next((number for number, line in enumerate(lines) if _SECTION.fullmatch(line)), None)
    if start is None:
        return "\n".join(lines).strip(), {}
    end = next((number for number in range(start + 1, len(lines)) if lines[number][:1].strip()), len(lines))
    before, after = "\n".join(lines[:start]).strip(), "\n".join(lines[end:]).strip()
    return "\n\n".join(text for text in (before, after) if text), _descriptions(lines[start + 1 : end])


def _descriptions(lines: list[str]) -> dict[str, str]:
    indent = min((_indent(line) for line in lines if line.strip()), default=0)
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        item = _ITEM.fullmatch(line.strip()) if _indent(line) == indent else None
        if item is not None:
            current = found[item["name"]] = [item["text"]]
        else:
            current.append(line.strip())
    return {name: " ".join(text for text in texts if text) for name, texts in found.items()}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
