"""The noisy Gram of unit rows, by itself."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance
from privet.errors import InvalidParameter
from privet.learn.problem import ArrayRecords, NoTarget, Records, Task
from privet.learn.solvers.equations import reach
from privet.learn.solvers.exact_totals import exact_gram
from privet.learn.solvers.half_matrix import from_half, half, needed_for_half, sigma_of, symmetric_noise
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.symmetric_gaussian import SymmetricGaussian
from privet.mechanisms import Algorithm, Ball, Example, Source, register
from privet.privacy import Guarantee, PrivacyLoss, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class NoisyGram(OnRecords, Algorithm[Any, Any]):
    """The sum of x x^T over unit rows, the constant column included where there is one, with normal noise, or with that of
    `Ball` for a pure epsilon.

    **Guarantee:** that of the one release.
    **Sensitivity:** Frobenius: 1 under add/remove, sqrt2 under replace.
    **Reference:** Dwork, Talwar, Thakurta & Zhang 2014.
    **Proof:** docs/proofs/learn/symmetric_gaussian.md.
    """

    name = "noisy_gram"
    one_pass = by_totals = True

    task: Task
    noise: SymmetricGaussian | Ball
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("noise", self.noise, SymmetricGaussian, Ball)
        if not isinstance(self.task.target, NoTarget):
            raise InvalidParameter("the Gram is that of rows alone: a task without target")
        needed = reach(1, 2, self.task.unit)
        if isinstance(self.noise, Ball):
            needed = needed_for_half(needed)
        elif self.noise.size != self.task.dimension:
            raise InvalidParameter("the noise was made for a matrix of another size")
        check_reach("noise", self.noise.sensitivity, needed)

    @classmethod
    def planned(cls, task: Task, target: Guarantee) -> "NoisyGram":
        """The least normal noise for the target; for a pure epsilon that of `Ball`."""
        made = symmetric_noise(task.dimension, reach(1, 2, task.unit), target)
        return cls(task=task, noise=made, at=made.at)

    @property
    def loss(self) -> PrivacyLoss:
        return self.noise.loss

    def _run(self, prepared: Records, source: Source) -> Array:
        gram = exact_gram(self.task, prepared)
        if isinstance(self.noise, SymmetricGaussian):
            return np.asarray(self.noise.release(gram, source=source).value)
        return from_half(self.noise.release(half(gram), source=source).value, self.task.dimension)

    @property
    def edge(self) -> float:
        """About the largest eigenvalue of the noise alone: sigma sqrt(2 size), of normal noise as of that of `Ball`."""
        return sigma_of(self.noise, self.task.dimension) * (2.0 * self.task.dimension) ** 0.5

    @classmethod
    def examples(cls) -> Iterable[Example]:
        rows = np.array([[0.6, -0.8], [0.0, 1.0]])
        task = Task(features=2, row_norm=1.0)
        made = cls.planned(task, Guarantee(1.0, 1e-5))
        yield Example(made, ArrayRecords(rows), ArrayRecords(rows[:1]), Guarantee(1.0, 1e-5), cost="costly")
        moved = cls.planned(Task(features=2, row_norm=1.0, intercept=False, unit=Unit("replace")), Guarantee(mu=1.0))
        far = np.eye(2)
        yield Example(moved, ArrayRecords(far[:1]), ArrayRecords(far[1:]), Guarantee(mu=1.0), cost="costly")
        pure = cls.planned(moved.task, Guarantee(1.0))
        yield Example(pure, ArrayRecords(far[:1]), ArrayRecords(far[1:]), Guarantee(1.0), cost="costly")
