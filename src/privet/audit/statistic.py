"""The contract of statistics, as a selection needs it: a quick look at many events, and one honest test."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from privet._numerics import Array
from privet.audit.counts import Counts
from privet.audit.result import Result

R = TypeVar("R", bound=Result)


class Statistic(ABC, Generic[R]):
    """A test of one event in two worlds, as a value: what is tested, without data and level."""

    @abstractmethod
    def screen(self, tp: Array, fp: Array, n: int, n_out: int, alpha: float) -> Array:
        """The promise of each of many events; larger is better. For choosing only: it proves nothing."""

    @abstractmethod
    def test(self, counts: Counts, *, alpha: float) -> R:
        """The test itself, for one event that was chosen without a look at these counts."""
