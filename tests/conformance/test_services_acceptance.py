"""Every case that is listed for models, the services around them and the facts about vendors has a test that names it.

The names are those under which a service for the same purposes tests these things; what ours does differently is said
where it is tested.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.rules.tree import ROOT

REQUIRED = {
    "generating": [
        "TestGenerateObjectRetriesOnce",
        "TestGenerateObjectGivesUpAfterRetry",
        "TestGenerateObjectStopReasons",
        "TestSchemaFor",
        "TestSchemaForAnonymous",
        "TestEstimateTokens",
        "TestModelCallID",
        "TestSchemaForRequiresOmitempty",
        "TestDecodeObjectTrailingText",
        "TestModelCallIDPerAttempt",
    ],
    "chat models": [
        "TestStructuredOutputFallsBackWhenRejected",
        "TestStopReasonsAndRefusals",
        "TestRequestFields",
        "TestStructuredOverride",
        "TestConfigErrors",
        "TestStructuredModelsDoNotStream",
        "TestStreamStopReason",
        "TestForcedToolOverCompatibleProtocol",
        "TestQwenStructuredWithoutThinking",
        "TestGatewayKeepsEndpoint",
    ],
    "services": [
        "TestEmbedding",
        "TestEmbeddingStatus",
        "TestRerank",
        "TestProbe",
        "TestDiscovery",
        "TestDeadlineIsTimeout",
        "TestRedirectsAreNotFollowed",
        "TestTimeoutsHideCredentials",
        "TestTransportErrorsHideCredentials",
    ],
    "vendors": ["TestCompatibleURL", "TestPresets", "TestAppendPath"],
}

_NAME = re.compile(r"\bTest[A-Z]\w*")


def named_in(source: str) -> Iterator[str]:
    """The cases that the tests of a module name in their docstrings; whatever is no test names nothing."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield from _NAME.findall(ast.get_docstring(node) or "")


def all_named() -> set[str]:
    """Every case that a test of models or of services names."""
    paths = [path for room in ("models", "services") for path in (ROOT / "tests/adapters" / room).rglob("test_*.py")]
    return {name for path in paths for name in named_in(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("subject", REQUIRED)
def test_every_case_is_named_by_a_test(subject: str) -> None:
    named = all_named()
    assert [case for case in REQUIRED[subject] if case not in named] == []


def test_no_case_is_named_that_nobody_listed() -> None:
    """A name that was written wrong would be missed by nobody."""
    assert all_named() - {case for cases in REQUIRED.values() for case in cases} == set()


def test_the_list_is_whole() -> None:
    assert {subject: len(set(cases)) for subject, cases in REQUIRED.items()} == {
        "generating": 10,
        "chat models": 10,
        "services": 9,
        "vendors": 3,
    }


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ('def test_it():\n    """TestProbe: why."""', ["TestProbe"]),
        ('async def test_it():\n    """As TestProbe and TestRerank have it."""', ["TestProbe", "TestRerank"]),
        ('"""TestProbe"""', []),
        ('class TestProbe:\n    """TestProbe"""', []),
        ('def helper():\n    """TestProbe"""', []),
        ("def test_it():\n    # TestProbe\n    return 'TestProbe'", []),
        ('def test_it():\n    """Testing, aTestProbe."""', []),
    ],
)
def test_only_the_docstring_of_a_test_names_a_case(source: str, named: list[str]) -> None:
    assert list(named_in(source)) == named
