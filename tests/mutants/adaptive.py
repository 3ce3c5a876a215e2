"""Bugs in strategies that look at the data: choices that are not paid for, or with less noise than their proof asks."""

from tests.mutants.mutant import Table

_LAWS = "tests/laws/test_mechanisms.py -k 'test_law and (adaptive_queries or noisy_partition)'"
ADAPTIVE = Table(
    "tests/workloads/test_dawa.py tests/workloads/test_efpa.py",
    "tests/workloads/test_mwem.py tests/workloads/test_automatic.py",
    _LAWS,
)
plant = ADAPTIVE.plant

PARTITION = "workloads/adaptive/noisy_partition.py"
plant(
    "partition: half the noise",
    PARTITION,
    "drawn = np.asarray(noise.discrete_laplace(scale=scale, size=(runs, len(cost)), source=source))",
    "drawn = np.asarray(noise.discrete_laplace(scale=scale / 2, size=(runs, len(cost)), source=source))",
)
plant(
    "partition: what other buckets may fall is forgotten",
    PARTITION,
    "return Fraction(self.scale) * (reach(width) + max(1, reach(self._widths[-1])))",
    "return Fraction(self.scale) * max(1, reach(width))",
)
plant("partition: a deviation moves by one", PARTITION, "return min(2, width - 1)", "return min(1, width - 1)")
plant(
    "partition: replace at the price of one move",
    PARTITION,
    "Fraction(2 if self.unit.relation",
    "Fraction(1 if self.unit.relation",
)
plant(
    "DAWA: the partition is not charged",
    "workloads/adaptive/dawa.py",
    "return first, task.rest(1.0 - self.share, first)",
    "return (task.rest(1.0 - self.share, first),) * 2 if task.norm == 'never' else (task.rest(1.0, first),)",
)
plant(
    "EFPA: the bound of one frequency for all",
    "workloads/adaptive/efpa.py",
    "steps = Fraction(math.ceil(moves.value / tails.weight))",
    "steps = Fraction(math.ceil(moves.value / tails.weight / 2))",
)
plant(
    "EFPA: scores said to be monotone",
    "workloads/adaptive/efpa.py",
    "Exponential.for_budget(sensitivity=bound, candidates=counts,",
    "Exponential.for_budget(sensitivity=bound, candidates=counts, monotonic=True,",
)
plant(
    "MWEM: a query's weights are taken for ones",
    "workloads/adaptive/mwem.py",
    "return Fraction(max(1, int(np.max(high - low if replace else np.maximum(high, -low)))))",
    "return Fraction(1)",
)
plant(
    "MWEM: a move between cells counts once",
    "workloads/adaptive/mwem.py",
    "high - low if replace else np.maximum(high, -low)",
    "np.maximum(high, -low)",
)
plant(
    "MWEM: one round is free",
    "workloads/adaptive/mwem.py",
    "Repeated(choice.loss, self.rounds), Repeated(answer.loss, self.rounds)",
    "Repeated(choice.loss, max(1, self.rounds - 1)), Repeated(answer.loss, self.rounds)",
)
plant(
    "automatic: the true number of rows",
    "workloads/adaptive/automatic.py",
    "rows = max(0.0, float(self._total(task).release(int(cells.sum()), source=source).value))",
    "rows = float(cells.sum() + 0 * self._total(task).release(int(cells.sum()), source=source).value)",
)
plant(
    "measuring with more than the rest of the budget",
    "workloads/adaptive/adaptive_strategy.py",
    "scale = up(noise * reach.value)",
    "scale = up(noise * reach.value / 2)",
)
plant(
    "biased answers pass for unbiased ones",
    "workloads/families/biased.py",
    "    def biased(self) -> bool:\n        return True",
    "    def biased(self) -> bool:\n        return False",
)
