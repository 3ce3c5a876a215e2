"""What goes wrong in synthesizers elsewhere, as tests: replay on awkward neighbours, domains, counts, categories."""

import json
import re
from pathlib import Path

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
        # half of the records that are usual: there are six pairs, and what a plan does wrong shows in one of them
        found = audit.replay(plan.release, table(one_more(row)).data, table(USUAL).data, times=2)
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


def test_choices_without_bounded_range_are_not_priced_by_it() -> None:
    """Trap 14: epsilon^2/8 is for the exponential mechanism; permute and flip pays what its pure epsilon says."""
    bounded = pv.mechanisms.Exponential(scale=2.0, sensitivity=1.0).loss
    other = pv.mechanisms.PermuteAndFlip(scale=2.0, sensitivity=1.0).loss
    assert bounded.pure() == other.pure() == pytest.approx(1.0)
    assert bounded.zcdp().rho == pytest.approx(1.0 / 8.0)
    assert other.zcdp().rho > 1.5 / 8.0


@pytest.mark.parametrize("name", MEMBERS)
def test_noise_is_that_of_the_house_and_no_global_generator_is_touched(name: str) -> None:
    """Trap 15."""
    from privet.mechanisms.payment import observed

    seen: list[str] = []

    class Watch:
        def __call__(self, mechanism: object, value: object, run: object) -> object:
            seen.append(type(mechanism).__name__)
            return run()  # type: ignore[operator]

        def coins(self, what: str, draw: object, source: object) -> object:
            return draw(source)  # type: ignore[operator]

    plan = MEMBERS[name].plan(table(USUAL), epsilon=1.0, delta=1e-6)
    before = np.random.get_state()[1].tolist()
    with observed(Watch()):
        plan.release(table(USUAL).data)
    assert np.random.get_state()[1].tolist() == before
    assert set(seen) - {type(plan).__name__} <= {"Gaussian", "DiscreteLaplace", "Exponential"}
    assert "Gaussian" in seen


HERE = Path(__file__).parent
TRAPS = {
    1: ["test_traps.test_a_replay_sees_nothing_on_awkward_neighbours",
        "test_traps.test_an_empty_table_and_one_row_are_neighbours_like_others"],
    2: ["test_traps.test_a_category_that_one_person_has_shows_nowhere"],
    3: ["test_traps.test_the_number_of_rows_is_the_paid_one", "test_contract.test_a_plan_needs_no_data",
        "test_traps.test_a_twin_that_tells_the_exact_number_of_rows_is_seen"],
    4: ["test_mst.test_a_replaced_row_costs_twice_in_scores_and_root_two_in_tables",
        "test_aim.test_weights_are_shared_columns_and_the_sensitivity_is_their_largest"],
    5: ["test_aim.test_the_rounds_spend_the_budget_and_not_more", "test_mst.test_the_parts_add_up_to_the_budget",
        "test_contract.test_what_fails_while_it_runs_stays_paid",
        "test_contract.test_a_ledger_pays_once_reads_back_by_key_and_pays_again_without"],
    6: ["test_mst.test_rare_values_become_one_with_the_noise_of_all_of_them",
        "test_public_rows.test_a_replay_sees_nothing_where_a_row_decides_between_public_and_private"],
    7: ["test_graph.test_fill_in_counts", "test_aim.test_the_size_filter_counts_fill_in"],
    8: ["test_graph.test_a_fit_is_as_near_as_any_joint", "test_graph.test_a_warm_start_ends_where_a_cold_one_does",
        "test_graph.test_negative_counts_are_fitted_as_near_as_counts_can_be",
        "test_graph.test_measurements_of_one_table_are_merged_by_their_precision"],
    9: ["test_graph.test_what_underflows_in_one_clique_may_matter_in_another",
        "test_graph.test_structural_zeros_stay_empty_and_the_rest_is_fitted",
        "test_graph.test_columns_of_one_value_cost_nothing",
        "test_mst.test_a_column_of_rare_values_alone_is_one_value"],
    10: ["test_mst.test_rare_values_become_one_with_the_noise_of_all_of_them"],
    11: ["test_sampler.test_counts_of_a_clique_are_within_one_of_the_model",
         "test_sampler.test_rounding_is_unbiased_and_sums_exactly",
         "test_sampler.test_where_nothing_is_expected_rows_are_still_drawn"],
    12: ["test_lectures.test_one_query_and_many_queries", "test_lectures.test_small_db_has_the_law_of_the_page",
         "test_lectures.test_the_score_is_exact_for_a_million_rows",
         "test_lectures.test_a_large_output_space_is_costly_and_less_accurate"],
    13: ["test_lectures.test_mwem_has_the_numbers_of_the_page",
         "test_lectures.test_mwem_outputs_the_average_or_the_last_model",
         "test_lectures.test_the_rounds_of_mwem_make_the_papers_bound_least"],
    14: ["test_aim.test_the_rounds_spend_the_budget_and_not_more",
         "test_traps.test_choices_without_bounded_range_are_not_priced_by_it"],
    15: ["test_traps.test_noise_is_that_of_the_house_and_no_global_generator_is_touched"],
    16: ["test_persons.test_all_rows_of_a_person_are_priced",
         "test_persons.test_a_plan_that_prices_one_row_of_a_person_is_seen"],
    17: ["test_canaries.test_one_run_with_many_canaries_stays_below_the_price",
         "test_traps.test_a_twin_that_tells_the_exact_number_of_rows_is_seen"],
    18: ["test_error_bars.test_bars_of_measured_and_contained_tables_cover",
         "test_error_bars.test_bars_of_candidates_cover"],
}  # fmt: skip


@pytest.mark.parametrize("trap", range(1, 19))
def test_every_trap_has_its_tests(trap: int) -> None:
    for each in TRAPS[trap]:
        file, name = each.split(".")
        assert re.search(rf"^def {name}\(", (HERE / f"{file}.py").read_text(), re.MULTILINE), each
