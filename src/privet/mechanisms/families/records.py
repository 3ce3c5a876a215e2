"""Statistics of bounded records: every record becomes an integer by itself, sums are exact, noise comes last.

No sum is ever formed in floating point: there the order of the records and their sizes would move the answer by more
than the sensitivity says.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privet._numerics import Array
from privet._validate import count, instance, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.families.additive import AdditiveMechanism
from privet.mechanisms.families.one_noise import PricedByNoise
from privet.mechanisms.families.record_totals import CHUNK, check_noise_grid, noisy_totals
from privet.mechanisms.families.record_values import (
    Missing,
    admit_records,
    as_records,
    clean_doubles,
    missing_note,
    public_bounds,
    public_missing,
)
from privet.mechanisms.mechanism import Mechanism, Source
from privet.mechanisms.sensitivity import Norm, Sensitivity
from privet.noise import Grid
from privet.privacy import Unit, as_unit

_NORMS: tuple[Norm, Norm] = ("l1", "l2")


@dataclass(frozen=True, kw_only=True)
class RecordMechanism(PricedByNoise, Mechanism[Any, Any]):  # type: ignore[override]  # `at` is read from the noise
    """Base of the mechanisms over records, one number each.

    A record is read as a double and clamped to the public `bounds` (infinities too), by itself, whatever the other
    records are. What is NaN, None or no number at all is missing: left out (`missing="drop"`, the default under
    add/remove, where that is free) or counted as a public number (needed under replace; the default is the middle of the
    bounds). So one record moves the exact integer totals by no more than `_moves` says, and nothing is ever refused because
    of a value. `max_rows` is how many records one unit of privacy may have; the caller must have limited it before.
    """

    bounds: tuple[float, float]
    noise: AdditiveMechanism
    missing: Missing | None = None
    max_rows: int = field(default=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("noise", self.noise, AdditiveMechanism)
        set_frozen(self, bounds=public_bounds(self.bounds))
        set_frozen(self, missing=public_missing(self.missing, self.bounds, self.noise.unit))
        set_frozen(self, max_rows=count("max_rows", self.max_rows, 1))
        bound = self.noise.sensitivity
        _records_unit(bound.unit)
        if bound.value < self._moves(bound.norm, bound.unit) * self.max_rows * bound.unit.group_size:
            raise InvalidParameter(
                "the noise was made for a smaller sensitivity than these bounds have; use for_budget"
            )
        check_noise_grid(self.noise.scale, self._grid)
        if hasattr(self, "n"):  # members that may know the number of records
            set_frozen(self, n=check_public_count(self.n, bound.unit, self.max_rows))

    @abstractmethod
    def _moves(self, norm: Norm, unit: Unit) -> Fraction:
        """The distance in this norm, in units of the answer, by which one record can move the vector of totals."""

    @abstractmethod
    def _totals(self, clean: Array) -> list[int]:
        """The exact totals of clean records, in steps of `_grid`."""

    @property
    @abstractmethod
    def _grid(self) -> Grid:
        """The grid of the totals."""

    @abstractmethod
    def _finish(self, noisy: Sequence[Fraction]) -> Any:
        """Post-processing of the noisy totals."""

    @property
    def width(self) -> float:
        """Distance of the bounds."""
        return self.bounds[1] - self.bounds[0]

    @property
    def _public_n(self) -> int | None:
        """The number of records where it is public: data of another length are refused."""
        return getattr(self, "n", None)

    def _admit(self, value: object) -> None:
        admit_records(value)
        if hasattr(value, "__len__"):
            self._check_length(len(value))
        elif self._public_n is not None:
            raise InvalidData(
                "the number of records is public and is checked before anything is paid: pass list(records)"
            )

    def _check_length(self, length: int) -> None:
        n = self._public_n
        if n is not None and length != n:
            raise InvalidData(
                f"this mechanism was made for exactly n = {n} records: under replace their number is public"
            )

    def _prepare(self, value: object) -> list[int]:
        assert self.missing is not None
        records = as_records(value)
        self._check_length(len(records))  # an iterator has a length now
        pieces = [
            self._totals(clean_doubles(records[start : start + CHUNK], self.bounds, self.missing))
            # in pieces, so that memory is that of the input; without records one, whose totals are 0
            for start in range(0, max(1, len(records)), CHUNK)
        ]
        return [sum(column) for column in zip(*pieces, strict=True)]

    def _notes(self, drawn: object) -> tuple[str, ...]:
        return (missing_note(self.missing),)

    def _draw(self, prepared: list[int], runs: int, source: Source) -> list[Any]:
        rows = noisy_totals(self.noise, prepared, self._grid, runs=runs, source=source)
        return [self._finish(row) for row in rows]


def sensitivities(
    moves: Callable[[Norm, Unit], Fraction], unit: Unit | None, max_rows: int
) -> tuple[Sensitivity, Sensitivity]:
    """The l1 and the l2 sensitivity of totals that one record moves by `moves(norm, unit)`.

    >>> [float(bound) for bound in sensitivities(lambda norm, unit: Fraction(2), None, 3)]
    [6.0, 6.0]
    """
    whose = as_unit(unit)
    l1, l2 = (row_sensitivity(moves(norm, whose), norm=norm, unit=whose, max_rows=max_rows) for norm in _NORMS)
    return l1, l2


def row_sensitivity(value: Fraction, *, norm: Norm, unit: Unit | None, max_rows: int) -> Sensitivity:
    """The sensitivity of `max_rows` records (times the size of the group) that move the answer by `value` each.

    >>> float(row_sensitivity(Fraction(2), norm="l1", unit=Unit(group_size=3), max_rows=5))
    30.0
    """
    neighbours = _records_unit(as_unit(unit))
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
            "with several records a person (max_rows > 1), replacing one person changes the number of records, so it is "
            "not public: "
            'take Unit("add_remove"), or hand in one record a person'
        )
    if unit.relation != "replace" and n is not None:
        raise InvalidParameter(
            'the number of records is private under add/remove: leave n out, or take Unit("replace")'
        )
    return None if n is None else count("n", n, 1)
