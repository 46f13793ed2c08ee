"""How all tests run: the same examples every time, and async tests on a clock that only moves when nothing else does.

``pytest --explore`` looks further instead: many more examples, and new ones every time. What it finds belongs into a
test of its own, or into ``fixtures/``.
"""

import functools
import gc
import inspect
import ssl
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, settings

# Nothing that is imported and collected is garbage: looking for some again and again takes as long as all the rest.
gc.disable()

_BELIEVE = ssl.SSLContext.load_verify_locations


def _believe_nobody(context: ssl.SSLContext, *where: Any, **named: Any) -> None:
    """Whom a client believes in most tests, since they speak to this machine only.

    It would read the certificates of half the world first, each client anew, which takes longer than most tests.
    """


# Speed depends on the machine, so it is never a reason to fail.
settings.register_profile(
    "same-every-time",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore",
    max_examples=500,
    derandomize=False,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("same-every-time")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--explore", action="store_true", help="look further: many more examples, new ones every time")
    parser.addoption(
        "--oracle",
        metavar="DIR",
        help="compare with the recordings in this folder, instead of those in fixtures/oracle"
        " (and in ../shared/oracle, if that is there)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--explore"):
        settings.load_profile("explore")
    ssl.SSLContext.load_verify_locations = _believe_nobody


def pytest_unconfigure() -> None:
    ssl.SSLContext.load_verify_locations = _BELIEVE


def pytest_collection_finish() -> None:
    """From here on there is garbage, but not among what all tests share."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def exploring(pytestconfig: pytest.Config) -> bool:
    """Whether this run was asked to look further."""
    return bool(pytestconfig.getoption("--explore"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an ``async def`` test under trio, where waiting takes no time."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    test = functools.partial(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names})
    trio.run(test, clock=trio.testing.MockClock(autojump_threshold=0))
    return True


@pytest.fixture
def certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients believe whom they believe in earnest."""
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", _BELIEVE)
