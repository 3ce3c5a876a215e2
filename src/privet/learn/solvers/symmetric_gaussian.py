"""Normal noise on a symmetric matrix, the same in all directions of the Frobenius norm."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Unpack, final

import numpy as np

from privet._numerics import Array
from privet._validate import count, instance, set_frozen
from privet.errors import InvalidData
from privet.learn.solvers.exact_totals import GRID
from privet.mechanisms import ErrorBar, Example, Gaussian, Mechanism, Sensitivity, Source, register
from privet.mechanisms.families.record_totals import noisy_doubles, noisy_steps
from privet.privacy import GaussianLoss, Guarantee, Promise, Unit

_HALF_ROOT = math.sqrt(0.5) * (1.0 + 2.0**-50)  # rounded up: noise of an entry off the diagonal


@final
@register
@dataclass(frozen=True, kw_only=True)
class SymmetricGaussian(Mechanism[Any, Any]):
    """A symmetric matrix with normal noise: of standard deviation `sigma` on the diagonal, sigma/sqrt2 off it.

    An entry off the diagonal stands twice in the matrix, and so counts twice in the squared Frobenius norm: it needs only
    half the variance. Matrices come as integers, in steps of 2^-42, so that sums are exact.

    **Guarantee:** that of `Gaussian` with the Frobenius norm as its sensitivity, exactly.
    **Sensitivity:** the Frobenius norm: for a sum of x x^T with |x| <= 1 it is 1 under add/remove, sqrt2 under replace.
    **Reference:** Dwork, Talwar, Thakurta & Zhang 2014.
    **Proof:** docs/proofs/learn/symmetric_gaussian.md.

    >>> noisy = SymmetricGaussian.for_budget(mu=1.0, size=2, sensitivity=1.0)
    >>> released = noisy.release(np.array([[2**42, 0], [0, 2**42]])).value
    >>> bool(released[0, 1] == released[1, 0]), round(noisy.sigma, 9)
    (True, 1.0)
    """

    name = "symmetric_gaussian"

    noise: Gaussian
    size: int
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("noise", self.noise, Gaussian)
        set_frozen(self, size=count("size", self.size, 1))

    @classmethod
    def for_budget(
        cls,
        *,
        size: int,
        sensitivity: float | Fraction | Sensitivity,
        unit: Unit | None = None,
        **promise: Unpack[Promise],
    ) -> "SymmetricGaussian":
        """The least noise within the budget, for a bound on the Frobenius norm."""
        made = Gaussian.for_budget(**promise, sensitivity=sensitivity, unit=unit)
        return cls(noise=made, size=size, at=made.at)

    @property
    def sigma(self) -> float:
        """Standard deviation on the diagonal."""
        return self.noise.scale

    @property
    def sensitivity(self) -> Sensitivity:
        """In the Frobenius norm."""
        return self.noise.sensitivity

    @property
    def loss(self) -> GaussianLoss:
        return self.noise.loss

    @property
    def edge(self) -> float:
        """About the largest eigenvalue of the noise alone: sigma sqrt(2 size)."""
        return self.sigma * math.sqrt(2.0 * self.size)

    def _admit(self, value: object) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iO" or value.shape != (self.size, self.size):
            raise InvalidData(f"the matrix must be an array of integers with {self.size} rows and columns")

    def _prepare(self, value: Any) -> tuple[Array, Array]:
        plain = value
        if (
            value.dtype.kind == "O"
        ):  # the numbers themselves: other objects run code of their own whenever they are used
            plain = np.array([int(each) for each in value.flat], dtype=object).reshape(value.shape)
        return np.diagonal(plain), plain[np.triu_indices(self.size, 1)]

    def _measured_of(self, value: Any) -> list[Fraction]:
        """All entries: their l2 length is the Frobenius norm."""
        return [GRID.times(int(each)) for each in value.flat]

    def _draw(self, prepared: tuple[Array, Array], runs: int, source: Source) -> Array:
        made = np.empty((runs, self.size, self.size))
        off = Gaussian(scale=self.noise.scale * _HALF_ROOT, sensitivity=self.noise.sensitivity)
        diagonal, upper = np.arange(self.size), np.triu_indices(self.size, 1)
        made[:, diagonal, diagonal] = _doubles(self.noise, prepared[0], runs, source)
        if self.size > 1:
            made[:, upper[0], upper[1]] = _doubles(off, prepared[1], runs, source)
            made[:, upper[1], upper[0]] = made[:, upper[0], upper[1]]
        return made

    def error(self, confidence: float = 0.95) -> ErrorBar:
        """Of all entries at once."""
        return self.noise.error(confidence, dimension=self.size * (self.size + 1) // 2)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        nothing = np.zeros((2, 2), dtype=np.int64)
        corner = np.array([[0, 0], [0, 2**42]])
        plain = cls.for_budget(epsilon=1.0, delta=1e-5, size=2, sensitivity=1.0)
        yield Example(plain, nothing, corner, Guarantee(1.0, 1e-5))
        moved = cls.for_budget(rho=0.5, size=2, sensitivity=math.sqrt(2.0) * (1 + 2.0**-50), unit=Unit("replace"))
        yield Example(moved, corner, corner[::-1, ::-1], Guarantee(rho=0.5), detects=0.4)
        side = np.array(
            [[2**41, 2**41], [2**41, 2**41]]
        )  # of (1, 1)/sqrt2, where the noise is smaller off the diagonal
        yield Example(cls.for_budget(mu=1.0, size=2, sensitivity=1.0), nothing, side, Guarantee(mu=1.0), detects=0.4)


def _doubles(noise: Gaussian, totals: Array, runs: int, source: Source) -> Array:
    if len(totals) > 1:
        return noisy_doubles(noise, totals, GRID, runs=runs, source=source)
    fine, rows = noisy_steps(noise, [int(totals[0])], GRID, runs=runs, source=source)
    return np.array([[fine.double(each) for each in row] for row in rows])
