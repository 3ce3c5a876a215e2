"""The mean of vectors, each clipped to a public l2 norm."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack, final

import numpy as np

from privet._numerics import Array
from privet._validate import set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.record_totals import noisy_totals
from privet.mechanisms.families.records import check_public_count
from privet.mechanisms.form import Form, Numbers, Record
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.mechanism import Example, Source, register
from privet.mechanisms.vectors import VectorMechanism, row_reach
from privet.privacy import Guarantee, Promise, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class VectorMean(VectorMechanism):
    """The mean of the rows of an array, each row clipped to the l2 norm `clip_norm`, with Gaussian noise.

    Under replace the number of rows `n` is public and the release is {"mean": ...}. Under add/remove it is private: one
    noisy vector holds the sum and clip_norm times the number of rows, and the release is {"mean": ..., "count": ...}; a
    noisy count below 1 is read as 1, and every coordinate of the mean is brought back into [-clip_norm, clip_norm].

    **Guarantee:** that of `Gaussian` for the one vector behind it.
    **Sensitivity:** l2: 2 clip_norm for the sum under replace, sqrt(2) clip_norm for sum and count under add/remove, times
    `max_rows`.
    **Error:** under replace the exact normal quantile; under add/remove the bar follows from the released count and mean.
    **Reference:** proof note mechanisms/vector_sum.

    >>> mechanism = VectorMean.for_budget(epsilon=1.0, delta=1e-6, clip_norm=1.0, dimension=2, n=1000, unit=Unit("replace"))
    >>> mechanism.release(np.full((1000, 2), 0.5)).value["mean"].round(1).tolist()
    [0.5, 0.5]
    """

    name = "vector_mean"

    n: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        bound = self.noise.sensitivity
        set_frozen(self, n=check_public_count(self.n, bound.unit, self.max_rows))
        if bound.value < row_reach(self.clip_norm, bound.unit, self.max_rows, square=self._square).value:
            raise InvalidParameter("the noise was made for a smaller clipping norm than this; use for_budget")

    @property
    def _square(self) -> int:
        """Squared length of what one row adds, in units of clip_norm: the row alone, or the row and its count."""
        return 2 if self.n is None else 1

    @classmethod
    def for_budget(
        cls,
        *,
        clip_norm: float,
        dimension: int,
        n: int | None = None,
        unit: Unit | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> "VectorMean":
        """The least Gaussian noise that stays within the budget; a pure epsilon has none."""
        reach = row_reach(clip_norm, unit, max_rows, square=2 if n is None else 1)
        noise = Gaussian.for_budget(**promise, sensitivity=reach)
        return cls(clip_norm=clip_norm, dimension=dimension, noise=noise, max_rows=max_rows, n=n, at=noise.at)

    def _admit(self, value: Any) -> None:
        super()._admit(value)
        if self.n is not None and len(value) != self.n:
            raise InvalidData("the number of rows must be the public n that this mechanism was made for")

    def _prepare(self, value: Array) -> list[int]:
        totals = self._totals(value)
        if self.n is not None:
            return totals
        # The count enters as clip_norm times the number of rows, on the grid and rounded down: never longer than that.
        return [*totals, len(value) * self._grid.floor(self.clip_norm)]

    def _draw(self, prepared: list[int], runs: int, source: Source) -> list[dict[str, Any]]:
        rows = noisy_totals(self.noise, prepared, self._grid, runs=runs, source=source)
        return [self._finish(np.array(row, dtype=np.float64)) for row in rows]

    def _finish(self, noisy: Array) -> dict[str, Any]:
        if self.n is not None:
            return {"mean": self._inside(noisy / self.n)}
        count = max(1.0, float(noisy[-1]) / self.clip_norm)
        return {"mean": self._inside(noisy[:-1] / count), "count": count}

    def _inside(self, mean: Array) -> Array:
        """Every coordinate into [-clip_norm, clip_norm], where the true one lies: that increases no error."""
        return np.clip(mean, -self.clip_norm, self.clip_norm)

    @property
    def form(self) -> Form:
        return Record(dict.fromkeys(("mean",) if self.n is not None else ("mean", "count"), Numbers()))

    def error(self, confidence: float = 0.95) -> ErrorBar | None:
        """Jointly over the coordinates; None under add/remove, where the bar needs the released count."""
        return None if self.n is None else self._bar(confidence, float(self.n))

    def _error_given(self, drawn: dict[str, Any], prepared: list[int]) -> ErrorBar | None:
        if self.n is not None:
            return self.error()
        # With all d + 1 noises within r: |mean error| <= r (1 + |mean|/clip_norm)/(count - r/clip_norm) in each coordinate.
        radius = self.noise.error(0.95, dimension=self.dimension + 1).radius
        count = float(drawn["count"]) - radius / self.clip_norm
        bar = 2.0 * radius / count if count > 0.0 else 2.0 * self.clip_norm
        return ErrorBar(min(bar, 2.0 * self.clip_norm), 0.95, "mean")

    def _bar(self, confidence: float, n: float) -> ErrorBar:
        return ErrorBar(self.noise.error(confidence, dimension=self.dimension).radius / n, confidence, "mean")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        fixed = cls.for_budget(epsilon=1.0, delta=1e-5, clip_norm=1.0, dimension=2, n=2, unit=Unit("replace"))
        left, right = np.array([[0.3, 0.1], [3.0, 4.0]]), np.array([[0.3, 0.1], [-3.0, -4.0]])
        yield Example(fixed, left, right, Guarantee(1.0, 1e-5))
        free = cls.for_budget(mu=0.5, clip_norm=2.0, dimension=1)
        yield Example(free, np.array([[1.0]]), np.array([[1.0], [2.0]]), Guarantee(mu=0.5))
