"""Statistics of bounded records: every record becomes an integer by itself, sums are exact, noise comes last.

No sum is ever formed in floating point: there the order of the records and their sizes would move the answer by more
than the sensitivity says.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from privet._numerics import Array, exact_ratio
from privet._validate import at_least, count, finite, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.families.additive import AdditiveMechanism
from privet.mechanisms.families.columns import admit_column, is_number, is_typed, moment, read_column
from privet.mechanisms.families.values import split_ratio
from privet.mechanisms.mechanism import Mechanism, Source
from privet.mechanisms.sensitivity import Norm, Sensitivity
from privet.privacy import PrivacyLoss, Unit

Missing = float | Literal["drop"]
FINE = 40  # a record is rounded to 2^-40 of the width of its bounds
_CHUNK = 2**16  # records of at most 2^41 steps: a chunk cannot leave int64
_SHAPE = "records must be a one-dimensional array or list of numbers, one entry per record"


@dataclass(frozen=True, kw_only=True)
class RecordMechanism(Mechanism[Any, Any]):
    """Base of the mechanisms over records, one number each.

    A record is read as a double and clamped to the public `bounds` (infinities too), by itself, whatever the other
    records are. What is NaN, None or no number at all is missing: left out (`missing="drop"`, the default under
    add/remove, where that is free) or counted as a public number (needed under replace; the default is the middle of the
    bounds). So one record moves the exact integer totals by no more than the table of sensitivities says, and nothing
    is ever refused because of a value. `max_rows` is how many records one unit of privacy may have; somebody else must
    have bounded it.
    """

    bounds: tuple[float, float]
    noise: AdditiveMechanism
    missing: Missing | None = None
    max_rows: int = field(default=1)

    def __post_init__(self) -> None:
        set_frozen(self, bounds=public_bounds(self.bounds))
        set_frozen(self, missing=public_missing(self.missing, self.bounds, self.noise.unit))
        set_frozen(self, max_rows=count("max_rows", self.max_rows, 1))
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

    def _admit(self, value: Any) -> None:
        admit_records(value)

    def _prepare(self, value: Any) -> list[int]:
        assert self.missing is not None
        records = as_records(value)
        pieces = [
            self._totals(clean_doubles(records[start : start + _CHUNK], self.bounds, self.missing))
            for start in range(0, max(1, len(records)), _CHUNK)  # in pieces, so that memory is that of the input
        ]
        return [sum(column) for column in zip(*pieces, strict=True)]

    def _notes(self, drawn: Any) -> tuple[str, ...]:
        return (missing_note(self.missing),)

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
    low, high = (finite("bounds", moment(end)) for end in bounds)
    if low == high:
        raise InvalidParameter("bounds must differ: with equal ones every record is the same public constant")
    if low > high:
        raise InvalidParameter(f"bounds must satisfy lowest < highest, got ({low:g}, {high:g})")
    at_least("width of the bounds", high - low, 0.0)
    at_least("size of the bounds", max(abs(low), abs(high)), 0.0)
    return low, high


def admit_records(value: Any) -> None:
    """Refuse what is no list or column of numbers, by type, dtype and shape alone.

    >>> admit_records([1, None, "x"])
    """
    if is_number(value):
        raise InvalidData(_SHAPE)
    admit_column(value)
    if getattr(value, "ndim", 1) != 1:
        raise InvalidData(_SHAPE)


def as_records(value: Any) -> Array:
    """Records as doubles, each read by itself: the nearest double, NaN for what is no number. One dimension.

    >>> as_records([1, None, 2.5, True, "x"]).tolist()
    [1.0, nan, 2.5, 1.0, nan]
    """
    admit_records(value)
    if not is_typed(value):
        items = value if isinstance(value, list | tuple) else list(value)
        return np.fromiter((_number(item) for item in items), dtype=np.float64, count=len(items))
    values, absent = read_column(value)
    if values.ndim != 1:
        raise InvalidData(_SHAPE)
    with np.errstate(over="ignore"):  # a long double beyond the doubles is infinite, and then clamped
        records = values.astype(np.float64, copy=False)
    return records if absent is None else np.where(absent, np.nan, records)


def _number(item: Any) -> float:
    if type(item) is float:
        return item
    ratio = exact_ratio(item)
    if ratio is None:
        return math.nan
    try:
        return ratio[0] / ratio[1]
    except OverflowError:
        return math.inf if ratio[0] > 0 else -math.inf


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


def clean_records(value: Any, bounds: tuple[float, float], missing: Missing) -> Array:
    """Records as doubles within the bounds, the missing ones replaced or left out.

    >>> clean_records([None, 7, -math.inf], (0.0, 5.0), 1.0).tolist()
    [1.0, 5.0, 0.0]
    >>> clean_records([None, 7, -math.inf], (0.0, 5.0), "drop").tolist()
    [5.0, 0.0]
    """
    return clean_doubles(as_records(value), bounds, missing)


def clean_doubles(records: Array, bounds: tuple[float, float], missing: Missing) -> Array:
    """As `clean_records`, for records that have been read.

    >>> clean_doubles(np.array([math.nan, 7.0]), (0.0, 5.0), "drop").tolist()
    [5.0]
    """
    absent = np.isnan(records)
    kept = records[~absent] if missing == "drop" else np.where(absent, missing, records)
    return np.clip(kept, *bounds)


def public_missing(missing: Missing | None, bounds: tuple[float, float], unit: Unit) -> Missing:
    """What becomes of a missing record: "drop", or the public number that stands for it.

    Under add/remove the default is "drop": a record that is left out moves nothing. Under replace records are exchanged
    one for one, so each must count as something: by default the middle of the bounds.

    >>> public_missing(None, (0.0, 10.0), Unit()), public_missing(None, (0.0, 10.0), Unit("replace"))
    ('drop', 5.0)
    """
    low, high = bounds
    if missing is None:
        return "drop" if unit.relation == "add_remove" else low + (high - low) / 2.0
    if missing == "drop":
        if unit.relation != "add_remove":
            raise InvalidParameter(
                'missing="drop" would change the number of records, which replace keeps: give a public number within the '
                "bounds that a missing record counts as"
            )
        return "drop"
    constant = finite("missing", moment(missing))
    if not low <= constant <= high:
        raise InvalidParameter("missing must lie within the bounds: it stands for a record")
    return constant


def missing_note(missing: Missing | None) -> str:
    """What a release says about missing records.

    >>> missing_note("drop")
    'missing records left out; the bar covers noise alone'
    """
    how = "left out" if missing == "drop" else f"counted as {missing:g}"
    return f"missing records {how}; the bar covers noise alone"


def _noise_grid(noise: AdditiveMechanism, exponent: int) -> int:
    return min(math.frexp(noise.scale)[1] - 21, exponent + 50)  # a rest of 50 bits is a double


def noisy_totals(
    noise: AdditiveMechanism, totals: Sequence[int], exponent: int, *, runs: int = 1, source: Source = None
) -> list[list[Fraction]]:
    """`runs` rows of totals times 2^exponent plus noise, rounded half up to a grid a millionth of the noise, exactly."""
    grid = _noise_grid(noise, exponent)
    shift = grid - exponent
    if len(totals) == 1:
        whole, rest = split_ratio(totals[0], 1, shift)
        drawn = noise._noisy(rest, _grid_scale(noise.scale, grid), source, size=runs)
        return [[_fraction(whole + k, grid)] for k in drawn.tolist()]
    wholes = [total >> shift if shift > 0 else total << -shift for total in totals]
    rests = [
        math.ldexp(total - (whole << shift), -shift) if shift > 0 else 0.0
        for total, whole in zip(totals, wholes, strict=True)
    ]
    centers = np.broadcast_to(np.array(rests), (runs, len(totals)))
    drawn = np.asarray(noise._noisy(centers, _grid_scale(noise.scale, grid), source))
    return [[_fraction(whole + k, grid) for whole, k in zip(wholes, row, strict=True)] for row in drawn.tolist()]


@lru_cache(maxsize=256)
def _grid_scale(scale: float, grid: int) -> Fraction:
    return Fraction(scale) / Fraction(2) ** grid


def _fraction(steps: int, exponent: int) -> Fraction:
    return Fraction(steps << exponent) if exponent >= 0 else Fraction(steps, 1 << -exponent)
