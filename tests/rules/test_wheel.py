"""What is installed is what is in the tree: every module of the four rooms, the typing markers, and nothing else."""

import importlib.metadata
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.rules.tree import ROOMS, ROOT, modules

BUILD = "import sys; from setuptools.build_meta import build_wheel; print(build_wheel(sys.argv[1]))"


def expected() -> set[str]:
    """The files that belong into an installation, below the name of the product."""
    return {module.name for module in modules()} | {f"{room}/py.typed" for room in ROOMS}


def config() -> dict[str, dict[str, object]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def folders() -> set[str]:
    return {Path(module.name).parent.as_posix() for module in modules()}


def test_the_list_of_packages_is_the_list_of_folders() -> None:
    packages = config()["packages"]
    assert isinstance(packages, list)
    assert sorted(packages) == sorted("turnfold." + folder.replace("/", ".") for folder in folders())


def test_every_folder_is_a_package_with_a_door() -> None:
    """A folder without ``__init__.py`` would be left out of a wheel without a word."""
    without = [folder for folder in folders() if not (ROOT / folder / "__init__.py").is_file()]
    assert without == []


def test_the_rooms_are_mapped_to_their_folders_and_marked_as_typed() -> None:
    assert config()["package-dir"] == {f"turnfold.{room}": room for room in ROOMS}
    assert config()["package-data"] == {f"turnfold.{room}": ["py.typed"] for room in ROOMS}
    assert not config()["include-package-data"]
    assert [room for room in ROOMS if not (ROOT / room / "py.typed").is_file()] == []


def test_what_is_installed_is_what_is_in_the_tree(tmp_path: Path) -> None:
    names = shipped(tmp_path)
    assert {name.removeprefix("turnfold/") for name in names if name.startswith("turnfold/")} == expected()
    others = {name.split("/")[0] for name in names if not name.startswith("turnfold/")} - {".."}
    assert [name for name in others if not (name.startswith("turnfold-") and name.endswith(".dist-info"))] == []


def shipped(folder: Path) -> set[str]:
    """The files of the product, as pip installed them, or as a wheel built here holds them."""
    # Building in the tree leaves metadata there, which is found as well but lists the sources.
    for distribution in importlib.metadata.distributions(name="turnfold"):
        names = {path.as_posix() for path in distribution.files or () if path.suffix != ".pyc"}
        if any(name.startswith("turnfold/") for name in names):
            return names
    return set(built(folder))


def built(folder: Path) -> list[str]:
    """The names in a wheel of a copy of the tree: building leaves things behind, which a later one would pack."""
    pytest.importorskip("setuptools", "77", reason="turnfold is not installed, and nothing here can build it")
    copy = folder / "copy"
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    result = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=copy, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        return wheel.namelist()
