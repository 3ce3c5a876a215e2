"""Running counts from a tree over time whose branching and noise are the best for the horizon."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Example, Source, register
from privet.privacy import Guarantee, Promise, Unit
from privet.workloads.design import whole_noise
from privet.workloads.families.noise_law import NoiseLaw
from privet.workloads.families.radii import sum_radii
from privet.workloads.streams.counter import Counter, Counting
from privet.workloads.streams.tree_shape import best_branching, combined, level_weights, widths_of

_BARS = 2_000  # sums whose laws are told apart; of longer lists digits are rounded up, which only widens bars
_PIECE = 2**14  # steps at a time: memory and speed only


@final
@register
@dataclass(frozen=True, kw_only=True)
class TreeCount(Counter):
    """The number of rows so far, after every step of a stream of at most `horizon` steps; memory of a few numbers for each
    width of blocks.

    `branching` says how many blocks make a block of the next width, from single steps up; left out, it is the best for the
    horizon, and so are the shares of the budget that the widths get. Each block is measured when it ends, and put together
    with what the blocks inside it say. The sum so far adds as many blocks of each width as the step has digits.

    **Guarantee:** pure with discrete Laplace noise (`norm` "l1"), Gaussian ("l2") with rho, mu or a delta; for all sums
    together, also where later counts depend on earlier sums.
    **Sensitivity:** a row lies in one block of each width: l1 the sum of their weights, l2 the root of the sum of squares;
    replace: in two steps without a common block. A person with r rows, in whatever steps: r times that.
    **Error:** about half of a binary tree's at pure epsilon.
    **Reference:** Dwork, Naor, Pitassi & Rothblum 2010; Honaker 2015; proof note workloads/continual_counts.

    >>> counter = TreeCount.for_budget(epsilon=1.0, horizon=1_000)
    >>> counter.branching, round(counter.rmse, 1), counter.loss.pure()
    ((12, 10), 14.9, 1.0)
    """

    name = "tree_count"

    branching: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = best_branching(self.horizon, self.norm) if self.branching is None else self.branching
        if isinstance(given, int) or not isinstance(given, Sequence) or isinstance(given, str):
            raise InvalidParameter("branching must list how many blocks make one of the next width, such as (12, 10)")
        branching = tuple(count("branching", children, 2) for children in given)
        if widths_of(branching)[-1] > self.horizon:
            raise InvalidParameter("branching must multiply to at most the horizon: wider blocks never end")
        set_frozen(self, branching=branching)
        if Fraction(self.scale) / min(self._weights) > noise.LARGEST_SCALE:
            raise InvalidParameter("the budget is too small for this stream: its noise would not fit whole numbers")

    @classmethod
    def for_budget(
        cls,
        *,
        horizon: int,
        branching: tuple[int, ...] | None = None,
        unit: Unit | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> "TreeCount":
        """The least noise within the budget; of Laplace and Gaussian noise, where both keep it, the better."""
        facts = {"horizon": horizon, "unit": Unit() if unit is None else unit, "max_rows": max_rows}
        return cls._calibrated(promise, facts | {"branching": branching})

    @property
    def _children(self) -> tuple[int, ...]:
        return self.branching or ()

    @kept_property
    def widths(self) -> tuple[int, ...]:
        """The widths of the blocks that are measured."""
        return widths_of(self._children)

    @kept_property
    def _weights(self) -> tuple[Fraction, ...]:
        weights: tuple[Fraction, ...] = level_weights(self.horizon, self._children, self.norm)
        return weights

    def _sizes(self) -> list[Fraction]:
        return [weight if self.norm == "l1" else weight**2 for weight in self._weights]

    def _longest(self) -> Fraction:
        """The first step lies in a block of every width; no step lies in two of one width."""
        return sum(self._sizes(), Fraction(0))

    def _farthest(self) -> Fraction:
        """Two steps that part in blocks of one width: the first lies in a block of that and of each narrower width; the
        second, the first step of the next block, in those that end before the horizon.
        """
        sizes, found = self._sizes(), Fraction(0)
        for place, width in enumerate(self.widths):
            if width < self.horizon:
                second = [s for s, w in zip(sizes[: place + 1], self.widths, strict=False) if width + w <= self.horizon]
                found = max(found, sum(sizes[: place + 1], Fraction(0)) + sum(second, Fraction(0)))
        return found

    def _counting(self, runs: int, source: Source) -> Counting:
        return _Open(self, runs, source)

    def _noise(self, level: int, runs: int, source: Source) -> Array:
        return whole_noise(self.norm, Fraction(self.scale) / self._weights[level], runs, source)

    @kept_property
    def _law(self) -> NoiseLaw:
        """One noise of each width."""
        return NoiseLaw(self._kind, tuple((1, Fraction(self.scale) / weight) for weight in self._weights))

    @kept_property
    def _known(self) -> Array:
        """The variance of the best estimate of a block of each width."""
        return combined(self._variances, self._children)

    @kept_property
    def _variances(self) -> Array:
        """Of one noise of each width; never quite 0, where there is hardly any."""
        return np.maximum(self._law.variances(), 1e-100)

    @kept_property
    def _own(self) -> Array:
        """The share of a block's own measurement in its estimate."""
        return np.asarray(self._known / self._variances)

    def _digits(self, steps: Array) -> Array:
        """The number of blocks of each width that the sums after these steps are made of, one row a step."""
        found, left = np.empty((len(steps), len(self.widths)), dtype=np.int64), steps
        for place, children in enumerate(self._children):
            wider = left // children
            found[:, place] = left - children * wider
            left = wider
        found[:, -1] = left
        return found

    def deviations(self, steps: int | None = None) -> Array:
        """The standard deviation of the sum after each step.

        >>> TreeCount(horizon=4, scale=100.0, norm="l1", branching=()).deviations().round().tolist()
        [141.0, 200.0, 245.0, 283.0]
        """
        last = self._steps(steps)
        variances = np.empty(last)
        for start in range(0, last, _PIECE):
            some = np.arange(start + 1, min(start + _PIECE, last) + 1)
            variances[start : start + _PIECE] = self._digits(some) @ self._known
        return np.asarray(np.sqrt(variances))

    def _parts(self) -> list[list[tuple[float, float]]]:
        """For each width of blocks: the coefficients of the noises of each width in one estimate, and how many."""
        found = []
        for level, width in enumerate(self.widths):
            part, below = list[tuple[float, float]](), 1.0
            for inner in range(level, -1, -1):
                part.append((below * float(self._own[inner]), float(width // self.widths[inner])))
                below *= 1.0 - float(self._own[inner])
            found.append(part[::-1] + [(0.0, 0.0)] * (len(self.widths) - 1 - level))
        return found

    def _radii(self, steps: Sequence[int], confidence: float) -> Array:
        digits = self._digits(np.asarray(steps, dtype=np.int64))
        kinds, which = np.unique(digits, axis=0, return_inverse=True)
        for grain in range(2, 2**20):
            if len(kinds) <= _BARS:
                break
            # more noise of the same kind never lies closer to 0: a bar for more digits holds for fewer
            kinds, which = np.unique(-(-digits // grain) * grain, axis=0, return_inverse=True)
        return sum_radii(self._law, self._parts(), kinds, confidence)[which.reshape(-1)]

    @property
    def _worst(self) -> int:
        ends = [max(1, self.horizon // width * width - 1) for width in self.widths]
        steps = np.array([self.horizon, *ends])
        return int(steps[np.argmax(self._digits(steps) @ self._known)])

    def describe(self) -> str:
        words = " by ".join(str(children) for children in self._children)
        return f"running counts of {self.horizon:,} steps from " + (f"a tree of {words}" if words else "single steps")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        plain = cls.for_budget(epsilon=1.0, horizon=4, branching=(2,))
        yield Example(plain, [3, 0, 2, 1], [4, 0, 2, 1], Guarantee(1.0))
        moved = cls.for_budget(mu=1.0, horizon=5, branching=(2,), unit=Unit("replace"))
        yield Example(moved, [3, 0, 2, 1, 0], [4, 0, 2, 1, 0], Guarantee(mu=1.0))


class _Open:
    """For each width the exact sum of the block that is still open, and the estimates of those that have ended in the
    next wider one."""

    def __init__(self, counter: TreeCount, runs: int, source: Source) -> None:
        self.counter, self.runs, self.source, self.taken = counter, runs, source, 0
        self.exact = [0] * len(counter.widths)
        self.ended = np.zeros((len(counter.widths), runs))

    def measure(self, level: int) -> Array:
        """The sum of the block of this width that ends here, with its noise; the next one begins with nothing."""
        exact, self.exact[level] = self.exact[level], 0
        return exact + self.counter._noise(level, self.runs, self.source)

    def step(self, counted: int) -> Array:
        self.taken += 1
        self.exact = [each + counted for each in self.exact]
        for level, width in enumerate(self.counter.widths):
            if self.taken % width:
                break
            own = float(self.counter._own[level])
            found = own * self.measure(level)
            if level:
                found = found + (1.0 - own) * self.ended[level - 1]
                self.ended[level - 1] = 0.0
            self.ended[level] += found
        return np.asarray(self.ended.sum(axis=0))
