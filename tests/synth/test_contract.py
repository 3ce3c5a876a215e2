"""The one way to fit: public facts, plan, payment, run; the model, its file and its rows."""

import numpy as np
import pytest

import privet as pv
from privet import noise, synth
from privet.errors import InvalidParameter, PrivetError, SerialisationError
from privet.privacy import Guarantee
from tests.synth.tables import SIZES, coded_table, correlated

MEMBERS = {
    "Independent": synth.Independent(),
    "MST": synth.MST(steps=50),
    "AIM": synth.AIM(workload=2, rounds=2, steps=50),
    "MWEMGraph": synth.MWEMGraph(steps=50),
    "MWEM": synth.MWEM(queries=pv.workloads.Marginals(SIZES, [(0, 1), (2,)]), rounds=3),
}
PROMISES = ({"epsilon": 1.0}, {"rho": 0.1}, {"mu": 0.5}, {"epsilon": 1.0, "delta": 1e-6})


@pytest.fixture(scope="module")
def table() -> pv.Table:
    return coded_table(correlated(), SIZES)


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_a_fit_is_paid_once_and_its_model_says_what_it_cost(
    name: str, promise: dict[str, float], table: pv.Table
) -> None:
    model = MEMBERS[name].fit(table, **promise)
    assert model.privacy_ is not None
    assert Guarantee(**promise).covers(model.privacy_.loss)
    assert model.privacy_.proof is not None
    assert len(model.sample(7)) == 7
    assert abs(len(model.sample()) - model.total) <= 1.0


def test_the_whole_price_is_the_budget_and_no_less(table: pv.Table) -> None:
    plan = synth.MST().plan(table, rho=0.3)
    assert plan.loss.zcdp().rho == 0.3
    plan = synth.AIM().plan(table, epsilon=1.0, delta=1e-9)
    assert plan.loss.zcdp().rho == pytest.approx(0.014973057674, rel=1e-4)
    assert Guarantee(1.0, 1e-9).covers(plan.loss)
    assert synth.AIM().plan(table, epsilon=0.7).loss.pure() == 0.7


def test_a_ledger_pays_once_reads_back_by_key_and_pays_again_without(table: pv.Table) -> None:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=2.0, delta=1e-5))
    first = MEMBERS["MST"].fit(table, epsilon=0.5, delta=1e-6, ledger=ledger, key="May")
    spent = dict(ledger.spent)
    again = MEMBERS["MST"].fit(table, epsilon=0.5, delta=1e-6, ledger=ledger, key="May")
    assert again == first
    assert dict(ledger.spent) == spent
    assert again.privacy_ is not None
    assert "stored" in str(again.privacy_)
    first.sample(10)
    assert dict(ledger.spent) == spent
    MEMBERS["MST"].fit(table, epsilon=0.5, delta=1e-6, ledger=ledger)
    assert dict(ledger.spent) != spent
    assert len([entry for entry in ledger.entries() if entry.kind == "reserve"]) == 2


def test_what_fails_while_it_runs_stays_paid(table: pv.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=2.0))
    plan = synth.Independent().plan(table, epsilon=0.5)

    def broken(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("privet.synth.independent.fitted", broken)
    with pytest.raises(KeyboardInterrupt):
        ledger.release(plan, table.data)
    assert ledger.spent.epsilon == pytest.approx(0.5)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_plan_needs_no_data(name: str) -> None:
    columns = {n: pv.Int(0, s - 1) for n, s in zip("abcd", SIZES, strict=True)}
    plan = MEMBERS[name].plan(columns, epsilon=1.0)
    assert plan.loss.pure() == 1.0
    assert plan.describe()
    assert plan.expected_error > MEMBERS[name].plan(columns, epsilon=10.0).expected_error > 0.0
    assert plan.max_bytes >= 8 * max(SIZES)
    described = MEMBERS[name].plan((columns, pv.tables.Rows(relation="replace")), epsilon=1.0)
    assert described.unit.relation == "replace"


def test_models_stay_below_the_bytes_of_their_plans(table: pv.Table) -> None:
    for member in MEMBERS.values():
        plan = member.plan(table, epsilon=1.0)
        assert 8 * member.fit(table, epsilon=1.0).cells <= plan.max_bytes
    few = {n: pv.Int(0, s - 1) for n, s in zip("abcd", SIZES, strict=True)}
    assert (synth.Independent().plan(few, epsilon=1.0).rounds, synth.MST().plan(few, epsilon=1.0).rounds) == (1, 3)


def test_a_model_is_a_file_without_data(table: pv.Table, tmp_path: object) -> None:
    for name, member in MEMBERS.items():
        model = member.fit(table, epsilon=1.0, delta=1e-6)
        synth.save(model, f"{tmp_path}/{name}.json")
        again = synth.load(f"{tmp_path}/{name}.json")
        assert again == model
        assert again.privacy_ == model.privacy_
        one, two = (each.sample(20, source=noise.Seeded(3)).codes for each in (model, again))
        assert np.array_equal(one, two)
    (bad := f"{tmp_path}/bad.json")
    with open(bad, "w", encoding="utf-8") as file:
        file.write('{"form": "privet-synth/1", "model": {"kind": "synth.model", "arrays": {}}}')
    with pytest.raises(SerialisationError):
        synth.load(bad)


def test_rows_come_in_the_types_of_the_schema() -> None:
    data = {"ward": ["A", "B", None, "Z"] * 100, "cost": [1.0, 99.0, float("nan"), 5.0] * 100}
    columns = {"ward": pv.Category(["A", "B"], null=True), "cost": pv.Float(0.0, 100.0, null=True)}
    rows = synth.MST(bins=4).fit(pv.Table(data, columns=columns), epsilon=5.0).sample(50)
    frame = rows.to_pandas()
    assert set(frame["ward"].dropna()) <= {"A", "B"}
    assert frame["cost"].dropna().between(0.0, 100.0).all()
    assert rows.to_polars().shape == rows.to_arrow().to_pandas().shape == (50, 2)


def test_persons_are_protected_with_all_their_rows() -> None:
    data = {"id": np.repeat(np.arange(50), 4), "a": np.arange(200) % 3}
    table = pv.Table(data, columns={"a": pv.Int(0, 2), "id": pv.Int(0, 99)}, unit=pv.Person("id", max_rows=3))
    plan = synth.Independent().plan(table, rho=0.5)
    assert plan.task.names == ("a",)
    assert float(plan.task.l1) == 3.0
    assert float(plan.task.l2) == 3.0
    model = synth.Independent().fit(table, rho=50.0)
    assert model.total == pytest.approx(150.0, abs=30.0)  # at most three rows of each of 50
    with pytest.raises(InvalidParameter, match="names persons"):
        synth.Independent(columns=["id", "a"]).plan(table, rho=0.5)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda t: synth.MST(columns=["a", "a"]).plan(t, epsilon=1.0), "each once"),
        (lambda t: synth.MST(columns=["zz"]).plan(t, epsilon=1.0), "zz"),
        (lambda t: synth.AIM(workload=[("a", "zz")]).plan(t, epsilon=1.0), "zz"),
        (lambda t: synth.AIM(workload=0).plan(t, epsilon=1.0), "at least 1"),
        (lambda t: synth.AIM(max_bytes=16).plan(t, epsilon=1.0), "max_bytes"),
        (lambda t: synth.MST().plan(t), "exactly one"),
        (lambda t: synth.MST().plan(t, epsilon=1.0, rho=1.0), "exactly one"),
        (lambda t: synth.SmallDB(queries=[]).plan(t, epsilon=1.0), "queries"),
        (lambda t: synth.MST().fit({"a": [1]}, epsilon=1.0), "Table"),
    ],
)
def test_public_mistakes_are_one_sentence_before_paying(made: object, words: str, table: pv.Table) -> None:
    with pytest.raises(PrivetError, match=words):
        made(table)  # type: ignore[operator]


def test_wide_and_large_tables_are_defined_or_refused_before_paying() -> None:
    wide = {f"x{i}": pv.Int(0, 3) for i in range(200)}
    assert synth.MST().plan(wide, epsilon=1.0).edges == 199
    with pytest.raises(InvalidParameter, match="too large"):
        synth.AIM(workload=20).plan(wide, epsilon=1.0)  # 10^27 tables, which are not listed
    large = {"a": pv.Int(0, 9_999), "b": pv.Int(0, 9_999), "c": pv.Int(0, 1)}
    assert (0, 1) not in synth.MST().plan(large, epsilon=1.0).pairs
    assert synth.MST().plan(large, epsilon=1.0).edges == 2
    with pytest.raises(InvalidParameter, match="combinations"):
        synth.MWEM(queries=pv.workloads.Marginals((10_000, 10_000, 2), [(2,)])).plan(large, epsilon=1.0)


def test_the_best_synthesizer_is_chosen_from_public_facts() -> None:
    columns = {"a": pv.Int(0, 1), "b": pv.Int(0, 1)}
    assert isinstance(synth.best(columns, rows=10**6, epsilon=1.0).synthesizer, synth.AIM)
    assert isinstance(synth.best(columns, rows=100, epsilon=1.0).synthesizer, synth.MST)
    assert isinstance(synth.best(columns, epsilon=1.0).synthesizer, synth.MST)
    assert isinstance(synth.best({"a": pv.Int(0, 1)}, epsilon=1.0).synthesizer, synth.Independent)


def test_released_tables_are_reconciled_for_nothing() -> None:
    columns = {"a": pv.Int(0, 1), "b": pv.Int(0, 1), "c": pv.Int(0, 1)}
    noise_ = pv.mechanisms.Gaussian.for_budget(rho=10.0, sensitivity=1.0)
    release = noise_.release(np.array([[20, 30], [40, 10]]))
    model = synth.reconcile([(("b", "a"), release), (("b", "c"), [[30.0, 20.0], [5.0, 45.0]], 1.0)], columns)
    assert model.total == pytest.approx(100.0, abs=3.0)
    assert np.allclose(model.marginal("b", "a"), [[20, 30], [40, 10]], atol=4.0)
    assert model.marginal("a", "c").sum() == pytest.approx(model.total)
    with pytest.raises(InvalidParameter, match="shape"):
        synth.reconcile([(("a",), [1.0, 2.0, 3.0], 1.0)], columns)


def test_constraints_are_kept_in_every_row() -> None:
    rows = np.random.default_rng(1).integers(0, 3, size=(500, 2))
    rows = rows[rows[:, 0] <= rows[:, 1]]
    table = coded_table(rows, (3, 3))
    for member in (
        synth.MST(constraints=[synth.AtMost("a", "b")]),
        synth.AIM(workload=2, rounds=2, constraints=[synth.AtMost("a", "b")]),
    ):
        made = member.fit(table, epsilon=1.0).sample(300)
        assert np.all(made["a"] <= made["b"])
    never = synth.Independent(constraints=[synth.Forbidden(("a", "b"), [(0, 0)])]).fit(table, epsilon=1.0).sample(300)
    assert not np.any((never["a"] == 0) & (never["b"] == 0))
    follows = synth.Derived("b", ("a",), {(0,): 2, (1,): 1, (2,): 0})
    made = synth.Independent(constraints=[follows]).fit(table, epsilon=1.0).sample(100)
    assert np.all(made["b"] == 2 - made["a"])


def test_answers_of_queries_are_reconciled_as_they_come() -> None:
    rows = {"a": np.array([0, 1] * 200), "w": np.array(["x", "y", "y", "y"] * 100)}
    columns = {"a": pv.Int(0, 1), "w": pv.Category(["x", "y"])}
    table, ledger = pv.Table(rows, columns=columns), pv.Ledger.create("memory:", budget=pv.Budget(rho=10.0))
    pairs = ledger.release(table.group_by("w", "a").agg(n=pv.count()), rho=2.0)
    alone = ledger.release(table.group_by("a").agg(n=pv.count()), rho=0.001)
    model = synth.reconcile([pairs, (("a",), alone), alone.value], columns)
    assert np.allclose(model.marginal("w", "a"), [[100, 0], [100, 200]], atol=8.0)
    exact, seen = {(m.clique, m.sigma > 5.0) for m in model.measurements}, model.measurements
    assert exact == {((0, 1), False), ((0,), True)}
    assert 0.5 <= seen[0].sigma <= 1.1  # .5, with intervals of whole numbers
    with pytest.raises(InvalidParameter, match="every combination"):
        synth.reconcile([alone], {"a": pv.Int(0, 5)})
    both = ledger.release(table.group_by("w").agg(n=pv.count(), mean=pv.mean("a")), rho=1.0)
    with pytest.raises(InvalidParameter, match="one column of counts"):
        synth.reconcile([both], columns)
    with pytest.raises(InvalidParameter, match="not about"):
        synth.reconcile([(("w",), alone)], columns)


def test_conditions_of_tables_are_linear_queries() -> None:
    columns = {"age": pv.Int(0, 9, null=True), "ward": pv.Category(["A", "B"]), "cost": pv.Float(0.0, 1.0)}
    table, coding = pv.Table({"age": [1], "ward": ["A"], "cost": [0.5]}, columns=columns), pv.tables.Coding.of(columns)
    old = synth.LinearQuery.where(coding.subset(["age", "ward"]), (table["age"] >= 7) & (table["ward"] == "B"))
    assert old.weights.shape == (11, 2)
    assert old.weights[:, 0].sum() == 0
    assert old.weights[:, 1].tolist() == [0] * 7 + [1] * 3 + [0]  # what is missing is not at least 7
    whole = synth.LinearQuery.where(coding, table["ward"] == "A").weights
    assert np.array_equal(whole[:, 0], np.ones((11, 32)))
    assert not whole[:, 1].any()
    with pytest.raises(InvalidParameter, match="in bins"):
        synth.LinearQuery.where(coding, table["cost"] >= 0.5)
    with pytest.raises(InvalidParameter, match="no column"):
        synth.LinearQuery.where(coding.subset(["ward"]), table["age"] >= 7)
