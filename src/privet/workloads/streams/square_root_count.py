"""Running counts from the square root of the prefix sums, kept within a band."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack, final

import numpy as np

from privet import noise
from privet._cache import kept_property, remember
from privet._numerics import Array, ndtri
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Example, Source, register
from privet.privacy import Guarantee, Promise, Unit
from privet.workloads.design import NoiseNorm
from privet.workloads.families.convolution import inverse_series, real_product
from privet.workloads.streams.counter import Counter, Counting

_BITS = 22  # coefficients are multiples of 2^-22, and the noise lives on that grid
# The last coefficients are then a thousand of their steps; a run keeps as many numbers as its band.
_LONGEST = 2**22
_OWN = 2**12  # coefficients of a value of their own; later ones share theirs within steps of a sixteenth of their place
_NEAR = 1e-9  # far more than a Fourier transform rounds


@final
@register
@dataclass(frozen=True, kw_only=True)
class SquareRootCount(Counter):
    """The number of rows so far, after every step of a stream of at most `horizon` steps, with Gaussian noise; memory
    of `band` numbers.

    Step t measures c_0 x_t + c_1 x_(t-1) + ... over the last `band` counts, with c = 1, 1/2, 3/8, 5/16, ... rounded to
    whole 2^-22, plus noise. Running the recursion backwards gives back the counts, and the sums so far. With a band of
    the whole horizon (the default) it is the square root of the prefix sums, about half the error of a binary tree. From
    the 4,096th on coefficients are equal in runs of a sixteenth of their place: a step then takes a few thousand products
    however long the stream is, and the error grows by less than 0.1%.

    **Guarantee:** of the Gaussian with noise multiplier scale/sensitivity, for all sums together, also where later counts
    depend on earlier sums: the matrix is lower triangular, and each step has noise of its own.
    **Sensitivity:** l2, exactly: the root of the sum of the squares of the coefficients; replace: of the farthest two
    columns. A person with r rows, in whatever steps: r times that.
    **Error:** grows with the step, as the root of (ln t)/pi within the band.
    **Reference:** Fichtenberger, Henzinger & Upadhyay 2023; Denisov et al. 2022; proof note workloads/continual_counts.

    >>> counter = SquareRootCount.for_budget(mu=1.0, horizon=1024)
    >>> round(counter.rmse, 4)
    3.1098
    """

    name = "square_root_count"

    norm: NoiseNorm = "l2"
    band: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        band = self.horizon if self.band is None else count("band", self.band, 1)
        if self.horizon > _LONGEST or band > self.horizon:
            raise InvalidParameter(
                f"horizon must be at most {_LONGEST:,} steps, and band at most the horizon: longer streams are for "
                "TreeCount"
            )
        set_frozen(self, band=band)

    @classmethod
    def for_budget(
        cls,
        *,
        horizon: int,
        band: int | None = None,
        unit: Unit | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> "SquareRootCount":
        """The least noise within the budget."""
        facts = {"horizon": horizon, "unit": Unit() if unit is None else unit, "max_rows": max_rows, "band": band}
        return cls._calibrated(promise, facts)

    @classmethod
    def _norms(cls) -> tuple[NoiseNorm, ...]:
        return ("l2",)

    @property
    def _finer(self) -> int:
        return 2**_BITS

    @property
    def most(self) -> int:
        return int(2**61 // np.sum(self._whole))

    @kept_property
    def _whole(self) -> Array:
        """The coefficients in steps of 2^-22."""
        return whole_coefficients(self.band or 1)

    def _longest(self) -> Fraction:
        return Fraction(int(np.sum(self._whole**2)), 4**_BITS)

    def _farthest(self) -> Fraction:
        """Of the first column and each later one: columns are one sequence moved down and cut at the horizon, so that
        moving a pair up only adds to its distance. Beyond a band nothing is shared and columns get no longer.
        """
        whole = self._whole
        size = np.cumsum(whole**2)
        apart = np.arange(1, min(len(whole), self.horizon - 1) + 1)
        if not len(apart):
            return Fraction(0)
        second = size[np.minimum(len(whole), self.horizon - apart) - 1]
        guess = second - 2.0 * _shared(whole.astype(float), len(apart))
        near = np.flatnonzero(guess >= guess.max() - _NEAR * float(size[-1]))  # the largest is one of these, exactly
        exact = (int(second[i]) - 2 * int(whole[i + 1 :] @ whole[: len(whole) - i - 1]) for i in near.tolist())
        return Fraction(int(size[-1]) + max(exact), 4**_BITS)

    def _counting(self, runs: int, source: Source) -> Counting:
        return _Window(self, runs, source)

    def _noise(self, runs: int, source: Source) -> Array:
        return np.asarray(noise.rounded_gaussian(sigma=Fraction(self.scale) * 2**_BITS, size=runs, source=source))

    def deviations(self, steps: int | None = None) -> Array:
        """The standard deviation of the sum after each step.

        >>> SquareRootCount(horizon=3, scale=1.0).deviations().round(4).tolist()
        [1.0, 1.118, 1.1792]
        """
        return np.asarray(self.scale * _lengths(self.band or 1, self.horizon)[: self._steps(steps)])

    def _radii(self, steps: Sequence[int], confidence: float) -> Array:
        """Normal: on a grid 2^22 times finer than a row the rounding is far below the last digit shown."""
        quantile = -float(ndtri((1.0 - confidence) / 2.0)) * math.hypot(1.0, 2.0**-_BITS / self.scale)
        return np.asarray(quantile * self.scale * _lengths(self.band or 1, self.horizon)[np.asarray(steps) - 1])

    @property
    def _worst(self) -> int:
        return self.horizon

    def describe(self) -> str:
        return f"running counts of {self.horizon:,} steps from square roots, band {self.band:,}"

    @classmethod
    def examples(cls) -> Iterable[Example]:
        plain = cls.for_budget(mu=1.0, horizon=3)
        yield Example(plain, [3, 0, 2], [4, 0, 2], Guarantee(mu=1.0))
        moved = cls.for_budget(rho=0.5, horizon=4, band=2, unit=Unit("replace"))
        yield Example(moved, [3, 0, 2, 1], [4, 0, 1, 1], Guarantee(rho=0.5))


class _Window:
    """The sums of the counts so far, exactly, and of the estimates of them, as far back as the band reaches."""

    def __init__(self, counter: SquareRootCount, runs: int, source: Source) -> None:
        self.counter, self.runs, self.source, self.taken = counter, runs, source, 0
        self.own = counter._whole[:_OWN][::-1].copy()  # of the oldest count first
        self.real = np.ldexp(self.own.astype(float), -_BITS)
        self.band, (ends, shared) = len(counter._whole), _runs(counter._whole)
        self.ends, self.shared, self.far = ends, shared, np.ldexp(shared.astype(float), -_BITS)
        # a ring of sums, each written twice, so that the last `own` counts lie side by side
        near = len(self.own)
        self.exact, self.found = np.zeros(2 * near, dtype=np.int64), np.zeros((runs, 2 * near))
        self.sums = np.zeros(self.band + 1 if len(shared) else 1, dtype=np.int64)
        self.totals = np.zeros((runs, len(self.sums)))

    def step(self, counted: int) -> Array:
        near, place = len(self.own), self.taken % len(self.own) + len(self.own)
        if place == near and self.taken:  # the window has reached the end of its memory: move it to the front
            self.exact[:near], self.found[:, :near] = self.exact[near:], self.found[:, near:].copy()
        self.exact[place] = counted
        window = slice(place - near + 1, place + 1)
        earlier = self.found[:, window][:, :-1] @ self.real[:-1]
        measured: Any = int(self.own @ self.exact[window])
        if len(self.shared):
            # after `taken` steps the sum of the counts that are at least e steps old lies at taken - e + 1
            at = np.maximum(self.taken + 1 - self.ends, 0) % len(self.sums)
            measured += int(self.shared @ -np.diff(self.sums[at]))
            earlier = earlier - np.diff(self.totals[:, at], axis=1) @ self.far
        measured = measured + self.counter._noise(self.runs, self.source)
        self.found[:, place] = (np.ldexp(measured.astype(float), -_BITS) - earlier) / self.real[-1]
        self.taken += 1
        last, here = (self.taken - 1) % len(self.sums), self.taken % len(self.sums)
        self.sums[here] = self.sums[last] + counted
        self.totals[:, here] = self.totals[:, last] + self.found[:, place]
        return self.totals[:, here].copy()


def whole_coefficients(band: int) -> Array:
    """The first coefficients of (1 - z)^(-1/2), in whole steps of 2^-22; from the 4,096th on the mean of a run stands for
    each of the run.

    >>> (whole_coefficients(4) / 2**22).tolist()
    [1.0, 0.5, 0.375, 0.3125]
    """
    j = np.arange(1.0, band)
    real = np.concatenate(([1.0], np.cumprod((2.0 * j - 1.0) / (2.0 * j))))
    ends = _run_ends(band)
    if len(ends) > 1:
        widths = np.diff(ends)
        real[_OWN:] = np.repeat(np.add.reduceat(real, ends[:-1]) / widths, widths)
    return np.rint(np.ldexp(real, _BITS)).astype(np.int64)


def _run_ends(band: int) -> Array:
    """Where runs of equal coefficients begin, and the end of the last."""
    ends = [_OWN]
    while ends[-1] < band:
        ends.append(min(band, ends[-1] + ends[-1] // 16))
    return np.array(ends)


def _runs(whole: Array) -> tuple[Array, Array]:
    """The ends of the runs, and the coefficient of each."""
    ends = _run_ends(len(whole))
    return ends, whole[ends[:-1]] if len(ends) > 1 else np.zeros(0, dtype=np.int64)


@remember(2**26)
def _lengths(band: int, horizon: int) -> Any:
    """The standard deviation of every sum at noise of 1: lengths of the rows of (prefix sums) (band matrix)^-1."""
    pulse = inverse_series(np.ldexp(whole_coefficients(band).astype(float), -_BITS), horizon)
    lengths = np.sqrt(np.cumsum(np.cumsum(pulse) ** 2))
    lengths.setflags(write=False)
    return lengths


def _shared(column: Array, most: int) -> Array:
    """The inner product of a column with itself moved down by 1, 2, ..., `most`; 0 beyond its length."""
    found = real_product(column, column[::-1], 2 * len(column))[len(column) :]
    return np.append(found, np.zeros(max(0, most - len(found))))[:most]
