"""The mean of numbers from one bit each."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from privet._cache import kept_property
from privet.local.families.number import NumberProtocol, Window
from privet.mechanisms import Example, chance_for, epsilon_of_odds, register
from privet.privacy import Guarantee, RandomizedResponseLoss


@final
@register
@dataclass(frozen=True, kw_only=True)
class Duchi(NumberProtocol):
    """A number as one bit: rounded at random to one of its bounds, which is then reported as in randomized response.

    **Guarantee:** pure, of the fraction that runs, at most epsilon. Relation: replace.
    **Error:** on [-1, 1] variance ((e + 1)/(e - 1))^2 - x^2 for each person, e = e^epsilon: the best up to epsilon 0.6.
    **Reference:** Duchi, Jordan & Wainwright 2018. **Proof:** docs/proofs/local/numbers.md.

    >>> ages = Duchi(epsilon=1.0, bounds=(0, 100))
    >>> ages.privatize([20, 95]).shape, ages.report_bytes
    ((2,), 1)
    >>> round(Duchi(epsilon=1.0, bounds=(-1, 1)).variance(0.0), 4)
    4.6827
    """

    name = "local_duchi"

    @kept_property
    def _window(self) -> Window:
        return Window(1, 1, chance_for(self.epsilon))

    @property
    def parts(self) -> tuple[tuple[Window, Fraction], ...]:
        return ((self._window, Fraction(1)),)

    @property
    def loss(self) -> RandomizedResponseLoss:
        return RandomizedResponseLoss(epsilon_of_odds(self._window.odds))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(epsilon=1.0, bounds=(0, 100)), 0.0, 100.0, Guarantee(1.0))
        yield Example(cls(epsilon=0.5, bounds=(-1, 1)), [0.25, -1.0], [0.25, 1.0], Guarantee(0.5))
