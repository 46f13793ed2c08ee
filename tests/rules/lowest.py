"""The oldest versions that we say we work with, as constraints for pip: ``python tests/rules/lowest.py > lowest.txt``.

Run by its path, with nothing installed. Raises ``SystemExit`` for a requirement without a lower bound, since then
nobody knows what we work with.
"""

import re
import tomllib
from pathlib import Path

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(\[[^\]]*\])?\s*>=\s*(?P<version>[\w.]+)")


def pins(pyproject: str, extra: str = "test") -> list[str]:
    """The requirements of the product and of one extra, each at its lower bound."""
    project = tomllib.loads(pyproject)["project"]
    requirements = [*project["dependencies"], *project["optional-dependencies"][extra]]
    found: list[str] = []
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        if match is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound; write name>=version")
        found.append(f"{match['name']}=={match['version']}")
    return found


if __name__ == "__main__":
    print("\n".join(pins((Path(__file__).parents[2] / "pyproject.toml").read_text())))
