"""Parts of Markdown files that are made from the code, so that they stay true.

Such a part stands between two marks::

    <!-- made by moves -->
    ...
    <!-- end of moves -->

and ``MAKERS`` says which function makes ``moves``. A test compares; ``python -m tests.rules.marked`` writes.
"""

import contextlib
import io
import re
import runpy
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from turnfold.core.agent import table as agent_table
from turnfold.core.run import table

from tests.rules.tree import ROOT
from tests.rules.worked_example import worked_example

__all__ = ["MAKERS", "documents", "marked", "rewritten"]

# The name of a part → what makes it. Each name is used in one place.
MAKERS: Mapping[str, Callable[[], str]] = {
    "moves": table,
    "agent-moves": agent_table,
    "one-turn": worked_example,
    "embedding": lambda: _quoted("tests/shells/embedding_example.py"),
    "approval-example": lambda: _quoted("tests/shells/approval_example.py"),
    "approval-prints": lambda: _printed("tests/shells/approval_example.py"),
    "agent-example": lambda: _quoted("tests/shells/agent_example.py"),
    "agent-prints": lambda: _printed("tests/shells/agent_example.py"),
    "invoice-example": lambda: _quoted("tests/adapters/models/structured/invoice_example.py"),
    "invoice-prints": lambda: _printed("tests/adapters/models/structured/invoice_example.py"),
}

_PART = re.compile(r"<!-- made by (?P<name>[\w-]+) -->\n(?P<text>.*?)<!-- end of (?P=name) -->", re.DOTALL)


def _quoted(path: str) -> str:
    """A module without its docstring, as a block of code."""
    text = (ROOT / path).read_text()
    return f"```python\n{text.split(chr(34) * 3, 2)[2].strip()}\n```"


def _printed(path: str) -> str:
    """What a module prints when it is run, as a block of text."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(str(ROOT / path), run_name="__main__")
    return f"```text\n{out.getvalue().strip()}\n```"


def documents() -> Iterator[Path]:
    """The Markdown files of the project."""
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted(ROOT.glob("docs/**/*.md"))


def marked(text: str) -> dict[str, str]:
    """The parts of a document, by name."""
    return {part["name"]: part["text"] for part in _PART.finditer(text)}


def rewritten(text: str, makers: Mapping[str, Callable[[], str]]) -> str:
    """The document with each part made anew; raises ``KeyError`` for a part that nothing makes."""

    def make(part: re.Match[str]) -> str:
        name = part["name"]
        return f"<!-- made by {name} -->\n{makers[name]().strip()}\n<!-- end of {name} -->"

    return _PART.sub(make, text)


if __name__ == "__main__":
    for document in documents():
        document.write_text(rewritten(document.read_text(), MAKERS))
