"""The arrows between the rooms, as ``.importlinter`` draws them: they hold, and a wrong one is found."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.rules.tree import ROOMS, ROOT

LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"

# A wrong arrow for each contract, and the name of the contract that forbids it.
WRONG = {
    ("core/wrong.py", "from ..adapters import stores\n"): "Shells use adapters and core",
    ("adapters/stores/wrong.py", "from .. import tools\n"): "Adapters do not know each other",
    ("shells/wrong.py", "from ..adapters.stores import memory\n"): "Only the command line names concrete adapters",
    ("core/loop/wrong.py", "from ...effects import journal\n"): "The agent loop knows no journal",
    ("effects/wrong.py", "def later():\n    import trio\n"): "Vendors and frameworks are the adapters' business",
}


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LINT], cwd=root, capture_output=True, text=True, timeout=120)


def test_the_arrows_hold() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout


def test_a_wrong_arrow_is_found(tmp_path: Path) -> None:
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / "turnfold" / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    for (name, source), _ in WRONG.items():
        (tmp_path / "turnfold" / name).write_text(source)
    result = lint(tmp_path)
    assert result.returncode != 0
    broken = [line for line in result.stdout.splitlines() if " BROKEN" in line]
    for contract in WRONG.values():
        assert any(line.startswith(contract) for line in broken), result.stdout
