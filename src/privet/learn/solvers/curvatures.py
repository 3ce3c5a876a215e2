"""Second moments of columns: public, or bought as counts of how large entries are, whatever the scale of a column."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet._numerics import Array, root_up
from privet._validate import above, items, set_frozen
from privet.errors import InvalidParameter
from privet.learn.problem import Task
from privet.learn.solvers.columns import LEVELS, Columns, check_parts, largest_entries
from privet.mechanisms import Gaussian, Sensitivity, Source
from privet.privacy import PrivacyLoss

_TOPS = 2.0 ** -np.arange(LEVELS)  # the largest square of an entry in each level
_MIDDLE = 0.75  # of a level, relative to its top
_WINDOWS = (1, 2, 4)  # of levels, looked at together: entries are of one size, or spread over a few octaves
_UNSEEN = 0.5  # what may lie in the first of them beside what is seen there, in standard deviations of the noise


@final
@dataclass(frozen=True)
class Curvatures:
    """Curvatures for steps along columns: sums of squares of the columns of unit rows, and the number of records.

    >>> Curvatures((4.0, 1), 4).moments
    (4.0, 1.0)
    """

    moments: tuple[float, ...]
    records: float

    def __post_init__(self) -> None:
        set_frozen(self, moments=tuple(above("moments", each, 0.0) for each in items("moments", self.moments)))
        set_frozen(self, records=above("records", self.records, 0.0))

    @classmethod
    def public(cls, moments: "tuple[float, ...] | None", records: float | None) -> "Curvatures | None":
        """Public facts as they are given to a solver; None where there are none, and moments must be bought."""
        if (moments is None) != (records is None):
            raise InvalidParameter("moments and records are public facts that go together: give both, or neither")
        return None if moments is None or records is None else cls(moments, records)

    @classmethod
    def released(cls, noisy: Array, sigma: float, task: Task) -> "Curvatures":
        """From noisy counts of levels, those from `first_seen` on; a column not seen may hold the largest entries."""
        counts, records = noisy[:-1].reshape(task.features, LEVELS), max(1.0, float(noisy[-1]))
        first = first_seen(counts, sigma)
        below = np.arange(LEVELS) >= first[:, None]
        found = _MIDDLE * (np.maximum(counts, 0.0) * below) @ _TOPS + _UNSEEN * sigma * 2.0**-first
        found = np.where(first < LEVELS, found, math.inf)
        largest = largest_entries(task)
        if task.intercept:
            found = np.append(found, records)
        return cls(tuple((np.minimum(found, records + sigma) * largest**2).tolist()), records)


def first_seen(counts: Array, sigma: float) -> Array:
    """The first level of each column from which on one, two or four together stand out of the noise, while its own count is
    no less than the noise; LEVELS where none is.

    >>> first_seen(np.array([[0.0] * 8 + [3.0] * 4 + [0.0] * 20]), 1.0).tolist()  # no level stands out alone, four do
    [8]
    """
    line = sigma * math.sqrt(2.0 * math.log(2.0 * counts.size))
    sums = np.pad(counts, ((0, 0), (1, max(_WINDOWS)))).cumsum(axis=1)
    out = [sums[:, wide : wide + LEVELS] - sums[:, :LEVELS] > line * math.sqrt(wide) for wide in _WINDOWS]
    seen = np.any(out, axis=0) & (counts > sigma)
    return np.where(seen.any(axis=1), seen.argmax(axis=1), LEVELS)


def levels_reach(task: Task) -> Sensitivity:
    """l2, of `Columns.levels`: a record adds 1 to one level of each column at most, and 1 to the number of records, which
    an exchange leaves as it is.

    >>> from privet.privacy import Unit
    >>> tasks = [Task(features=8, row_norm=1.0, unit=Unit(relation)) for relation in ("add_remove", "replace")]
    >>> [float(levels_reach(task)) for task in tasks]
    [3.0, 4.0]
    """
    square = 2 * task.features if task.unit.relation == "replace" else task.features + 1
    return Sensitivity(Fraction(root_up(square)) * task.unit.group_size, norm="l2", unit=task.unit)


def levels_part(task: Task, mu: float) -> Gaussian:
    """The release of the levels at this price."""
    return Gaussian.for_budget(mu=mu, sensitivity=levels_reach(task))


def check_curvatures(given: "Gaussian | Curvatures", task: Task) -> None:
    """Refuse public moments of another number of columns, and noise that was made for less."""
    if not isinstance(given, Curvatures):
        check_parts([("curvatures", given, Gaussian, levels_reach(task))])
    elif len(given.moments) != task.dimension:
        raise InvalidParameter("moments must hold a number for each column of unit rows, the constant one last")


def bought(given: "Gaussian | Curvatures") -> list[PrivacyLoss]:
    """The price of the moments where they are not public."""
    return [given.loss] if isinstance(given, Gaussian) else []


def known_curvatures(given: "Gaussian | Curvatures", columns: Columns, task: Task, source: Source) -> Curvatures:
    """The public moments, or those that are bought now."""
    if isinstance(given, Curvatures):
        return given
    noisy = given.release(columns.levels(largest_entries(task)[: task.features]), source=source).value
    return Curvatures.released(np.asarray(noisy), given.sigma, task)
