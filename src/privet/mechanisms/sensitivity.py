"""Sensitivity as an object: how far one unit of privacy can move the exact answer, in which norm."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from privet._calls import door
from privet._numerics import exact
from privet._validate import above, finite, set_frozen
from privet.errors import InvalidParameter
from privet.privacy import Unit, as_unit

Norm = Literal["l1", "l2", "score"]


@door
@dataclass(frozen=True)
class Sensitivity:
    """The largest distance between the exact answers of two neighbours: l1 or l2 length, or the largest change of a
    score. The number is kept as an exact fraction; a float means the double that it is.

    **Guarantee:** none by itself: it is a promise about a function. `audit.find_counterexample` attacks it.
    **Sensitivity:** with respect to `unit`; the same function has another one under another relation.

    >>> Sensitivity(1, norm="l1")
    Sensitivity(value=Fraction(1, 1), norm='l1', unit=Unit(relation='add_remove', group_size=1, person=None))
    """

    value: Fraction
    norm: Norm = field(kw_only=True)
    unit: Unit = field(default=Unit(), kw_only=True)

    def __post_init__(self) -> None:
        number = exact("sensitivity", self.value)
        size = finite("sensitivity", number)
        if number <= 0:
            raise InvalidParameter(
                f"sensitivity must be greater than 0, got {size:g}; an answer that no record can move is a "
                "public constant and needs no mechanism"
            )
        above("sensitivity", size, 0.0)
        set_frozen(self, value=number)
        check_norm(self.norm)
        as_unit(self.unit)

    def times(self, factor: object) -> "Sensitivity":
        """The sensitivity of the same answer in other units."""
        return Sensitivity(self.value * exact("factor", factor), norm=self.norm, unit=self.unit)

    def __float__(self) -> float:
        return float(self.value)


def check_norm(norm: object) -> None:
    """Refuse what is no norm.

    >>> check_norm("l1")
    """
    if not isinstance(norm, str) or norm not in get_args(Norm):
        told = repr(norm) if isinstance(norm, str) else type(norm).__name__
        raise InvalidParameter(f"norm must be one of {', '.join(get_args(Norm))}, got {told}")


def as_sensitivity(value: object, *, norm: Norm, unit: Unit | None = None) -> Sensitivity:
    """A bare number is read in the mechanism's own norm; a `Sensitivity` must already be in that norm.

    >>> as_sensitivity(2.0, norm="l2").value
    Fraction(2, 1)
    """
    if not isinstance(value, Sensitivity):
        return Sensitivity(exact("sensitivity", value), norm=norm, unit=as_unit(unit))
    if value.norm != norm:
        raise InvalidParameter(
            f"this mechanism needs the {norm} sensitivity, got one in {value.norm}: compute the {norm} bound of the "
            "same function and pass that"
        )
    if unit is not None and as_unit(unit) != value.unit:
        raise InvalidParameter("unit contradicts the unit of the sensitivity; give it once")
    return value
