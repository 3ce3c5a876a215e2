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
