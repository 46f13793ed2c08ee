"""The check of arguments that cases of the loop and the agent run with."""

from turnfold.core.agent import unchecked as check

__all__ = ["check"]
