"""The sum of vectors, each clipped to a public l2 norm."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Unpack, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.record_totals import noisy_totals
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.mechanism import Example, Source, register
from privet.mechanisms.vectors import VectorMechanism, row_reach
from privet.privacy import Guarantee, Promise, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class VectorSum(VectorMechanism):
    """The sum of the rows of an array, each row clipped to the l2 norm `clip_norm`, with Gaussian noise.

    **Guarantee:** that of `Gaussian`, exactly and in every dimension.
    **Sensitivity:** l2: clip_norm under add/remove, twice that under replace, times `max_rows`; on the grid too, since rows
    are rounded towards zero.
    **Error:** all coordinates at once within the exact normal quantile of the sum of the *clipped* rows: what clipping
    takes away is not in the bar.
    **Reference:** Abadi et al. 2016 (clipping); proof note mechanisms/vector_sum.

    >>> mechanism = VectorSum.for_budget(epsilon=1.0, delta=1e-6, clip_norm=1.0, dimension=2)
    >>> mechanism.release(np.array([[3.0, 4.0], [0.5, 0.0]])).value.shape
    (2,)
    """

    name = "vector_sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        bound = self.noise.sensitivity
        if bound.value < row_reach(self.clip_norm, bound.unit, self.max_rows).value:
            raise InvalidParameter("the noise was made for a smaller clipping norm than this; use for_budget")

    @classmethod
    def for_budget(
        cls,
        *,
        clip_norm: float,
        dimension: int,
        unit: Unit | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> "VectorSum":
        """The least Gaussian noise that stays within the budget; a pure epsilon has none."""
        reach = row_reach(clip_norm, unit, max_rows)
        noise = Gaussian.for_budget(**promise, sensitivity=reach)
        return cls(clip_norm=clip_norm, dimension=dimension, noise=noise, max_rows=max_rows, at=noise.at)

    def _prepare(self, value: Array) -> list[int]:
        return self._totals(value)

    def _draw(self, prepared: list[int], runs: int, source: Source) -> Array:
        return np.array(noisy_totals(self.noise, prepared, self._grid, runs=runs, source=source), dtype=np.float64)

    def error(self, confidence: float = 0.95) -> ErrorBar:
        """The exact normal quantile, jointly over the coordinates."""
        return self.noise.error(confidence, dimension=self.dimension)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        plain = cls.for_budget(epsilon=1.0, delta=1e-5, clip_norm=1.0, dimension=2)
        yield Example(plain, np.array([[0.3, 0.1]]), np.array([[0.3, 0.1], [3.0, 4.0]]), Guarantee(1.0, 1e-5))
        moved = cls.for_budget(rho=0.5, clip_norm=2.0, dimension=3, unit=Unit("replace"))
        yield Example(moved, np.array([[5.0, 0.0, 0.0]]), np.array([[-5.0, 0.0, 0.0]]), Guarantee(rho=0.5))
