"""The quality of synthetic rows: distances of tables of counts, workloads, and models that are trained on them.

`exact_…` compare with a table that may be looked at: a holdout that was set aside for it, or public data. Figures about
private data are paid for (`distance`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, Unpack, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import count
from privet.errors import InvalidData, InvalidParameter
from privet.ledger import pay
from privet.mechanisms import Release
from privet.privacy import Promise, spelt_out
from privet.synth.mean_distance import MeanDistance
from privet.tables import Category, Coded, Coding, Described, Tally, drawn_salts

if TYPE_CHECKING:
    from privet.ledger import Ledger

MOST_CELLS = 10_000  # of a table that is compared, unless something else is said
_CLASSES = 20  # codes of a target: more are no classes for the models that are compared


class CodedRows(Protocol):
    """Synthetic rows: a coding and rows of codes, as a `SyntheticTable` has them."""

    coding: Coding
    codes: Array


@final
@dataclass(frozen=True)
class Distances:
    """Total variation of tables of counts, by their columns: 0 where shares are equal, 1 where they do not meet.

    >>> Distances({("a",): 0.25, ("b",): 0.75}).mean
    0.5
    """

    of: Mapping[tuple[str, ...], float]

    @property
    def mean(self) -> float:
        """The mean over all tables."""
        return float(np.mean(list(self.of.values())))

    @property
    def worst(self) -> tuple[tuple[str, ...], float]:
        """The columns whose table differs most, and by how much."""
        name = max(self.of, key=lambda each: self.of[each])
        return name, self.of[name]

    def __str__(self) -> str:
        names, far = self.worst
        return f"mean distance {self.mean:.4g} over {len(self.of)} tables; most for {' and '.join(names)}: {far:.4g}"


@door
def exact_distances(synthetic: CodedRows, table: Described, *, way: int = 2, most_cells: int = MOST_CELLS) -> Distances:
    """The total variation of all tables of `way` columns from those of a table that may be looked at: not releasable."""
    cliques = _cliques(synthetic.coding, way, most_cells)
    theirs = table.data.exact_marginals(Coded(table.rows, synthetic.coding), cliques, drawn_salts())
    mine = _counted(synthetic, cliques)
    names = synthetic.coding.names
    return Distances(
        {
            tuple(names[i] for i in clique): _variation(one, two)
            for clique, one, two in zip(cliques, mine, theirs, strict=True)
        }
    )


@door
def exact_workload_error(
    synthetic: CodedRows, table: Described, *, workload: Mapping[tuple[str, ...], float] | Sequence[tuple[str, ...]]
) -> float:
    """The mean total variation over the tables of a workload, by their weights: not releasable."""
    weights = dict(workload) if isinstance(workload, Mapping) else {tuple(each): 1.0 for each in workload}
    if not weights or not all(weight >= 0.0 for weight in weights.values()) or not any(weights.values()):
        raise InvalidParameter("a workload has tables with weights that are not negative, and one above 0")
    names = synthetic.coding.names
    if any(name not in names for each in weights for name in each):
        raise InvalidParameter(f"a workload names columns of the synthetic rows: {', '.join(names)}")
    cliques = [tuple(names.index(name) for name in each) for each in weights]
    theirs = table.data.exact_marginals(Coded(table.rows, synthetic.coding), cliques, drawn_salts())
    far = [_variation(one, two) for one, two in zip(_counted(synthetic, cliques), theirs, strict=True)]
    return float(np.average(far, weights=list(weights.values())))


@door
@spelt_out
def distance(
    synthetic: CodedRows,
    table: Described,
    *,
    way: int = 2,
    most_cells: int = MOST_CELLS,
    rows: int | None = None,
    ledger: "Ledger | None" = None,
    key: str | None = None,
    **promise: Unpack[Promise],
) -> Release[float]:
    """The mean distance of all tables of `way` columns from those of private data, paid for: at epsilon .1 the noise on
    48,842 rows is about .0002. `rows` is their number where that is public or was paid for; else that of the synthetic
    rows. Where it is off, the distance is by up to half of that.

    **Guarantee:** `MeanDistance`.
    """
    cliques = _cliques(synthetic.coding, way, most_cells)
    many = len(synthetic.codes) if rows is None else count("rows", rows, 1)
    if not many or not len(synthetic.codes):
        raise InvalidParameter("there are no synthetic rows to compare: sample some")
    shares = [each / len(synthetic.codes) for each in _counted(synthetic, cliques)]
    plan = MeanDistance.of(Coded(table.rows, synthetic.coding), cliques, shares, rows=many, **promise)
    return pay(plan, table.data, ledger=ledger, key=key)


@final
@dataclass(frozen=True)
class Score:
    """The share of rows on which a model is right on a holdout: trained on synthetic rows, and on real ones where these
    were given.

    >>> Score(0.8, 0.85).synthetic
    0.8
    """

    synthetic: float
    real: float | None = None


@door
def exact_scores(
    synthetic: CodedRows, holdout: Described, *, target: str, real: Described | None = None
) -> dict[str, Score]:
    """The share of right answers of a fixed set of scikit-learn models that are trained on synthetic rows and asked on a
    holdout: not releasable. `target` is a column of at most 20 codes; the others are what it is predicted from. `most
    frequent` is the class that most synthetic rows have. With `real`, the same models trained on these rows stand beside.
    """
    coding = synthetic.coding
    if target not in coding.names:
        raise InvalidParameter(f"target must be a column of the synthetic rows: {', '.join(coding.names)}")
    place = coding.names.index(target)
    if coding.sizes[place] > _CLASSES or len(coding.names) < 2:
        raise InvalidParameter(f"a target has at most {_CLASSES} codes, and other columns beside it: cut it into bins")
    tests = holdout.data.exact_codes(Coded(holdout.rows, coding), drawn_salts())
    if not len(tests) or not len(synthetic.codes):
        raise InvalidData("there are no rows to train on or to ask: give some synthetic rows and a holdout with rows")
    train = None if real is None else real.data.exact_codes(Coded(real.rows, coding), drawn_salts())
    made = {}
    for name in _models():
        scores = [
            _right(name, np.asarray(rows), tests, coding, place)
            for rows in (synthetic.codes, train)
            if rows is not None
        ]
        made[name] = Score(*scores)
    return made


def _models() -> dict[str, Any]:
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    return {
        "most frequent": DummyClassifier(strategy="most_frequent"),
        "naive Bayes": GaussianNB(),
        "logistic regression": LogisticRegression(max_iter=1000),
        "decision tree": DecisionTreeClassifier(max_depth=8, random_state=0),
        "random forest": RandomForestClassifier(n_estimators=50, max_depth=12, random_state=0),
        "gradient boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    }


def _right(name: str, train: Array, tests: Array, coding: Coding, target: int) -> float:
    known = np.unique(train[:, target])
    model = _models()[name if len(known) > 1 else "most frequent"]
    model.fit(_features(train, coding, target), train[:, target])
    return float((model.predict(_features(tests, coding, target)) == tests[:, target]).mean())


def _features(codes: Array, coding: Coding, target: int) -> Array:
    """Numbers as their place between the bounds; a column for each value of a category, and for a missing value."""
    made = []
    for place, (_, column) in enumerate(coding.listed):
        if place == target:
            continue
        size = coding.sizes[place]
        if isinstance(column, Category):
            made.append(codes[:, [place]] == np.arange(size))
            continue
        made.append(codes[:, [place]] / max(size - 1, 1))
        if column.null:
            made.append(codes[:, [place]] == size - 1)
    return np.concatenate(made, axis=1).astype(np.float64)


def _cliques(coding: Coding, way: int, most_cells: int) -> list[tuple[int, ...]]:
    sizes = coding.sizes
    if count("way", way, 1) > len(sizes):
        raise InvalidParameter(f"way must be from 1 to {len(sizes)}, the number of columns")
    every = combinations(range(len(sizes)), way)
    kept = [each for each in every if prod(sizes[i] for i in each) <= count("most_cells", most_cells, 1)]
    if not kept:
        raise InvalidParameter(f"no table of {way} columns has at most {most_cells} cells: raise most_cells")
    return kept


def _counted(synthetic: CodedRows, cliques: list[tuple[int, ...]]) -> list[Array]:
    tally = Tally(synthetic.coding.sizes, cliques)
    if len(synthetic.codes):
        tally.add(list(np.asarray(synthetic.codes).T))
    return tally.tables()


def _variation(one: Array, two: Array) -> float:
    """Half the l1 distance of shares; 1 where exactly one of both has no rows."""
    totals = one.sum(), two.sum()
    if not all(totals):
        return float(totals[0] != totals[1])
    return float(np.abs(one / totals[0] - two / totals[1]).sum() / 2.0)
