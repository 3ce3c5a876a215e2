"""More bugs in private learning: several classes, and persons with several rows."""

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
