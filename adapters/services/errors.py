"""What goes wrong with a service, typed: with its kind, and the stage at which it happened.

``ServiceError`` carries a ``ModelError``, as calls to models do, so that a host treats both alike (decision 24). One
error is none of a call: a vector of another length than was asked for, by a service that works.
"""

from collections.abc import Iterable
from difflib import get_close_matches

from ...effects.transcript import ErrorKind, ModelError
from ...effects.transcript.failures import Stage, stage_of

__all__ = [
    "DimensionMismatchError",
    "ServiceError",
    "UnsupportedError",
    "misconfigured",
    "misused",
    "unknown_brand",
]


class ServiceError(Exception):
    """A call to a service failed; ``stage`` says where. The text is one line, without secrets."""

    def __init__(self, error: ModelError, stage: Stage | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.stage = stage or stage_of(error.kind)

    @property
    def kind(self) -> ErrorKind:
        """What kind of failure it is."""
        return self.error.kind

    @property
    def status(self) -> int:
        """The HTTP status (0: no response)."""
        return self.error.status


class DimensionMismatchError(ValueError):
    """A vector that is not as long as was asked for; the service works, but not with this model."""

    kind = ErrorKind.INVALID_REQUEST
    stage = Stage.CAPABILITY

    def __init__(self, got: int, wanted: int) -> None:
        super().__init__(f"the model gives vectors of {got} numbers, not of {wanted}; ask for what it has")
        self.got = got
        self.wanted = wanted


class UnsupportedError(ServiceError, LookupError):
    """Nobody knows the brand, or an address of its own; ``kind`` is ``invalid_config``."""


def unknown_brand(brand: object, known: Iterable[str]) -> UnsupportedError:
    """Nobody knows the brand."""
    names = list(known)
    near = get_close_matches(brand.strip().lower(), names, 1) if isinstance(brand, str) else []
    hint = f"; did you mean {near[0]}?" if near else ""
    error = ModelError(ErrorKind.INVALID_CONFIG, f"unknown brand {brand!r}; known are {', '.join(names)}{hint}")
    return UnsupportedError(error, Stage.CAPABILITY)


def misconfigured(phrase: str) -> ServiceError:
    """An address or a key that cannot be used."""
    return ServiceError(ModelError(ErrorKind.INVALID_CONFIG, phrase), Stage.CONNECT)


def misused(phrase: str) -> ServiceError:
    """A request that makes no sense, so that nobody was asked."""
    return ServiceError(ModelError(ErrorKind.INVALID_REQUEST, phrase))
