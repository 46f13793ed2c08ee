"""The lower bounds of our requirements can be read, since CI runs all tests with exactly those."""

import subprocess
import sys

import pytest

from tests.rules.lowest import pins
from tests.rules.tree import ROOT


def project(dependency: str, test: str = "pytest>=8") -> str:
    return f'[project]\ndependencies = ["{dependency}"]\n[project.optional-dependencies]\ntest = ["{test}"]\n'


def test_each_requirement_is_pinned_to_its_lower_bound() -> None:
    assert pins(project("httpx[http2] >= 0.27, <1", "pytest>=8.3")) == ["httpx==0.27", "pytest==8.3"]


@pytest.mark.parametrize("requirement", ["trio", "trio==0.27", "trio<1"])
def test_a_requirement_without_a_lower_bound_is_refused(requirement: str) -> None:
    with pytest.raises(SystemExit, match="has no lower bound"):
        pins(project(requirement))


def test_it_prints_a_constraint_for_each_of_our_requirements() -> None:
    script = ROOT / "tests" / "rules" / "lowest.py"
    printed = subprocess.run(
        [sys.executable, "-I", script], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert printed.split() == pins((ROOT / "pyproject.toml").read_text())
    assert all(name.partition("==")[2] for name in printed.split())
