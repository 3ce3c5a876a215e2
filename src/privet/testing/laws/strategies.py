"""Laws of strategies: what is measured determines the cells, moves as far as is said, and errs as much as is said.

Every strategy is met through the workloads for which it says that it is worth trying (`Strategy.worth_trying`), on domains
small enough for brute force.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.privacy import Unit
from privet.testing.law import law_of
from privet.workloads import (
    AllRanges,
    Marginals,
    NoiseNorm,
    Points,
    Prefix,
    Product,
    Strategy,
    Workload,
    registered_strategies,
)
from privet.workloads.design import Design

_NEAR = 1e-6  # of numbers that linear algebra in doubles computes twice


@final
@dataclass(frozen=True)
class StrategyExample:
    """A strategy for a workload and a kind of noise.

    >>> next(example_strategies()).kind
    'cells'
    """

    strategy: Strategy
    workload: Workload
    norm: NoiseNorm

    @property
    def kind(self) -> str:
        """The name of the strategy among the registered ones."""
        return self.strategy.name

    @property
    def design(self) -> Design:
        """The measurements."""
        return self.strategy.design(self.workload, self.norm)

    def __str__(self) -> str:
        return f"{self.strategy} for {self.workload.describe()}, {self.norm}"


def example_strategies() -> Iterator[StrategyExample]:
    """Examples of every registered strategy: small workloads of one and of several dimensions, both kinds of noise.

    >>> {example.kind for example in example_strategies()} == set(registered_strategies())
    True
    """
    plane, tables = Product((Prefix(3), Prefix(4))), Marginals((2, 3, 2), ((0, 1), (1, 2)))
    asked: list[Workload] = [Prefix(1), Prefix(6), AllRanges(5), Points(4), plane, tables]
    for kind in registered_strategies().values():
        for workload, norm in product(asked, kind.norms):
            for strategy in kind.worth_trying(workload, norm):
                yield StrategyExample(strategy, workload, norm)


def _matrix(design: Design) -> Array:
    """The measurements of each cell, weighted: a column for each cell."""
    columns = [np.asarray(design.measure(cell)) for cell in np.eye(design.cells, dtype=np.int64)]
    return np.stack(columns, axis=1) * design._row_weights()[:, None]


def _queries(workload: Workload) -> Array:
    return np.stack([np.asarray(workload.query(i), dtype=float).reshape(-1) for i in range(workload.queries)])


@law_of("strategy")
def check_answers_come_back(example: StrategyExample) -> None:
    """Without noise every query of the workload is answered exactly.

    >>> check_answers_come_back(next(example_strategies()))
    """
    design, cells = example.design, np.arange(3, 3 + 7 * example.workload.cells, 7)
    rebuilt = np.asarray(design.reconstruct(np.asarray(design.measure(cells), dtype=float)))
    rows = _queries(example.workload)
    assert np.allclose(rows @ rebuilt, rows @ cells, rtol=_NEAR, atol=_NEAR), f"{example}: answers do not come back"


@law_of("strategy")
def check_sensitivity_is_brute_force(example: StrategyExample) -> None:
    """The sensitivity is how far the weighted measurements move between any two neighbours: no less, and hardly more.

    To replace a row is to take one cell away and to add another, or one of these alone, since rows may come from outside of
    the domain or go there. Under replace bounds are allowed, up to twice the move by a single row.

    >>> check_sensitivity_is_brute_force(next(example_strategies()))
    """
    columns = _matrix(example.design).T
    longest_column = float(np.linalg.norm(columns, 1 if example.norm == "l1" else 2, axis=1).max())
    for unit in (Unit(), Unit("replace")):
        moves = columns
        if unit.relation == "replace":
            pairs = (columns[:, None, :] - columns[None, :, :]).reshape(-1, columns.shape[1])
            moves = np.concatenate([columns, pairs])
        lengths = np.abs(moves).sum(axis=1) if example.norm == "l1" else np.sqrt((moves**2).sum(axis=1))
        said, longest = float(example.design.sensitivity(example.norm, unit).value), float(lengths.max())
        assert said >= longest * (1.0 - 1e-12), f"{example}: a neighbour ({unit.relation}) moves further than is said"
        enough = longest if unit.relation == "add_remove" else 2.0 * longest_column
        assert said <= enough * (1.0 + _NEAR), f"{example}: more noise ({unit.relation}) than any neighbour needs"


@law_of("strategy")
def check_error_is_that_of_the_noise(example: StrategyExample) -> None:
    """The variances of single queries, and their sum over the workload, are what noise on the measurements makes of them.

    >>> check_error_is_that_of_the_noise(next(example_strategies()))
    """
    design, rows = example.design, _queries(example.workload)
    unit = np.eye(design.measurements)
    rebuilt = np.stack([np.asarray(design.reconstruct(each)).reshape(-1) for each in unit], axis=1)
    noise = (rows @ rebuilt) / design._row_weights()
    exact = (noise**2).sum(axis=1)
    single = [design.variance(row) for row in rows]
    assert np.allclose(single, exact, rtol=_NEAR, atol=1e-9), f"{example}: a query has another error than is said"
    total = design.trace(example.workload)
    assert np.isclose(total, exact.sum(), rtol=_NEAR), f"{example}: the workload has another error than is said"


def check_strategy(strategy: Any, workload: Any, norm: Any = "l1") -> None:
    """Every law of strategies over one of your own, for a workload and a kind of noise.

    >>> from privet.workloads import Cells
    >>> check_strategy(Cells(), Prefix(5))
    """
    example = StrategyExample(strategy, workload, norm)
    for law in (check_answers_come_back, check_sensitivity_is_brute_force, check_error_is_that_of_the_noise):
        law(example)
