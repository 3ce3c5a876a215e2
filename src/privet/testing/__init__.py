"""The laws that every loss, accountant, mechanism and algorithm must pass; open to outside authors.

A new kind of loss runs through all of them in a few lines:

>>> from privet import privacy, testing
>>> loss = privacy.RandomizedResponseLoss(1.0)
>>> for law in (testing.check_hashable, testing.check_json_round_trip, testing.check_mirror):  # or testing.LOSS_LAWS
...     law(loss)
>>> for accountant in testing.accountants():
...     testing.check_counts(loss, accountant)  # or each of testing.ACCOUNTANT_LAWS

Every law is a function that raises AssertionError with the loss and the numbers that break it.
"""

from privet._face import face
from privet.testing.alarms import AUDIT_ALARMS as AUDIT_ALARMS, AUDIT_SHARES as AUDIT_SHARES, alarm_level as alarm_level
from privet.testing.algorithms import (
    check_blocks_are_their_prices as check_blocks_are_their_prices,
    check_no_coin_of_its_own as check_no_coin_of_its_own,
    check_paid_once as check_paid_once,
    check_parts_are_the_price as check_parts_are_the_price,
    check_replay_sees_nothing as check_replay_sees_nothing,
    check_states_are_left_alone as check_states_are_left_alone,
)
from privet.testing.ask import accountants as accountants
from privet.testing.audits import (
    assert_every_mechanism_has_examples as assert_every_mechanism_has_examples,
    check_audit_can_fail as check_audit_can_fail,
    check_survives_audit as check_survives_audit,
    weaker_claim as weaker_claim,
)
from privet.testing.conduct import (
    check_error_bars_cover as check_error_bars_cover,
    check_every_coin_is_from_noise as check_every_coin_is_from_noise,
    check_nothing_private_is_said as check_nothing_private_is_said,
)
from privet.testing.flows import check_exact_numbers_stay_inside as check_exact_numbers_stay_inside
from privet.testing.labelled import Labelled as Labelled
from privet.testing.law import law_of as law_of, laws_of as laws_of, laws_run as laws_run
from privet.testing.laws.aggregates import (
    check_empty_data_are_answered as check_empty_data_are_answered,
    check_is_what_it_says as check_is_what_it_says,
    check_moves_as_priced as check_moves_as_priced,
    check_preview_is_what_is_read as check_preview_is_what_is_read,
)
from privet.testing.laws.combinators import (
    check_fixed_amplification as check_fixed_amplification,
    check_fixed_needs_replace as check_fixed_needs_replace,
    check_group_of_one as check_group_of_one,
    check_groups_cost_more as check_groups_cost_more,
    check_mixed_units_raise as check_mixed_units_raise,
    check_nested_sampling_multiplies as check_nested_sampling_multiplies,
    check_parallel_is_the_worst_block as check_parallel_is_the_worst_block,
    check_parallel_needs_fixed_blocks as check_parallel_needs_fixed_blocks,
    check_poisson_amplification as check_poisson_amplification,
    check_sampling_identity as check_sampling_identity,
    check_sampling_once_differs as check_sampling_once_differs,
    check_selection_costs_more as check_selection_costs_more,
)
from privet.testing.laws.curves import (
    check_cells as check_cells,
    check_enclosure as check_enclosure,
    check_masses as check_masses,
    check_mirror as check_mirror,
    check_post_processing as check_post_processing,
    check_profile_is_the_larger as check_profile_is_the_larger,
    check_profile_shape as check_profile_shape,
    check_renyi_covers_pair as check_renyi_covers_pair,
    check_renyi_shape as check_renyi_shape,
    check_span as check_span,
    check_statements_cover_pair as check_statements_cover_pair,
    check_total_variation as check_total_variation,
)
from privet.testing.laws.engines import (
    EngineExample as EngineExample,
    check_data_have_one_engine as check_data_have_one_engine,
    check_rows_are_all_there as check_rows_are_all_there,
    check_sums_are_exact as check_sums_are_exact,
    check_tables_of_counts_are_exact as check_tables_of_counts_are_exact,
    check_what_does_not_fit_is_refused as check_what_does_not_fit_is_refused,
)
from privet.testing.laws.estimators import (
    check_fit_is_paid_once as check_fit_is_paid_once,
    check_loss_keeps_its_constants as check_loss_keeps_its_constants,
    check_mistakes_are_unpaid as check_mistakes_are_unpaid,
    check_units_are_kept_or_refused as check_units_are_kept_or_refused,
    check_what_is_fitted_was_released as check_what_is_fitted_was_released,
)
from privet.testing.laws.groups import (
    check_bad_questions_are_refused as check_bad_questions_are_refused,
    check_fields_matter as check_fields_matter,
    check_groups_scale as check_groups_scale,
    check_to_replace as check_to_replace,
)
from privet.testing.laws.masses import check_mass_error as check_mass_error
from privet.testing.laws.nonsense import (
    check_call_refuses_nonsense as check_call_refuses_nonsense,
    check_refuses_nonsense as check_refuses_nonsense,
)
from privet.testing.laws.numbers import (
    check_answers_where_it_can as check_answers_where_it_can,
    check_bounds as check_bounds,
    check_costs_nothing as check_costs_nothing,
    check_counts as check_counts,
    check_never_costs_more as check_never_costs_more,
    check_not_below_pld as check_not_below_pld,
    check_question_round_trip as check_question_round_trip,
    check_sound as check_sound,
    check_targets_monotone as check_targets_monotone,
)
from privet.testing.laws.solvers import (
    check_plan_keeps_the_promise as check_plan_keeps_the_promise,
    check_price_is_that_of_the_parts as check_price_is_that_of_the_parts,
    check_records_that_do_not_fit_are_unpaid as check_records_that_do_not_fit_are_unpaid,
)
from privet.testing.laws.strategies import (
    StrategyExample as StrategyExample,
    check_answers_come_back as check_answers_come_back,
    check_error_is_that_of_the_noise as check_error_is_that_of_the_noise,
    check_sensitivity_is_brute_force as check_sensitivity_is_brute_force,
    check_strategy as check_strategy,
    example_strategies as example_strategies,
)
from privet.testing.laws.tightness import (
    check_inverse as check_inverse,
    check_monotone as check_monotone,
    check_narrow as check_narrow,
)
from privet.testing.laws.training_losses import (
    check_bend_stays_within_smoothness as check_bend_stays_within_smoothness,
    check_shape_is_kept as check_shape_is_kept,
    check_slope_is_the_derivative as check_slope_is_the_derivative,
    check_slope_stays_within_lipschitz as check_slope_stays_within_lipschitz,
    check_wide_slope_is_the_slope as check_wide_slope_is_the_slope,
)
from privet.testing.laws.values import (
    check_equal_is_interchangeable as check_equal_is_interchangeable,
    check_hashable as check_hashable,
    check_json_round_trip as check_json_round_trip,
    check_nested_is_flat as check_nested_is_flat,
    check_order_does_not_matter as check_order_does_not_matter,
    check_singles_are_one_fold as check_singles_are_one_fold,
    check_speaks_for_itself as check_speaks_for_itself,
)
from privet.testing.losses import (
    Family as Family,
    assert_every_kind_has_examples as assert_every_kind_has_examples,
    assert_every_price_lives_in_privacy as assert_every_price_lives_in_privacy,
    example_families as example_families,
    example_losses as example_losses,
    loss_strategy as loss_strategy,
)
from privet.testing.mechanisms import (
    check_behaviour_is_public as check_behaviour_is_public,
    check_equal_numbers_are_one_input as check_equal_numbers_are_one_input,
    check_error_bar_is_public as check_error_bar_is_public,
    check_meets_its_budget as check_meets_its_budget,
    check_outputs_have_their_form as check_outputs_have_their_form,
    check_parameters_are_frozen as check_parameters_are_frozen,
    check_price_is_a_value as check_price_is_a_value,
    check_release_round_trip as check_release_round_trip,
    check_runs_are_independent as check_runs_are_independent,
    check_seed_is_stamped as check_seed_is_stamped,
    check_simulation_is_the_release as check_simulation_is_the_release,
    example_mechanisms as example_mechanisms,
)
from privet.testing.oracle import enclose_delta as enclose_delta
from privet.testing.rooms import load_rooms as load_rooms
from privet.testing.same import same_value as same_value
from privet.testing.samplers import (
    GTest as GTest,
    check_samples as check_samples,
    g_test as g_test,
    pmf_discrete_gaussian as pmf_discrete_gaussian,
    pmf_discrete_laplace as pmf_discrete_laplace,
    pmf_geometric as pmf_geometric,
    pmf_rounded_cauchy as pmf_rounded_cauchy,
    pmf_rounded_gaussian as pmf_rounded_gaussian,
    pmf_rounded_laplace as pmf_rounded_laplace,
    pmf_rounded_staircase as pmf_rounded_staircase,
)
from privet.testing.steering import check_exact_numbers_are_seen as check_exact_numbers_are_seen
from privet.testing.strange_records import check_strange_records_are_covered as check_strange_records_are_covered
from privet.testing.worlds import Worlds as Worlds, worlds_of as worlds_of

LOSS_LAWS = laws_of("loss")
"""Laws of one loss: call each with the loss alone."""

ACCOUNTANT_LAWS = laws_of("accountant")
"""Laws of one loss and one accountant: call each with both."""

MECHANISM_LAWS = laws_of("mechanism")
"""Laws of one example of a mechanism."""

__all__, __dir__ = face(globals())
