"""A preview states the price that a ledger then charges, and the intervals that come back."""

import json
from itertools import product

import numpy as np
import pytest

import privet as pv
from privet import accounting
from privet.errors import NoGuarantee
from privet.privacy import Guarantee
from privet.queries import Query, batches, query
from privet.queries.aggregates import Count, CountPersons
from privet.queries.covariances import CovarianceQuestion

ROWS = 1_000  # of each ward; values lie evenly between their bounds, as previews assume
_MIXED = np.random.default_rng(8).permutation(2 * ROWS)
FRAME = {
    "id": np.arange(2 * ROWS),
    "ward": np.tile(["A", "B"], ROWS),
    "age": np.tile(np.repeat(np.arange(100), 2), ROWS // 100),
    "cost": np.linspace(0.0, 10.0, 2 * ROWS),
    "risk": np.linspace(0.0, 10.0, 2 * ROWS)[_MIXED],
    "city": np.tile(["Rome", "Bonn"], ROWS),
}
COLUMNS = {
    "ward": pv.Category(["A", "B"]),
    "age": pv.Int(0, 99),
    "cost": pv.Float(0.0, 10.0),
    "risk": pv.Float(0.0, 10.0),
    "city": pv.Text(),
}
UNITS = {
    "rows": lambda relation: pv.Rows(relation=relation),
    "persons": lambda relation: pv.Person("id", max_groups=2, max_rows_per_group=3, relation=relation),
}
PROMISES = {
    "epsilon": ({"epsilon": 4.0}, pv.Budget(epsilon=10.0, delta=1e-3)),
    "delta": ({"epsilon": 4.0, "delta": 1e-6}, pv.Budget(epsilon=10.0, delta=1e-3)),
    "rho": ({"rho": 1.0}, pv.Budget(rho=5.0)),
    "mu": ({"mu": 1.5}, pv.Budget(mu=5.0)),
}
KINDS = {
    "count": lambda t: t.group_by("ward").agg(n=pv.count()),
    "count of all": lambda t: t.agg(n=pv.count()),
    "persons": lambda t: t.group_by("ward").agg(n=pv.count_persons()),
    "sum": lambda t: t.group_by("ward").agg(n=pv.sum("age")),
    "mean": lambda t: t.group_by("ward").agg(n=pv.mean("cost")),
    "variance": lambda t: t.group_by("ward").agg(n=pv.variance("cost")),
    "deviation": lambda t: t.group_by("ward").agg(n=pv.std("age")),
    "several": lambda t: t.group_by("ward").agg(n=pv.count(), m=pv.mean("cost"), s=pv.sum("age"), v=pv.std("cost")),
    "min": lambda t: t.group_by("ward").agg(n=pv.min("age")),
    "max": lambda t: t.agg(n=pv.max("cost")),
    "quantile": lambda t: t.agg(q=pv.quantile("age", 0.3), n=pv.count()),
    "quantiles": lambda t: t.quantiles("age", [0.25, 0.5, 0.75], bins=16),
    "cdf": lambda t: t.cdf("age", bins=16),
    "histogram": lambda t: t.histogram("age", bins=5),
    "top": lambda t: t.top_k("ward", 1),
    "marginals": lambda t: t.bin("age", bins=4).marginals("ward", "age_bin"),
    "covariance": lambda t: t.covariance("cost", "risk"),
    "correlation": lambda t: t.correlation("cost", "risk"),
    "ranges": lambda t: t.ranges("age", bins=16),
    "filtered": lambda t: t.counts(old=t["age"] >= 65, a=t["ward"] == "A"),
    "discovered": lambda t: t.group_by("city", discover=True).agg(n=pv.count_persons()),
    "discovered mean": lambda t: t.group_by("city", discover=True).agg(n=pv.count_persons(), m=pv.mean("cost")),
    "batch": lambda t: pv.batch(a=t.agg(n=pv.count()), b=t.top_k("ward", 1), c=t.covariance("age", "cost")),
    "batch with keys": lambda t: pv.batch(a=t.agg(q=pv.median("age")), b=KINDS["discovered"](t)),
}
COMBINED = list(product(UNITS, ("add_remove", "replace")))


def of_each_kind(every):
    """Every kind with every promise; about each unit and relation in turn, or about all of them. In every run a kind meets
    two promises: that of a delta, without which some are refused, and another one in turn."""
    for i, kind in enumerate(KINDS):
        for j, promise in enumerate(PROMISES):
            about = COMBINED if every else [COMBINED[(i + j) % 4]]
            often = every or promise == "delta" or promise == ("epsilon", "rho", "mu")[i % 3]
            marks = [] if often else [pytest.mark.slow]
            named = ((each, "-".join((kind, promise, *each))) for each in about)
            yield from (pytest.param(kind, promise, *each, id=name, marks=marks) for each, name in named)


def check_one(kind, given, which, relation):
    """Preview and release of one question: the price, what is charged, and the intervals."""
    promise, budget = PROMISES[given]
    table = pv.Table(FRAME, columns=COLUMNS, unit=UNITS[which](relation), name="t")
    question = KINDS[kind](table)
    ledger = pv.Ledger.create("memory:", budget=budget, unit=table.unit)
    if ("discovered" in kind or "keys" in kind) and given != "delta":
        for ask in (question.preview, lambda **told: ledger.release(question, **told)):
            with pytest.raises(NoGuarantee, match="delta"):
                ask(**promise)
        return
    known = {"expected_rows": ROWS} if isinstance(question, Query) else {}
    known = {"expected_rows": 2 * ROWS} if isinstance(question, CovarianceQuestion) else known
    told = question.preview(**known, **promise)
    release = ledger.release(question, **promise)
    (paid,) = (each for each in ledger.entries() if each.kind == "reserve")
    assert json.loads(json.dumps({**told.loss.to_dict(), "privet": 1})) == json.loads(paid.loss)
    assert release.loss.to_dict() == told.loss.to_dict()
    check_price(told.loss, promise, ledger)
    check_intervals(told, release.value, question)


def check_price(loss, promise, ledger):
    kept = Guarantee(**promise).covers(loss)
    if "delta" not in promise:
        assert kept
        return
    assert kept or accounting.epsilon(loss, delta=promise["delta"]).upper <= promise["epsilon"]
    assert ledger.spent["basic epsilon"] <= promise["epsilon"]
    assert ledger.spent["basic delta"] <= promise["delta"]


def check_intervals(told, answer, question):
    """What is off is what noise does to an interval: nothing for counts and sums, little for ratios of many rows."""
    if isinstance(question, CovarianceQuestion):
        wide = np.maximum(answer.upper - answer.matrix, answer.matrix - answer.lower)
        for (one, two), half in told.half_width.items():
            assert wide[answer._place((one, two))] == pytest.approx(half, rel=0.1)
        return
    if not isinstance(question, Query):
        return
    for name, request in question.outputs:
        half = told.half_width[name]
        if half is None:  # one quantile
            assert "no interval" in answer.notes[name]
            continue
        low, high = answer.interval(name)
        given = np.maximum(high - answer[name], answer[name] - low)
        whole = isinstance(request, Count | CountPersons)
        assert given == pytest.approx(np.full(len(given), half), rel=0.0 if whole else 0.07, abs=1.0 if whole else 0.0)


@pytest.mark.parametrize(("kind", "given", "which", "relation"), list(of_each_kind(False)))
def test_a_preview_is_what_is_charged_and_answered(kind, given, which, relation):
    check_one(kind, given, which, relation)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "given", "which", "relation"), list(of_each_kind(True)))
def test_every_preview_is_what_is_charged_and_answered(kind, given, which, relation):
    check_one(kind, given, which, relation)


def test_a_share_that_is_charged_twice_is_seen(monkeypatch):
    sound = batches.Batch.preview
    monkeypatch.setattr(
        batches.Batch, "preview", lambda self, **told: sound(self, **{k: v / 2 for k, v in told.items()})
    )
    with pytest.raises(AssertionError):
        check_one("batch", "epsilon", "rows", "add_remove")


def test_an_interval_that_is_stated_too_wide_is_seen(monkeypatch):
    """As that of a deviation was: the root of what a variance may be off."""
    sound = query._half_width
    monkeypatch.setattr(query, "_half_width", lambda *of: 3.0 * sound(*of))
    with pytest.raises(AssertionError):
        check_one("deviation", "epsilon", "rows", "add_remove")


def test_what_is_bought_for_an_error_has_that_error():
    table = pv.Table(FRAME, columns=COLUMNS, name="t")
    asked = table.agg(d=pv.std("cost"))
    epsilon = asked.for_error(within=0.1, expected_rows=2 * ROWS)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0), unit=table.unit)
    answer = ledger.release(asked, epsilon=epsilon).value
    low, high = answer.interval("d")
    assert max(high - answer["d"], answer["d"] - low) == pytest.approx([0.1], rel=0.07)


def test_a_column_of_one_step_is_stated_as_it_is_answered():
    table = pv.Table({"x": [7, 7]}, columns={"x": pv.Int(7, 7)}, name="t")
    told = table.agg(m=pv.mean("x"), s=pv.sum("x"), n=pv.count()).preview(epsilon=1.0)
    assert told.half_width["m"] == 0.0
