"""Running counts from a binary tree over time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack, final

import numpy as np

from privet._cache import kept_property, remember
from privet._numerics import Array
from privet.mechanisms import Example, Source, register
from privet.privacy import Guarantee, Promise, Unit
from privet.workloads.design import whole_noise
from privet.workloads.families.noise_law import Kind, NoiseLaw
from privet.workloads.streams.counter import Counter, Counting


@final
@register
@dataclass(frozen=True, kw_only=True)
class BinaryTreeCount(Counter):
    """The number of rows so far, after every step of a stream of at most `horizon` steps; memory of log2(horizon)
    numbers.

    When 2^j divides the step t, and no higher power does, the rows of the last 2^j steps are summed and get noise: that
    is all that is ever measured. The sum so far adds one such block for each 1 among the binary digits of t.

    **Guarantee:** pure with discrete Laplace noise (`norm` "l1"), Gaussian ("l2") with rho, mu or a delta; for all sums
    together, also where later counts depend on earlier sums.
    **Sensitivity:** a row lies in at most `levels` blocks, one of each width up to the horizon: l1 `levels`, l2 its
    root; replace: in two steps without a common block. A person with r rows, in whatever steps: r times that.
    **Error:** of as many noises as the step has binary ones: at most `levels`.
    **Reference:** Dwork, Naor, Pitassi & Rothblum 2010; Chan, Shi & Song 2011; proof note workloads/continual_counts.

    >>> counter = BinaryTreeCount.for_budget(epsilon=1.0, horizon=365)
    >>> counter.levels, counter.scale, counter.loss.pure()
    (9, 9.0, 1.0)
    >>> print(counter.error(step=256))
    +-27.37 (95%)
    """

    name = "binary_tree_count"

    @classmethod
    def for_budget(
        cls, *, horizon: int, unit: Unit | None = None, max_rows: int = 1, **promise: Unpack[Promise]
    ) -> "BinaryTreeCount":
        """The least noise within the budget; of Laplace and Gaussian noise, where both keep it, the better."""
        facts = {"horizon": horizon, "unit": Unit() if unit is None else unit, "max_rows": max_rows}
        return cls._calibrated(promise, facts)

    @property
    def levels(self) -> int:
        """The number of widths of blocks."""
        return self.horizon.bit_length()

    def _longest(self) -> Fraction:
        """The first step lies in a block of every width; no step lies in two of one width."""
        return Fraction(self.levels)

    def _farthest(self) -> Fraction:
        """Two steps that part in blocks of width 2^h: the first lies in h + 1 blocks up to there; the second, the first
        one of its half, in those of its h narrower ones that end before the horizon.
        """
        parts = range((self.horizon - 1).bit_length())
        return Fraction(max((h + 1 + min(h, (self.horizon - 2**h).bit_length()) for h in parts), default=0))

    def _counting(self, runs: int, source: Source) -> Counting:
        return _Blocks(self, runs, source)

    def _noise(self, runs: int, source: Source) -> Array:
        return whole_noise(self.norm, Fraction(self.scale), runs, source)

    @kept_property
    def _variance(self) -> float:
        """Of one noise, by the integer law that is drawn."""
        return float(NoiseLaw(self._kind, ((1, Fraction(self.scale)),)).variances()[0])

    def deviations(self, steps: int | None = None) -> Array:
        """The standard deviation of the sum after each step: the root of its number of binary ones.

        >>> counter = BinaryTreeCount(horizon=8, scale=100.0, norm="l1")
        >>> (counter.deviations() / counter.deviations(1)).round(3).tolist()
        [1.0, 1.0, 1.414, 1.0, 1.414, 1.414, 1.732, 1.0]
        """
        return np.asarray(np.sqrt(self._variance * np.bitwise_count(np.arange(1, self._steps(steps) + 1))))

    def _radii(self, steps: Sequence[int], confidence: float) -> Array:
        ones = [int(step).bit_count() for step in steps]
        found = {n: _radius(self._kind, Fraction(self.scale), n, confidence) for n in set(ones)}
        return np.array([found[n] for n in ones])

    @property
    def _worst(self) -> int:
        return max(self.horizon, 2 ** (self.levels - 1) - 1, key=lambda step: step.bit_count())

    def describe(self) -> str:
        return f"running counts of {self.horizon:,} steps from a binary tree"

    @classmethod
    def examples(cls) -> Iterable[Example]:
        plain = cls.for_budget(epsilon=1.0, horizon=4)
        yield Example(plain, [3, 0, 2, 1], [4, 0, 2, 1], Guarantee(1.0))
        moved = cls.for_budget(mu=1.0, horizon=5, unit=Unit("replace"))
        yield Example(moved, [3, 0, 2, 1, 0], [4, 0, 2, 1, 0], Guarantee(mu=1.0))


class _Blocks:
    """For each width the exact and the noisy sum of the last block that was measured."""

    def __init__(self, counter: BinaryTreeCount, runs: int, source: Source) -> None:
        self.counter, self.runs, self.source, self.taken = counter, runs, source, 0
        self.exact = [0] * counter.levels
        self.noisy = [np.zeros(runs, dtype=np.int64) for _ in range(counter.levels)]

    def step(self, counted: int) -> Array:
        self.taken += 1
        width = (self.taken & -self.taken).bit_length() - 1  # the block of 2^width steps that ends here
        total = counted + sum(self.exact[:width])  # before it, one narrower block of each width has just ended
        self.exact[width] = total
        self.noisy[width] = total + self.counter._noise(self.runs, self.source)
        ones = [level for level in range(len(self.noisy)) if self.taken >> level & 1]
        return np.sum([self.noisy[level] for level in ones], axis=0)


@remember(2**20)
def _radius(kind: Kind, scale: Fraction, noises: int, confidence: float) -> float:
    return NoiseLaw(kind, ((noises, scale),)).radius(np.ones(noises), confidence)
