"""What the mean and the variance share: a public or a private number of records, and the choice of noise."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, Unpack

from privet._validate import set_frozen
from privet.errors import InvalidData
from privet.mechanisms.families.record_values import Missing, as_records, public_bounds
from privet.mechanisms.families.records import RecordMechanism, check_public_count, row_sensitivity
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.laplace import Laplace
from privet.mechanisms.less_noisy import less_noisy
from privet.mechanisms.sensitivity import Norm, Sensitivity, as_unit
from privet.privacy import Promise, Unit


@dataclass(frozen=True, kw_only=True)
class MomentMechanism(RecordMechanism):
    """Base of statistics that divide by the number of records: `n` is public under replace and private, hence
    released, under add/remove.

    **Sensitivity:** a subclass says how far one record moves its vector of totals, in units of its own.

    >>> from privet.mechanisms import BoundedMean
    >>> isinstance(BoundedMean.for_budget(epsilon=1.0, bounds=(0, 1)), MomentMechanism)
    True
    """

    n: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, n=check_public_count(self.n, self.noise.sensitivity.unit, self.max_rows))

    def _admit(self, value: Any) -> None:
        super()._admit(value)
        if hasattr(value, "__len__"):
            self._check_length(len(value))
        elif self.n is not None:
            raise InvalidData(
                "the number of records is public and is checked before anything is paid: pass list(records)"
            )

    def _prepare(self, value: Any) -> list[int]:
        records = as_records(value)
        self._check_length(len(records))  # an iterator has a length now
        return super()._prepare(records)

    def _check_length(self, length: int) -> None:
        if self.n is not None and length != self.n:
            raise InvalidData(f"this mechanism was made for exactly n = {self.n} records, which replace keeps public")

    @staticmethod
    @abstractmethod
    def _shift(norm: Norm, unit: Unit) -> Fraction:
        """How far one record moves the totals."""

    @staticmethod
    @abstractmethod
    def _judged(counted: bool) -> int:
        """How many coordinates the choice of noise has in mind; `counted` where their number is released as well."""

    @classmethod
    def _best_noise(cls, promise: Promise, l1: Sensitivity, l2: Sensitivity, counted: bool) -> Laplace | Gaussian:
        """Laplace or Gaussian noise, whichever is smaller on the totals."""
        return less_noisy(**promise, l1=l1, l2=l2, dimension=cls._judged(counted))

    def _moves(self, norm: Norm, unit: Unit) -> Fraction:
        return self._shift(norm, unit)

    @classmethod
    def for_budget(
        cls,
        *,
        bounds: tuple[float, float],
        unit: Unit | None = None,
        n: int | None = None,
        missing: Missing | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> Self:
        """The least noise that stays within the budget; `n` is needed under replace, and refused under add/remove."""
        public_bounds(bounds)
        whose = as_unit(unit)
        l1, l2 = (
            row_sensitivity(cls._shift(norm, whose), norm=norm, unit=unit, max_rows=max_rows) for norm in ("l1", "l2")
        )
        noise = cls._best_noise(promise, l1, l2, n is None)
        return cls(bounds=bounds, noise=noise, missing=missing, max_rows=max_rows, n=n)
