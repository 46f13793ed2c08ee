"""When the suites take two records for the same."""

import pytest
from turnfold.adapters.contracts import same_call, same_completion, same_json, same_resume
from turnfold.effects.journal import Resume
from turnfold.effects.record import CallCompletion, CallDecision, Completion, CompletionSource, ToolCall
from turnfold.effects.values import replace

CALL = ToolCall(
    "c",
    "succeeded",
    payload='{"a":1}',
    parts='{"a":1}',
    completion=CallCompletion('{"a":1}'),
    decision=CallDecision(True, arguments='{"a":1}'),
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":2}', '{ "b" : 2, "a" : 1 }'),
        ("1", "1.0"),
        ("1e2", "100"),
        ("", ""),
        ("not json", "not json"),
        ('"\\u00fc"', '"ü"'),
    ],
)
def test_json_texts_with_the_same_value_are_the_same(one: str, other: str) -> None:
    assert same_json(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("9007199254740993", "9007199254740992"),
        ("0.1", "0.10000000000000000001"),
        ("1", '"1"'),
        ("1", "true"),
        ("0", "false"),
        ("null", ""),
        ("{}", ""),
        ('{"a":1}', '{"a":1} {}'),
        ("[1,2]", "[2,1]"),
        ("NaN", "null"),
        ("not json", "not json "),
    ],
)
def test_json_texts_with_another_value_are_not(one: str, other: str) -> None:
    assert not same_json(one, other)
    assert not same_json(other, one)


def test_records_are_the_same_when_their_json_is() -> None:
    spaced = '{ "a": 1.0 }'
    other = replace(
        CALL,
        payload=spaced,
        parts=spaced,
        completion=CallCompletion(spaced),
        decision=CallDecision(True, arguments=spaced),
    )
    assert same_call(CALL, other)
    assert same_resume(Resume(calls=(CALL,)), Resume(calls=(other,)))
    assert same_call(None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"payload": '{"a":2}'},
        {"parts": None},
        {"completion": CallCompletion('{"a":1}', fixed=True)},
        {"completion": CallCompletion('{"a":2}')},
        {"completion": None},
        {"decision": CallDecision(True, "why", '{"a":1}')},
        {"decision": CallDecision(True, arguments='{"a":2}')},
        {"decision": None},
        {"result": ""},
        {"rev": 1},
        {"notes": {"k": "v"}},
    ],
    ids=str,
)
def test_records_that_differ_anywhere_are_not_the_same(changes: dict[str, object]) -> None:
    other = replace(CALL, **changes)
    assert not same_call(CALL, other)
    assert not same_call(other, CALL)
    assert not same_call(CALL, None)
    assert not same_resume(Resume(calls=(CALL,)), Resume(calls=(other,)))


def test_runs_differ_by_calls_completion_and_everything_else() -> None:
    completion = Completion(CompletionSource.TOOL, "1")
    assert same_completion(completion, replace(completion, value="1.0"))
    assert not same_completion(completion, replace(completion, fixed=True))
    for other in (Resume(state=b""), Resume(completion=completion), Resume(calls=(CALL,)), Resume(logs={"a": (b"",)})):
        assert not same_resume(Resume(), other)
