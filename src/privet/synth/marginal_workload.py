"""The tables that synthetic rows shall get right, with weights, and every smaller table inside of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, final

from privet._numerics import Array
from privet._validate import above, items, set_frozen
from privet.errors import InvalidParameter
from privet.synth.graph import Clique, GraphModel, tree_cells
from privet.synth.synthesis import exact_distance
from privet.synth.task import Task

WIDEST = 2**16  # the largest weight of a candidate, in whole numbers
_MOST_CLIQUES = 20_000  # tables that a round weighs up: each is looked at in every round; time only
_MOST_CELLS = 2**26  # of all tables that may be measured

Asked = int | Sequence[Any] | Mapping[Any, float]
"""A number k for all tables of k columns, a list of tuples of names, or a mapping of such tuples to weights."""


@final
@dataclass(frozen=True)
class MarginalWorkload:
    """Cliques with their weights.

    >>> two = MarginalWorkload((((0, 1), 1.0), ((1, 2), 1.0)))
    >>> two.candidates()[(1,)], two.candidates()[(0, 1)]
    (43691, 65536)
    """

    cliques: tuple[tuple[Clique, float], ...]

    def __post_init__(self) -> None:
        if not self.cliques:
            raise InvalidParameter("a workload needs a table at least")
        _refuse_many(len(self.cliques))
        set_frozen(self, cliques=tuple((each, above("weight", weight, 0.0)) for each, weight in self.cliques))

    @classmethod
    def of(cls, asked: Asked, task: Task) -> "MarginalWorkload":
        """The sets of columns that were asked for, as places."""
        d = len(task.sizes)
        if isinstance(asked, int) and not isinstance(asked, bool):
            if asked < 1:
                raise InvalidParameter("workload= is the number of columns of a table, at least 1")
            _refuse_many(comb(d, min(asked, d)))  # before they are listed
            return cls(tuple((each, 1.0) for each in combinations(range(d), min(asked, d))))
        if isinstance(asked, Mapping):
            return cls(tuple((task.clique(names), above("weight", weight, 0.0)) for names, weight in asked.items()))
        return cls(tuple((task.clique(names), 1.0) for names in items("workload", asked)))

    def candidates(self) -> dict[Clique, int]:
        """Every table inside of one that is asked for, with its weight: the sum, over all that are asked for, of their
        weight times the number of shared columns. In whole numbers, the largest of which is 2^16."""
        inside: dict[Clique, float] = {}
        for clique, _ in self.cliques:
            for many in range(1, len(clique) + 1):
                inside.update(dict.fromkeys(combinations(clique, many), 0.0))
                if len(inside) > _MOST_CLIQUES:
                    raise InvalidParameter(
                        f"the workload has more than {_MOST_CLIQUES:,} tables inside of its tables: name those that "
                        "matter (workload=), or take fewer columns (columns=)"
                    )
        columns: dict[int, float] = {}
        for clique, weight in self.cliques:
            for i in clique:
                columns[i] = columns.get(i, 0.0) + weight
        for each in inside:
            inside[each] = sum(columns[i] for i in each)  # the same sum, by columns
        most = max(inside.values())
        return {each: max(1, round(WIDEST * weight / most)) for each, weight in sorted(inside.items())}


def _refuse_many(tables: int) -> None:
    if tables > _MOST_CLIQUES:
        raise InvalidParameter(
            f"a workload of {tables:,} tables is too large: at most {_MOST_CLIQUES:,}; name those that matter "
            "(workload=), or take fewer columns (columns=)"
        )


def check_rounds(task: Task, tables: Iterable[Clique], rounds: int, most_looks: int) -> None:
    """Refuse, before anything is paid, tables that cannot be counted in memory, and rounds that would not end: each looks
    at the junction tree of every table."""
    listed, columns = list(tables), len(task.sizes)
    if sum(map(task.cells, listed)) > _MOST_CELLS:
        raise InvalidParameter(
            f"the tables of the workload together have more than {_MOST_CELLS:,} cells: name those that matter "
            "(workload=), leave columns out (columns=) or take wider bins (bins=)"
        )
    if rounds * len(listed) * columns > most_looks:
        raise InvalidParameter(
            f"up to {rounds:,} rounds that each look at the trees of {len(listed):,} tables over {columns:,} columns "
            "would not end: name the tables that matter (workload=), take fewer columns (columns=) or rounds (rounds=), or "
            "MST(), which is made for many columns"
        )


def fitting(
    candidates: Iterable[Clique], model: GraphModel, task: Task, measured: Sequence[Clique], cells: float
) -> list[Clique]:
    """The candidates that lie in a clique of the model's tree, or whose own tree has at most so many cells: fill-in counts.

    From the model and public sizes alone.
    """
    held = [set(each) for each in model.plan.tree.cliques]
    bound = [*measured, *task.allowed]
    found = []
    for each in candidates:
        inside = any(set(each) <= clique for clique in held)
        if inside or (task.cells(each) <= cells and tree_cells(task.sizes, [*bound, each]) <= cells):
            found.append(each)
    return found


def answered(candidates: Iterable[Clique], model: GraphModel) -> dict[Clique, Array]:
    """The model's table of each candidate; those that cannot be computed in memory are left out, by public sizes."""
    found = {}
    for each in candidates:
        try:
            found[each] = model.marginal(each)
        except InvalidParameter:
            continue
    return found


def exact_scores(
    tables: Mapping[Clique, Array],
    answers: Mapping[Clique, Array],
    weights: Mapping[Clique, int],
    expected: Mapping[Clique, int],
) -> list[int]:
    """For each answered candidate its weight times (the distance of the model's table from the data's, less what noise
    alone would explain), in whole numbers of any size: not releasable.
    """
    return [weights[c] * (exact_distance(tables[c], guess) - expected[c]) for c, guess in answers.items()]
