"""The mean of numbers, partly from reports near them and partly from one bit each."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from privet._cache import kept_property
from privet._validate import set_frozen
from privet.local.families.number import NumberProtocol, Window, grid_cells, window_for
from privet.mechanisms import Example, chance_for, register
from privet.privacy import Guarantee

_FROM = 0.6093525  # epsilon above which mixing helps
_COARSE = (
    2**20
)  # the coin between the two mechanisms is a fraction of this: the error of its best share is of second order


@final
@register
@dataclass(frozen=True, kw_only=True)
class Hybrid(NumberProtocol):
    """A number by the piecewise mechanism with probability 1 - 1/s, s = e^(epsilon/2), else by one bit; by one bit alone up
    to epsilon 0.609.

    The report says which of the two it is: both are epsilon-LDP by themselves.

    **Guarantee:** pure, of the fractions that run, at most epsilon. Relation: replace.
    **Error:** on [-1, 1] variance (s + 3)/(3 s (s - 1)) + (e + 1)^2/(s (e - 1)^2) for each person above that epsilon,
    whatever the number. **Reference:** Wang et al. 2019. **Proof:** docs/proofs/local/numbers.md.

    >>> round(Hybrid(epsilon=2.0, bounds=(-1, 1), cells=2**20).variance(0.3), 4)
    1.0423
    """

    name = "local_hybrid"
    cells: int = 4096

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, cells=grid_cells(self.cells))

    @kept_property
    def _both(self) -> tuple[tuple[Window, Fraction], ...]:
        if self.epsilon <= _FROM:
            return ((Window(1, 1, chance_for(self.epsilon)), Fraction(1)),)
        share = Fraction(round(-math.expm1(-self.epsilon / 2.0) * _COARSE), _COARSE)
        near = window_for(self.epsilon, self.cells)
        coin = Window(1, 1, near.odds / (1 + near.odds))  # the same odds: one price for both
        return ((near, share), (coin, 1 - share)) if share < 1 else ((near, Fraction(1)),)

    @property
    def parts(self) -> tuple[tuple[Window, Fraction], ...]:
        return self._both

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(epsilon=2.0, bounds=(-1, 1), cells=6), -1.0, 1.0, Guarantee(2.0))
        yield Example(cls(epsilon=0.5, bounds=(0, 10)), [0.0, 3.0], [10.0, 3.0], Guarantee(0.5))
