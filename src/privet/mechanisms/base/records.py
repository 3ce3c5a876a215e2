"""Statistics of bounded records: every record becomes an integer by itself, sums are exact, noise comes last.

No sum is ever formed in floating point: there the order of the records and their sizes would move the answer by more
than the sensitivity says.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, cast

import numpy as np

from privet._numerics import Array
from privet._validate import at_least, count, finite
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.base.additive import AdditiveMechanism
from privet.mechanisms.base.mechanism import Mechanism, Source
from privet.mechanisms.base.sensitivity import Norm, Sensitivity
from privet.privacy import PrivacyLoss, Unit

__all__ = [
    "FINE",
    "RecordMechanism",
    "as_records",
    "check_public_count",
    "clean_records",
    "exact_total",
    "half_up",
    "in_steps",
    "noisy_totals",
    "public_bounds",
    "public_missing",
    "row_sensitivity",
]

FINE = 40  # a record is rounded to 2^-40 of the width of its bounds
_CHUNK = 2**20  # records of at most 2^41 steps: a chunk cannot leave int64
_SHAPE = "records must be a one-dimensional array or list of numbers, one entry per record"


@dataclass(frozen=True, kw_only=True)
class RecordMechanism(Mechanism[Any, Any]):
    """Base of the mechanisms over records, one number each.

    A record is read as a double, clamped to the public `bounds` (infinities too), and replaced by the public constant
    `missing` if it is NaN, None or no number at all: by itself, whatever the other records are. So one record moves
    the exact integer totals by no more than the table of sensitivities says, and nothing is ever refused because of a
    value. `max_rows` is how many records one unit of privacy may have; somebody else must have bounded it.
    """

    bounds: tuple[float, float]
    noise: AdditiveMechanism
    missing: float | None = None
    max_rows: int = field(default=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", public_bounds(self.bounds))
        object.__setattr__(self, "missing", public_missing(self.missing, self.bounds))
        object.__setattr__(self, "max_rows", count("max_rows", self.max_rows, 1))
        bound = self.noise.sensitivity
        _records_unit(bound.unit)
        if bound.value < self._moves(bound.norm, bound.unit) * self.max_rows * bound.unit.group_size:
            raise InvalidParameter(
                "the noise was made for a smaller sensitivity than these bounds have; use for_budget"
            )
        if Fraction(self.noise.scale) > 2**52 * Fraction(2) ** _noise_grid(self.noise, self._exponent):
            raise InvalidParameter(
                "the noise must stay below 2^52 grid steps: the budget is too small for these bounds"
            )

    @abstractmethod
    def _moves(self, norm: Norm, unit: Unit) -> Fraction:
        """How far one record can move the vector of totals."""

    @abstractmethod
    def _totals(self, clean: Array) -> list[int]:
        """The exact totals of clean records, in steps of 2^_exponent."""

    @property
    @abstractmethod
    def _exponent(self) -> int:
        """The grid of the totals."""

    @abstractmethod
    def _finish(self, noisy: Sequence[Fraction]) -> Any:
        """Post-processing of the noisy totals."""

    @property
    def loss(self) -> PrivacyLoss:
        """The price of the one noisy vector behind the answer."""
        return self.noise.loss

    @property
    def at(self) -> float | None:  # type: ignore[override]
        """That of the noise."""
        return self.noise.at

    @property
    def width(self) -> float:
        """Distance of the bounds."""
        return self.bounds[1] - self.bounds[0]

    def _prepare(self, value: Any) -> list[int]:
        assert self.missing is not None
        return self._totals(clean_records(value, self.bounds, self.missing))

    @staticmethod
    def _check_length(length: int, n: int) -> None:
        if length != n:
            raise InvalidData(f"this mechanism was made for exactly n = {n} records, which replace keeps public")

    def _draw(self, prepared: list[int], runs: int, source: Source) -> list[Any]:
        rows = noisy_totals(self.noise, prepared, self._exponent, runs=runs, source=source)
        return [self._finish(row) for row in rows]


def row_sensitivity(value: Fraction, *, norm: Norm, unit: Unit | None, max_rows: int) -> Sensitivity:
    """The sensitivity of `max_rows` records (times the size of the group) that move the answer by `value` each.

    >>> float(row_sensitivity(Fraction(2), norm="l1", unit=Unit(group_size=3), max_rows=5))
    30.0
    """
    neighbours = _records_unit(Unit() if unit is None else unit)
    rows = count("max_rows", max_rows, 1) * neighbours.group_size
    return Sensitivity(value * rows, norm=norm, unit=neighbours)


def _records_unit(unit: object) -> Unit:
    if not isinstance(unit, Unit) or unit.relation not in ("add_remove", "replace"):
        raise InvalidParameter('unit must be Unit("add_remove") or Unit("replace") for statistics of records')
    return unit


def check_public_count(n: int | None, unit: Unit, max_rows: int) -> int | None:
    """The public number of records: needed under replace, where it never changes; private under add/remove, and
    wherever one person may have several records, since another person may have fewer.

    >>> check_public_count(10, Unit("replace"), max_rows=1)
    10
    """
    if unit.relation == "replace" and n is None:
        raise InvalidParameter("under replace the number of records is public: state it as n=")
    if unit.relation == "replace" and max_rows > 1:
        raise InvalidParameter(
            "with several records a person, replacing one person changes the number of records, so it is not public: "
            'take Unit("add_remove"), or hand in one record a person'
        )
    if unit.relation != "replace" and n is not None:
        raise InvalidParameter(
            'the number of records is private under add/remove: leave n out, or take Unit("replace")'
        )
    return None if n is None else count("n", n, 1)


def public_bounds(bounds: object) -> tuple[float, float]:
    """A pair lowest < highest of public numbers.

    >>> public_bounds((0, 10))
    (0.0, 10.0)
    """
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidParameter("bounds must be a pair (lowest, highest) of public numbers, never read from the data")
    low, high = (finite("bounds", end) for end in bounds)
    if low == high:
        raise InvalidParameter("bounds must differ: with equal ones every record is the same public constant")
    if low > high:
        raise InvalidParameter(f"bounds must satisfy lowest < highest, got ({low:g}, {high:g})")
    at_least("width of the bounds", high - low, 0.0)
    at_least("size of the bounds", max(abs(low), abs(high)), 0.0)
    return low, high


def as_records(value: Any) -> Array:
    """Records as doubles, each read by itself: the nearest double, NaN for what is no number. One dimension.

    >>> as_records([1, None, 2.5, True, "x"]).tolist()
    [1.0, nan, 2.5, 1.0, nan]
    """
    if isinstance(value, np.ma.MaskedArray):
        hidden, value = np.ma.getmaskarray(value), np.array(value.data, dtype=object)
        value[hidden] = None
    if not isinstance(value, np.ndarray):
        if isinstance(value, str | bytes | dict) or not hasattr(value, "__iter__"):
            raise InvalidData(_SHAPE)
        value = _array(value)
    if value.ndim != 1 or value.dtype.kind not in "biufO":
        raise InvalidData(_SHAPE)
    if value.dtype.kind == "O":
        return np.fromiter((_number(item) for item in value), dtype=np.float64, count=len(value))
    with np.errstate(over="ignore"):  # a long double beyond the doubles is infinite, and then clamped
        return value.astype(np.float64)


def _array(values: Any) -> Array:
    """A numeric array where numpy makes one without looking twice; else the objects as they are."""
    values = values if hasattr(values, "__array__") else list(values)
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):
        array = np.empty(0, dtype=str)
    if array.dtype.kind in "biuf":
        return array
    items = list(values)
    objects = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        objects[index] = item
    return objects


def _number(item: Any) -> float:
    if not isinstance(item, Real | Decimal | np.bool_):
        return math.nan
    try:
        return float(item)
    except OverflowError:
        return math.inf if cast(Any, item) > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def half_up(x: Array) -> Array:
    """floor(x + 1/2) without rounding in the addition.

    >>> half_up(np.array([0.5, 1.5, -0.5, 0.49999999999999994])).tolist()
    [1, 2, 0, 0]
    """
    whole = np.floor(x)
    return whole.astype(np.int64) + (x - whole >= 0.5)


def exact_total(steps: Array) -> int:
    """Sum of int64 steps (at most 2^42 each) as a Python integer, in any order the same.

    >>> exact_total(np.full(3, 2**42))
    13194139533312
    """
    return sum(int(steps[start : start + _CHUNK].sum()) for start in range(0, len(steps), _CHUNK))


def in_steps(clean: Array, bounds: tuple[float, float]) -> Array:
    """Records within the bounds as integers from 0 (lowest) to 2^FINE (highest).

    >>> in_steps(np.array([0.0, 5.0, 10.0]), (0.0, 10.0)).tolist() == [0, 2**39, 2**40]
    True
    """
    low, high = bounds
    return half_up(np.ldexp(np.clip((clean - low) / (high - low), 0.0, 1.0), FINE))


def clean_records(value: Any, bounds: tuple[float, float], missing: float) -> Array:
    """Records as doubles within the bounds, the missing ones replaced.

    >>> clean_records([None, 7, -math.inf], (0.0, 5.0), 1.0).tolist()
    [1.0, 5.0, 0.0]
    """
    records = as_records(value)
    return np.clip(np.where(np.isnan(records), missing, records), *bounds)


def public_missing(missing: float | None, bounds: tuple[float, float]) -> float:
    """The constant that stands for a missing record: by default the middle of the bounds.

    >>> public_missing(None, (0.0, 10.0))
    5.0
    """
    low, high = bounds
    constant = low + (high - low) / 2.0 if missing is None else finite("missing", missing)
    if not low <= constant <= high:
        raise InvalidParameter("missing must lie within the bounds: it stands for a record")
    return constant


def _noise_grid(noise: AdditiveMechanism, exponent: int) -> int:
    return min(math.frexp(noise.scale)[1] - 21, exponent + 50)  # a rest of 50 bits is a double


def noisy_totals(
    noise: AdditiveMechanism, totals: Sequence[int], exponent: int, *, runs: int = 1, source: Source = None
) -> list[list[Fraction]]:
    """`runs` rows of totals times 2^exponent plus noise, rounded half up to a grid a millionth of the noise, exactly."""
    grid = _noise_grid(noise, exponent)
    shift = grid - exponent
    wholes = [total >> shift if shift > 0 else total << -shift for total in totals]
    rests = [
        math.ldexp(total - (whole << shift), -shift) if shift > 0 else 0.0
        for total, whole in zip(totals, wholes, strict=True)
    ]
    steps = Fraction(noise.scale) / Fraction(2) ** grid
    drawn = np.asarray(noise._noisy(np.broadcast_to(np.array(rests), (runs, len(totals))), steps, source))
    size = Fraction(2) ** grid
    return [[(whole + k) * size for whole, k in zip(wholes, row, strict=True)] for row in drawn.tolist()]
