"""Bugs in the referee: an innocent accused, a guilty one let go, a certificate that proves nothing."""

from tests.mutants.mutant import Table

AUDIT = Table("tests/audit")
plant = AUDIT.plant

plant(
    "replay: objects are compared by what they print",
    "audit:_state",
    'if hasattr(value, "__dict__"):',
    'if hasattr(value, "__dict__") and not printed:',
    "tests/audit/test_observed.py",
)
plant(
    "replay: what a later run changes is what the first one returned",
    "audit:_endings",
    '["result"] * (first.digest != second.digest)',
    "[]",
    "tests/audit/test_observed.py",
)
plant(
    "bounds: each of two bounds takes the whole level",
    "audit:point_epsilon",
    "each = alpha / (4.0 if two_sided else 2.0)",
    "each = alpha / (2.0 if two_sided else 1.0)",
    "tests/audit/statistics/test_golden_and_power.py::test_point_golden_values",
)
plant(
    "bounds: one success too many",
    "audit:rate_below",
    "np.where(none, 1.0, hits), trials",
    "np.where(none, 1.0, hits + 1.0), trials",
    "tests/audit/statistics/test_level.py::test_exact_binomial_bounds_cover",
)
plant(
    "bounds: delta is ignored",
    "audit:_ordered",
    "np.maximum(low - delta, 0.0), high",
    "np.maximum(low, 0.0), high",
    "tests/audit/statistics/test_edges.py::test_a_rate_below_delta_gives_nothing",
)
plant(
    "supremum: the region is too small",
    "audit:_Region.beyond",
    "points)) * (1.0 - 1e-9)",
    "points)) * 1.1",
    "tests/audit/statistics/test_supremum.py::test_the_size_never_exceeds_the_level",
)
plant(
    "supremum: what lies outside the confined rates is free",
    "audit:supremum_p_value",
    "worst * (1.0 + _ROUNDING) + LEAST",
    "worst * (1.0 + _ROUNDING)",
    "tests/audit/statistics/test_supremum.py::test_rates_outside_the_confined_ones_are_paid_for",
)
plant(
    "one run: half of the price of delta",
    "audit:one_run_p_value",
    "tail += 2.0 * guesses.canaries",
    "tail += guesses.canaries",
    "tests/audit/statistics/test_golden_and_power.py::test_one_run_p_value_is_the_sum_written_out",
)
plant(
    "guesses: the bottom counts members as right",
    "audit:guess",
    "int((~coins[ranked[:lower]]).sum())",
    "int(coins[ranked[:lower]].sum())",
    "tests/audit/statistics/test_edges.py::test_one_run_reads_scores_and_coins",
)
plant(
    "guesses: ties keep the order of the canaries",
    "audit:guess",
    "noise.permutation(len(values), source=source)",
    "np.arange(len(values))",
    "tests/audit/statistics/test_level.py::test_ties_are_broken_at_random",
)
plant(
    "coins: not fair",
    "audit:Coins.draw",
    "p=Fraction(1, 2), size=size",
    "p=Fraction(3, 5), size=size",
    "tests/audit/statistics/test_level.py::test_coins_are_fair_and_bound",
)
plant(
    "coins: any opening fits",
    "audit:Coins.verify",
    "return hashlib.sha256(opening.encode()).hexdigest() == commitment",
    "return True",
    "tests/audit/statistics/test_level.py::test_coins_are_fair_and_bound",
)
plant(
    "coins: the best of many numbers of guesses",
    "audit:Coins._fix",
    "if self._first and self._first[0] != (top, bottom):",
    "if False:",
    "tests/audit/test_training.py::test_the_numbers_of_guesses_are_committed_to",
)
plant(
    "betting: a bet knows its own pair",
    "audit:_earlier",
    "return np.vstack((before, sums[:-1]))",
    "return sums",
    "tests/audit/statistics/test_level.py::test_betting_keeps_its_level_with_one_event_and_with_many",
)
plant(
    "betting: the largest wealth instead of the mean",
    "audit:_average",
    "np.logaddexp.reduce(logs, axis=1) - math.log(logs.shape[1])",
    "logs.max(axis=1)",
    "tests/audit/statistics/test_level.py::test_betting_keeps_its_level_with_one_event_and_with_many",
)
plant(
    "betting: delta is ignored",
    "audit:BettingTest._bet",
    "payoff = a - self._factor * b - self.delta",
    "payoff = a - self._factor * b",
    "tests/audit/statistics/test_level.py::test_betting_keeps_its_level_with_one_event_and_with_many",
)
plant(
    "Bonferroni: every look has the whole level",
    "audit:Bonferroni.run",
    "alpha=level / looks)",
    "alpha=level)",
    "tests/audit/statistics/test_edges.py::test_bonferroni_pays_for_every_look",
)
plant(
    "choice: tested on the runs that chose",
    "audit:Choice.count",
    "if any(looked.overlaps(sample) for",
    "if False and any(looked.overlaps(sample) for",
    "tests/audit/statistics/test_level.py::test_runs_are_not_used_twice",
)
plant(
    "audit: every event has the whole level",
    "audit:decide",
    "alpha=alpha * share * part)",
    "alpha=alpha * part)",
    "tests/audit/test_cost.py::test_what_the_bets_had_is_taken_from_the_tests",
)
plant(
    "audit: the tests keep what the bets had",
    "audit:decide",
    "alpha=alpha * share * part)",
    "alpha=alpha * share)",
    "tests/audit/test_cost.py::test_what_the_bets_had_is_taken_from_the_tests",
)
plant(
    "audit: the worlds are not exchanged",
    "audit:Witness.hits",
    "return (hits[1], hits[0]) if self.swapped else (hits[0], hits[1])",
    "return hits[0], hits[1]",
    "tests/audit/test_black_box.py::test_an_event_of_the_right_world_counts_the_right_world_first",
)
plant(
    "audit: dependent runs are accused",
    "audit:MechanismAudit.verdict",
    "return self.test.verdict if self.depends is None else DEPENDS",
    "return self.test.verdict",
    "tests/audit/test_independence.py::test_state_is_named",
)
plant(
    "audit: a bound after an early stop",
    "audit:_Audit.run",
    "lower=0.0, ceiling=0.0, method=",
    "ceiling=0.0, method=",
    "tests/audit/test_cost.py::test_a_gross_violation_ends_early_and_its_certificate_repeats_the_bets",
)
plant(
    "early stop: the bets have the whole level",
    "audit:Bets.on",
    "alpha=alpha * BETTING)",
    "alpha=alpha)",
    "tests/audit/test_cost.py::test_a_gross_violation_ends_early_and_its_certificate_repeats_the_bets",
)
plant(
    "early stop: the p-value forgets the share",
    "audit:Bets.decided",
    "self.test.p_value / BETTING",
    "self.test.p_value",
    "tests/audit/test_cost.py::test_a_gross_violation_ends_early_and_its_certificate_repeats_the_bets",
)
plant(
    "runs: both worlds are simulated on one input",
    "audit:Subject._simulated",
    "bulk = self._bulk(simulate, inputs[world],",
    "bulk = self._bulk(simulate, inputs[0],",
    "tests/audit/test_black_box.py::test_the_right_scale_is_not_refuted_and_half_of_it_is",
)
plant(
    "runs: both worlds are run on one input",
    "audit:Subject._one_by_one",
    "value = given[world]",
    "value = given[needed[0]] if self.timed else inputs[0].fresh()",
    "tests/audit/test_black_box.py::test_a_foreign_callable_and_an_object_with_release_are_audited_alike",
)
plant(
    "runs: one world after the other",
    "audit:_order",
    "pairs = np.stack((first, 1 - first), axis=1)",
    "pairs = np.stack((0 * first, 1 - 0 * first), axis=1)",
    "tests/audit/test_black_box.py::test_timed_worlds_are_interleaved_in_random_order",
)
plant(
    "runs: all share one input",
    "audit:_Input.fresh",
    "        try:\n            return self._copied(self._value)",
    "        try:\n            return self._value",
    "tests/audit/test_cost.py::test_every_run_has_an_input_of_its_own",
)
plant(
    "runs: none is released",
    "audit:Subject.batches",
    "(usual_released(runs) if released is None else released) / runs if paths else 0.0",
    "0.0",
    "tests/audit/test_independence.py::test_a_share_of_the_tested_runs_is_released",
)
plant(
    "processes: copied noise is not noticed",
    "audit:_not_copied",
    "if agree < 1.0 and",
    "if False and",
    "tests/audit/test_cost.py::test_a_generator_that_is_copied_into_the_processes_is_refused",
)
plant(
    "encoder: padding counts as numbers",
    "audit:Encoder._summaries",
    "            there = np.arange(part.values.shape[1]) < part.lengths[:, None]\n            if",
    "            there = np.ones(part.values.shape, dtype=bool)\n            if",
    "tests/audit/test_padding.py",
)
plant(
    "encoder: learns forms from tested runs",
    "audit:Encoder._forms",
    "[self.vocabulary.get(form, -1) for form in forms]",
    "[self.vocabulary.setdefault(form, len(self.vocabulary)) for form in forms]",
    "tests/audit/test_padding.py",
)
plant(
    "marks: without the key",
    "audit:Marks.of",
    "digest_size=8, key=self.key)",
    "digest_size=8)",
    "tests/audit/test_cost.py::test_rows_of_plain_numbers_are_what_they_were_one_by_one",
)
plant(
    "certificate: the digest is not checked",
    "audit:Certificate.from_json",
    "if certificate.digest != digest:",
    "if False:",
    "tests/audit/test_certificate.py::test_a_changed_field_is_refused",
)
plant(
    "certificate: the signature is not checked",
    "audit:Certificate.verify",
    "        if self.signature is not None:\n            signing.verify",
    "        if False:\n            signing.verify",
    "tests/audit/test_certificate.py::test_a_changed_signature_is_refused",
)
plant(
    "certificate: any shares of the level",
    "audit:recomputed",
    "> 1.0 + 1e-9:",
    "> 9.0:",
    "tests/audit/test_certificate.py::test_findings_cannot_share_more_than_the_level",
)
plant(
    "certificate: released runs are not added up",
    "audit:Certificate._paths_add_up",
    "return tested <= {whole} and",
    "return bool(tested) and",
    "tests/audit/test_cost.py::test_the_count_of_released_runs_is_shown_and_checked",
)
plant(
    "replay: the left input against itself",
    "audit:_Record.compared",
    "found = self.against(pipeline, right, first)",
    "found = self.against(pipeline, left, first)",
    "tests/audit/test_record.py::test_what_no_noise_covers_is_found",
)
plant(
    "replay: accuses at the first difference",
    "audit:_Record.compared",
    "range(_CONFIRMED - 1)",
    "range(0)",
    "tests/audit/test_record.py::test_public_coins_that_agree_by_luck_accuse_nobody",
)
plant(
    "replay: one record of the noise, whatever was asked",
    "audit:record.replay",
    'range(1, count("times", times, 1) + 1)',
    "range(1, 2)",
    "tests/audit/test_record.py::test_a_mistake_that_shows_under_some_noise_only_is_found_by_several_records",
)
plant(
    "replay: l1 distances by the largest gap",
    "audit:_distance",
    "return sum(gaps, Fraction(0))",
    "return max(gaps, default=Fraction(0))",
    "tests/audit/test_record.py::test_the_distance_is_measured_in_the_declared_norm",
)
plant(
    "exact: losses of one sign only",
    "audit:_largest_ratio",
    "loss = abs(_ln(a) - _ln(b))",
    "loss = _ln(a) - _ln(b)",
    "tests/audit/test_exact.py",
)
plant(
    "exact: one order of the worlds only",
    "audit:_least_slack",
    "max(_delta(a, b, e), _delta(b, a, e))",
    "_delta(a, b, e)",
    "tests/audit/test_exact.py",
)
plant(
    "training: the pilot is tested too",
    "audit:_two_worlds",
    "tested = np.array(seen[pilot:])",
    "tested = np.array(seen)",
    "tests/audit/test_training.py::test_the_threshold_is_not_tested_on_the_runs_that_chose_it",
)
