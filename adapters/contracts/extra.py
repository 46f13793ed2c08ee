"""What only the suites need: pytest and Hypothesis, and pytest's readable assertions in the suites themselves.

Imported before every other module of this room, so that a missing package is named once and with its cure.
"""

try:
    import hypothesis
    import pytest
except ImportError as error:
    raise ImportError(
        f"the contract suites need pytest and hypothesis ({error}): install them with: pip install 'turnfold[test]'"
    ) from error

__all__ = ["hypothesis", "pytest"]

_SUITES = ("attempts", "feed", "fixtures", "harness", "machine", "merging", "outside", "sameness", "steps")

pytest.register_assert_rewrite(*(f"{__package__}.{module}" for module in _SUITES))
