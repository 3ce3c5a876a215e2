"""Streams under the test's control, and the samplers with their laws."""

import importlib
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from privet import noise, testing
from privet.noise.entropy import Stream
from privet.noise.table import TableCache
from tests.oracles import cks

ALPHA = 1e-6  # false-alarm probability of each statistical test


def module(name: str) -> ModuleType:
    """A file of the room; its sampler has the same name, so an import statement would find the function."""
    return importlib.import_module(f"privet.noise.{name}")


class Scripted(Stream):
    """Gives the listed words first, then those of a seeded stream."""

    def __init__(self, words: Iterable[int]) -> None:
        super().__init__()
        self._script = list(words)
        self._rest = noise.Seeded(1).stream()

    def _fill(self, count: int) -> memoryview:
        raise AssertionError("not used")

    def words(self, count: int) -> Any:
        head = [self._script.pop(0) for _ in range(min(count, len(self._script)))]
        return np.concatenate([np.array(head, dtype=np.uint64), self._rest.words(count - len(head))])

    def word(self) -> int:
        return int(self.words(1)[0])


class Sealed(Scripted):
    """Gives the listed words and refuses to give more: whoever asks had not been able to decide."""

    def words(self, count: int) -> Any:
        if count > len(self._script):
            raise Undecided
        return super().words(count)


class Undecided(Exception):
    pass


# name: (sampler, probability function, name of the scale)
LAWS: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "discrete_laplace": (noise.discrete_laplace, testing.pmf_discrete_laplace, "scale"),
    "discrete_gaussian": (noise.discrete_gaussian, testing.pmf_discrete_gaussian, "sigma"),
    "geometric": (noise.geometric, testing.pmf_geometric, "scale"),
    "rounded_gaussian": (noise.rounded_gaussian, testing.pmf_rounded_gaussian, "sigma"),
    "rounded_laplace": (noise.rounded_laplace, testing.pmf_rounded_laplace, "scale"),
    "cks_discrete_laplace": (cks.cks_discrete_laplace, testing.pmf_discrete_laplace, "scale"),
    "cks_discrete_gaussian": (cks.cks_discrete_gaussian, testing.pmf_discrete_gaussian, "sigma"),
}


def without_tables(monkeypatch: Any) -> None:
    """Send every draw through the general path."""
    monkeypatch.setattr(TableCache, "get", lambda *_: None)
