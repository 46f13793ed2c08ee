"""What goes wrong with a service, typed: with the stage at which it happened, and two that are no failures of a call.

``ServiceError`` carries a ``ModelError``, as calls to models do, so that a host treats both alike (decision 24).
"""

from ...effects.transcript import ErrorKind, ModelError
from ...effects.transcript.failures import Stage, stage_of

__all__ = ["DimensionMismatchError", "ServiceError", "UnsupportedError", "misconfigured", "unknown_brand"]


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

    def __init__(self, got: int, wanted: int) -> None:
        super().__init__(f"the model gives vectors of {got} numbers, not of {wanted}; ask for what it has")
        self.got = got
        self.wanted = wanted


class UnsupportedError(LookupError):
    """The brand's API has nothing that could answer this."""


def unknown_brand(brand: str) -> ServiceError:
    """Nobody knows the brand."""
    error = ModelError(ErrorKind.INVALID_CONFIG, f"unknown brand {brand!r}; turnfold vendors lists the known ones")
    return ServiceError(error, Stage.CAPABILITY)


def misconfigured(phrase: str) -> ServiceError:
    """An address or a key that cannot be used."""
    return ServiceError(ModelError(ErrorKind.INVALID_CONFIG, phrase), Stage.CONNECT)
