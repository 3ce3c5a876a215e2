"""Every kind of question about a table, the table that it is asked about here, and what a mistake may cost: nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import privet as pv
from privet.errors import PrivetError, ReleaseFailed

N = 12
WHO = pv.Person("who", max_rows=2)
COLUMNS: dict[str, Any] = {
    "age": pv.Int(0, 110),
    "cost": pv.Float(0, 500),
    "ward": pv.Category(["A", "B"]),
    "city": pv.Text(),
    "ill": pv.Bool(),
    "day": pv.Date("2026-01-01", "2026-12-31"),
}


def visits() -> dict[str, Any]:
    return {
        "who": [f"p{i}" for i in range(N)],
        "age": list(range(30, 30 + N)),
        "cost": [float(i) for i in range(N)],
        "ward": ["A", "B"] * (N // 2),
        "city": ["Bonn"] * N,
        "ill": [True, False] * (N // 2),
        "day": ["2026-05-01"] * N,
    }


def without(name: str) -> dict[str, Any]:
    return {each: column for each, column in visits().items() if each != name}


def table(source: Any = None, **facts: Any) -> pv.Table:
    return pv.Table(
        visits() if source is None else source, **{"columns": COLUMNS, "unit": WHO, "name": "visits"} | facts
    )


def other() -> pv.Table:
    return pv.Table({"who": ["p1"], "fee": [3]}, columns={"fee": pv.Int(0, 9)}, unit=WHO, name="fees")


def linked() -> pv.Table:
    rows = pv.Table({"number": ["v1"], "fee": [3]}, columns={"number": pv.Text(), "fee": pv.Int(0, 9)}, name="bills")
    link = pv.Table({"number": ["v1"], "who": ["p1"]}, columns={"number": pv.Text()}, unit=WHO, name="visits")
    return rows.linked(link, on="number")


Ask = Callable[..., Any]


@dataclass(frozen=True)
class Kind:
    """A kind of question: how it is asked about a column, the column it is asked about here, and one of a type that it is
    not asked about; `None` where it is about rows, or where every type is right."""

    ask: Ask
    column: str | None = None
    wrong: str | None = None


def _of(aggregate: Callable[..., Any], *facts: Any) -> Ask:
    return lambda t, column: t.agg(a=aggregate(column, *facts))


WARDS = {"ward": ["A", "B"], "floor": [1, 2]}
KINDS: dict[str, Kind] = {
    "count": Kind(lambda t: t.agg(n=pv.count())),
    "count where": Kind(lambda t, c: t.agg(n=pv.count(t[c] >= 65)), "age", "city"),
    "count_persons": Kind(lambda t: t.agg(n=pv.count_persons())),
    "count_distinct": Kind(_of(pv.count_distinct), "city", "cost"),
    "sum": Kind(_of(pv.sum), "cost", "ward"),
    "mean": Kind(_of(pv.mean), "cost", "city"),
    "variance": Kind(_of(pv.variance), "age", "day"),
    "std": Kind(_of(pv.std), "age", "ward"),
    "quantile": Kind(_of(pv.quantile, 0.25), "age", "ward"),
    "median": Kind(_of(pv.median), "day", "city"),
    "min": Kind(_of(pv.min), "cost", "ward"),
    "max": Kind(_of(pv.max), "cost", "ward"),
    "histogram": Kind(lambda t, c: t.histogram(c, bins=4), "age", "city"),
    "groups with all keys": Kind(lambda t, c: t.group_by(c).agg(n=pv.count(), m=pv.mean("cost")), "ward", "city"),
    "groups with given keys": Kind(lambda t, c: t.group_by(c, keys=["A"]).agg(n=pv.count()), "city", "cost"),
    "groups with discovered keys": Kind(lambda t, c: t.group_by(c, discover=True).agg(n=pv.count()), "city", "cost"),
    "discovered keys and a sum": Kind(lambda t, c: t.group_by("city", discover=True).agg(s=pv.sum(c)), "cost", "day"),
    "quantiles of groups": Kind(lambda t, c: t.group_by("ward").agg(m=pv.median(c)), "age", "city"),
    "several quantiles of groups": Kind(
        lambda t, c: t.group_by("ward").quantiles(c, [0.25, 0.5], bins=8), "cost", "city"
    ),
    "bounds": Kind(lambda t, c: t.find_bounds(c), "cost", "ward"),
    "bounds that were found": Kind(
        lambda t, c: t.with_bounds(pv.queries.FoundBounds(c, 0, 9, True, 1, 0.01)).agg(s=pv.sum(c)), "cost", "ward"
    ),
    "crosstab": Kind(lambda t, c: t.crosstab(c, "ill"), "ward", "city"),
    "features of persons": Kind(
        lambda t, c: t.per_person(s=pv.sum(c), bounds={"s": (0, 9)}).agg(m=pv.mean("s")), "cost", "ward"
    ),
    "products": Kind(lambda t, c: t.agg(s=pv.sum(t[c] * t["age"])), "cost", "ward"),
    "clipped": Kind(lambda t, c: t.derive(x=t[c].clip(0, 9)).agg(s=pv.sum("x")), "cost", "city"),
    "weeks": Kind(lambda t, c: t.derive(w=t[c].week).group_by("w").agg(n=pv.count()), "day", "age"),
    "counts": Kind(lambda t, c: t.counts(old=t[c] >= 65, all=t[c] >= 0), "age", "ward"),
    "ranges": Kind(lambda t, c: t.ranges(c, bins=8), "age", "ward"),
    "quantiles": Kind(lambda t, c: t.quantiles(c, [0.5], bins=8), "age", "city"),
    "cdf": Kind(lambda t, c: t.cdf(c, bins=8), "cost", "ward"),
    "marginals": Kind(lambda t, c: t.marginals(c, "ill"), "ward", "city"),
    "top_k": Kind(lambda t, c: t.top_k(c, 1), "ward", "city"),
    "covariance": Kind(lambda t, c: t.covariance(c, "age"), "cost", "ward"),
    "correlation": Kind(lambda t, c: t.correlation(c, "age"), "cost", "day"),
    "sql": Kind(lambda t, c: t.sql(f"SELECT AVG({c}) AS m FROM visits WHERE ill = TRUE"), "cost", "ward"),
    "sql with groups": Kind(lambda t, c: t.sql(f"SELECT {c}, COUNT(*) AS n FROM visits GROUP BY {c}"), "ward", "city"),
    "public join": Kind(
        lambda t, c: t.join_public(WARDS, on=c, columns={"ward": COLUMNS["ward"], "floor": pv.Int(1, 2)}).agg(
            f=pv.sum("floor")
        ),
        "ward",
        "age",
    ),
    "join": Kind(lambda t, c: t.join(other()).agg(s=pv.sum(c)), "fee", "ward"),
    "linked": Kind(lambda t, c: linked().agg(s=pv.sum(c)), "fee", "number"),
    "union": Kind(lambda t, c: t.union(table(name="more")).agg(s=pv.sum(c)), "cost", "city"),
    "derived": Kind(lambda t, c: t.derive(half=t[c] / 2).agg(s=pv.sum("half")), "cost", "ward"),
    "where": Kind(lambda t, c: t.where(t[c] >= 65).agg(n=pv.count()), "age", "ward"),
    "bins": Kind(lambda t, c: t.bin(c, width=10, into="b").group_by("b").agg(n=pv.count()), "age", "ward"),
    "batch": Kind(lambda t, c: pv.batch(all=t.agg(n=pv.count()), sums=t.agg(s=pv.sum(c))), "cost", "city"),
    "batch of many kinds": Kind(lambda t, c: pv.batch(top=t.top_k(c, 1), c=t.counts(a=t[c] == "A")), "ward", "cost"),
}
BY_FILE = [name for name in KINDS if name not in ("linked",)]  # whose only table is `table(source)`, or the first is


def asked(name: str, t: pv.Table, column: Any = None) -> Any:
    kind = KINDS[name]
    return kind.ask(t) if kind.column is None else kind.ask(t, kind.column if column is None else column)


PROMISE = {"epsilon": 0.5, "delta": 1e-6}


@cache
def planned(name: str) -> Any:
    """The mechanism of a kind, planned once: for mistakes that only the data show, at which no plan looks."""
    return asked(name, table()).for_budget(**PROMISE)


def check_costs_nothing(ledger: pv.Ledger, mistake: str, ask: Callable[[pv.Ledger], Any]) -> None:
    """One sentence from our own tree that names what is wrong, and no entry in the ledger."""
    before = [entry.hash for entry in ledger.entries()]
    try:
        ask(ledger)
    except ReleaseFailed:
        raise AssertionError(f"{mistake}: the mistake was found after the payment") from None
    except PrivetError as problem:
        said = str(problem)
    except Exception as problem:
        raise AssertionError(f"{mistake}: {type(problem).__name__} is no error of ours: {problem}") from problem
    else:
        raise AssertionError(f"{mistake}: the mistake was not found")
    first, *shown = said.split("\n")  # a text of SQL is shown below the sentence, with a mark where it is wrong
    assert 15 < len(first) < 1_200, f"{mistake}: this is no sentence: {said}"
    assert len(shown) in (0, 2), f"{mistake}: this is no sentence: {said}"
    assert "Traceback" not in said
    assert [entry.hash for entry in ledger.entries()] == before, f"{mistake}: a mistake was paid for, and then: {said}"
