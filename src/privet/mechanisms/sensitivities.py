"""Sensitivities of the common queries, each for its norm and its neighbouring relation."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from numbers import Real

from privet._numerics import exact, root_up
from privet._validate import count, instance, items
from privet.errors import InvalidParameter
from privet.mechanisms.families.record_values import public_bounds
from privet.mechanisms.families.records import row_sensitivity
from privet.mechanisms.sensitivity import Norm, Sensitivity, check_norm
from privet.privacy import Unit, as_unit


def count_sensitivity(*, norm: Norm, unit: Unit | None = None, max_rows: int = 1) -> Sensitivity:
    """One count: 1, under add/remove and under replace; times the records of one person.

    >>> float(count_sensitivity(norm="l1", max_rows=3))
    3.0
    """
    return row_sensitivity(Fraction(1), norm=norm, unit=unit, max_rows=max_rows)


def histogram_sensitivity(*, norm: Norm, unit: Unit | None = None, max_rows: int = 1) -> Sensitivity:
    """Disjoint bins, every record in one of them: l1 is 1 under add/remove and 2 under replace, l2 is 1 and sqrt 2.

    A person with m records may have them all in one bin, so both norms grow with m.

    >>> float(histogram_sensitivity(norm="l1", unit=Unit("replace")))
    2.0
    """
    patterns = [(1, 0), (0, 1)]  # two bins stand for any number
    return counts_sensitivity(patterns, norm=norm, unit=unit, max_rows=max_rows)


def counts_sensitivity(
    patterns: int | Sequence[Sequence[float | Fraction]], *, norm: Norm, unit: Unit | None = None, max_rows: int = 1
) -> Sensitivity:
    """Several counts (or other sums) at once.

    `patterns` lists what one record can add to the vector of answers; include the zero vector if a record may add
    nothing. Add/remove: the longest pattern; replace: the two that are farthest apart, or with several rows the longest
    one if that is more (somebody with many rows may give way to somebody with none). A whole number k instead stands for
    k arbitrary counts: k in l1, sqrt k in l2, under both relations.

    >>> float(counts_sensitivity(4, norm="l2"))
    2.0
    >>> bmi = [(0, 0, 0, 0), (1, 1, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1)]  # answers that overlap in part
    >>> float(counts_sensitivity(bmi, norm="l1")), float(counts_sensitivity(bmi, norm="l1", unit=Unit("replace")))
    (2.0, 4.0)
    """
    check_norm(norm)
    if isinstance(patterns, Real):
        k = count("patterns", patterns, 1)
        reach = {"l1": k, "l2": root_up(k), "score": 1}[norm]  # of k ones
        return row_sensitivity(Fraction(reach), norm=norm, unit=unit, max_rows=max_rows)
    rows = [tuple(exact("patterns", entry) for entry in items("patterns", row)) for row in items("patterns", patterns)]
    if not rows or len({len(row) for row in rows}) != 1 or not rows[0]:
        raise InvalidParameter("patterns must be a list of vectors of one length, at least one")
    moved = rows
    if unit is not None and instance("unit", unit, Unit).relation == "replace":
        apart = [tuple(a - b for a, b in zip(one, other, strict=True)) for one, other in combinations(rows, 2)]
        moved = apart if count("max_rows", max_rows, 1) == 1 else apart + rows
    return row_sensitivity(
        max(map(_LENGTHS[norm], moved), default=Fraction(0)), norm=norm, unit=unit, max_rows=max_rows
    )


def sum_sensitivity(
    *, bounds: tuple[float, float], norm: Norm = "l1", unit: Unit | None = None, max_rows: int = 1
) -> Sensitivity:
    """A sum of records within public bounds: the larger of |lowest| and |highest|, or highest - lowest under replace
    (with several rows, the larger of the two). Of the exact sum; `BoundedSum` forms it on a grid.

    >>> float(sum_sensitivity(bounds=(-2, 5))), float(sum_sensitivity(bounds=(-2, 5), unit=Unit("replace")))
    (5.0, 7.0)
    """
    ends = [(end,) for end in public_bounds(bounds)]
    return counts_sensitivity(ends, norm=norm, unit=unit, max_rows=max_rows)


def mean_sensitivity(
    *, bounds: tuple[float, float], n: int, norm: Norm = "l1", unit: Unit | None = None, max_rows: int = 1
) -> Sensitivity:
    """A mean of n records within public bounds, under replace: (highest - lowest)/n.

    Under add/remove n is private and so is every bound that mentions it: take `BoundedMean`.

    >>> float(mean_sensitivity(bounds=(0, 10), n=100, unit=Unit("replace")))
    0.1
    """
    if unit is None or as_unit(unit).relation != "replace":
        raise InvalidParameter(
            'a mean has a sensitivity only when n is public: unit=Unit("replace"); under add/remove take BoundedMean'
        )
    low, high = map(Fraction, public_bounds(bounds))  # n stays, so that rows are exchanged one for one
    return row_sensitivity((high - low) / count("n", n, 1), norm=norm, unit=unit, max_rows=max_rows)


def _l1(vector: Sequence[Fraction]) -> Fraction:
    return sum(map(abs, vector), Fraction(0))


def _l2(vector: Sequence[Fraction]) -> Fraction:
    """The square root, rounded up to a double where it is irrational."""
    square = sum((entry * entry for entry in vector), Fraction(0))
    return Fraction(root_up(square))


def _score(vector: Sequence[Fraction]) -> Fraction:
    return max(map(abs, vector))


_LENGTHS = {"l1": _l1, "l2": _l2, "score": _score}
