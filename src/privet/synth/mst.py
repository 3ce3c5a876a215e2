"""MST: a tree of pairs of columns, chosen by noisy looks at what independence misses."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._calls import door
from privet._numerics import Array
from privet._progress import track
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, Example, Source, register
from privet.privacy import Guarantee
from privet.synth.compression import Compression, without_rare
from privet.synth.graph import Clique, Measurement, combined, fitted, least_variance_total, onto_simplex, tree_cells
from privet.synth.money import (
    Noise,
    Purse,
    choice_by_distance,
    deviation,
    mean_size,
    measured,
    money_of,
    table_noise,
)
from privet.synth.small_examples import canaries_in, data_of, pair, rare_pair, task_of
from privet.synth.synthesis import Synthesis, exact_distance
from privet.synth.synthesizer import Synthesizer
from privet.synth.synthetic_model import SyntheticModel
from privet.synth.task import Task
from privet.tables import Data

_RARE = 3.0  # standard deviations that a value's noisy count must reach to stay by itself
_HIDDEN = 0.2  # of all rows: 8 columns of adult at epsilon .01 (.25) are better without pairs, at .015 (.17) with them
_MOST = 2**26  # cells of all pairs that may be chosen
_FITS = 2.0**45  # rows of a model, and of any table that there is, whose distances have 63 bits at most


@door
@final
@dataclass(frozen=True, kw_only=True)
class MST(Synthesizer):
    """Noisy counts of every column, then of d - 1 pairs of columns that form a tree: those that the independence of columns
    misses most. Quick, and good where the budget is small or columns are many. Where noise hides the columns themselves,
    no pairs are measured, and the rest of the budget is for columns: `Independent` in two looks.

    `steps` limits the fit, which costs nothing but time; pairs of more than `max_cells` cells are not chosen.

    **Reference:** McKenna, Miklau & Sheldon 2021.

    >>> import privet as pv
    >>> rows = {"a": [0, 1] * 500, "b": [0, 1] * 500}
    >>> model = MST().fit(pv.Table(rows, columns={"a": pv.Int(0, 1), "b": pv.Int(0, 1)}), epsilon=1.0, delta=1e-6)
    >>> bool(model.marginal("a", "b")[0, 0] > model.marginal("a", "b")[0, 1])
    True
    """

    steps: int = 500
    max_cells: int = 10**6

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, steps=count("steps", self.steps, 1), max_cells=count("max_cells", self.max_cells, 1))

    def _plan(self, task: Task, promise: Guarantee) -> "MSTPlan":
        made = MSTPlan(task=task, money=money_of(promise), steps=self.steps, max_cells=self.max_cells)
        return made._charged_at(promise)


@final
@register
@dataclass(frozen=True, kw_only=True)
class MSTPlan(Synthesis, Algorithm[Data, SyntheticModel]):
    """Noisy counts of every column, exponential mechanisms that choose a tree of pairs, noisy counts of the pairs.

    **Guarantee:** a third of the budget for each of the three, in equal parts; what no choice was paid for goes to the
    tables that are measured last. Which these are follows from releases, and the sum cannot pass the whole.
    **Sensitivity:** of tables, l1 and l2, and of the l1 distance between a table and a public one: the rows of one person.
    Rare values are merged by their noisy counts.
    **Proof:** docs/proofs/synth/mst.md.
    """

    name = "synth_mst"

    task: Task
    money: Guarantee
    steps: int = 500
    max_cells: int = 10**6
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, steps=count("steps", self.steps, 1), max_cells=count("max_cells", self.max_cells, 1))
        if sum(map(self.task.cells, self.pairs)) > _MOST:
            raise InvalidParameter(
                f"all pairs of columns together have more than {_MOST:,} cells: leave columns out (columns=), take wider "
                "bins (bins=), or a smaller max_cells="
            )
        one, choice, two = self.shares
        self._check_parts([one, two] if self.edges else [one], [choice] if self.edges else [])

    @kept_property
    def pairs(self) -> list[Clique]:
        """The pairs that may be chosen, by public sizes."""
        every = combinations(range(len(self.task.sizes)), 2)
        return [each for each in every if self.task.cells(each) <= self.max_cells]

    @kept_property
    def edges(self) -> int:
        """The number of pairs that are chosen: one less than there are columns, unless pairs are too large."""
        return len(self.task.sizes) - len(_components(len(self.task.sizes), self.pairs))

    @property
    def shares(self) -> tuple[float, float, float]:
        """The prices of a column, a choice and a pair, as shares of the budget."""
        d, edges = len(self.task.sizes), self.edges
        return (1.0 / (3 * d), 1.0 / (3 * edges), 1.0 / (3 * edges)) if edges else (1.0 / d, 0.0, 0.0)

    def _run(self, prepared: Any, source: Source) -> SyntheticModel:
        columns: list[Clique] = [(i,) for i in range(len(self.task.sizes))]
        tables = self._exact_tables(prepared, [*columns, *self.pairs], source)
        purse, work = Purse(self.money), track("tables", len(columns) + self.edges)
        wide = self._measured(columns, tables, purse, self.shares[0], source)
        work.advance(len(columns))
        total, small = self._total(wide), self._compressed(wide)
        found, chosen = [_merged(each, small) for each in wide], list[Clique]()
        if not self._hidden(total):
            chosen = self._chosen(tables, found, small, total, purse, source)
        if chosen:
            merged = {each: small.shrunk(tables[each], each) for each in chosen}
            found += self._measured(chosen, merged, purse, purse.left / len(chosen), source)
        elif self.edges:  # the rest is for columns by themselves
            wide += self._measured(columns, tables, purse, purse.left / len(columns), source)
            total, small = self._total(wide), self._compressed(wide, alike=True)
            found = [_merged(each, small) for each in wide]
        work.advance(self.edges)
        graph = fitted(small.sizes, found, total, allowed=self.task.allowed, steps=self.steps)
        return SyntheticModel(self.task.coded.coding, graph, found, compression=small, method="MST")

    def _total(self, found: Sequence[Measurement]) -> float:
        return least_variance_total(found).value if self.task.rows is None else float(self.task.rows)

    def _hidden(self, total: float) -> bool:
        """True if noise on the counts of a column exceeds a fifth of so many rows, for the column in the middle by its
        number of values: pairs would say less still. By the paid or public total alone."""
        return mean_size(self._first_noise()) * median(self.task.sizes) > _HIDDEN * total

    def _measured(
        self, cliques: Sequence[Clique], tables: Mapping[Clique, Array], purse: Purse, share: float, source: Source
    ) -> list[Measurement]:
        """Noisy tables of these cliques, each for this share of the budget."""
        found = []
        for each in cliques:
            noise = table_noise(purse.buy(share), self.task)
            found.append(measured(each, noise.release(tables[each], source=source).value, noise))
        return found

    def _chosen(
        self,
        tables: Mapping[Clique, Array],
        found: Sequence[Measurement],
        small: Compression,
        total: float,
        purse: Purse,
        source: Source,
    ) -> list[Clique]:
        """The pairs that independence misses most, by paid choices. Where constraints leave none that is small enough, no
        choice is paid: the pairs that there are share the rest."""
        alone, chosen = [onto_simplex(each.values, total) for each in found], list[Clique]()
        far = {  # once: what was chosen before changes which pairs are open, and no distance
            c: exact_distance(small.shrunk(tables[c], c), np.outer(alone[c[0]], alone[c[1]]) / total)
            for c in self._open([])
        }
        for _ in range(self.edges):
            open_ = self._open(chosen)
            if not open_:
                break
            choice = choice_by_distance(purse.buy(self.shares[1]), self.task)
            scores: Any = [far[each] for each in open_]
            if total <= _FITS:
                scores = np.array(scores, dtype=np.int64)  # read at once, not one by one
            chosen.append(open_[int(choice.release(scores, source=source).value)])
        return chosen

    def _open(self, chosen: Sequence[Clique]) -> list[Clique]:
        """The pairs that may be chosen next. Beside constraints, those alone that join what neither pairs nor constraints
        join, or that lie in a constraint's clique: others would close cycles, whose cliques grow without a bound."""
        d, bound = len(self.task.sizes), list(self.task.allowed)
        open_ = _joining(d, self.pairs, chosen)
        if not bound:
            return open_
        apart = set(_joining(d, open_, [*chosen, *bound]))
        return [each for each in open_ if each in apart or any(set(each) <= set(clique) for clique in bound)]

    def _compressed(self, counts: Sequence[Measurement], *, alike: bool = False) -> Compression:
        """Rare values merged, by noisy counts alone; columns that constraints are about stay as they are. With `alike` only
        where the values differ by less than noise does: where the mean of their squared distances from their mean is below
        twice the variance of the noise."""
        means = combined(counts)
        values, sigma = [means[i,][0] for i in range(len(self.task.sizes))], float(means[0,][1].min()) ** -0.5
        made = without_rare(values, _RARE * sigma)
        kept = {i for clique in self.task.allowed for i in clique}
        if alike:
            kept |= {i for i, each in enumerate(values) if _spread(each[each < _RARE * sigma]) > 2.0 * sigma**2}
        return Compression(made.wide, tuple(None if i in kept else each for i, each in enumerate(made.groups)))

    @property
    def rounds(self) -> int:
        """The number of choices."""
        return self.edges

    def _first_noise(self) -> Noise:
        return table_noise(self.money.share(self.shares[0]), self.task)

    @property
    def max_bytes(self) -> int:
        """The most that the numbers of the model need: the largest pairs, and what constraints tie together."""
        pairs = sorted(map(self.task.cells, self.pairs), reverse=True)[: self.edges]
        return 8 * (sum(pairs) + sum(self.task.sizes) + tree_cells(self.task.sizes, self.task.allowed))

    def describe(self) -> str:
        """The plan in words."""
        one, _, two = self.shares
        said = f"noise of deviation {deviation(table_noise(self.money.share(one), self.task)):.4g} on every column's counts"
        if not self.edges:
            return said
        edge = deviation(table_noise(self.money.share(two), self.task))
        return f"{said}, {self.edges} choices of a pair, and noise of deviation {edge:.4g} on each of these"

    @classmethod
    def examples(cls) -> Iterable[Example]:
        for relation, promise in (("add_remove", Guarantee(1.0, 1e-6)), ("replace", Guarantee(rho=0.5))):
            plan = MST(steps=50)._plan(task_of(relation), promise)
            yield Example(plan, *pair(relation), promise, cost="costly", lengths="protected")
        pure = Guarantee(1.0)
        yield Example(MST(steps=50)._plan(task_of(), pure), *rare_pair(), pure, cost="costly", lengths="protected")
        loud = Guarantee(rho=1e6)  # next to no noise, so that one row decides which pair is chosen
        plan = MST(steps=50)._plan(task_of("replace"), loud)
        yield Example(plan, *pair("replace"), loud, cost="costly", lengths="protected")
        plan = MST(steps=50)._plan(task_of(sizes=(3, 2, 2)), loud)  # and whether a value that one row has is merged
        yield Example(plan, *rare_pair(), loud, cost="costly", lengths="protected")
        # one row would decide whether there are pairs, if its number were exact
        near = Guarantee(rho=_at_the_edge(200.5))
        plan = MST(steps=50)._plan(task_of(), near)
        rows = [[0, 0, 0]] * 100 + [[1, 1, 1]] * 100
        yield Example(plan, data_of([*rows, [0, 0, 1]]), data_of(rows), near, cost="costly", lengths="protected")
        pure = Guarantee(8.0)
        plan = MST(steps=5)._plan(task_of(sizes=(2000, 2)), pure)
        worlds = canaries_in(2000, 20, pairs=True)
        yield Example(plan, target=pure, cost="costly", lengths="protected", detects=0.25, **worlds)


def _at_the_edge(rows: float) -> float:
    """The rho at which three columns of two values are hidden by noise in fewer rows, and not in more.

    >>> round(_at_the_edge(200.5), 6)
    0.007126
    """
    sigma = _HIDDEN * rows / 2.0 / math.sqrt(2.0 / math.pi)
    return 9.0 / (2.0 * sigma**2)


def _spread(values: Array) -> float:
    """The mean squared distance from the mean, for one value less; 0 for a single one.

    >>> _spread(np.array([1.0, 3.0]))
    2.0
    """
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0


def _merged(each: Measurement, small: Compression) -> Measurement:
    """Counts of a column with its rare values as one: their sum, which has the variance of all of them."""
    (column,) = each.clique
    if small.groups[column] is None:
        return each
    members = small.members(column)
    values = small.shrunk(each.values, each.clique)
    return Measurement(each.clique, values, each.sigma, members * each.sigma**2, each.normal)


def _components(d: int, edges: Iterable[Clique]) -> list[set[int]]:
    """The sets of columns that edges join."""
    found = [{i} for i in range(d)]
    for clique in edges:
        if len(found) == 1:
            break
        touched = [each for each in found if each & set(clique)]
        found = [each for each in found if not each & set(clique)] + [set().union(*touched)]
    return found


def _joining(d: int, pairs: Sequence[Clique], chosen: Sequence[Clique]) -> list[Clique]:
    """The pairs that join what is not joined yet.

    >>> _joining(3, [(0, 1), (0, 2), (1, 2)], [(0, 1)])
    [(0, 2), (1, 2)]
    """
    part_of = {i: place for place, part in enumerate(_components(d, chosen)) for i in part}
    return [each for each in pairs if part_of[each[0]] != part_of[each[1]]]
