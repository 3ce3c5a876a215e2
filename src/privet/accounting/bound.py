"""`Bound`: a number with its certificate."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import final

from privet._amount import Amount, is_number
from privet._markup import facts
from privet._numerics import TINY
from privet.errors import InternalError, InvalidParameter, NoGuarantee
from privet.privacy import Unit

_LOOSE = 0.05  # share of the upper end from which on a printed bound says that it is wide


@final
@dataclass(frozen=True)
class Bound(Amount):
    """A certified enclosure of a privacy figure: `upper` is what you may promise; no accountant can prove less than `lower`
    from the same pairs of distributions.

    `lower` is 0 when the loss is known only through upper bounds. `coarse` says that the grid as fine as asked for would
    have cost too much memory or time, or that a looser method stands in for it (`method` names it): both ends hold, but
    they lie further apart.

    As a number it is its upper end: `float(bound)`, comparisons and arithmetic, which gives plain numbers. What is printed
    may be promised: `round(bound, 2)` and `f"{bound:.2f}"` round up, to the safe side.

    **Guarantee:** lower <= true value of the composed dominating pairs <= upper. **Error:** `slack` = upper - lower.

    >>> from privet import accounting, privacy
    >>> bound = accounting.epsilon(privacy.PureLoss(0.5), delta=1e-9)
    >>> bound.lower <= 0.5 and round(float(bound), 6)
    0.5
    >>> third = accounting.epsilon(privacy.PureLoss(1 / 3), delta=0.0)
    >>> f"{third:.2f}", round(third, 1), round(third), third < 0.34, 1.0 - third > 0.66
    ('0.34', 0.4, 1, True, True)
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

    def _number(self) -> float:
        return self.upper

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Bound):
            return self._fields() == other._fields()
        return bool(self.upper == other) if is_number(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.upper)

    def _fields(self) -> tuple[object, ...]:
        return (self.lower, self.upper, self.method, self.unit, self.coarse)

    def __round__(self, digits: int | None = None) -> float | int:
        """Upwards: what is printed may be promised."""
        if digits is None:
            return math.ceil(self.upper)
        with localcontext(prec=800, rounding=ROUND_CEILING):  # a double has up to 767 significant digits
            return float(Decimal(self.upper).quantize(Decimal(1).scaleb(-digits)))

    def __format__(self, spec: str) -> str:
        """As a number, rounded up, where the specification asks for digits; else the text of `str`."""
        try:
            return format(str(self), spec) if not spec or spec[-1] not in "eEfFgG%" else _digits(self.upper, spec)
        except ValueError:
            raise InvalidParameter(f"{spec!r:.40} is no format for a bound; for two digits write .2f") from None

    def _repr_html_(self) -> str:
        pairs: list[tuple[str, object]] = [("at most", f"{self:.6g}")]
        pairs += [("at least", _digits(self.lower, ".6g", ROUND_FLOOR))] if self.lower > 0.0 else []
        return facts("Bound", [*pairs, ("by", self.method), ("one person", self.unit.describe())])

    @property
    def loose(self) -> bool:
        """Is the enclosure wider than 5% of its upper end? Then a finer method might promise noticeably less."""
        return self.slack > _LOOSE * self.upper

    def __str__(self) -> str:
        least = f"at least {_digits(self.lower, '.6g', ROUND_FLOOR)}; " if self.lower > 0.0 else ""
        wide = ""
        if self.loose:
            share = f"slack {100.0 * self.slack / self.upper:.0f}% of the upper end"
            wide = f"; loose, {share}" if self.lower > 0.0 else "; no lower end known"
        coarse = "; on a coarser grid than asked for" if self.coarse else ""
        return f"{self:.6g} ({least}{self.method}; {self.unit.describe()}{wide}{coarse})"


def _digits(value: float, spec: str, rounding: str = ROUND_CEILING) -> str:
    """A number as `format` writes it, rounded to one side."""
    usual = spec if "." in spec else f"{spec[:-1]}.6{spec[-1]}"
    with localcontext(rounding=rounding):
        return format(Decimal(value), usual)
