"""An event is about one output: what else came in its batch, how wide that was, or which world it is, changes nothing."""

from dataclasses import replace

import numpy as np
import pytest

from privet.audit.question import strain_of
from privet.audit.search import KINDS, Marks, Tallies, choosing, fit, read
from privet.audit.search.worlds import Look, join, stack, world_of_array
from privet.privacy import PureLoss

MARKS = Marks(b"key")
OUTPUTS = (
    [1.0],
    [1.0, 2.0, 3.0],
    [np.nan, 2.0],
    [-0.0, np.inf, 4.0, 5.0],
    {"a": 1.0, "b": [1, 2]},
    {"b": [3]},
    "about 3 people",
    "about 3 people or 4",
    [(1, 2.0), (3, 4.0)],
    [(1, 2.0)],
    None,
)


def worlds(outputs):
    return stack([Look(read(output, MARKS)) for output in outputs])


def encoder_of(outputs, **options):
    world = worlds([*outputs] * 3)
    return fit(world, world, strain_of(PureLoss(1.0)), **options)


@pytest.mark.parametrize("start", range(len(OUTPUTS)))
def test_columns_of_an_output_do_not_depend_on_its_batch(start):
    encoder = encoder_of(OUTPUTS, targets=np.array([[1.0, 2.0]]))
    together = encoder.columns(worlds(OUTPUTS))
    alone = encoder.columns(worlds([OUTPUTS[start]]))
    mixed = encoder.columns(join([worlds(OUTPUTS[:start]), worlds(OUTPUTS[start:])])) if start else together
    assert set(alone) == set(together)
    for name, column in together.items():
        np.testing.assert_array_equal(column[start : start + 1], alone[name], err_msg=name)
        np.testing.assert_array_equal(column, mixed[name], err_msg=name)


def test_a_frozen_encoder_learns_no_forms():
    encoder = encoder_of(OUTPUTS[:4])
    known = dict(encoder.vocabulary)
    unseen = encoder.columns(worlds([("new", 1, None), 3 + 4j]))["form"]
    assert unseen.tolist() == [-1.0, -1.0]
    assert encoder.vocabulary == known


def test_a_batch_without_released_runs_has_the_columns_of_release():
    """Coins decide which runs are released: a small batch may have none of them, and its world then says nothing of it."""
    mixed = replace(worlds([[1.0], [2.0], [3.0], [4.0]]), released=np.array([True, False, True, False]))
    encoder = fit(mixed, mixed, strain_of(PureLoss(1.0)))
    simulated = encoder.columns(replace(mixed, released=None))
    assert set(simulated) == set(encoder.columns(mixed))
    assert "form given release" in simulated
    assert np.isnan(simulated["value[0] given release"]).all()


@pytest.mark.parametrize(
    "outputs", [np.array([[1], [2**60 + 1], [3]]), np.array([[1.0], [np.nan], [-np.nan]])], ids=["giants", "NaN"]
)
def test_columns_of_simulated_outputs_do_not_depend_on_their_batch(outputs):
    whole = world_of_array(outputs)
    encoder = fit(whole, whole, strain_of(PureLoss(1.0)))
    together = encoder.columns(whole)
    for i in range(len(outputs)):
        alone = encoder.columns(world_of_array(outputs[i : i + 1]))
        for name, column in together.items():
            np.testing.assert_array_equal(column[i : i + 1], alone[name], err_msg=name)


def test_one_event_in_two_words_is_tested_once(monkeypatch):
    """A value of 0 is an exponent of its own: no suspect repeats another, as it would by rank alone."""
    worlds = [np.repeat([0.0, 1.0, 2.0], times) for times in ((300, 500, 200), (100, 500, 400))]
    sides = [{"form": np.zeros(1_000), "value[0]": v, "exponent[0]": np.where(v == 0.0, -9.0, 1.0)} for v in worlds]

    def twice() -> bool:
        seen = [each.seen for each in Tallies(*sides, frozenset(KINDS)).suspects(strain_of(PureLoss(0.1)), 2)]
        return len(set(seen)) < len(seen)

    assert not twice()
    monkeypatch.setattr(choosing, "_unlike", lambda ranked, most, fallback: ranked[:most])
    assert twice()
