"""Every statistic keeps its level on true claims, at their boundary, for small and large samples."""

from tests.audit.statistics import checks


def test_exact_binomial_bounds_cover():
    checks.check_rates_cover()


def test_point_bound_keeps_its_level():
    checks.check_point_level()


def test_curve_test_keeps_its_level_in_both_orders():
    checks.check_curve_level()


def test_gaussian_bound_keeps_its_level():
    checks.check_gaussian_level()


def test_betting_keeps_its_level_with_one_event_and_with_many():
    checks.check_betting_level()


def test_one_run_keeps_its_level():
    checks.check_one_run_level()


def test_one_run_fdp_keeps_its_level():
    checks.check_fdp_level()


def test_split_keeps_its_level():
    checks.check_split_level()


def test_bonferroni_keeps_its_level():
    checks.check_bonferroni_level()


def test_ties_are_broken_at_random():
    checks.check_ties_are_broken_at_random()


def test_runs_are_not_used_twice():
    checks.check_reuse_is_refused()


def test_coins_are_fair_and_bound():
    checks.check_coins()
