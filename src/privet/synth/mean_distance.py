"""The mean distance of synthetic tables of counts from those of private data, as a release that is paid for."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, Unpack, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import count, instance, items, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import (
    Algorithm,
    DiscreteLaplace,
    ErrorBar,
    Example,
    Form,
    Gaussian,
    Numbers,
    Sensitivity,
    Source,
    least_noise,
    register,
)
from privet.privacy import Guarantee, PrivacyLoss, Promise
from privet.tables import Coded, Coding, Data, Int, Rows, Source as PrivateSource, drawn_salts

STEPS = 2**10  # of a row: expected counts are rounded to them, and every distance is a whole number of them
_MOST_TABLES = 2**18  # more than a workload may have: what is read back does not ask for endless work


@final
@register
@dataclass(frozen=True, kw_only=True)
class MeanDistance(Algorithm[Data, float]):
    """The mean, over tables of counts, of half the l1 distance between private and expected counts, divided by a public or
    paid number of rows: about the mean total variation of k-way tables.

    **Guarantee:** that of one noisy whole number.
    **Sensitivity:** a unit moves each table by at most `coded.reach.l1`, so the sum of K distances by K times as much and
    their mean by no more than one of them: 1/2 of a row under add/remove, 1 under replace, times the rows of a person.
    **Error:** the noise alone; the expected counts are rounded to 1/1024 of a row.
    **Proof:** docs/proofs/synth/mean_distance.md.
    """

    name = "synth_mean_distance"

    coded: Coded
    cliques: tuple[tuple[int, ...], ...]
    expected: tuple[tuple[int, ...], ...]  # of each clique the cells in their order, in steps
    rows: int
    part: DiscreteLaplace | Gaussian
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("coded", self.coded, Coded)
        set_frozen(self, cliques=_whole("cliques", self.cliques), rows=count("rows", self.rows, 1))
        set_frozen(self, expected=_whole("expected", self.expected))
        if not isinstance(self.part, DiscreteLaplace | Gaussian):
            raise InvalidParameter("part must be discrete Laplace or Gaussian noise, such as least_noise gives")
        if not 1 <= len(self.cliques) <= _MOST_TABLES or len(self.cliques) != len(self.expected):
            raise InvalidParameter(
                "cliques must be one or more and expected their counts: a distance is about one table or more"
            )
        self.coded.check(self.cliques)
        sizes = self.coded.coding.sizes
        for clique, cells in zip(self.cliques, self.expected, strict=True):
            if len(cells) != prod(sizes[place] for place in clique) or sum(map(abs, cells)) > 2**43:
                raise InvalidParameter("expected must hold counts, one for each cell of every table of cliques")
        if self.part.sensitivity.value < _moved(self.coded, len(self.cliques)).value:
            raise InvalidParameter("part must be priced for all rows of a unit in every table")
        if self.part.sensitivity.unit != self.coded.rows.unit.unit:
            raise InvalidParameter("part must be priced for the unit of the table")
        if self.at is not None:
            set_frozen(self, at=open_fraction("at", self.at))

    @classmethod
    @door
    def of(
        cls, coded: Coded, cliques: Any, shares: Iterable[Array], *, rows: int, **promise: Unpack[Promise]
    ) -> "MeanDistance":
        """The plan for tables of shares, each adding up to 1, of so many rows."""
        listed = tuple(tuple(each) for each in cliques)
        expected = tuple(tuple(np.rint(np.ravel(each) * rows * STEPS).astype(np.int64).tolist()) for each in shares)
        moved = _moved(coded, len(listed))
        part = least_noise(l1=moved, l2=_as_l2(moved), whole=True, **promise)
        made = cls(coded=coded, cliques=listed, expected=expected, rows=rows, part=part)
        return made._charged_at(Guarantee(**promise))

    @property
    def loss(self) -> PrivacyLoss:
        return self.part.loss

    @property
    def form(self) -> Form:
        """A number."""
        return Numbers()

    @property
    def _unit_of_distance(self) -> float:
        return 1.0 / (2.0 * len(self.cliques) * STEPS * self.rows)

    def _admit(self, value: Any) -> None:
        if not isinstance(value, Data):
            raise InvalidData(
                "a distance is asked of the data that a table knows: synth.distance(rows, table, epsilon=1)"
            )
        value.check(self.coded)

    def _run(self, prepared: Any, source: Source) -> float:
        salts = self._coins("salt", drawn_salts, source)
        steps = exact_steps(prepared.exact_marginals(self.coded, list(self.cliques), salts), self.expected)
        noisy = self.part.release(steps, source=source).value
        return float(noisy) * self._unit_of_distance

    def error(self, confidence: float = 0.95) -> ErrorBar:
        """The distance by which the noise may move the distance."""
        return ErrorBar(self.part.error(confidence).radius * self._unit_of_distance, confidence, "mean distance")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        columns = {"a": Int(0, 1), "b": Int(0, 2)}
        for relation, promise in (("add_remove", Guarantee(1.0)), ("replace", Guarantee(1.0, 1e-6))):
            source = PrivateSource("people", tuple(columns.items()), Rows(relation=relation))  # type: ignore[arg-type]
            coded = Coded(source, Coding.of(columns))
            even = [np.full(2, 0.5), np.full(3, 1 / 3), np.full((2, 3), 1 / 6)]
            plan = cls.of(coded, ((0,), (1,), (0, 1)), even, rows=6, **promise.keywords())
            held = {"a": np.array([0, 1, 1, 0, 1, 1]), "b": np.array([0, 1, 2, 0, 2, 2])}
            other = {name: column[:-1] for name, column in held.items()}
            if relation == "replace":
                other = {"a": np.array([0, 1, 1, 0, 1, 0]), "b": np.array([0, 1, 2, 0, 2, 0])}
            yield Example(plan, Data({"people": held}), Data({"people": other}), promise, cost="costly")


def exact_steps(tables: Iterable[Array], expected: Iterable[tuple[int, ...]]) -> int:
    """The l1 distances of counts from expected ones, added up, in steps: not releasable.

    >>> exact_steps([np.array([1, 0])], [(0, STEPS)]) / STEPS
    2.0
    """
    total = 0
    for table, cells in zip(tables, expected, strict=True):
        total += int(np.abs(np.ravel(table) * STEPS - np.array(cells, dtype=np.int64)).sum())
    return total


def _whole(name: str, rows: Any) -> tuple[tuple[int, ...], ...]:
    """Tuples of whole numbers that are not negative."""
    made = []
    for row in items(name, rows):
        listed = items(name, row)
        if not set(map(type, listed)) <= {int} or min(listed, default=0) < 0:
            raise InvalidParameter(f"{name} must be tuples of whole numbers, none of them negative")
        made.append(tuple(listed))
    return tuple(made)


def _moved(coded: Coded, tables: int) -> Sensitivity:
    unit = coded.rows.unit.unit
    return Sensitivity(Fraction(tables * STEPS * coded.reach.l1(unit)), norm="l1", unit=unit)


def _as_l2(moved: Sensitivity) -> Sensitivity:
    """One number moves in l2 as in l1."""
    return Sensitivity(moved.value, norm="l2", unit=moved.unit)
