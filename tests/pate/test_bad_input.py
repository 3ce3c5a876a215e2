"""Bad input through the door that a custodian takes: one clear error before paying, or labels at the full price."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import privet as pv
from privet import pate
from privet._face import installed
from privet.errors import InvalidData, InvalidParameter

with_torch = pytest.mark.skipif(not installed("torch"), reason="needs torch")
KEY = b"a public key"
TEACHERS = 8


def rows(many=80, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, many)
    return rng.normal(size=(many, 3)) + 3.0 * y[:, None], y


class Odd:
    """A teacher that answers as it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, X, y):
        if self.answer == "raise":
            raise RuntimeError(f"secret {X[0]}")
        return self

    def predict(self, X):
        return {"nan": [math.nan] * len(X), "zebra": ["zebra"] * len(X), "late": 1 / 0}[self.answer]


def labels(ledger, *, model=lambda: KNeighborsClassifier(1), private=None, pool=None, public=True, **more):
    """The whole way: teachers, votes, labels that a ledger pays for."""
    X, y = rows() if private is None else private
    teachers = pate.Teachers(model, pate.KeyedPartition(TEACHERS, KEY), classes=[0, 1])
    asked = rows(5, seed=1)[0] if pool is None else pool
    votes = teachers.fit(X, y, ids=np.arange(len(X))).vote(asked, public=public)
    aggregator = pate.ConfidentGNMax(
        **({"threshold": 1.0, "sigma1": 2.0, "sigma2": 2.0, "queries": 5, "answers": 5, "classes": 2} | more)
    )
    return ledger.release(aggregator, votes, at=1e-5)


def fresh():
    return pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-4))


PAID = {
    "fewer rows than teachers": {"private": rows(3)},
    "no rows at all": {"private": (np.zeros((0, 3)), np.zeros(0, dtype=int))},
    "a class missing in every part": {"private": (rows()[0], np.zeros(80, dtype=int))},
    "a class missing in a part, and a solver that wants two": {"private": rows(12), "model": LogisticRegression},
    "a teacher that raises": {"model": lambda: Odd("raise")},
    "a teacher that returns NaN": {"model": lambda: Odd("nan")},
    "a teacher that returns a class that nobody knows": {"model": lambda: Odd("zebra")},
    "a teacher that fails when it is asked": {"model": lambda: Odd("late")},
}


@pytest.mark.parametrize("more", PAID.values(), ids=PAID)
def test_what_depends_on_rows_is_labelled_and_paid_in_full(more):
    """Nothing is said about it: a neighbour without it would have been answered."""
    usual, odd = fresh(), fresh()
    labels(usual)
    told = labels(odd, **more)
    assert told.value.shape == (5,)
    assert odd.spent["basic epsilon"] == usual.spent["basic epsilon"] > 0.0


REFUSED = {
    "an empty pool": ({"pool": np.zeros((0, 3))}, "at least one"),
    "a pool that is not said to be public": ({"public": False}, "public=True"),
    "no noise on thresholds": ({"sigma1": 0.0}, "sigma1"),
    "no noise on votes": ({"sigma2": 0.0}, "sigma2"),
    "more answers than queries": ({"answers": 6}, "answers"),
    "votes of another number of teachers": ({"teachers": 9}, "9 teachers"),
    "votes of other queries": ({"queries": 6}, "6 queries"),
    "votes of other classes": ({"classes": 3}, "3 classes"),
    "a pool of one row that is no list": ({"pool": np.zeros(3)}, "rows"),
}


@pytest.mark.parametrize(("more", "words"), REFUSED.values(), ids=REFUSED)
def test_public_mistakes_are_refused_before_paying(more, words):
    ledger = fresh()
    with pytest.raises((InvalidParameter, InvalidData), match=words):
        labels(ledger, **more)
    assert ledger.spent["basic epsilon"] == 0.0
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


def test_a_pool_from_the_private_rows_is_the_custodians_word():
    """Nobody can see where rows come from: without the word there are no votes, with it their price is the same."""
    X, y = rows()
    teachers = pate.Teachers(lambda: KNeighborsClassifier(1), pate.KeyedPartition(TEACHERS, KEY), classes=[0, 1])
    teachers.fit(X, y, ids=np.arange(80))
    for word in (False, None, 1, "yes"):
        with pytest.raises((InvalidParameter, InvalidData)):
            teachers.vote(X[:5], public=word)
    assert teachers.vote(X[:5], public=True).queries == 5


def test_a_pool_of_another_shape_than_the_rows_is_refused_before_paying():
    """Every teacher would fail on it, and labels that say nothing would be paid in full."""
    ledger = fresh()
    with pytest.raises(InvalidData, match=r"shape \(2,\).*\(3,\)"):
        labels(ledger, pool=rows(5, seed=1)[0][:, :2])
    assert ledger.spent["basic epsilon"] == 0.0
    frame = pd.DataFrame(rows()[0])
    with pytest.raises(InvalidData, match=r"shape \(2,\).*\(3,\)"):
        labels(ledger, private=(frame, rows()[1]), pool=frame.iloc[:5, :2])
    objects = rows()[0].astype(object)
    objects[4, 1] = None  # of one person; all others are numbers
    with pytest.raises(InvalidData, match=r"shape \(2,\).*\(3,\)"):
        labels(ledger, private=(objects, rows()[1]), pool=rows(5, seed=1)[0][:, :2])
    apart = rows()[0].tolist()
    apart[0] = apart[0][:2]  # in a list a row has a length of its own, and nobody is told which
    assert labels(ledger, private=(apart, rows()[1])).value.shape == (5,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pate.Teachers(KNeighborsClassifier, pate.KeyedPartition(2, KEY), classes=[[0], [1]]), "one kind"),
        (lambda: pate.Votes([[1, 2], [1]], teachers=3), "table of whole numbers"),
        (lambda: pate.KeyedPartition(10**9, KEY), "at most"),
        pytest.param(
            lambda: pate.StudentNetwork((4,), steps=2).fit("rows", [0, 1]), "finite numbers", marks=with_torch
        ),
        pytest.param(
            lambda: pate.StudentNetwork((4,), steps=2).fit([[1.0], [None, 2.0]], [0, 1]),
            "finite numbers",
            marks=with_torch,
        ),
    ],
)
def test_what_is_no_table_is_refused_in_words(call, words):
    with pytest.raises((InvalidParameter, InvalidData), match=words):
        call()
