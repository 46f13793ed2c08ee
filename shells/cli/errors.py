"""From any exception to one line for people and an exit code: no wrong input ever shows a traceback.

The lines that adapters write say themselves what to do; where a text is for programmers, it is said again here.
"""

import errno
from collections.abc import Iterator
from typing import cast

from ...adapters.models import ConfigError
from ...adapters.services import ServiceError, UnsupportedError
from ...adapters.stores import DecisionRefused, StoreError, UnknownCall, UnknownRun
from ...adapters.tools import ToolDefinitionError
from ...core.run import SpecError
from ...effects.journal import RunBusy
from ...effects.transcript import ErrorKind
from ..answering import AmbiguousCall, CannotAnswer, EditRefused, NoSuchCall
from .exits import CliError, ExitCode
from .hints import typed
from .style import clean, clock_time

__all__ = ["explained", "leaves"]

_SHOWN = 3


def explained(error: BaseException) -> tuple[str, ExitCode]:
    """What to say about an exception (nothing for an empty text), and how to exit.

    A group is explained by the first of its members that a person can do something about.
    """
    found = list(leaves(error))
    for leaf in found:
        if isinstance(leaf, BrokenPipeError):
            return "", ExitCode.BROKEN_PIPE
    for leaf in found:
        known = _expected(leaf)
        if known is not None:
            text, code = known
            return clean(" ".join(text.split())), code
    leaf = found[0]
    said = clean(" ".join(str(leaf).split()))
    kind = type(leaf).__name__
    text = f"something went wrong that should not ({kind}{': ' if said else ''}{said})"
    return f"{text}; run it again with --debug and report what that shows", ExitCode.FAULT


def _expected(error: BaseException) -> tuple[str, ExitCode] | None:
    match error:
        case CliError():
            return str(error), error.code
        case ConfigError(about="api_key"):
            return f"{error}; check TURNFOLD_API_KEY, or --api-key", ExitCode.USAGE
        case ConfigError() | SpecError():
            return str(error), ExitCode.USAGE
        case ServiceError():
            return str(error), ExitCode.USAGE if error.kind is ErrorKind.INVALID_CONFIG else ExitCode.FAILED
        case UnsupportedError():
            return str(error), ExitCode.USAGE
        case ToolDefinitionError():
            return f"the tool cannot be used: {error}", ExitCode.USAGE
        case UnknownRun() | UnknownCall():
            return f"{error}; {typed('runs')} lists those there are", ExitCode.UNKNOWN
        case NoSuchCall():
            return f"{error}; {typed('waiting')} lists those that wait", ExitCode.UNKNOWN
        case AmbiguousCall():
            more = ["…"] if len(error.found) > _SHOWN else []
            return f"{error}: {', '.join([*error.found[:_SHOWN], *more])}; say more of it", ExitCode.USAGE
        case EditRefused():
            return _refused(error), ExitCode.USAGE
        case CannotAnswer() | DecisionRefused():
            return str(error), ExitCode.FAILED
        case StoreError():
            return str(error), ExitCode.DATABASE
        case RunBusy():
            until = clock_time(error.until)
            return f"another process holds the run until {until}; try again later, or say --take-over", ExitCode.BUSY
        case KeyboardInterrupt():
            return "", ExitCode.INTERRUPTED
        case OSError() if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO):
            return f"the disk refused a write ({error.strerror}); make room and try again", ExitCode.DATABASE
        case _:
            return None


def _refused(error: EditRefused) -> str:
    """What is wrong with edited arguments; as a whole, where no member of them is named."""
    wrong = [f"{'they' if place == 'root' else place} {problem}" for place, problem in error.problems]
    told = ", ".join(wrong).replace("they cannot be read: they are", "they are")
    return f"the arguments do not fit the tool {error.tool}: {told}; nothing was decided"


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions in a group, however deep; the exception itself where it is none."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        for member in group.exceptions:
            yield from leaves(member)
    else:
        yield error
