"""The third drawer: somebody broke the rules of the border, and the run must stop with its journal as it is."""


class IllegalEvent(Exception):
    """An event that cannot happen in this state. The state is untouched; the fault is in the shell or in the fold."""
