"""The journal suite: subclass ``JournalContract`` and let ``make`` give a harness of your store.

Five sets of cases: ``merging`` (one call and its snapshots), ``outside`` (the host has a hand in it), ``waiting`` (what
the host is told to do), ``steps`` (what a step stores), ``attempts`` (whose run it is). Names and docstrings say which
rule of ``effects.journal`` a failing case found broken.
"""

from .attempts import AttemptCases
from .merging import MergeCases
from .outside import OutsideCases
from .steps import StepCases
from .waiting import WaitingCases

__all__ = ["JournalContract"]


class JournalContract(MergeCases, OutsideCases, WaitingCases, StepCases, AttemptCases):
    """All cases for a journal."""
