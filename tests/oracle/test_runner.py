"""The runner of the conformance tests, on recordings made up here."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import arguments, partial_json
from tests.oracle.kinds import kinds
from tests.oracle.recordings import CHOSEN, COMPLETE, SUBJECTS, Report, comparer, folders, report, table
from tests.oracle.verdict import EQUAL, UNEXPLAINED, Verdict


def judged_by_name(case: dict[str, Any]) -> Verdict:
    if case["name"] == "raises":
        raise ValueError("no")
    return Verdict(case["input"], "why" if case["input"] == UNEXPLAINED else "")


def recorded(folder: Path, *kinds: str) -> Path:
    cases = [{"name": f"{kind} {index}", "input": kind} for index, kind in enumerate(kinds)]
    path = folder / "some.json"
    path.write_text(json.dumps({"reference": "r", "cases": [*cases, {"name": "raises", "input": ""}]}))
    return path


def test_each_case_is_counted_and_the_unexplained_are_named(tmp_path: Path) -> None:
    found = report("some", recorded(tmp_path, EQUAL, EQUAL, "h", "a", "h", UNEXPLAINED), judged_by_name)
    assert found.counted == {EQUAL: 2, "h": 2, "a": 1, UNEXPLAINED: 2}
    assert found.unexplained == {"unexplained 5": "why", "raises": "ValueError: no"}
    assert table([found]) == "some.json              7 cases: 2 equal, 1 by a, 2 by h, 2 unexplained"


def test_a_folder_that_is_given_takes_the_place_of_all_others() -> None:
    assert list(folders(None).values()) == [CHOSEN, COMPLETE]
    assert list(folders("elsewhere").values()) == [Path("elsewhere")]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_recording_that_is_altered_is_found_by_its_name(subject: str, tmp_path: Path) -> None:
    """One case that is equal, as it is and with something else expected of us."""
    path, compare = tmp_path / f"{subject}.json", comparer(subject)
    recorded = json.loads((CHOSEN / path.name).read_bytes())["cases"]
    case = next(case for case in recorded if compare(case).kind == EQUAL)
    expected = case["expected"]
    altered = {**case, "name": "altered", "expected": {**expected, next(reversed(expected)): ["something else"]}}
    path.write_text(json.dumps({"cases": [case, altered]}))
    found = report(subject, path, compare)
    assert found.counted == {EQUAL: 1, UNEXPLAINED: 1}
    assert list(found.unexplained) == ["altered"]
    assert found.known is None


def test_what_is_known_of_our_recordings_is_not_asked_of_others(tmp_path: Path) -> None:
    assert report("some", recorded(tmp_path, EQUAL), judged_by_name).known is None
    assert str(Report("a", {EQUAL: 1})) == "a.json                 1 cases: 1 equal, none different, 0 unexplained"


def test_the_kinds_of_a_case_are_its_members_and_words_but_not_what_it_made_up() -> None:
    steps = {"c1": [{"do": "throw", "message": "no"}]}
    failures = [{"hook": "finishTurn", "arguments": {"path": "x"}}]
    assert kinds({"name": "tool/raises", "input": {"outcomes": steps}, "expected": {"failures": failures}}) == {
        "subject tool",
        ".outcomes",
        "outcomes.do",
        "do=throw",
        "outcomes.message",
        ".failures",
        "failures.hook",
        "failures.hook=finishTurn",
        "failures.arguments",
    }
    assert "differs by e" in kinds({"name": "x", "input": {"stream": "missing"}, "expected": {}})


def case(parameters: Any, sent: Any, **expected: Any) -> dict[str, Any]:
    return {"name": "c", "input": {"toolName": "t", "parameters": parameters, "arguments": sent}, "expected": expected}


def error(line: str) -> str:
    return f'Validation failed for tool "t":\n  - {line}\n\nReceived arguments:\n'


INTEGER = {"type": "object", "properties": {"a": {"type": "integer"}}}
REFERENCE = {"type": "object", "properties": {"a": {"$ref": "#/$defs/i"}}, "$defs": {"i": {"type": "integer"}}}
LIST = {"type": "object", "properties": {"a": {"type": "array"}}}
PREFIX = {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (case(INTEGER, {"a": "1"}, value={"a": 1.0}), EQUAL),
        (case(INTEGER, {"a": 2**53 + 1}, value={"a": 2**53}), EQUAL),
        (case(INTEGER, {"a": "1"}, value={"a": 2}), UNEXPLAINED),
        (case(INTEGER, {"a": "1"}, value={"a": True}), UNEXPLAINED),
        (case(INTEGER, {"a": "x"}, error=error("a: must be integer") + '{\n  "a": "x"\n}'), EQUAL),
        (case(INTEGER, {"a": "x"}, error=error("a: must be number") + '{\n  "a": "x"\n}'), UNEXPLAINED),
        (case(INTEGER, {"a": 1}, error=error("a: must be odd")), "h"),
        (case({"type": "string", "minLength": 3}, 5, value=5), "h"),
        (case({"type": "string", "minLength": 3}, 1234, value=5), UNEXPLAINED),
        (case(LIST, {"a": "[]"}, error=error("a: must be array")), "h"),
        (case(LIST, {"a": "x"}, error=error("a: must be list")), UNEXPLAINED),
        (case(PREFIX, [1, "x"], error=error("0: must be integer")), "h"),
        (case(REFERENCE, {"a": "1"}, error=error("a: must be integer")), "h"),
        (case(REFERENCE, {"a": "x"}, error=error("a: must be number")), UNEXPLAINED),
    ],
)
def test_what_differs_by_rule_h_is_told_from_what_is_wrong(one: dict[str, Any], kind: str) -> None:
    assert arguments.compare(one).kind == kind


def test_unfinished_json_is_equal_or_wrong() -> None:
    assert partial_json.compare({"input": {"text": '{"a":1'}, "expected": {"value": {"a": 1}}}).kind == EQUAL
    assert partial_json.compare({"input": {"text": '{"a":1'}, "expected": {"value": {}}}).kind == UNEXPLAINED
