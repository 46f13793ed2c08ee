"""The loop and the Agent against their recordings: every case is equal, or differs by a rule of decision 46."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.oracle import agent, loop
from tests.oracle.verdict import EQUAL, Verdict
from tests.oracle.wire import Raw

# How many cases of the published recordings differ by which rule; a folder of one's own may differ otherwise.
DIFFERENT = {"loop": {"a": 2, "b": 1, "c": 1, "d": 2, "e": 1, "f": 1}, "agent": {"f": 1, "g": 4}}


@pytest.mark.parametrize(("subject", "compare"), [("loop", loop.compare), ("agent", agent.compare)])
def test_every_recorded_case_is_equal_or_explained(
    request: pytest.FixtureRequest, subject: str, compare: Callable[[Raw], Verdict]
) -> None:
    folder = request.config.getoption("--oracle", default=None)
    path = Path(folder or "") / f"{subject}.json"
    if folder is None or not path.exists():
        pytest.skip("there are no recordings; name their folder with --oracle")
    cases = json.loads(path.read_text())["cases"]
    verdicts = {case["name"]: compare(case) for case in cases}
    counted = Counter(verdict.kind for verdict in verdicts.values())
    print(f"{subject}: {dict(counted)}")
    assert {name: verdict.why for name, verdict in verdicts.items() if verdict.kind == "unexplained"} == {}
    del counted[EQUAL]
    assert counted == DIFFERENT[subject]
