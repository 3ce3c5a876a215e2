"""The laws: one function each, raising AssertionError with the loss and the numbers that break it."""

from collections.abc import Callable
from typing import Any

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
from privet.testing.laws.groups import (
    check_bad_questions_are_refused as check_bad_questions_are_refused,
    check_fields_matter as check_fields_matter,
    check_groups_scale as check_groups_scale,
    check_to_replace as check_to_replace,
)
from privet.testing.laws.masses import check_mass_error as check_mass_error
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
from privet.testing.laws.tightness import (
    check_inverse as check_inverse,
    check_monotone as check_monotone,
    check_narrow as check_narrow,
    region as region,
    sampled_gaussian as sampled_gaussian,
)
from privet.testing.laws.values import (
    check_equal_is_interchangeable as check_equal_is_interchangeable,
    check_hashable as check_hashable,
    check_json_round_trip as check_json_round_trip,
    check_nested_is_flat as check_nested_is_flat,
    check_order_does_not_matter as check_order_does_not_matter,
    check_singles_are_one_fold as check_singles_are_one_fold,
)

LOSS_LAWS: tuple[Callable[..., None], ...] = (
    check_hashable,
    check_json_round_trip,
    check_singles_are_one_fold,
    check_equal_is_interchangeable,
    check_total_variation,
    check_profile_shape,
    check_profile_is_the_larger,
    check_mirror,
    check_masses,
    check_cells,
    check_enclosure,
    check_span,
    check_renyi_shape,
    check_renyi_covers_pair,
    check_statements_cover_pair,
    check_post_processing,
    check_sampling_identity,
    check_sampling_once_differs,
    check_nested_sampling_multiplies,
    check_poisson_amplification,
    check_fixed_amplification,
    check_fixed_needs_replace,
    check_group_of_one,
    check_groups_cost_more,
    check_groups_scale,
    check_to_replace,
    check_fields_matter,
    check_mass_error,
    check_bad_questions_are_refused,
    check_mixed_units_raise,
    check_parallel_needs_fixed_blocks,
    check_parallel_is_the_worst_block,
    check_selection_costs_more,
    check_not_below_pld,
)
"""Laws of one loss: call each with the loss alone."""

ACCOUNTANT_LAWS: tuple[Callable[..., Any], ...] = (
    check_counts,
    check_bounds,
    check_targets_monotone,
    check_answers_where_it_can,
    check_question_round_trip,
    check_sound,
)
"""Laws of one loss and one accountant: call each with both."""
