"""What a tool of a run may say, checked where it is said."""

from typing import Any

import pytest
from turnfold.effects.tool import ToolResult
from turnfold.effects.transcript import TextPart


@pytest.mark.parametrize("content", [5, ["text"], ("text",), {"text": 1}, b"text"])
def test_content_that_no_model_could_be_shown_is_refused_where_it_is_made(content: Any) -> None:
    with pytest.raises(TypeError, match="must be text, or a tuple of text and image parts"):
        ToolResult(content)


@pytest.mark.parametrize("content", ["", None, (), (TextPart("text"),)])
def test_content_of_every_kind_is_taken(content: Any) -> None:
    assert ToolResult(content).content == content
