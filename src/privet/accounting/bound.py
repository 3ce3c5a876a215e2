"""`Bound`: a number with its certificate."""

import math
from dataclasses import dataclass

from privet._numerics import TINY
from privet.errors import InternalError, NoGuarantee
from privet.privacy import Unit

_LOOSE = 0.05  # share of the upper end from which on a printed bound says that it is wide


@dataclass(frozen=True)
class Bound:
    """A certified enclosure of a privacy figure: `upper` is what you may promise; no accountant can prove less than `lower`
    from the same pairs of distributions.

    `lower` is 0 when the loss is known only through upper bounds. `float(bound)` is the upper end. `coarse` says that the
    grid as fine as asked for would have cost too much memory or time: both ends hold, but they lie further apart.

    **Guarantee:** lower <= true value of the composed dominating pairs <= upper. **Error:** `slack` = upper - lower.

    >>> from privet import accounting, privacy
    >>> bound = accounting.epsilon(privacy.PureLoss(0.5), delta=1e-9)
    >>> bound.lower <= 0.5 and round(float(bound), 6)
    0.5
    """

    lower: float
    upper: float
    method: str
    unit: Unit
    coarse: bool = False

    def __post_init__(self) -> None:
        if math.isnan(self.upper) or math.isnan(self.lower) or math.isinf(self.upper):
            raise NoGuarantee(f"the method {self.method!r} proves nothing finite for this loss")
        if self.lower > self.upper * (1.0 + 1e-9) + TINY:
            raise InternalError(f"{self.method}: lower end {self.lower} above upper end {self.upper}")

    @property
    def slack(self) -> float:
        """Width of the enclosure."""
        return self.upper - self.lower

    def __float__(self) -> float:
        return self.upper

    @property
    def loose(self) -> bool:
        """Is the enclosure wider than 5% of its upper end? Then a finer method might promise noticeably less."""
        return self.slack > _LOOSE * self.upper

    def __str__(self) -> str:
        least = f"at least {self.lower:.6g}; " if self.lower > 0.0 else ""
        wide = ""
        if self.loose:
            share = f"slack {100.0 * self.slack / self.upper:.0f}% of the upper end"
            wide = f"; loose, {share}" if self.lower > 0.0 else "; no lower end known"
        coarse = "; on a coarser grid than asked for" if self.coarse else ""
        return f"{self.upper:.6g} ({least}{self.method}; {self.unit.describe()}{wide}{coarse})"
