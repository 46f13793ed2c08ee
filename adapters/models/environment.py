"""The environment variables that SDKs read on their own, overruled: a request depends on its configuration only.

Otherwise a header meant for one vendor would be sent to whatever server a base URL names.
"""

import os
from typing import Any

__all__ = ["overruled"]


def overruled(variable: str, omit: Any) -> dict[str, Any]:
    """Every header that the variable would add, marked as left out."""
    names = (line.partition(":")[0].strip() for line in os.environ.get(variable, "").splitlines() if ":" in line)
    return {name: omit for name in names if name}
