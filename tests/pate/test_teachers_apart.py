"""Teachers that know nothing of each other: a person of another kind, coins of predictions, torch that comes late."""

import datetime as dt
import os
import pickle
import subprocess
import sys
import threading
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from privet import pate
from privet.errors import InvalidData, InvalidParameter
from tests.firsts import slow

KEY = b"a public key"

POOL = [[-2.0, 0.0], [2.0, 0.0], [0.1, 1.0]]
ODD = {
    "a class that is a text": ([0.0, 0.0], "?", 400),
    "no class": ([0.0, 0.0], None, 400),
    "a class that is a list": ([0.0, 0.0], [1], 400),
    "a value that is a text": (["a", 0.0], 1, 400),
    "a value that is missing": ([None, 0.0], 1, 400),
    "an id that is a text": ([0.0, 0.0], 1, "x"),
    "no id": ([0.0, 0.0], 1, None),
}


def _plain(rows: int = 400) -> tuple[list, list, list]:
    X = np.random.default_rng(0).normal(size=(rows, 2)).round(3)
    return X.tolist(), (X[:, 0] > 0).astype(int).tolist(), list(range(rows))


def _votes(X, y, ids, factory=DecisionTreeClassifier, parts=20, **options):
    made = pate.Teachers(factory, pate.KeyedPartition(parts, KEY), classes=[0, 1]).fit(X, y, ids=ids, **options)
    return made.vote(POOL, public=True).exact_counts


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("form", ["lists", "frame"])
def test_a_person_of_another_kind_changes_one_vote(odd, form):
    X, y, ids = _plain()
    counts = []
    for row in ((), (odd,)):
        more = [[*X, *(x for x, _, _ in row)], [*y, *(c for _, c, _ in row)], [*ids, *(i for _, _, i in row)]]
        if form == "frame":
            more = [pd.DataFrame(more[0]), pd.Series(more[1]), pd.Series(more[2])]
        counts.append(_votes(*more))
    assert np.abs(counts[0] - counts[1]).max() <= 1
    assert (
        counts[0][0, 0] == counts[0][1, 1] == 20
    )  # teachers have learned: a vote of all for the default would hide it


class Tied:
    """The most frequent class of its rows; ties are broken by the shared generator while it predicts."""

    def fit(self, X, y):
        number = np.bincount(y, minlength=2)
        self.best = np.flatnonzero(number == number.max())
        return self

    def predict(self, X):
        return [self.best[np.random.randint(len(self.best))] if len(self.best) > 1 else self.best[0] for _ in X]


def test_coins_of_a_prediction_are_those_of_its_teacher():
    X, _, ids = _plain()
    y = np.random.default_rng(3).integers(0, 2, 400)
    counts = []
    for leave in (None, 0, 1, 2, 3, 4, 5):
        kept = [i for i in ids if i != leave]
        np.random.seed(0)  # as people do
        counts.append(_votes([X[i] for i in kept], y[kept], kept, factory=Tied, parts=200))
    assert max(np.abs(each - counts[0]).max() for each in counts) == 1
    assert len({tuple(each[:, 1]) for each in counts}) > 1  # ties are there, and matter


class Warns(Tied):
    """Warns of its rows while it predicts."""

    def predict(self, X):
        warnings.warn("of rows", stacklevel=2)
        return super().predict(X)


def test_nothing_is_said_while_teachers_vote():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        _votes(*_plain(), factory=Warns)
    assert said == []


LATE = """
import os, sys, numpy as np
from privet import pate
pate.Teachers  # with what it stands on, for both children
arrivals, folder = 0, sys.argv[1] if len(sys.argv) > 1 else None
if (child := os.fork()) == 0:
    arrivals = 1
elif os.waitpid(child, 0)[1]:
    sys.exit("the child failed")
assert "torch" not in sys.modules

class Late:
    def fit(self, X, y):
        import torch
        self.number = float(torch.randn(1))
        return self

    def predict(self, X):
        return np.full(len(X), int(self.number > 0))

partition = pate.KeyedPartition(6, b"key")
parts = partition.assign(list(range(100)))
ids = [i for i in range(100) if parts[i] != 0] + [int(np.flatnonzero(parts == 0)[0])] * arrivals
rows, told = np.zeros((len(ids), 1)), np.zeros(len(ids), int)
made = pate.Teachers(Late, partition, classes=[0, 1]).fit(rows, told, ids=ids, folder=folder)
print([model.number for model in made._models[1:]], flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks there")
@pytest.mark.parametrize("folders", [[""], slow(["", "kept"])], ids=["in memory", "kept"])
def test_a_teacher_that_loads_torch_while_it_learns_has_a_stream_of_its_own(folders, tmp_path):
    """A program that is started once asks with nobody in the first part, and its child with one person there."""
    pytest.importorskip("torch")
    found = []
    for folder in folders:
        more = [str(tmp_path / folder)] if folder else []
        done = subprocess.run([sys.executable, "-c", LATE, *more], capture_output=True, text=True, check=True)
        found += done.stdout.splitlines()
    assert len(found) == 2 * len(folders)
    assert len(set(found)) == 1


def test_classes_of_several_kinds_are_refused():
    for classes in ([0, "a"], [(0, 1), (1, 0)], [None, 1]):
        with pytest.raises(InvalidParameter, match=r"one kind|two or more"):
            pate.Teachers(LogisticRegression, pate.KeyedPartition(2, KEY), classes=classes)


# --- what factories remember, what processes hand back, what models do to a pool ---


class Weighted:
    """Votes by a number that the factory gave it."""

    def __init__(self, number):
        self.number = number

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), int(self.number > 0))


def remembering():
    rng = np.random.default_rng(0)
    return lambda: Weighted(rng.normal())


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_factory_that_remembers_does_not_see_which_parts_are_empty(jobs):
    partition = pate.KeyedPartition(40, KEY)
    ids = list(range(60))
    empty = sorted(set(range(40)) - set(partition.assign(ids).tolist()))
    assert empty
    person = next(each for each in range(60, 5_000) if partition.assign([each]) == [empty[0]])
    counts = []
    for more in ([], [person]):
        asked = [*ids, *more]
        made = pate.Teachers(remembering(), partition, classes=[0, 1])
        made.fit(np.zeros((len(asked), 2)), np.ones(len(asked), int), ids=asked, jobs=jobs)
        counts.append(made.vote(POOL, public=True).exact_counts)
    assert np.abs(counts[0] - counts[1]).max() <= 1
    assert counts[0].min() > 5


class Holding(Weighted):
    """Cannot be pickled, or ends the process's work, after it has seen a row."""

    def fit(self, X, y):
        if X.max() > 10.0:
            self.held = threading.Lock()
        if X.min() < -10.0:
            raise SystemExit(f"row {X.min()}")
        return self


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("value", [0.0, 99.0, -99.0])
def test_what_a_row_does_to_a_fit_is_one_vote(jobs, value):
    X, y, ids = _plain(60)
    made = pate.Teachers(lambda: Holding(1.0), pate.KeyedPartition(5, KEY), classes=[0, 1])
    counts = made.fit([*X, [value, 0.0]], [*y, 1], ids=[*ids, 60], jobs=jobs).vote(POOL, public=True).exact_counts
    assert counts[:, 1].min() >= 4


class Dying(Weighted):
    """Ends its process."""

    def fit(self, X, y):
        os._exit(3)


def test_a_process_that_dies_is_one_sentence():
    made = pate.Teachers(lambda: Dying(1.0), pate.KeyedPartition(2, KEY), classes=[0, 1])
    with pytest.raises(InvalidData, match="before its time") as fault:
        made.fit(*_plain(20)[:2], ids=range(20), jobs=2)
    assert fault.value.__cause__ is None


class Marks(Weighted):
    """Writes into objects that it is given."""

    def predict(self, X):
        told = np.array([int(bool(row[0])) for row in X])
        for row in X:
            row[0].append(1)
        return told


def test_a_pool_of_objects_is_each_teacher_s_own():
    pool = np.empty((2, 1), dtype=object)
    pool[:, 0] = [[], []]
    made = pate.Teachers(lambda: Marks(1.0), pate.KeyedPartition(5, KEY), classes=[0, 1]).fit(
        *_plain(60)[:2], ids=range(60)
    )
    assert made.vote(pool, public=True).exact_counts.tolist() == [[5, 0]] * 2
    assert pool[0, 0] == []


def test_a_second_pool_counts_as_chosen_by_the_first_answers():
    made = pate.Teachers(DecisionTreeClassifier, pate.KeyedPartition(3, KEY), classes=[0, 1]).fit(
        *_plain(60)[:2], ids=range(60)
    )
    assert [made.vote(POOL, public=True).adaptive for _ in range(2)] == [False, True]
    assert not made.vote(POOL, public=True, adaptive=False).adaptive
    assert not made.fit(*_plain(60)[:2], ids=range(60)).vote(POOL, public=True).adaptive


def test_counts_of_votes_do_not_wrap_around():
    with pytest.raises(InvalidData, match="votes once"):
        pate.Votes([[2**32 + 3, 0]], teachers=3)
    with pytest.raises(InvalidParameter, match="at most"):
        pate.Votes([[2**33, 0]], teachers=2**33)


def test_a_figure_with_more_noise_than_rounding_allows_is_refused():
    for sigma in (1e4, 1.01e4):
        asked = pate.GNMax(sigma=sigma, queries=2, classes=10)
        if sigma <= 1e4:
            assert pate.SmoothRelease.for_budget(aggregator=asked, epsilon=0.5, delta=1e-5, order=20.0).loss
        else:
            with pytest.raises(InvalidParameter, match="rounding"):
                pate.SmoothRelease.for_budget(aggregator=asked, epsilon=0.5, delta=1e-5, order=20.0)


# --- what a teacher is given: its own rows, whatever others hold ---


class Given:
    """Remembers what it was given, to the last bit."""

    def fit(self, X, y):
        held = np.asarray(X)
        self.given = held.dtype.str, held.shape, pickle.dumps(held.tolist()), y.tolist()
        return self

    def predict(self, X):
        return [0] * len(X)


DAY, MOMENT = dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3)
ROWS = {
    "numbers": [[float(i % 7), float(i % 5)] for i in range(60)],
    "gaps": [[None if i % 7 == 0 else i, float(i % 5)] for i in range(60)],
    "truth values": [[i % 2 == 0, i % 5] for i in range(60)],
    "moments": [[MOMENT + dt.timedelta(i), float(i)] for i in range(60)],
    "days": [[DAY + dt.timedelta(i), float(i)] for i in range(60)],
    "cells": [[[i, 1], [i, 2]] for i in range(60)],
}
VALUES = [
    "a",
    "1.5",
    None,
    [1],
    [1, 2],
    True,
    10**400,
    1j,
    1 + 0j,
    DAY,
    MOMENT,
    pd.NaT,
    pd.NA,
    Decimal("sNaN"),
    b"x",
    "x" * 99,
]
WHOLE = [[], [1.0], [1.0, 2.0, 3.0], "ab", 5, None, np.zeros(2), np.zeros((2, 2)), {"a": 1, "b": 2}]
FORMS = {
    "lists": lambda X: X,
    "objects": lambda X: _objects(X),
    "pandas": pd.DataFrame,
}


def _objects(X):
    """An array of as many dimensions as numpy finds."""
    try:
        return np.array(X, dtype=object)
    except ValueError:
        held = np.empty(len(X), dtype=object)
        for place, row in enumerate(X):
            held[place] = row
        return held


def _given(X, ids=range(60)):
    made = pate.Teachers(Given, pate.KeyedPartition(6, KEY), classes=[0, 1])
    made.fit(X, [i % 2 for i in range(len(X))], ids=list(ids))
    return [model.given for model in made._models]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ROWS)
def test_a_teacher_is_given_the_same_whatever_others_hold(kind, form):
    if kind == "cells" and form == "pandas":
        return
    made, rows = FORMS[form], ROWS[kind]
    part = int(pate.KeyedPartition(6, KEY).assign([1_000])[0])
    alone = _given(made(rows))
    odd = [[value, 0.0] for value in VALUES] + ([] if form == "pandas" else WHOLE)
    for row in odd:
        given = _given(made([*rows, row]), [*range(60), 1_000])
        assert [k for k in range(6) if given[k] != alone[k]] in ([], [part]), row


def test_a_long_text_of_one_person_does_not_widen_the_texts_of_others():
    texts = [["u", "v"]] * 60
    alone = _given(np.array(texts))
    given = _given(np.array([*texts, ["x" * 99, "v"]]), [*range(60), 1_000])
    assert sum(one != other for one, other in zip(alone, given, strict=True)) == 1


def test_frames_of_all_libraries_are_the_same_rows():
    held = {"a": [1.0, 2.0, None, 4.0] * 15, "b": [DAY, MOMENT.date(), None, DAY] * 15}
    plain = [
        [np.nan if a is None else a, np.nan if b is None else 18_263 * 86_400.0]
        for a, b in zip(*held.values(), strict=True)
    ]
    wanted = _given(plain)
    assert _given(pd.DataFrame(held)) == _given(pd.DataFrame(held).convert_dtypes()) == wanted
    for library, make in (("pyarrow", "table"), ("polars", "DataFrame")):
        found = pytest.importorskip(library)
        assert _given(getattr(found, make)(held)) == wanted


def test_a_number_by_itself_is_a_row_of_one():
    made = pate.Teachers(DecisionTreeClassifier, pate.KeyedPartition(3, KEY), classes=[0, 1])
    made.fit(list(range(60)), [int(i >= 30) for i in range(60)], ids=range(60))
    assert made.vote([1.0, 55.0], public=True).exact_counts.tolist() == [[3, 0], [0, 3]]


@pytest.mark.parametrize("rows", [np.zeros(60), {"a": [1]}, "text", 3, {1, 2}, scipy.sparse.eye(60)])
def test_what_are_no_rows_is_refused_by_its_type(rows):
    with pytest.raises(InvalidData, match="must be rows"):
        pate.Teachers(Given, pate.KeyedPartition(3, KEY), classes=[0, 1]).fit(rows, [0] * 60, ids=range(60))


class Refuses:
    """Cannot be compared, nor hashed, in words that quote a row."""

    def __hash__(self):
        raise RuntimeError("secret")


def test_a_class_that_cannot_be_compared_is_no_class():
    X, y, ids = _plain(60)
    assert np.array_equal(_votes(X, y, ids), _votes([*X, X[0]], [*y, Refuses()], [*ids, 1_000]))
