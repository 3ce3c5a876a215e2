"""The first Fourier coefficients of a histogram, and nothing else."""

from dataclasses import dataclass
from typing import final

from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.biased import Biased
from privet.workloads.families.dense import Dense
from privet.workloads.strategies.fourier import fourier_basis
from privet.workloads.strategy import Strategy
from privet.workloads.workload import Workload


@final
@dataclass(frozen=True)
class LowFrequencies(Strategy):
    """The constant and the `frequencies - 1` lowest cosines and sines, each of the same weight; the others count as 0.

    Biased, with the noise of few measurements. How many is public, or was released.

    **Sensitivity:** of the rounded rows, exactly: at most m/sqrt k (l1) and sqrt(m/k) (l2) for m rows over k cells.
    **Error:** of the noise by linear algebra; the frequencies that are left out come on top, and no interval knows them.
    **Reference:** Rastogi & Nath 2010; proof note workloads/linear_queries.

    >>> from privet.workloads import Prefix
    >>> LowFrequencies(2).design(Prefix(8), "l2").measurements
    3
    """

    frequencies: int

    name = "low frequencies"

    def __post_init__(self) -> None:
        set_frozen(self, frequencies=count("frequencies", self.frequencies, 1))

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        basis, frequency = fourier_basis(workload._small())
        if self.frequencies > int(frequency[-1]) + 1:
            raise InvalidParameter(f"{workload.cells:,} cells have {int(frequency[-1]) + 1:,} frequencies")
        return Biased(Dense.rounded(basis[frequency < self.frequencies]))

    def describe(self) -> str:
        return f"the lowest {self.frequencies:,} frequencies"
