"""What goes wrong in synthesizers elsewhere, as tests: replay on awkward neighbours, domains, counts, categories."""

import json

import numpy as np
import pytest

import privet as pv
from privet import audit, synth
from privet.mechanisms.stored import written
from privet.noise import Seeded

COLUMNS = {
    "ward": pv.Category(["A", "B", "C"], null=True),
    "cost": pv.Float(0.0, 10.0, null=True),
    "old": pv.Bool(null=True),
}
MEMBERS = {
    "Independent": synth.Independent(bins=3),
    "MST": synth.MST(bins=3, steps=20),
    "AIM": synth.AIM(bins=3, workload=2, rounds=2, steps=20),
    "MWEMGraph": synth.MWEMGraph(bins=3, steps=20),
}
USUAL = {"ward": ["A", "B", "A", "B"] * 20, "cost": [1.0, 9.0, 2.0, 8.0] * 20, "old": [True, False, True, True] * 20}
AWKWARD = {
    "rare category": ("C", 5.0, True),
    "NULL": (None, None, None),
    "NaN": ("A", float("nan"), False),
    "infinity": ("A", float("inf"), False),
    "minus infinity": ("A", float("-inf"), False),
    "unseen value": ("Zanzibar", 3.0, True),
}


def table(rows: dict[str, list[object]]) -> pv.Table:
    typed = {
        "ward": np.array(rows["ward"], dtype=object),
        "cost": np.array([np.nan if each is None else each for each in rows["cost"]], dtype=float),
        "old": np.array(rows["old"], dtype=object),
    }
    return pv.Table(typed, columns=COLUMNS)


def one_more(row: tuple[object, ...]) -> dict[str, list[object]]:
    return {name: [*USUAL[name], value] for name, value in zip(COLUMNS, row, strict=True)}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_replay_sees_nothing_on_awkward_neighbours(name: str) -> None:
    plan = MEMBERS[name].plan(table(USUAL), epsilon=1.0, delta=1e-6)
    for what, row in AWKWARD.items():
        found = audit.replay(plan.release, table(one_more(row)).data, table(USUAL).data)
        assert not found.refuted, (what, str(found))


@pytest.mark.parametrize("name", MEMBERS)
def test_an_empty_table_and_one_row_are_neighbours_like_others(name: str) -> None:
    empty = {each: [] for each in COLUMNS}
    single = {"ward": ["A"], "cost": [1.0], "old": [True]}
    plan = MEMBERS[name].plan(table(USUAL), epsilon=1.0, delta=1e-6)
    assert not audit.replay(plan.release, table(single).data, table(empty).data).refuted
    model = plan.release(table(empty).data).value
    assert model.total >= 1.0
    assert len(model.sample(3)) == 3


@pytest.mark.parametrize("name", MEMBERS)
def test_a_category_that_one_person_has_shows_nowhere(name: str) -> None:
    model = MEMBERS[name].fit(table(one_more(AWKWARD["unseen value"])), epsilon=1.0, delta=1e-6)
    assert "Zanzibar" not in json.dumps(written(model))
    assert "Zanzibar" not in repr(model) + str(model.privacy_)
    assert "Zanzibar" not in str(model.sample(200).to_pandas())
    assert model.coding.sizes == (4, 4, 3)  # of the schema alone


def test_the_number_of_rows_is_the_paid_one() -> None:
    rows = table({name: values * 5 for name, values in USUAL.items()})
    sizes = {len(MEMBERS["Independent"].fit(rows, epsilon=0.5, source=Seeded(seed)).sample()) for seed in range(8)}
    assert len(sizes) > 1  # an exact number would be the same each time
    public = synth.Independent(bins=3, rows=400).fit(rows, epsilon=0.5)
    assert len(public.sample()) == 400


def test_a_twin_that_tells_the_exact_number_of_rows_is_seen() -> None:
    plan = MEMBERS["Independent"].plan(table(USUAL), epsilon=1.0)

    class Talkative(type(plan)):  # type: ignore[misc]
        name = "example_talkative_synthesis"

        def _run(self, prepared: object, source: object) -> object:
            exact = self._exact_tables(prepared, [(0,)], source)[(0,)].sum()
            return super()._run(prepared, source), int(exact)

        form = pv.mechanisms.form.Anything()

    twin = Talkative(task=plan.task, money=plan.money)
    assert audit.replay(twin.release, table(one_more(AWKWARD["rare category"])).data, table(USUAL).data).refuted


def test_fitted_rows_stay_in_memory_of_nobody() -> None:
    model = MEMBERS["MST"].fit(table(USUAL), epsilon=1.0, delta=1e-6)
    held = json.dumps(written(model))
    assert "private data" not in held
    assert model.sample(0).to_pandas().shape == (0, 3)
