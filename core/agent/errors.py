"""What is our own fault."""

__all__ = ["IllegalEvent"]


class IllegalEvent(Exception):
    """An event that cannot happen in this state. The state is untouched; the fault is in the shell or in the fold."""
