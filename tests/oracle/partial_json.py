"""Reading unfinished JSON against its recordings, in one piece and character by character."""

from turnfold.effects.transcript.partial_json import PartialJson, partial_json

from tests.oracle.arguments import rounded
from tests.oracle.verdict import EQUAL, UNEXPLAINED, Verdict
from tests.oracle.wire import Raw, difference

__all__ = ["compare"]


def compare(case: Raw) -> Verdict:
    """Equal or unexplained: nothing differs on purpose."""
    text, theirs = case["input"]["text"], rounded(case["expected"]["value"])
    reader = PartialJson()
    for character in text:
        reader.feed(character)
        reader.value()
    found = difference(rounded(partial_json(text)), theirs) or difference(rounded(reader.value()), theirs, "in pieces")
    return Verdict(EQUAL) if found is None else Verdict(UNEXPLAINED, found)
