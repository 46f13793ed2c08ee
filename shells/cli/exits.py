"""How a command ends: its exit code, and the one error that commands raise themselves.

Apart from ``errors`` so that looking at the arguments needs nothing that takes long to import.
"""

from enum import IntEnum

__all__ = ["CliError", "ExitCode"]


class ExitCode(IntEnum):
    """What the shell gets back; ``turnfold --help`` prints this list.

    ``FAILED`` is also for what comes too late, such as a second decision; ``FAULT`` is for what should never happen;
    ``INTERRUPTED`` and ``BROKEN_PIPE`` follow the shells' 128 + signal.
    """

    OK = 0
    FAILED = 1
    USAGE = 2
    DATABASE = 3
    UNKNOWN = 4
    BUSY = 5
    WAITING = 6
    FAULT = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class CliError(Exception):
    """Something a person has to change. The text is one line: what is wrong and, after a semicolon, what to do."""

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.code = code
