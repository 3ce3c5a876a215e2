"""Integer laws by their upper tails, the form in which tables and exact inversion use them."""

from abc import ABC, abstractmethod

from privet.noise.families.enclosure import complement

Ends = tuple[int, int]


class Tails(ABC):
    """An integer law that is symmetric about 0, or lives on 0, 1, ...; hashable, since tables are kept by it."""

    symmetric: bool

    @abstractmethod
    def upper(self, m: int, bits: int) -> Ends:
        """Encloses 2^bits Pr[X >= m] for m >= 1."""

    @abstractmethod
    def column(self, bits: int) -> list[Ends]:
        """The ends of `upper(m, bits)` for m = 1, 2, ... up to the first m whose tail is certainly below one unit."""

    def cdf(self, k: int, bits: int) -> Ends:
        """Encloses 2^bits Pr[X <= k]."""
        if k >= 0:
            return complement(self.upper(k + 1, bits), bits)
        return self.upper(-k, bits) if self.symmetric else (0, 0)


def powers(lo: int, hi: int, ratio: Ends, guard: int, bits: int) -> list[Ends]:
    """first, first * ratio, first * ratio^2, ... until certainly below 2^-bits; in units of 2^-guard, then of 2^-bits.

    >>> powers(1 << 9, 1 << 9, (1 << 9, 1 << 9), 10, 2)  # 1/2, 1/4, 1/8
    [(2, 2), (1, 1), (0, 1)]
    """
    extra = guard - bits
    out = []
    while True:
        out.append((lo >> extra, -(-hi >> extra)))
        if not hi >> extra:
            return out
        lo, hi = lo * ratio[0] >> guard, -(-hi * ratio[1] >> guard)
