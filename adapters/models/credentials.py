"""The keys of a model: one, a function that gives one per request, or a pool in which the next takes over.

Apart from ``config``, which holds the one key that a request goes out with. ``Turn`` is a single request's way through
the keys: the next one has its turn when one was not accepted. No key is ever in a text: none of what is here shows one
in its ``repr``, and what a function that gives keys raises is told by its kind alone (decision 49).
"""

from collections.abc import Awaitable, Callable, Iterable
from inspect import isawaitable
from typing import Any

import anyio

from ...effects.transcript import ErrorKind, ModelError
from ...effects.transcript.failures import Trouble, trouble_of
from ...effects.values import field, frozen, replace
from .config import ConfigError, ModelConfig, checked_key
from .failures import ModelFailureError, failure

__all__ = [
    "BearerToken",
    "Credential",
    "Credentials",
    "KeyPool",
    "KeySource",
    "Turn",
    "check_credentials",
    "is_about_the_key",
]

MAX_KEYS = 64
"""How many keys are tried for one request, at most."""


@frozen
class BearerToken:
    """A key that is sent as a bearer token, also where the protocol has a header of its own for keys."""

    token: str = field(repr=False)


Credential = str | BearerToken

KeySource = Callable[[], Credential | Awaitable[Credential | None] | None]
"""Gives the key for a request, and is asked for each; it must not block. None: there is no key."""


class KeyPool:
    """Keys of which any will do, such as those of several accounts. One that is not accepted goes to the end.

    Requests go out with the first key; one that cannot be sent is passed over, and goes to the end too. Models may
    share a pool. Raises ``ConfigError`` for what holds no keys.
    """

    def __init__(self, keys: Iterable[Credential | KeySource]) -> None:
        given: Any = keys
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise ConfigError(f"a pool of keys needs a list of them, not {type(given).__name__}", "api_key")
        self._keys = list(keys)
        if not self._keys:
            raise ConfigError("a pool of keys needs at least one", "api_key")
        for key in self._keys:
            _check_kind(key)

    def __repr__(self) -> str:
        return f"KeyPool({len(self._keys)} keys)"

    def __len__(self) -> int:
        return len(self._keys)

    def in_order(self) -> tuple[Credential | KeySource, ...]:
        """The keys and what gives them, in the order in which they are tried now."""
        return tuple(self._keys)

    def rejected(self, key: Credential | KeySource) -> None:
        """Let the others go first from now on."""
        if key in self._keys:
            self._keys.remove(key)
            self._keys.append(key)


Credentials = Credential | KeySource | KeyPool


def check_credentials(given: Any) -> None:
    """Raises ``ConfigError`` for what can be no credentials, and for a token that cannot be sent."""
    if isinstance(given, list | tuple | set):
        raise ConfigError("several API keys are a pool: say api_key=KeyPool([...])", "api_key")
    if given is not None and not isinstance(given, KeyPool):
        _check_kind(given)
    if isinstance(given, BearerToken):
        checked_key(given.token)


def _check_kind(key: Any) -> None:
    inner = key.token if isinstance(key, BearerToken) else key
    if not isinstance(inner, str) and (inner is not key or not callable(key)):
        kinds = "a string, a BearerToken, a function that gives one, or a KeyPool"
        raise ConfigError(f"an API key is {kinds}, not {type(inner).__name__}", "api_key")


def is_about_the_key(error: ModelError) -> bool:
    """Whether another key may do what this one could not."""
    return error.kind in (ErrorKind.UNAUTHORIZED, ErrorKind.FORBIDDEN)


class Turn:
    """One request's way through the keys: each is tried once. ``tried`` tells how many were.

    A function on its own is asked once more after its key was not accepted: the key may have expired just then.
    """

    def __init__(self, credentials: Credentials | None, config: ModelConfig) -> None:
        self._config = config
        self._pool = credentials if isinstance(credentials, KeyPool) else None
        self._left: list[Credential | KeySource] = []
        if isinstance(credentials, KeyPool):
            self._left += credentials.in_order()
        elif credentials:
            self._left += [credentials, credentials] if callable(credentials) else [credentials]
        self._none_needed = config.vendor.key_optional or credentials is None
        self._current: Credential | KeySource = ""
        self._seen: list[str] = []

    @property
    def tried(self) -> int:
        """How many keys were tried."""
        return len(self._seen)

    @property
    def may_go_on(self) -> bool:
        """Whether there may be another key."""
        return bool(self._left) and self.tried < MAX_KEYS

    async def next(self) -> ModelConfig | None:
        """The configuration with the next key; none if there is no other.

        Raises ``ModelFailureError`` where no key could be had at all, or none that can be sent.
        """
        broken: ModelFailureError | None = None
        while self.may_go_on:
            self._current = self._left.pop(0)
            try:
                given = await self._given_by(self._current)
            except Exception as raised:
                broken = self._broken(raised)
                self._left = [other for other in self._left if other is not self._current]
                continue
            try:
                token = _token_of(given)
            except ConfigError as wrong:
                broken = failure(self._config, ErrorKind.INVALID_CONFIG, str(wrong))
                self._left = [other for other in self._left if other is not self._current]
                self._put_last()
                continue
            if token and token not in self._seen:
                self._seen.append(token)
                return self._with(token, isinstance(given, BearerToken))
        if self._seen:
            return None
        if broken is not None:
            raise broken from None
        if self._none_needed:
            self._none_needed = False
            self._seen.append("")
            return self._config
        raise failure(self._config, ErrorKind.INVALID_CONFIG, "whoever should give the API key gave none")

    def rejected(self, error: ModelError) -> ModelError:
        """The key was not accepted; what to tell if there is no other."""
        self._put_last()
        if self.tried < 2:
            return error
        return replace(error, message=f"{error.message}; none of the {self.tried} keys that were tried was accepted")

    def _put_last(self) -> None:
        if self._pool is not None:
            self._pool.rejected(self._current)

    async def _given_by(self, entry: Credential | KeySource) -> Any:
        """What an entry is, or gives: whoever gives it may have given anything."""
        if not callable(entry):
            return entry
        given = entry()
        if isawaitable(given):
            with anyio.fail_after(self._config.patience.headers_s):
                given = await given
        return given

    def _with(self, token: str, bearer: bool) -> ModelConfig:
        try:
            return self._config.with_key(token, bearer, tuple(self._seen))
        except ConfigError as wrong:
            raise failure(self._config, ErrorKind.INVALID_CONFIG, str(wrong)) from None

    def _broken(self, raised: Exception) -> ModelFailureError:
        trouble = trouble_of(raised)
        kind = ErrorKind.INVALID_CONFIG if trouble is Trouble.UNKNOWN else trouble.kind
        return failure(self._config, kind, f"the API key could not be had ({type(raised).__name__})")


def _token_of(given: Any) -> str:
    """The key that was given, without white space around it, or nothing; raises ``ConfigError`` for what is none."""
    token = given.token if isinstance(given, BearerToken) else given
    if token is not None and not isinstance(token, str):
        raise ConfigError(f"whoever should give the API key gave {type(token).__name__}", "api_key")
    return checked_key(token or "")
