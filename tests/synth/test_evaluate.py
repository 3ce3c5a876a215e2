"""Distances, workload errors and scores of synthetic rows: by hand on small tables, paid on private ones."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import testing
from privet.audit import replay
from privet.errors import BudgetExceeded, InvalidParameter
from privet.synth.evaluate import Distances, distance, exact_distances, exact_scores, exact_workload_error
from privet.synth.mean_distance import STEPS, MeanDistance, exact_steps
from privet.tables import Coding
from tests.firsts import ends

COLUMNS = {"a": pv.Int(0, 1), "b": pv.Category(["x", "y"], null=True)}


@dataclass
class Rows:
    coding: Coding
    codes: Any


def synthetic(codes: list[list[int]]) -> Rows:
    return Rows(Coding.of(COLUMNS), np.array(codes).reshape(-1, 2))


def table(a: list[Any], b: list[Any], **facts: Any) -> pv.Table:
    return pv.Table({"a": a, "b": b}, columns=COLUMNS, **facts)


def test_distances_are_total_variations() -> None:
    rows, real = synthetic([[0, 0], [0, 1], [1, 1], [1, 2]]), table([0, 0, 0, 1], ["x", "x", None, "?"])
    one = exact_distances(rows, real, way=1)
    assert one.of == {("a",): 0.25, ("b",): 0.5}
    assert one.mean == 0.375
    assert one.worst == (("b",), 0.5)
    assert exact_distances(rows, real).of == {("a", "b"): 0.5}
    assert "most for b" in str(one)


def test_empty_sides_have_distance_one_and_no_error() -> None:
    full, none = table([0], ["x"]), table([], [])
    assert exact_distances(synthetic([]), full, way=1).mean == 1.0
    assert exact_distances(synthetic([[0, 0]]), none, way=1).mean == 1.0
    assert exact_distances(synthetic([]), none, way=1).mean == 0.0


def test_workload_errors_follow_the_weights() -> None:
    rows, real = synthetic([[0, 0], [0, 1], [1, 1], [1, 2]]), table([0, 0, 0, 1], ["x", "x", None, "?"])
    assert exact_workload_error(rows, real, workload=[("a",), ("b",)]) == 0.375
    assert exact_workload_error(rows, real, workload={("a",): 3.0, ("b",): 1.0}) == 0.3125
    for wrong in ({}, {("a",): 0.0}, {("a",): -1.0}, [("z",)]):
        with pytest.raises(InvalidParameter):
            exact_workload_error(rows, real, workload=wrong)


def test_models_trained_on_good_rows_beat_those_on_bad_ones() -> None:
    rng = np.random.default_rng(1)
    columns = {"x": pv.Int(0, 9), "w": pv.Category(["p", "q"]), "y": pv.Bool()}
    coding = Coding.of(columns)

    def drawn(n: int) -> np.ndarray[Any, Any]:
        x, w = rng.integers(0, 10, n), rng.integers(0, 2, n)
        return np.stack([x, w, (x >= 5) ^ (w == 1)], axis=1).astype(np.int64)

    good, test = drawn(600), drawn(300)
    bad = good.copy()
    bad[:, 2] = rng.permutation(bad[:, 2])
    held = {"x": test[:, 0], "w": np.array(["p", "q"])[test[:, 1]], "y": test[:, 2].astype(bool)}
    holdout = pv.Table(held, columns=columns)
    one = exact_scores(Rows(coding, good), holdout, target="y", real=holdout)
    two = exact_scores(Rows(coding, bad), holdout, target="y")
    assert one["random forest"].synthetic == 1.0 == one["gradient boosting"].real
    assert two["random forest"].synthetic < 0.7
    assert two["most frequent"].real is None
    single = bad.copy()
    single[:, 2] = 1
    alone = exact_scores(Rows(coding, single), holdout, target="y")
    assert {score.synthetic for score in alone.values()} == {float((test[:, 2] == 1).mean())}
    with pytest.raises(InvalidParameter, match="target must be"):
        exact_scores(Rows(coding, good), holdout, target="z")
    with pytest.raises(InvalidParameter, match="cut it"):
        exact_scores(Rows(Coding.of({"x": pv.Int(0, 90), "y": pv.Bool()}), good[:, :2]), holdout, target="x")


def test_paid_distance_is_the_exact_one_and_noise_within_its_bar() -> None:
    rng = np.random.default_rng(2)
    n = 5000
    real = table(rng.integers(0, 2, n).tolist(), np.array(["x", "y", "?"])[rng.integers(0, 3, n)].tolist())
    rows = synthetic(np.stack([rng.integers(0, 2, n), rng.integers(0, 2, n)], axis=1).tolist())
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=real.unit)
    paid = distance(rows, real, ledger=ledger, epsilon=0.5, key="how good")
    assert abs(paid.value - exact_distances(rows, real).mean) < 0.01
    assert paid.error.radius < 0.002
    assert distance(rows, real, ledger=ledger, epsilon=0.5, key="how good").value == paid.value
    with pytest.raises(BudgetExceeded):
        distance(rows, real, ledger=ledger, epsilon=0.6)


@pytest.mark.parametrize(
    ("most", "relation"), ends([(most, relation) for most in (1, 3) for relation in ("add_remove", "replace")])
)
def test_one_person_moves_the_sum_of_distances_by_no_more_than_the_noise_is_priced_for(
    relation: Any, most: int
) -> None:
    rng = np.random.default_rng(most)
    about = pv.Person("id", max_rows=most, relation=relation)
    largest = 0
    for _ in range(20):
        codes = synthetic(rng.integers(0, [2, 3], (5, 2)).tolist())
        n = int(rng.integers(0, 6))
        ids = rng.integers(1, 4, n).tolist()
        held = {"id": ids, "a": rng.integers(0, 2, n).tolist(), "b": rng.choice(["x", "y", "?"], n).tolist()}
        more = {"id": [0] * 4, "a": rng.integers(0, 2, 4).tolist(), "b": rng.choice(["x", "y", "?"], 4).tolist()}
        last = {"id": [0] * 4, "a": rng.integers(0, 2, 4).tolist(), "b": rng.choice(["x", "y", "?"], 4).tolist()}
        pair = [held if relation == "add_remove" else joined(held, last), joined(held, more)]
        found = []
        for each in pair:
            one = pv.Table(each, columns=COLUMNS, unit=about, name="t")
            plan = plan_of(codes, one)
            tables = one.data.exact_marginals(plan.coded, list(plan.cliques), (1, 2, 3, 4, 5))
            found.append(exact_steps(tables, plan.expected))
        largest = max(largest, abs(found[0] - found[1]))
        assert abs(found[0] - found[1]) <= plan.part.sensitivity.value
    assert largest > STEPS


def joined(one: dict[str, list[Any]], two: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: one[name] + two[name] for name in one}


def plan_of(rows: Rows, held: pv.Table) -> MeanDistance:
    from privet.tables import Coded

    shares = [np.full(2, 0.5), np.full((2, 3), 1 / 6)]
    return MeanDistance.of(Coded(held.rows, rows.coding), ((0,), (0, 1)), shares, rows=10, epsilon=1.0)


def test_noise_priced_for_less_is_refused() -> None:
    plan = plan_of(synthetic([[0, 0]]), table([0], ["x"]))
    cheaper = replace(plan.part, sensitivity=pv.mechanisms.Sensitivity(STEPS, norm="l1"))
    with pytest.raises(InvalidParameter, match="priced for all rows"):
        replace(plan, part=cheaper)
    twice = pv.mechanisms.Sensitivity(2 * plan.part.sensitivity.value, norm="l1", unit=pv.privacy.Unit("replace"))
    with pytest.raises(InvalidParameter, match="priced for the unit of the table"):
        replace(plan, part=replace(plan.part, sensitivity=twice))
    with pytest.raises(InvalidParameter, match="one for each cell"):
        replace(plan, expected=plan.expected[::-1])
    with pytest.raises(InvalidParameter, match="one table or more"):
        replace(plan, cliques=(), expected=())


class ExactDistance(MeanDistance):  # type: ignore[misc]
    """A twin that hands out what it was to protect."""

    name = "example_exact_distance"

    def _run(self, prepared: Any, source: Any) -> float:
        salts = self._coins("salt", pv.tables.data.drawn_salts, source)
        steps = exact_steps(prepared.exact_marginals(self.coded, list(self.cliques), salts), self.expected)
        self.part.release(steps, source=source)
        return float(steps) * self._unit_of_distance


def test_a_twin_that_hands_out_the_exact_distance_is_refuted() -> None:
    for example in MeanDistance.examples():
        plan = example.mechanism
        twin = ExactDistance(**{name: getattr(plan, name) for name in ("coded", "cliques", "expected", "rows", "part")})
        assert replay(twin.release, example.left, example.right).refuted
        assert not replay(plan.release, example.left, example.right).refuted
        testing.check_parts_are_the_price(example)


def test_distances_say_what_they_are() -> None:
    assert Distances({("a",): 0.1, ("b", "c"): 0.3}).worst == (("b", "c"), 0.3)
    for wrong in (0, 3):
        with pytest.raises(InvalidParameter, match="way"):
            exact_distances(synthetic([[0, 0]]), table([0], ["x"]), way=wrong)
    with pytest.raises(InvalidParameter, match="most_cells"):
        exact_distances(synthetic([[0, 0]]), table([0], ["x"]), most_cells=1)
    with pytest.raises(InvalidParameter, match="no synthetic rows"):
        distance(synthetic([]), table([0], ["x"]), epsilon=1.0)
