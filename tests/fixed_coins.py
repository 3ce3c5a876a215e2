"""The coins of the tests: fixed for each test, so that a red test means a change and never bad luck.

What is replaced is the lowest thing there is, the bytes of the operating system's generator. Streams, samplers,
mechanisms and audits above it are those of a user, and a release is as secure as it says. A test that is about the
system's generator is marked `system_coins`; `HYPOTHESIS_PROFILE=explore` leaves real coins to all. Loaded by the conftest
beside `pyproject.toml`. Other processes (those of a fork too) draw real coins.
"""

import hashlib
import os
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

_FIRST, _LARGEST = 1 << 10, 1 << 17  # bytes that are made ahead: few for most tests


class Tape:
    """Bytes that follow from a name.

    >>> Tape("a").read(4) == Tape("a").read(4) != Tape("b").read(4)
    True
    """

    def __init__(self, name: str) -> None:
        self._name, self._part, self._size = name, 0, _FIRST
        self._bytes, self._next = b"", 0
        self._lock = threading.Lock()

    def read(self, count: int) -> bytes:
        with self._lock:
            if self._next + count > len(self._bytes):
                self._refill(count)
            self._next += count
            return self._bytes[self._next - count : self._next]

    def _refill(self, count: int) -> None:
        text = f"coins of {self._name}, part {self._part}"
        self._part, self._size = self._part + 1, min(2 * self._size, _LARGEST)
        self._bytes, self._next = hashlib.shake_128(text.encode()).digest(max(self._size, count)), 0


class FixedCoins:
    """Stands in for the system's generator while a test, or a fixture that tests share, is at work."""

    def __init__(self) -> None:
        self._tape: Tape | None = None
        self._process = os.getpid()
        self._installed: ModuleType | None = None

    @contextmanager
    def of(self, name: str | None) -> Iterator[None]:
        """Within, the coins are those of this name, from their beginning; of the system, where it is None."""
        self._install()
        before, self._tape = self._tape, None if name is None else Tape(name)
        try:
            yield
        finally:
            self._tape = before

    def _install(self) -> None:
        from privet.noise import entropy

        if self._installed is entropy:
            return
        self._installed, system = entropy, entropy._system

        def coins(count: int) -> bytes:
            tape = self._tape
            return system(count) if tape is None or os.getpid() != self._process else tape.read(count)

        entropy._system = coins

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        with self.of(None if item.get_closest_marker("system_coins") else item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """What several tests share must not depend on which of them comes first on a worker."""
        if fixturedef.scope == "function":
            return (yield)
        with self.of(f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]"):
            return (yield)


COINS = FixedCoins()


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("HYPOTHESIS_PROFILE", "ci") == "ci":
        config.pluginmanager.register(COINS, "privet-fixed-coins")
