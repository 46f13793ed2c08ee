"""The fold is a function: the same script gives the same bytes in every process, and folding touches nothing else.

``output`` runs any script by its path, under a hash seed of one's choice; a script prints what it folded.
"""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.rules.purity import ImpureError, pure
from tests.rules.scripts import durable_run
from tests.rules.tree import ROOT

SCRIPTS = sorted((ROOT / "tests" / "rules" / "scripts").glob("*.py"))
SEEDS = (0, 1, 4_000_000_000)


def output(script: Path, seed: int) -> bytes:
    """What a script prints in a process whose hashes start from ``seed``."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    # Not isolated, since that would ignore the seed.
    result = subprocess.run([sys.executable, script], env=environment, capture_output=True, timeout=120)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_two_processes_print_the_same_bytes(script: Path) -> None:
    first, *others = (output(script, seed) for seed in SEEDS)
    assert first
    assert all(other == first for other in others)


def test_an_order_that_depends_on_hashes_would_be_seen(tmp_path: Path) -> None:
    script = tmp_path / "unsteady.py"
    script.write_text("print(*{str(number) for number in range(100)})")
    assert len({output(script, seed) for seed in SEEDS}) > 1


def test_the_scripted_run_goes_through_calls_and_recovery() -> None:
    """So that what is compared is worth comparing."""
    *lines, statuses = durable_run.run()
    assert {status for _, status in msgspec.json.decode(statuses)} == {"succeeded", "failed", "needs_review"}
    assert sum(b'"type":"RunStarted"' in line for line in lines) == 2


def test_folding_touches_nothing_outside() -> None:
    assert list(durable_run.run(pure)) == list(durable_run.run())


def test_a_fold_that_reaches_out_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    reduce = durable_run.Fold.reduce

    def leaky(*arguments: object) -> object:
        os.listdir(".")
        return reduce(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(durable_run.Fold, "reduce", leaky)
    with pytest.raises(ImpureError):
        list(durable_run.run(pure))
