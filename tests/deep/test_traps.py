"""The pitfalls and traps of private training, one by one, and the tests that hold each of them off.

A name here is a promise: the test stands in this folder, or the whole run is red.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

PITFALLS = {
    "1 dividing by the realised size of a batch": ["test_1_the_divisor_is_a_public_constant"],
    "2 noise that does not follow the clip": [
        "test_2_noise_follows_the_clip",
        "test_2_a_missing_clip_is_refuted",
        "test_2_half_the_noise_is_noticed",
    ],
    "3 the price of another sampler": [
        "test_3_a_price_of_another_sampler_is_noticed",
        "test_a_loader_is_not_priced_as_a_poisson_sample",
        "test_more_or_other_releases_than_the_steps_of_a_round_are_not_amplified",
    ],
    "4 private numbers in the plan": [
        "test_4_plans_hold_public_numbers_only",
        "test_without_an_expected_batch_the_number_of_records_is_counted_within_the_promise",
    ],
    "5 a relation that nobody says": ["test_5_the_relation_is_said_everywhere"],
    "6 empty batches and numbers that are none": [
        "test_an_empty_batch_is_a_step_of_noise_alone",
        "test_a_record_that_is_not_finite_adds_nothing",
        "test_a_record_that_is_not_finite_leaves_the_others_as_they_are",
    ],
    "7 noise a piece": [
        "test_7_noise_a_piece_is_noticed",
        "test_how_many_records_are_computed_at_once_changes_nothing_else",
    ],
    "8 records that meet": ["test_8_records_that_meet_are_refused_with_a_remedy", "test_records_that_meet_are_refused"],
    "9 losses and norms that are shown": ["test_9_nothing_that_is_shown_holds_a_loss_a_norm_or_a_size"],
    "10 weak or reused randomness": [
        "test_10_no_seed_of_torch_reaches_noise_or_coins",
        "test_a_block_that_is_run_again_has_another_key",
    ],
    "11 noise in floating point": [
        "test_what_is_drawn_is_on_the_grid",
        "test_a_strict_training_releases_exact_sums",
        "test_a_record_that_is_rounded_half_up_would_be_too_long",
    ],
    "12 rounding in the wrong direction": [
        "test_12_calibration_rounds_up",
        "test_without_the_margin_they_would_be",
        "test_the_grid_costs_less_than_a_millionth_and_is_charged",
    ],
}

TRAPS = {
    "1 a loss that is no list": ["test_a_scalar_loss_is_refused", "test_a_loss_that_mixes_is_refused"],
    "2 a mean over nothing": ["test_an_empty_batch_has_zero_sums", "test_an_empty_mask_gives_exact_zeros"],
    "3 zero times infinity": ["test_what_is_not_finite_contributes_exactly_nothing"],
    "4 seeds of torch": ["test_10_no_seed_of_torch_reaches_noise_or_coins", "test_seeds_are_for_tests"],
    "5 buffers and weights that a pass changes": [
        "test_embeddings_that_rewrite_or_mix_are_refused",
        "test_what_the_check_changed_is_put_back",
    ],
    "6 inputs that are written over": ["test_an_input_that_is_written_over_is_refused"],
    "7 modules that cannot be watched": [
        "test_a_use_that_cannot_be_watched_is_found_by_its_gradient",
        "test_a_model_that_an_engine_cannot_follow_is_named",
    ],
    "8 dropout": ["test_dropout_is_no_obstacle", "test_attention_with_dropout_can_be_checked"],
    "9 decisions by private losses": ["test_a_run_stops_at_a_public_block_and_nothing_is_refunded"],
    "10 progress and shapes that tell": ["test_progress_tells_public_numbers", "test_batches_have_public_shapes"],
    "11 isolation on made-up records": [
        "test_only_shapes_and_types_of_the_data_are_used",
        "test_records_that_meet_where_numbers_are_large_or_small_are_found",
        "test_records_that_meet_in_rare_words_are_found",
    ],
    "12 a coin above q": ["test_coins_are_those_of_the_host", "test_poisson_draws_each_record_by_a_coin_of_its_own"],
    "13 the same noise after a resume": [
        "test_fresh_noise_after_a_restore",
        "test_a_block_that_is_run_again_has_another_key",
        "test_a_cancelled_run_goes_on_from_its_checkpoint",
    ],
    "14 what is learned before the plan": ["test_features_of_a_record_are_a_function_of_that_record"],
    "15 records that are mixed": ["test_a_record_with_views_moves_a_sum_by_no_more_than_the_clip"],
    "16 several records of a person": [
        "test_persons_are_refused",
        "test_a_group_is_counted_with_noise_for_all_of_it",
    ],
    "17 momentum before the noise": [
        "test_an_average_of_gradients_before_the_noise_is_no_option",
        "test_parameters_are_left_without_gradients",
    ],
    "18 copies": ["test_copies_of_a_trainer_share_no_budget", "test_copies_and_pickles_fork_neither_budget_nor_coins"],
}


@cache
def defined() -> set[str]:
    bodies = [ast.parse(file.read_text(encoding="utf-8")).body for file in Path(__file__).parent.glob("test_*.py")]
    return {each.name for body in bodies for each in body if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize(("what", "tests"), [*PITFALLS.items(), *TRAPS.items()])
def test_every_pitfall_and_every_trap_has_its_tests(what, tests):
    missing = set(tests) - defined()
    assert not missing, f"{what}: {missing}"


def test_none_was_left_out():
    for table, many in ((PITFALLS, 12), (TRAPS, 18)):
        assert [int(each.split()[0]) for each in table] == list(range(1, many + 1))
    assert "test_of_nothing" not in defined()
