"""More bugs in private learning: several classes, persons with several rows, and numbers that steer."""

from tests.mutants.mutant import Table

LEARN_MORE = Table("tests/learn -m 'not slow'")


def plant(name: str, place: str, old: str, new: str, *tests: str) -> None:
    """The tests that are named first, then all of the room."""
    LEARN_MORE.plant(name, place, old, new, *tests, *LEARN_MORE.tests)


# --- several classes ---

plant(
    "softmax price: no Jacobian",
    "privacy:SoftmaxPerturbationLoss._jacobian",
    "(self.classes - 1) * math.log1p(self.curvature / self.classes)",
    "0.0 * self.curvature",
    "tests/learn/test_softmax_pairs.py -k 'two_directions'",
)
plant(
    "softmax price: a record changes the Hessian in one direction",
    "privacy:SoftmaxPerturbationLoss._jacobian",
    "(self.classes - 1) * math.log1p(self.curvature / self.classes)",
    "math.log1p(self.curvature / 2.0)",
    "tests/learn/test_softmax_pairs.py -k 'two_directions'",
)
plant(
    "softmax objective: a smaller curvature is handed to the price",
    "learn:ObjectiveFit._price",
    "SoftmaxPerturbationLoss(multiplier, curvature, self.model.outputs, unit=self.task.unit)",
    "SoftmaxPerturbationLoss(multiplier, curvature / 2.0, self.model.outputs, unit=self.task.unit)",
    "tests/learn/test_softmax_pairs.py -k 'exact_law'",
)

# --- persons with several rows ---

plant(
    "by person: rows are clipped one by one",
    "learn:_person_gradient",
    "for sums in sums_of_persons(_steps_of_records(pieces, loss, w, exponent)):",
    "for _, sums in _steps_of_records(pieces, loss, w, exponent):",
    "tests/learn/test_person_sums.py -k 'moves_the_sum'",
)
plant(
    "by person: a person ends where a block does",
    "learn:sums_of_persons",
    "if last is not None and persons[0] == last:",
    "if False:",
    "tests/learn/test_person_sums.py -k 'blocks_end'",
)
plant(
    "by person: a sum that is not clipped",
    "learn:person_sums.clipped_sums",
    "(shares >= 1.0)[:, None]",
    "(shares >= 0.5)[:, None]",
    "tests/learn/test_person_sums.py -k 'no_sum_is_longer'",
)
plant(
    "by person: rows at the price of a sum",
    "learn:PersonFit.links",
    "return 1 if isinstance(self.rows, NoisyGDFit | StatisticsFit) and self.rows.by_person else self.max_rows",
    "return 1",
    "tests/learn/test_person_sums.py -k 'price_is_that_of_one'",
)

# --- numbers that steer ---

plant(
    "boosted: the exact spread decides on the clip",
    "learn:BoostedFit._with_slopes",
    "clip = clip_of(float(squares), float(many), self.spread.sigma)",
    "clip = clip_of(*(each / STEPS**2 for each in others), self.spread.sigma)",
    "tests/learn/test_steering.py",
)
plant(
    "coordinates: exact sizes decide on the clip",
    "learn:CoordinateFit._moved",
    "found = quantile_of_sizes(np.asarray(noisy),",
    "found = quantile_of_sizes(columns.sizes(lengths, self.clip),",
    "tests/learn/test_steering.py",
)
# --- groups, and parts with noise for less ---

_GROUPS, _TUKEY = "tests/laws/test_solvers.py -k 'group_of_three'", "tests/learn/test_tukey_em.py"
plant("columns: a group moves a sum as one", "learn:columns.sum_reach", " * task.unit.group_size", "", _GROUPS)
plant(
    "curvatures: a group moves levels as one", "learn:curvatures.levels_reach", " * task.unit.group_size", "", _GROUPS
)
plant(
    "curvature fit: a curvature with noise for less is taken",
    "learn:CurvatureFit.__post_init__",
    'check_reach("curvature", self.curvature.sensitivity, reach(1, 2, self.task.unit))',
    "pass",
    "tests/seams/test_parts_for_less.py",
)
plant(
    "bought norm: a fit whose price follows the norm is taken",
    "learn:BoughtNorm.fit_for",
    "made.loss.to_dict() != self.fit.loss.to_dict()",
    "False",
    "tests/learn/test_bought_norm.py",
)
plant("tukey: a group weighs depths as one", "learn:TukeyFit.rate", "2.0 * self.task.unit.group_size", "2.0", _TUKEY)
plant(
    "tukey: a group passes the test as one",
    "learn:TukeyFit.threshold",
    "self.task.unit.group_size - 1 - self.test.scale",
    "-self.test.scale",
    _TUKEY,
)
plant(
    "tukey: a group reaches one level, not as many",
    "learn:TukeyFit._safe",
    "self.least + self.task.unit.group_size + changed",
    "self.least + 1 + changed",
    _TUKEY,
)
plant(
    "curvatures: exact moments",
    "learn:known_curvatures",
    "Curvatures.released(np.asarray(noisy), given.sigma, task)",
    "Curvatures.released(columns.levels(largest_entries(task)[: task.features]), given.sigma, task)",
    "tests/laws/test_mechanisms.py -k 'coordinate_fit and replay'",
)
