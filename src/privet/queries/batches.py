"""Several queries asked together: what each of them gets of the budget, and what they cost as one."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Unpack, final

from privet.errors import InvalidParameter, NoGuarantee
from privet.mechanisms import DiscreteLaplace
from privet.privacy import Guarantee, PrivacyLoss, Promise, Unit
from privet.queries.batch_answers import BatchAnswers
from privet.queries.covariance_answers import CovarianceAnswers
from privet.queries.covariances import CovarianceQuestion
from privet.queries.histogram_answers import HistogramAnswers, TopValues
from privet.queries.histograms import HistogramQuestion, TopQuestion
from privet.queries.query import Query
from privet.queries.table_answers import TableAnswers
from privet.tables.data import Data
from privet.workloads.marginals import Marginals

_ROUNDS = 2
Split = Callable[[list[float]], tuple[Guarantee, ...]]


def batch(**queries: Any) -> "Batch":
    """Several queries as one question: `ledger.release(pv.batch(a=query, b=other), epsilon=1.0)` pays for all of them in
    one entry, or for none, and returns a mapping of names to answers.

    >>> import privet as pv
    >>> visits = pv.Table({"ward": ["A", "B"] * 50}, columns={"ward": pv.Category(["A", "B"])})
    >>> asked = pv.batch(all=visits.agg(n=pv.count()), wards=visits.group_by("ward").agg(n=pv.count()))
    >>> print(asked.preview(epsilon=0.75))
    all (epsilon 0.25)
      n: +-12 (95%)
    wards (epsilon 0.5)
      n: +-6 (95%, each of 2 groups)
    """
    return Batch(tuple(queries.items()))


@final
@dataclass(frozen=True, eq=False)
class Batch:
    """Queries by name. The budget is split so that the worst relative error among them is the least.

    The noise of a query is counted in rows: a count by itself, a sum in units of its larger bound, a mean in units of its
    range. Rows are spread over the groups of a query, so with K groups the same noise weighs K times as much. Shares of
    epsilon (of the root of rho, of mu) are in proportion to these weights, which makes all of them equal. Only public
    facts enter: bounds, numbers of groups, limits of a person. Discovered keys count as one group.
    """

    queries: tuple[tuple[str, Any], ...]

    def __post_init__(self) -> None:
        if not self.queries:
            raise InvalidParameter("what is asked? Give queries by name: pv.batch(ages=query, wards=other)")
        for name, query in self.queries:
            if not isinstance(query, Query | HistogramQuestion | TopQuestion | CovarianceQuestion):
                raise InvalidParameter(f"{name} must be a query of a table, got {type(query).__name__}")
        if len({query.unit for _, query in self.queries}) > 1:
            raise InvalidParameter("the queries of a batch must protect the same unit: pay for the others apart")
        self.data  # noqa: B018 - two tables with one name are refused here

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        first: Unit = self.queries[0][1].unit
        return first

    @property
    def data(self) -> Data:
        """The data of all queries."""
        return reduce(Data.joined, (query.data for _, query in self.queries))

    def for_budget(self, **promise: Unpack[Promise]) -> BatchAnswers:
        """The mechanism that answers all of them within the promise; no data are looked at."""
        return self._planned(Guarantee(**promise))[0]

    def preview(self, **promise: Unpack[Promise]) -> "BatchPreview":
        """What each query gets, and how far off its numbers may be; no data are looked at, and nothing is paid."""
        made, shares = self._planned(Guarantee(**promise))
        told = {}
        for (name, query), share in zip(self.queries, shares, strict=True):
            told[name] = _told(query, share)
        return BatchPreview(told, dict(zip(told, shares, strict=True)), made)

    def explain(self) -> str:
        """The plan of every query."""
        return "\n\n".join(f"{name}\n{query.explain()}" for name, query in self.queries if hasattr(query, "explain"))

    def _planned(self, target: Guarantee) -> tuple[BatchAnswers, list[Promise]]:
        ways = []
        for split, at in self._splits(target):
            try:
                ways.append(self._made(split, at))
            except NoGuarantee as problem:
                refused = problem
        if not ways:
            raise refused
        return min(ways, key=lambda way: max(map(weight, way[0].parts)))

    def _splits(self, target: Guarantee) -> list[tuple[Split, float | None]]:
        """The ways to share a promise, each from weights to promises."""
        if target.epsilon is None:
            return [(lambda weights: target.split(_shared(weights, 2)), None)]
        equal = [1.0 / len(self.queries)] * len(self.queries)
        made: list[tuple[Split, float | None]] = [
            (lambda weights: target.split(_shared(weights, 1), deltas=equal), target.delta or None)
        ]
        if target.delta:
            normal = target.as_mu()
            made.append((lambda weights: normal.split(_shared(weights, 2)), target.delta))
        return made

    def _made(self, split: Split, at: float | None) -> tuple[BatchAnswers, list[Promise]]:
        weights = [1.0] * len(self.queries)
        for _ in range(_ROUNDS):  # the noise of a share is in proportion to its inverse, apart from whole thresholds
            shares = [each.keywords() for each in split(weights)]
            parts = [query.for_budget(**share) for (_, query), share in zip(self.queries, shares, strict=True)]
            weights = [size * weight(part) for size, part in zip(_sizes(shares), parts, strict=True)]
        shares = [each.keywords() for each in split(weights)]
        parts = [query.for_budget(**share) for (_, query), share in zip(self.queries, shares, strict=True)]
        needed = at if any(part.at is not None or part.loss.pure() == math.inf for part in parts) else None
        return BatchAnswers(labels=tuple(name for name, _ in self.queries), parts=tuple(parts), at=needed), shares


@final
@dataclass(frozen=True, eq=False)
class BatchPreview:
    """The previews of all queries of a batch, and their shares of the budget."""

    queries: dict[str, Any]
    shares: dict[str, Promise]
    mechanism: BatchAnswers = field(repr=False)

    @property
    def loss(self) -> PrivacyLoss:
        """The price of all of them together."""
        return self.mechanism.loss

    def __str__(self) -> str:
        lines = []
        for name, told in self.queries.items():
            share = ", ".join(f"{what} {much:.4g}" for what, much in self.shares[name].items())
            lines += [f"{name} ({share})", *("  " + line for line in str(told).splitlines())]
        return "\n".join(lines)


def _told(query: Any, share: Promise) -> Any:
    if isinstance(query, Query | CovarianceQuestion):
        return query.preview(**share)
    if isinstance(query, TopQuestion):
        return "the values in order, without counts"
    plan = query.preview(**share)
    return f"{plan.workload.describe()}: RMSE {plan.best.rmse:.4g} ({plan.mechanism.strategy.describe()})"


def _shared(weights: list[float], power: int) -> list[float]:
    """Shares of 1, in proportion to powers of the weights; none so small that it could not pay for anything."""
    whole = math.fsum(each**power for each in weights)
    held = [max(each**power / whole, 1e-3 / len(weights)) for each in weights]
    return [each / math.fsum(held) for each in held]


def _sizes(shares: list[Promise]) -> list[float]:
    """What the noise of a share is in inverse proportion to."""
    return [each.get("epsilon") or each.get("mu") or math.sqrt(each.get("rho") or 0.0) for each in shares]


def weight(made: Any) -> float:
    """The widest noise of a query in rows, times the number of groups that rows are spread over.

    >>> import privet as pv
    >>> visits = pv.Table({"ward": ["A", "B"]}, columns={"ward": pv.Category(["A", "B"])})
    >>> one, two = visits.agg(n=pv.count()), visits.group_by("ward").agg(n=pv.count())
    >>> round(weight(two.for_budget(epsilon=1.0)) / weight(one.for_budget(epsilon=1.0)), 3)
    2.0
    """
    if isinstance(made, HistogramAnswers):
        workload = made.queries.workload
        tables = [math.prod(workload.shape[i] for i in each) for each in getattr(workload, "attributes", ())]
        return made.queries.rmse * (max(tables, default=1) if isinstance(workload, Marginals) else 1)
    if isinstance(made, TopValues):
        assert made.plan.keys is not None
        groups = len(made.plan.keys)
        return groups * float(made.choice.sensitivity.value) * made.choice.k * math.log(1 + groups) / made.loss.pure()
    if isinstance(made, CovarianceAnswers):
        return _spread(made.part) / min(pair.top for pair in made.design.pairs)
    assert isinstance(made, TableAnswers)
    groups = 1 if made.plan.keys is None else len(made.plan.keys)
    noises = [] if made.selection is None else [math.sqrt(2.0) * made.selection.scale]
    for family, part in zip(made.families, made.parts, strict=True):
        size = max(abs(family.lower), abs(family.upper)) if family.kind == "signed" else family.top
        noises.append(groups * _spread(part) / size)
    for each in made.quantiles:
        moved = float(each.choice.sensitivity.value) / each.request.q.denominator
        noises.append(groups * 2.0 * moved * math.log(1 + each.bins) / each.choice.loss.pure())
    return max(noises)


def _spread(part: Any) -> float:
    """The standard deviation of noise."""
    return float(part.scale) * (math.sqrt(2.0) if isinstance(part, DiscreteLaplace) else 1.0)
