"""The choice of a strategy by its computed error, before anything is paid and without data."""

import math
import time
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._markup import grid, note
from privet._numerics import Array
from privet.errors import InvalidCall, InvalidParameter, NoGuarantee, PrivetError
from privet.mechanisms import price_in_words
from privet.privacy import PrivacyLoss, Promise
from privet.workloads.all_ranges import AllRanges
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.linear_queries import LinearQueries
from privet.workloads.strategy import MATRICES, SEARCHED, Strategy, registered_strategies
from privet.workloads.weighted import Weighted
from privet.workloads.workload import Workload, refuse_empty

_LISTED = 2_000  # queries whose variances are computed one by one
_ENOUGH = 1.02  # times the bound on every strategy: no search can gain more


@final
@dataclass(frozen=True)
class Candidate:
    """One strategy with one kind of noise: what it would cost in error."""

    mechanism: LinearQueries
    seconds: float

    @kept_property
    def rmse(self) -> float:
        """The root of the mean squared error over the queries."""
        return self.mechanism.rmse

    @kept_property
    def worst(self) -> float | None:
        """The standard deviation of the worst query; None where finding it would take long."""
        found = worst_variance(self.mechanism.design, self.mechanism.workload)
        return None if found is None else math.sqrt(self.mechanism.spread * found)


@final
@dataclass(frozen=True)
class Plan:
    """Candidates from the least error to the greatest, and a lower bound on the error of any strategy.

    >>> from privet.workloads import RangeQueries
    >>> plan = RangeQueries(domain=8).plan(epsilon=1.0)
    >>> plan.best.rmse <= plan.candidates[-1].rmse
    True
    """

    workload: Workload
    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        """The one of least mean squared error: what `release` takes."""
        return self.candidates[0]

    @property
    def mechanism(self) -> LinearQueries:
        """The best candidate's mechanism."""
        return self.best.mechanism

    @property
    def loss(self) -> PrivacyLoss:
        """The price of the best candidate."""
        return self.mechanism.loss

    @kept_property
    def bound(self) -> float | None:
        """No strategy with the best candidate's noise has a smaller error under add/remove; None beyond 1,024 cells.

        The singular value bound: sensitivity^2 tr(V G^-1) >= (sum of the roots of the eigenvalues of V)^2 / k for the l2
        norm, and the l1 norm is at least that.
        """
        if self.workload.cells > SEARCHED:
            return None
        mechanism = self.mechanism
        unit = mechanism.spread**0.5 / float(mechanism.sensitivity)
        return float(unit * self.workload.singular_sum / math.sqrt(self.workload.cells * self.workload.queries))

    def explain(self) -> str:
        """The table of candidates."""
        lines = [f"{self.workload.describe()}; {self.mechanism.unit.describe()}"]
        lines.append(f"{'strategy':<44}{'noise':<10}{'RMSE':>12}{'worst':>12}{'seconds':>9}")
        for each in self.candidates:
            noise = "Laplace" if each.mechanism.norm == "l1" else "Gaussian"
            worst = "-" if each.worst is None else f"{each.worst:.4g}"
            lines.append(
                f"{each.mechanism.strategy.describe():<44}{noise:<10}{each.rmse:>12.5g}{worst:>12}{each.seconds:>9.2f}"
            )
        if self.bound is not None:
            gap = 100.0 * (self.best.rmse / self.bound - 1.0)
            lines.append(
                f"with this noise no strategy has an RMSE below {self.bound:.5g}: the best one has {gap:.1f}% more"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, for JSON."""
        rows = [
            {
                "strategy": each.mechanism.strategy.describe(),
                "noise": "laplace" if each.mechanism.norm == "l1" else "gaussian",
                "scale": each.mechanism.scale,
                "rmse": each.rmse,
                "worst": each.worst,
                "seconds": each.seconds,
            }
            for each in self.candidates
        ]
        facts = {"workload": self.workload.describe(), "cells": self.workload.cells, "queries": self.workload.queries}
        return facts | {"unit": self.mechanism.unit.to_dict(), "bound": self.bound, "candidates": rows}

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        noise = {"l1": "Laplace", "l2": "Gaussian"}
        rows = [
            (
                made.strategy.describe(),
                noise[made.norm],
                f"{each.rmse:.5g}",
                "-" if each.worst is None else f"{each.worst:.4g}",
            )
            for each in self.candidates
            for made in [each.mechanism]
        ]
        said = f"{self.workload.describe()}; {price_in_words(self.loss, self.mechanism.at)}"
        return grid(["strategy", "noise", "RMSE", "worst"], rows) + note(f"{said}; the first one is taken")


def candidates(workload: Workload, norm: NoiseNorm) -> list[Strategy]:
    """The strategies that are worth trying, from public facts: the kind of noise and the size of the domain.

    >>> from privet.workloads import Prefix
    >>> [str(each) for each in candidates(Prefix(2**20), "l1")]
    ['every cell', 'tree, best weights', 'Haar wavelet']
    """
    kinds = sorted(registered_strategies().items(), key=lambda each: (each[1].searched, each[0]))
    return [strategy for _, kind in kinds if norm in kind.norms for strategy in kind.worth_trying(workload, norm)]


def make_plan(workload: Workload, strategies: list[Strategy] | None, facts: dict[str, Any], promise: Promise) -> Plan:
    """Every candidate that can keep the promise, the best first. What takes a search is tried where closed forms leave more
    than 2% to the bound on every strategy, or where it is named."""
    if twice := facts.keys() & promise.keys():
        raise InvalidCall(f"{min(twice)} belongs to the question: give it where that is made, not with the budget")
    refuse_empty(workload)
    found = list[Candidate]()
    problem: PrivetError = NoGuarantee("no strategy keeps this promise")
    for searched in (False, True):
        if searched and strategies is None and found and _near_its_bound(workload, found):
            break
        for norm in ("l1", "l2"):
            for strategy in candidates(workload, norm) if strategies is None else strategies:
                if norm not in strategy.norms or strategy.searched != searched:
                    continue
                begin = time.process_time()
                try:
                    made = LinearQueries.for_budget(workload=workload, strategy=strategy, norm=norm, **facts, **promise)
                except (NoGuarantee, InvalidParameter) as reason:  # said below, where no other candidate is left
                    problem = reason if not found and not isinstance(problem, InvalidParameter) else problem
                    continue
                found.append(Candidate(made, time.process_time() - begin))
    if (
        not found
        and strategies is None
        and not candidates(workload, "l1")
        and not isinstance(problem, InvalidParameter)
    ):
        raise NoGuarantee(
            f"no strategy of Laplace noise answers {workload.describe()} with a useful error: {workload.cells:.3g} cells "
            "are too many to be measured one by one. Give a delta, rho or mu: Gaussian noise on residual tables does it"
        )
    if not found:
        raise problem
    return Plan(workload, tuple(sorted(found, key=lambda each: each.rmse)))


def _near_its_bound(workload: Workload, found: list[Candidate]) -> bool:
    plan = Plan(workload, tuple(sorted(found, key=lambda each: each.rmse)))
    return plan.bound is not None and plan.best.rmse <= _ENOUGH * plan.bound


def worst_variance(design: Design, workload: Workload) -> float | None:
    """The largest q' G^-1 q over the queries, where it can be had in little time.

    >>> from privet.workloads import Cells, Prefix
    >>> worst_variance(Cells().design(Prefix(4), "l1"), Prefix(4))
    4.0
    """
    if isinstance(workload, Weighted):
        inner = worst_variance(design, workload.workload)
        return None if inner is None else workload.weight**2 * inner
    if workload.queries <= _LISTED and workload.cells <= 2**16:
        return max(design.variance(workload.query(i)) for i in range(workload.queries))
    if not isinstance(workload, AllRanges) or workload.cells > MATRICES:
        return None
    covariance = np.stack([design.reconstruct(row) for row in _weighted_rows(design)])
    return float(np.max(_range_variances(covariance.T)))


def _weighted_rows(design: Design) -> Array:
    weights = design._row_weights()
    return np.eye(design.measurements) / weights


def _range_variances(roots: Array) -> Array:
    """Of all ranges, from a factor of the covariance of the cells: sums over squares, by prefix sums."""
    sums = np.vstack((np.zeros(roots.shape[1]), np.cumsum(roots, axis=0)))
    gram = sums @ sums.T
    size = np.diag(gram)
    return np.asarray(size[:, None] + size - 2.0 * gram)
