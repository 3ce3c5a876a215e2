"""However few runs a batch has, and whatever they show: every batch of either world has the same columns."""

import itertools
import warnings
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from privet import audit, noise, privacy
from privet.audit.question import strain_of
from privet.audit.search import Crew, Encoder, Subject, World, fit, learn, targets_of
from privet.audit.search.events import KINDS
from privet.audit.witness import encoded
from privet.errors import InvalidParameter
from privet.mechanisms import Release

ONE = privacy.PureLoss(1.0)
STRAIN = strain_of(ONE)
LEFT, RIGHT = [1.0, 2.0, 3.0], [1.0, 2.0]


def coin(p=0.5):
    return bool(noise.bernoulli(p=p))


def number(rows):
    return len(rows) + int(noise.discrete_laplace(scale=2))


def raising(rows):
    raise ValueError("always")


def seldom_anything(rows):
    """One run in eight is a number, a text, a table or something said; most of the others are exceptions."""
    if coin():
        raise ValueError("one of many")
    if coin():
        return None
    if coin():
        warnings.warn("a word", UserWarning, stacklevel=1)
    return [number, text, table, optional, said][int(noise.uniform_int(bound=5))](rows)


def said(rows):
    print(number(rows))


def text(rows):
    return f"{number(rows)} people" if coin() else "nobody"


def optional(rows):
    return {name: number(rows) for name in "abc" if coin()}


def ragged(rows):
    return [number(rows)] * int(noise.uniform_int(bound=3))


def table(rows):
    return pd.DataFrame({"x": rows, "n": number(rows)}) if coin() else [list(rows), list(rows)]


class InBulk:
    """Simulates, and releases; each of them may show what the other never does."""

    def __init__(self, run):
        self._run = run

    def release(self, rows):
        return Release(self._run(rows), loss=ONE)

    def simulate(self, rows, runs):
        return np.array([[number(rows), 0] for _ in range(runs)])


CALLED = (number, raising, seldom_anything, said, text, optional, ragged, table)
SUBJECTS = {
    **{run.__name__: run for run in CALLED},
    **{f"{run.__name__} beside a simulation": InBulk(run) for run in CALLED},
}


def batches_of(mechanism, *, timed=False):
    """Fit on a few runs, as an audit does, and look at many small batches through the frozen encoder."""
    subject = Subject(mechanism, timed=timed)
    targets = targets_of(LEFT, RIGHT, subject.marks)
    subject.wants_rows = targets is not None
    scouts = Crew().both(subject, LEFT, RIGHT, 24, released=8)
    encoder = fit(*scouts, STRAIN, targets=targets)
    for size, released in itertools.product((1, 1, 2, 5), (0.0, 0.4)):
        yield from ((encoder, pair) for pair in subject.batches(LEFT, RIGHT, size, released=released * size))


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("kind", SUBJECTS)
def test_every_batch_has_the_same_columns(kind, timed):
    names = set()
    for encoder, pair in batches_of(SUBJECTS[kind], timed=timed):
        for world in pair:
            columns = encoder.columns(world)
            assert {len(column) for column in columns.values()} == {world.runs}
            names.add(tuple(columns))
    assert len(names) == 1


def test_a_column_that_follows_the_batch_is_noticed():
    """The planted bug: what a batch happens to lack is left out of its columns."""
    columns = Encoder.columns

    def forgetful(encoder, world):
        return {name: column for name, column in columns(encoder, world).items() if not np.isnan(column).all()}

    def thrice():  # a batch with all of its optional numbers, and every other one too: not three times
        for _ in range(3):
            test_every_batch_has_the_same_columns("optional", False)

    with patch.object(Encoder, "columns", forgetful), pytest.raises(AssertionError):
        thrice()


@pytest.mark.parametrize("kind", SUBJECTS)
def test_a_batch_without_runs_has_them_too(kind):
    encoder, pair = next(batches_of(SUBJECTS[kind]))
    for world in (*pair, World(np.empty((0, 0)), np.empty(0, dtype=object))):
        none = encoder.columns(world.take(slice(0, 0)))
        assert list(none) == list(encoder.columns(pair[0]))
        assert not any(len(column) for column in none.values())


@pytest.mark.parametrize("kind", SUBJECTS)
def test_small_blocks_of_an_audit_that_may_stop_fit_together(kind):
    """Early stop in blocks of a few runs; nothing is claimed of the verdict."""
    if kind == "raising":
        with pytest.raises(InvalidParameter, match="raised in every run"):
            audit.mechanism(SUBJECTS[kind], claim=ONE, neighbours=[(LEFT, RIGHT)], runs=40, alpha=1e-9, stop=True)
        return
    with patch("privet.audit.trial._FIRST_BLOCK", 2):
        found = audit.mechanism(SUBJECTS[kind], claim=ONE, neighbours=[(LEFT, RIGHT)], runs=40, alpha=1e-9, stop=True)
    assert found.test.counts.n <= 30
    assert found.calls == sum((found.released, found.simulated)) + 20 or found.stopped


def test_rules_learned_from_some_batches_read_all_others():
    rng = np.random.default_rng(1)
    sides = [{"form": np.zeros(400), "value[0]": rng.normal(size=400), "value[1]": rng.normal(size=400)} for _ in "ab"]
    rules = learn(*sides, kinds=frozenset(KINDS))
    assert rules
    world = World(np.empty((0, 0)), np.empty(0, dtype=object))
    read = encoded([(world, world)], Encoder((("", 0), ("", 1))), rules)
    assert set(rules) <= set(read.columns[0])
    assert replace(read).columns[1]["form"].size == 0
