"""What a fresh interpreter loads with us: core brings nothing of its own, and no door brings a vendor's library."""

import subprocess
import sys
from collections.abc import Iterable

from tests.rules.tree import imports, modules

# Each is loaded when it is used, the compiled checker of schemas with the first schema.
VENDORS = {"openai", "anthropic", "opentelemetry", "jsonschema_rs"}
# None of these is loaded by attrs, cattrs or msgspec, so loading one could not go unseen.
REACHES_OUT = ["httpx", "logging", "random", "socket", "sqlite3", "ssl", "subprocess", "trio"]


def loaded(names: Iterable[str]) -> set[str]:
    """The modules that a fresh interpreter holds once it has imported the named ones."""
    code = "\n".join([*(f"import {name}" for name in names), "import sys", "print(*sys.modules, sep='\\n')"])
    result = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def allowed_imports() -> list[str]:
    """Whatever ``effects`` and ``core`` import that is not ours; ``test_imports`` says that it may be."""
    return sorted(
        {found.module for module in modules("effects", "core") for found in imports(module) if not found.level}
    )


def inner_rooms() -> list[str]:
    return [module.dotted for module in modules("effects", "core")]


def test_core_loads_nothing_beyond_what_its_three_packages_load() -> None:
    """Compared with a process that imports only those, since an interpreter has more loaded than one thinks."""
    brought = loaded(inner_rooms()) - loaded(allowed_imports())
    assert {name for name in brought if name != "turnfold" and not name.startswith("turnfold.")} == set()
    assert {"turnfold.core", "turnfold.effects.vocabulary"} <= brought


def test_the_comparison_sees_what_reaches_out() -> None:
    baseline = loaded(allowed_imports())
    assert set(REACHES_OUT) <= loaded([*allowed_imports(), *REACHES_OUT]) - baseline


def test_no_door_loads_a_vendors_library() -> None:
    doors = [module.dotted for module in modules() if module.name.endswith("/__init__.py")]
    assert {"turnfold.adapters.models", "turnfold.shells"} <= set(doors)
    assert loaded(doors) & VENDORS == set()
