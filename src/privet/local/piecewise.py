"""The mean of numbers from reports near them."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from privet._cache import kept_property
from privet._validate import set_frozen
from privet.local.families.number import NumberProtocol, Window, grid_cells, window_for
from privet.mechanisms import Example, register
from privet.privacy import Guarantee


@final
@register
@dataclass(frozen=True, kw_only=True)
class Piecewise(NumberProtocol):
    """A number as a point near it: in a window around it with the larger probability, else anywhere else.

    The mechanism is continuous on paper. Here values are rounded at random to `cells` steps and reports are whole numbers,
    so that nothing leaks through floats; windows at the ends of the range are as wide as all others.

    **Guarantee:** pure, of the fractions that run, at most epsilon. Relation: replace.
    **Error:** on [-1, 1] variance x^2/(s - 1) + (s + 3)/(3 (s - 1)^2) for each person, s = e^(epsilon/2), to about 1/cells.
    **Reference:** Wang et al. 2019. **Proof:** docs/proofs/local/numbers.md.

    >>> round(Piecewise(epsilon=2.0, bounds=(-1, 1), cells=2**20).variance(1.0), 4)
    1.2276
    """

    name = "local_piecewise"
    cells: int = 4096

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, cells=grid_cells(self.cells))

    @kept_property
    def _window(self) -> Window:
        return window_for(self.epsilon, self.cells)

    @property
    def parts(self) -> tuple[tuple[Window, Fraction], ...]:
        return ((self._window, Fraction(1)),)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(epsilon=2.0, bounds=(-1, 1), cells=6), -1.0, 1.0, Guarantee(2.0))
        yield Example(cls(epsilon=1.0, bounds=(0, 10)), [0.0, 3.0], [10.0, 3.0], Guarantee(1.0))
