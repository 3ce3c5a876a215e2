"""The entries of the zoo: a bug from the field, its sound twin, and how the referee must notice the difference."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.audit.search import World
from privet.privacy import PrivacyLoss, PureLoss, Unit

Law = Callable[[Any, int], Array | World | list[Any]]  # (input, runs) -> outputs, the run first
By = Literal["black box", "calls", "timing", "exact", "replay"]

ANY = "any"  # an entry that may be caught by whatever kind of event sees it
STEP = 10  # one unit of sensitivity on the integer grid; fine enough to have thresholds, coarse enough to have atoms
ONE = PureLoss(1.0)
SWAP = PureLoss(1.0, unit=Unit("replace"))


@final
@dataclass(frozen=True, eq=False)
class Simulated:
    """A law as a mechanism, run in bulk.

    >>> Simulated("constant", lambda value, runs: np.full(runs, value)).simulate(3, 2).tolist()
    [3, 3]
    """

    name: str
    law: Law

    def simulate(self, value: object, runs: int) -> Array | World | list[Any]:
        """`runs` outputs for one input."""
        return self.law(value, runs)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Entry:
    """A broken mechanism and its sound twin under the same claim, on the same pair of neighbours.

    `broken` and `sound` are laws `(input, runs) -> outputs` for the black box, functions without arguments that build a
    mechanism to be called one by one ("calls": state, prints and exceptions belong to it), objects with `.release` where
    run time is the leak, prices for an exact comparison, and whole pipelines for a replay. `feature` is the kind of event
    (one of `audit.search.KINDS`, or of a replay's findings) that must suffice to catch the bug; `any` leaves it open.
    With `neighbours` the pair is not told: a family out of `privet.audit` has to contain it.

    >>> from privet.testing.zoo import zoo
    >>> zoo()[0].name
    'Laplace scale halved'
    """

    number: int
    name: str
    story: str
    claim: PrivacyLoss
    left: Any
    right: Any
    broken: Any
    sound: Any
    feature: str = ANY
    by: By = "black box"
    neighbours: Any = None
    runs: int | None = None  # at most so many, where more would only cost


def laplace(scale: float, *shape: int) -> Array:
    """Integer Laplace noise: exact, so that no low bit betrays what an entry is not about.

    >>> laplace(10.0, 2, 3).shape
    (2, 3)
    """
    return np.asarray(noise.discrete_laplace(scale=scale, size=shape))


@final
class Noise:
    """Integer Laplace noise one number at a time, drawn ahead in blocks.

    >>> isinstance(Noise(10.0)(), int)
    True
    """

    def __init__(self, scale: float) -> None:
        self._scale = scale
        self._ahead: list[int] = []

    def __call__(self) -> int:
        if not self._ahead:
            self._ahead = laplace(self._scale, 4096).tolist()
        return self._ahead.pop()


def clipped(rows: tuple[int, ...], most: int) -> int:
    """The sum of records, each clipped to [0, most].

    >>> clipped((5, 40), 10)
    15
    """
    return sum(min(max(row, 0), most) for row in rows)


def reports(truth: Array, others: Array, honest: Array) -> Array:
    """Where a person is honest the truth, elsewhere the other report.

    >>> reports(np.array([1, 1]), np.array([2, 2]), np.array([True, False])).tolist()
    [1, 2]
    """
    return np.where(honest, truth, others)
