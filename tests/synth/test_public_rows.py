"""Public rows beside private ones: when a public table is taken, what that costs, and that no error bar rests on it."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import audit, synth
from privet.errors import InvalidParameter
from privet.mechanisms import Exponential
from privet.mechanisms.payment import observed
from privet.noise import Seeded
from privet.privacy import Guarantee
from privet.synth.money import UNITS
from privet.synth.public_tables import PublicTables, exact_gains
from tests.synth.tables import coded_table
from tests.synth.test_aim import _Watch


def chain(n: int, seed: int) -> np.ndarray[Any, Any]:
    """Rows of four columns, each of which mostly repeats the one before."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 6, n)]
    for _ in range(3):
        columns.append(np.where(rng.random(n) < 0.9, columns[-1], rng.integers(0, 6, n)))
    return np.stack(columns, axis=1)


SIZES = (6, 6, 6, 6)
ROWS, ALIKE = chain(600, 1), coded_table(chain(4_000, 2), SIZES)
FACTS: Any = {"workload": 2, "rounds": 4, "steps": 40}


def fitted(public: Any, rho: float, seed: int = 0) -> synth.SyntheticModel:
    return synth.AIM(public=public, **FACTS).fit(coded_table(ROWS, SIZES), rho=rho, source=Seeded(seed))


@pytest.fixture(scope="module")
def model() -> synth.SyntheticModel:
    """A model for a small budget, for which public rows that are alike were at hand."""
    return fitted(ALIKE, 0.01)


def far(model: synth.SyntheticModel) -> float:
    """The mean total variation of the tables of two columns."""
    found = []
    for clique in combinations(range(4), 2):
        exact, table = np.zeros((6, 6)), model.table(clique)
        np.add.at(exact, tuple(ROWS[:, clique].T), 1 / len(ROWS))
        found.append(np.abs(table / table.sum() - exact).sum() / 2.0)
    return float(np.mean(found))


def test_public_rows_that_are_alike_are_taken_and_help_where_the_budget_is_small(model: synth.SyntheticModel) -> None:
    without = fitted(None, 0.01)
    assert model.public
    assert not without.public
    assert far(model) < 0.5 * far(without)


def test_public_rows_that_mislead_are_left_and_do_little_harm() -> None:
    wrong = coded_table(np.random.default_rng(3).integers(0, SIZES, (5_000, 4)) * [1, 0, 1, 1], SIZES)
    misled, without = fitted(wrong, 2.0), fitted(None, 2.0)
    assert not [clique for clique in misled.public if 1 in clique]
    assert far(misled) < 1.5 * far(without)


def test_a_public_table_costs_its_choice_alone_and_all_rounds_no_more_than_the_budget() -> None:
    rho, widest, watch = 0.01, 2**16 * UNITS, _Watch()
    plan = synth.AIM(public=ALIKE, **FACTS).plan(coded_table(ROWS, SIZES), rho=rho)
    with observed(watch):
        model = plan.release(coded_table(ROWS, SIZES).data, source=Seeded(1)).value
    parts: list[Any] = [each for each in watch.parts if each is not plan]
    choices = [each for each in parts if isinstance(each, Exponential)]
    spent = math.fsum(each.loss.zcdp().rho for each in parts)
    assert rho * (1.0 - 1e-6) <= spent <= rho
    assert len(choices) == len(model.public) + len(parts) - len(choices) - 4  # four columns were measured at first
    assert len(set(model.public)) == len(model.public) > 0
    assert float(choices[0].sensitivity.value) == 2 * widest  # a public table's score moves by twice its weight
    assert float(choices[-1].sensitivity.value) == widest  # the last round measures in any case


def test_a_row_may_move_the_score_of_a_public_table_twice() -> None:
    answers, guesses = {(0,): np.array([50.0, 50.0])}, {(0,): np.array([150.0, 50.0])}
    one, two = (exact_gains({(0,): np.array([n, 100])}, answers, {(0,): 7}, guesses)[0] for n in (100, 101))
    assert two - one == 2 * 7 * UNITS


def test_a_replay_sees_nothing_where_a_row_decides_between_public_and_private() -> None:
    examples = [each for each in synth.AIMPlan.examples() if each.mechanism.public is not None]
    assert len(examples) == 2
    for each in examples:
        assert not audit.replay(each.mechanism.release, each.left, each.right).refuted
    turning = examples[-1]
    took = [
        sum((0, 1) in turning.mechanism.release(world, source=Seeded(seed)).value.public for seed in range(10))
        for world in (turning.left, turning.right)
    ]
    assert took[0] >= 9
    assert took[1] <= 1


def test_no_error_bar_rests_on_a_public_table(model: synth.SyntheticModel) -> None:
    held = [set(m.clique) for m in model.measurements]
    for clique in model.public:
        names = ["abcd"[i] for i in clique]
        if clique in model.candidates:
            assert not model.error(*names).around  # a sum of differences, from the paid choice
        elif not any(set(clique) <= each for each in held):
            with pytest.raises(InvalidParameter, match="nothing was measured"):
                model.error(*names)
    assert model.total == pytest.approx(600.0, abs=200.0)  # that of the private rows, as it was paid for


def test_a_model_with_public_tables_is_a_file_and_a_key_knows_them(model: synth.SyntheticModel, tmp_path: Any) -> None:
    synth.save(model, tmp_path / "m.json")
    again = synth.load(tmp_path / "m.json")
    assert again == model
    assert again.public == model.public
    table, other = coded_table(ROWS, SIZES), coded_table(chain(50, 8), SIZES)
    plans = [synth.AIM(public=public, **FACTS).plan(table, rho=1.0) for public in (ALIKE, ALIKE, other)]
    assert plans[0].to_dict() == plans[1].to_dict() != plans[2].to_dict()
    assert plans[0] == plans[1] != plans[2]
    assert isinstance(plans[0].public, PublicTables)


MISTAKES = {
    "the private table": (lambda t: t, "is the table that is fitted"),
    "other columns": (lambda t: coded_table(np.zeros((5, 2)), (2, 2)), "same columns"),
    "no rows": (lambda t: coded_table([], SIZES), "no row"),
    "a missing file": (lambda t: pv.Table("nowhere.parquet", columns=t.rows.columns), "nowhere"),
    "no table": (lambda t: {"a": [1]}, "public"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_about_public_rows_are_refused_before_paying(what: str) -> None:
    table, (made, words) = coded_table(ROWS, SIZES), MISTAKES[what]
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    with pytest.raises(pv.errors.PrivetError, match=words):
        synth.AIM(public=made(table), **FACTS).fit(table, epsilon=0.5, ledger=ledger)
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


def test_the_price_is_that_of_the_promise() -> None:
    for promise in ({"epsilon": 1.0}, {"mu": 0.5}, {"epsilon": 1.0, "delta": 1e-6}):
        model = synth.AIM(public=ALIKE, **FACTS).fit(coded_table(ROWS, SIZES), **promise)
        assert model.privacy_ is not None
        assert Guarantee(**promise).covers(model.privacy_.loss)
