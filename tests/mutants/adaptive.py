"""Bugs in strategies that look at the data: choices that are not paid for, or with less noise than their proof asks."""

from tests.mutants.mutant import Table

_LAWS = "tests/laws/test_mechanisms.py -m '' -k 'test_law and (adaptive_queries or noisy_partition)'"
ADAPTIVE = Table(
    "tests/workloads/test_dawa.py",
    "tests/workloads/test_mwem.py tests/workloads/test_automatic.py tests/workloads/test_adaptive_grid.py",
    _LAWS,
)
plant = ADAPTIVE.plant

plant(
    "partition: half the noise",
    "workloads:NoisyPartition._cheapest",
    "drawn = np.asarray(noise.discrete_laplace(scale=scale, size=(runs, len(cost)), source=source))",
    "drawn = np.asarray(noise.discrete_laplace(scale=scale / 2, size=(runs, len(cost)), source=source))",
)
plant(
    "partition: what other buckets may fall is forgotten",
    "workloads:NoisyPartition._noise",
    "return Fraction(self.scale) * (reach(width) + max(1, reach(self._widths[-1])))",
    "return Fraction(self.scale) * max(1, reach(width))",
)
plant("partition: a deviation moves by one", "workloads:reach", "return min(2, width - 1)", "return min(1, width - 1)")
plant(
    "partition: replace at the price of one move",
    "workloads:NoisyPartition.sensitivity",
    "Fraction(2 if self.unit.relation",
    "Fraction(1 if self.unit.relation",
)
plant(
    "DAWA: the partition is not charged",
    "workloads:DAWA._prices",
    "return first, task.rest(1.0 - self.share, first)",
    "return (task.rest(1.0 - self.share, first),) * 2 if task.norm == 'never' else (task.rest(1.0, first),)",
)
plant(
    "MWEM: a query's weights are taken for ones",
    "workloads:query_reach",
    "return Fraction(max(1, int(np.max(high - low if replace else np.maximum(high, -low)))))",
    "return Fraction(1)",
)
plant(
    "MWEM: a move between cells counts once",
    "workloads:query_reach",
    "high - low if replace else np.maximum(high, -low)",
    "np.maximum(high, -low)",
)
plant(
    "MWEM: one round is free",
    "workloads:MWEM._prices",
    "Repeated(choice.loss, rounds), Repeated(answer.loss, rounds)",
    "Repeated(choice.loss, max(1, rounds - 1)), Repeated(answer.loss, rounds)",
)
plant(
    "automatic: the true number of rows",
    "workloads:Automatic._run",
    "rows = max(0.0, float(self._total(task).release(int(cells.sum()), source=source).value))",
    "rows = float(cells.sum() + 0 * self._total(task).release(int(cells.sum()), source=source).value)",
)
plant(
    "measuring with more than the rest of the budget",
    "workloads:Task.measuring",
    "scale = up(self.ratio(price) * reach.value)",
    "scale = up(self.ratio(price) * reach.value / 2)",
)
plant(
    "biased answers pass for unbiased ones",
    "workloads:Biased.biased",
    "    def biased(self) -> bool:\n        return True",
    "    def biased(self) -> bool:\n        return False",
)
plant(
    "buckets: uneven ones are priced as even ones",
    "workloads:Prefix.bucket_energy",
    "whole = ((self.domain - blocks.before - blocks.cells) * blocks.buckets**2).sum()",
    "whole = ((self.domain - blocks.before - len(partition.ends) * 2) * blocks.buckets**2).sum()",
    "tests/workloads/test_bucket_energies.py",
)
plant(
    "buckets: the squares inside a block are those of its first bucket",
    "workloads:Partition.blocks",
    "squares=6 * (squares + reach) + 3 * ranks + 2 * zeroth + 3 * buckets",
    "squares=6 * squares + 3 * ranks + 2 * zeroth + 3 * buckets",
    "tests/workloads/test_bucket_energies.py",
)
plant(
    "ranges over buckets: those that end inside a block are counted once too often",
    "workloads:AllRanges.bucket_energy",
    "sums, squares = sums - 2 * n, squares - 6 * n * n",
    "sums, squares = sums - 2 * n, squares",
    "tests/workloads/test_bucket_energies.py",
)
plant(
    "cells get the least weight although queries need them",
    "workloads:best_weights",
    "best[0] = leaf",
    "leaf = 0.0",
    "tests/workloads/test_bucket_energies.py",
)
plant(
    "DAWA: a strategy that some partitions break",
    "workloads:fits_buckets",
    'return strategy.lines == "any" or',
    'return strategy.lines != "never" or',
    "tests/workloads/test_dawa.py",
)
plant(
    "MWEM: rounds that the true number of rows decides",
    "workloads:MWEM._run",
    "if self._adapts(task) and rows < _SURE * float(answer.scale):",
    "if self._adapts(task) and int(cells.sum()) < _SURE * float(answer.scale):",
)
plant(
    "MWEM: rounds are composed without looking",
    "workloads:mwem._parts",
    "if task.target.covers(spent) else",
    "if task.target.delta > 0.0 else",
)
_GRID = "tests/workloads/test_adaptive_grid.py tests/workloads/test_rectangles.py"
plant(
    "grid: the true number of rows says how many blocks there are",
    "workloads:AdaptiveGrid._run",
    "rows = max(0.0, float(self._total(task).release(int(cells.sum()), source=source).value))",
    "rows = float(cells.sum() + 0 * self._total(task).release(int(cells.sum()), source=source).value)",
    _GRID,
)
plant(
    "grid: blocks are cut by their true counts",
    "workloads:two_levels",
    "cuts = tile_cuts(lines, blocks.measured, noise_of(task, fine))",
    "cuts = tile_cuts(lines, blocks.design.measure(table), noise_of(task, fine))",
    _GRID,
)
plant(
    "grid: both levels with the whole of the budget",
    "workloads:AdaptiveGrid._halves",
    "return task.part_of(price, self.first), task.part_of(price, 1.0 - self.first)",
    "return price, price",
    _GRID,
)
plant(
    "a part of mu instead of its square",
    "workloads:Task.part_of",
    "kept = Guarantee(mu=1.0 / price.noise_multiplier).share(part)",
    "kept = Guarantee(mu=1.0 / price.noise_multiplier * (1.0 - (1.0 - part) ** 2) ** 0.5)",
    _GRID,
)
plant(
    "rectangles: a move between tiles counts once",
    "workloads:Rectangles._farthest",
    "return 2 * sum((weight if norm",
    "return 1 * sum((weight if norm",
    _GRID,
)
plant(
    "rectangles: what a block says counts as much as all of its tiles",
    "workloads:Rectangles._trust",
    "own = float(self.above) ** 2 * self._tiles",
    "own = float(self.above) ** 2 * self._tiles**0",
    _GRID,
)
plant(
    "rectangles: guesses pass for measurements",
    "workloads:Rectangles.biased",
    "    def biased(self) -> bool:\n        return True",
    "    def biased(self) -> bool:\n        return False",
    _GRID,
)
_MOVED = "tests/workloads/test_adaptive_grid.py -k 'moved_further'"
plant(
    "range queries: an adaptive strategy is not told the rows of a person",
    "workloads:RangeQueries.for_budget",
    '"max_rows": self.max_rows',
    '"max_rows": 1',
    _MOVED,
)
plant(
    "automatic: a person's rows move the total as one",
    "workloads:Automatic._total",
    "max_rows=task.max_rows",
    "max_rows=1",
    _MOVED,
)
plant(
    "adaptive grid: a person's rows move the total as one",
    "workloads:AdaptiveGrid._total",
    "max_rows=task.max_rows",
    "max_rows=1",
    _MOVED,
)
