"""Several queries asked together: what each of them gets of the budget, and what they cost as one."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Unpack, final

from privet._calls import door
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import Guarantee, PrivacyLoss, Promise, Unit
from privet.queries.batch_answers import BatchAnswers
from privet.queries.question import TableQuestion
from privet.tables import Data

_ROUNDS = 2  # of weighing: a third would change shares by less than whole thresholds do
Split = Callable[[list[float]], tuple[Guarantee, ...]]


@door
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

    queries: tuple[tuple[str, TableQuestion], ...]

    def __post_init__(self) -> None:
        if not self.queries:
            raise InvalidParameter("what is asked? Give queries by name: pv.batch(ages=query, wards=other)")
        for name, query in self.queries:
            if not isinstance(query, TableQuestion):
                raise InvalidParameter(f"{name} must be a query of a table, got {type(query).__name__}")
        if len({query.unit for _, query in self.queries}) > 1:
            raise InvalidParameter("the queries of a batch must protect the same unit: pay for the others apart")
        self.data  # noqa: B018 - two tables with one name are refused here

    def in_words(self) -> str:
        """All questions in one public line, for the log of a ledger."""
        return "; ".join(f"{name}: ({query.in_words()})" for name, query in self.queries)

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
        """The share of each query, and how far off its numbers may be; no data are looked at, and nothing is paid."""
        made, shares = self._planned(Guarantee(**promise))
        told = {}
        for (name, query), share in zip(self.queries, shares, strict=True):
            told[name] = query.told(**share)
        return BatchPreview(told, dict(zip(told, shares, strict=True)), made)

    def explain(self) -> str:
        """The plan of every query."""
        return "\n\n".join(f"{name}\n{query.explain()}" for name, query in self.queries)

    def _planned(self, target: Guarantee) -> tuple[BatchAnswers, list[Promise]]:
        ways = []
        for split, at in self._splits(target):
            try:
                ways.append(self._made(split, at))
            except NoGuarantee as problem:
                refused = problem
        if not ways:
            raise refused
        return min(ways, key=lambda way: max(part.weight() for part in way[0].parts))

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
            weights = [size * part.weight() for size, part in zip(_sizes(shares), parts, strict=True)]
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


def _shared(weights: list[float], power: int) -> list[float]:
    """Shares of 1, in proportion to powers of the weights; none so small that it could not pay for anything."""
    whole = math.fsum(each**power for each in weights)
    held = [max(each**power / whole, 1e-3 / len(weights)) for each in weights]
    return [each / math.fsum(held) for each in held]


def _sizes(shares: list[Promise]) -> list[float]:
    """The sizes to which the noise of a share is in inverse proportion."""
    return [each.get("epsilon") or each.get("mu") or math.sqrt(each.get("rho") or 0.0) for each in shares]
