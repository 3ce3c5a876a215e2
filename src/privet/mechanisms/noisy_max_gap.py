"""Report noisy max with the gap to the runner-up."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array, round_up, up
from privet._validate import open_fraction
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.selection import SelectionMechanism
from privet.mechanisms.form import Form, Numbers, Record
from privet.mechanisms.mechanism import Example, Source, register
from privet.noise import Grid, whole_steps
from privet.privacy import Guarantee, PrivacyLoss, PureLoss, Unit

_FINER = 20  # the grid is at least 2^20 times finer than the sensitivity
_FARTHEST = 2**61  # where scores saturate: a difference of two with their noise fits int64


@final
@register
@dataclass(frozen=True, kw_only=True)
class NoisyMaxGap(SelectionMechanism):
    """The candidate with the largest noisy score, and by how much it leads the second: the gap comes free of charge.

    The release is a dictionary: `choice` (a candidate, or its index) and `gap`, the difference of the two largest noisy
    scores, at least 0. The noise is discrete Laplace on a public grid; no other score leaves the code.

    **Guarantee:** pure epsilon = 2 sensitivity/scale (sensitivity/scale when monotonic), as for `NoisyMax` without a gap,
    with the sensitivity rounded up to the grid.
    **Sensitivity:** of the score.
    **Error:** the gap lies within the bar of the true lead of the choice over the best of the others, which is negative
    when the choice is not the best.
    **Reference:** Ding, Wang, Zhang & Kifer 2019; proof note mechanisms/noisy_max_gap.

    >>> race = NoisyMaxGap.for_budget(epsilon=1.0, sensitivity=1, candidates=("red", "blue"))
    >>> answer = race.release([1000, 40]).value
    >>> answer["choice"], answer["gap"] > 900
    ('red', True)
    """

    name = "noisy_max_gap"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.candidates is not None and len(self.candidates) < 2:
            raise InvalidParameter("a gap needs at least two candidates")
        if self._steps(self.scale) > 2**52:
            raise InvalidParameter("the noise must stay below 2^52 grid steps: the budget is too small")

    @property
    def step(self) -> float:
        """The grid on which scores and noise live: a power of two."""
        return self._grid.width

    @kept_property
    def _grid(self) -> Grid:
        return Grid.finer_than(self.sensitivity.value, _FINER, coarsest=0)

    def _steps(self, length: float | Fraction) -> Fraction:
        return self._grid.length(length)

    @property
    def loss(self) -> PrivacyLoss:
        moved = self._grid.ceil(self.sensitivity.value)
        return self._price(up(self._reach * moved / self._steps(self.scale)))

    @property
    def form(self) -> Form:
        return Record({"choice": super().form, "gap": Numbers()})

    def _multiplier(self, target: Guarantee) -> float:
        moved = self._grid.ceil(self.sensitivity.value) / self._steps(self.sensitivity.value)
        multiplier = super()._multiplier(target)
        return round_up(multiplier * float(moved)) if moved > 1 else multiplier

    def _price(self, epsilon: float) -> PrivacyLoss:
        return PureLoss(epsilon, unit=self.sensitivity.unit)

    def _check_number(self, number: int | None) -> None:
        super()._check_number(number)
        if number is not None and number < 2:
            raise InvalidData("a gap needs at least two candidates, with a score each")

    def _prepare(self, value: object) -> Array:
        return np.clip(whole_steps(super()._prepare(value), self._grid), -_FARTHEST, _FARTHEST)

    def _draw(self, prepared: Array, runs: int, source: Source) -> list[dict[str, Any]]:
        shape = (runs, len(prepared))
        noisy = prepared + noise.discrete_laplace(scale=self._steps(self.scale), size=shape, source=source)
        first, gaps = self._race(noisy)
        names = [int(i) if self.candidates is None else self._named(i) for i in first]
        return [{"choice": name, "gap": float(gap) * self.step} for name, gap in zip(names, gaps, strict=True)]

    def _choose(self, scores: Array, runs: int, source: Source) -> Any:
        raise AssertionError("unreachable: the draw makes choice and gap together")  # pragma: no cover

    @staticmethod
    def _race(noisy: Array) -> tuple[Array, Array]:
        """The winner and its lead in whole steps. A later candidate lies a fraction of a step higher, so nobody ties; the
        lead is rounded down, which takes a step from it where the winner stands before the runner-up."""
        backwards = noisy[:, ::-1]
        rows, last = np.arange(len(noisy)), noisy.shape[1] - 1
        first = last - np.argmax(backwards, axis=1)
        others = noisy.copy()
        others[rows, first] = np.iinfo(np.int64).min
        second = last - np.argmax(others[:, ::-1], axis=1)
        return first, noisy[rows, first] - noisy[rows, second] - (first < second)

    def error(self, confidence: float = 0.95, *, candidates: int | None = None, optimal: int = 1) -> ErrorBar:
        """The distance that the gap may have from the true lead: all noises within `radius` / 2 of zero at once."""
        total = max(2, self._total(candidates))
        tail = -math.expm1(math.log(open_fraction("confidence", confidence)) / total)
        return ErrorBar(2.0 * (self.scale * math.log(1.0 / tail) + 2.0 * self.step), confidence, "gap")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        votes = cls.for_budget(epsilon=1.0, sensitivity=1, candidates=("cat", "dog", "fox"), unit=Unit("replace"))
        yield Example(votes, [5, 5, 0], [4, 6, 0], Guarantee(1.0))
        counts = cls.for_budget(epsilon=2.0, sensitivity=1, monotonic=True, candidates=range(3))
        yield Example(counts, [3, 3, 2], [4, 3, 2], Guarantee(2.0))
