"""Laws of the noise that runs, over every mechanism of a family: as wide as priced, fresh for each number, never cut off.

All draws are seeded and few, so that a planted bug is noticed within seconds.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privet import noise, privacy
from privet.errors import InvalidParameter
from privet.mechanisms import (
    DiscreteGaussian,
    Histogram,
    NoisyMaxGap,
    ProposeTestRelease,
    StableQuery,
    Staircase,
    VectorMean,
    VectorSum,
    registered_mechanisms,
    vectors,
)
from privet.mechanisms.families import integer, response
from privet.mechanisms.families.additive import AdditiveMechanism
from privet.mechanisms.families.integer import IntegerMechanism
from privet.mechanisms.families.record_totals import noisy_totals
from privet.mechanisms.families.records import RecordMechanism
from privet.mechanisms.families.response import epsilon_of_truth, truth_for
from privet.mechanisms.vectors import clipped_steps
from privet.noise import Grid, Seeded

LEVEL = 1e-7


def members(family):
    return {
        example.mechanism.name: example.mechanism
        for kind in registered_mechanisms().values()
        if issubclass(kind, family)
        for example in [next(iter(kind.examples()))]
    }


ADDITIVE, INTEGER = members(AdditiveMechanism), members(IntegerMechanism)
GEOMETRIC = {name: made for name, made in INTEGER.items() if name != "discrete_gaussian"}


def as_wide(few, many):
    """Two-sided p-value that the distances from the middle are of one law (rank sum, ties at mid-ranks)."""
    few, many = (np.abs(np.asarray(sample, dtype=float)) for sample in (few, many))
    _, place, size = np.unique(np.concatenate((few, many)), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(size) - (size - 1) / 2.0)[place]
    n, m = len(few), len(many)
    spread = n * m / 12.0 * (n + m + 1 - float(np.sum(size**3.0 - size)) / ((n + m) * (n + m - 1)))
    return math.erfc(abs(ranks[:n].sum() - n * (n + m + 1) / 2.0) / math.sqrt(2.0 * spread))


def test_half_the_width_is_noticed():
    drawn = noise.rounded_laplace(scale=1000, size=2_000, source=Seeded(1))
    assert as_wide(drawn[:1_000], drawn[1_000:]) > LEVEL
    assert as_wide(drawn[:1_000] / 2, drawn[1_000:]) < LEVEL


# --- wide enough --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ADDITIVE)
def test_noise_inside_other_mechanisms_is_the_noise_of_a_release(name):
    mechanism, value = ADDITIVE[name], Fraction(1, 3)
    inside = [float(x - value) for x in mechanism._protect(value, 1_000, Seeded(2))]
    assert as_wide(inside, mechanism.simulate(0, 1_000, source=Seeded(3))) > LEVEL


@pytest.mark.parametrize("totals", [[7], [7, -3], [2**45, 0, 5]])
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_totals_of_records_get_the_noise_of_a_release(name, totals):
    mechanism, grid = ADDITIVE[name], Grid(-3)
    rows = noisy_totals(mechanism, totals, grid, runs=1_000, source=Seeded(4))
    plain = mechanism.simulate(0, 1_000, source=Seeded(5))
    for column, total in enumerate(totals):
        assert as_wide([float(row[column] - grid.times(total)) for row in rows], plain) > LEVEL


def test_a_gap_has_the_noise_of_both():
    mechanism = NoisyMaxGap.for_budget(epsilon=1.0, sensitivity=1, candidates=("a", "b"))
    lead = 1_000.0
    gaps = [run["gap"] - lead for run in mechanism.simulate([lead, 0.0], 1_000, source=Seeded(6))]
    steps = mechanism._grid.length(mechanism.scale)
    one, other = (noise.discrete_laplace(scale=steps, size=1_000, source=Seeded(s)) for s in (7, 8))
    assert as_wide(gaps, (one - other) * mechanism.step) > LEVEL
    assert as_wide(one * mechanism.step, (one - other) * mechanism.step) < LEVEL  # without the runner-up's


class Far(StableQuery):
    """A query whose data says how far it is from breaking the proposal."""

    unit = privacy.Unit()

    def exact_value(self, data):
        return Fraction(1, 3)

    def exact_distance(self, data, proposal):
        return data


@pytest.mark.parametrize("scale", [1, 4])
def test_what_was_proposed_has_the_noise_of_its_parts(scale):
    """Far from the edge every value is shown, with the noise of a release of its own; at the edge a noisy test decides, and
    shows as many as its own noise says at each distance."""
    made = ProposeTestRelease.for_budget(epsilon=2.0 / scale, delta=0.01, query=Far(), proposal=scale)
    values = made.simulate(10**6, 1_000, source=Seeded(11)) - 1 / 3
    assert not np.isnan(values).any()
    assert as_wide(values, made.noise.simulate(0, 1_000, source=Seeded(12))) > LEVEL
    edge = round(made.threshold)
    for distance in (max(edge - scale, 0), edge, edge + scale):
        shown = int(np.sum(~np.isnan(made.simulate(distance, 1_000, source=Seeded(13)))))
        rate = 1.0 - float(made.test._noise_cdf(np.array(made.threshold - distance)))
        assert 0.05 < rate < 0.95  # a test without noise shows all or nothing
        assert stats.binomtest(shown, 1_000, rate).pvalue > LEVEL


# --- fresh for each number ----------------------------------------------------------------------------------------

VECTORS = {
    **{name: (made, np.zeros(3)) for name, made in ADDITIVE.items() if not isinstance(made, Staircase)},
    **{f"{name} of a list": (made, [0.0] * 3) for name, made in ADDITIVE.items() if not isinstance(made, Staircase)},
    **{name: (made, np.zeros(3, dtype=np.int64)) for name, made in GEOMETRIC.items()},
    "discrete_gaussian": (
        DiscreteGaussian.for_budget(rho=0.1, sensitivity=1, dimension=3),
        np.zeros(3, dtype=np.int64),
    ),
    "vector_sum": (VectorSum.for_budget(rho=0.1, clip_norm=1.0, dimension=3), np.zeros((2, 3))),
    "histogram": (Histogram.for_budget(epsilon=1.0, labels=("x", "y", "z")), ["x"]),
}


@pytest.mark.parametrize("name", VECTORS)
def test_each_number_of_a_release_has_noise_of_its_own(name):
    mechanism, value = VECTORS[name]
    runs = mechanism.simulate(value, 1_500, source=Seeded(9))
    rows = np.array([list(run.values()) if isinstance(run, dict) else run for run in runs], dtype=float)
    together = np.corrcoef(rows - np.median(rows, axis=0), rowvar=False)
    assert np.all(np.abs(together[~np.eye(3, dtype=bool)]) < 0.25)  # six standard errors and more


# --- never cut off ------------------------------------------------------------------------------------------------


def test_the_sum_saturates_and_not_the_noise():
    rng = np.random.default_rng(10)
    ends = np.iinfo(np.int64)
    exact = np.concatenate((rng.integers(ends.min, ends.max, 200), [ends.max, ends.min, ends.max - 1, 0]))
    drawn = np.concatenate((rng.integers(ends.min, ends.max, 200), [5, -5, 1, ends.max]))
    wanted = [min(max(int(a) + int(b), ends.min), ends.max) for a, b in zip(exact, drawn, strict=True)]
    assert integer._saturating_sum(exact, drawn).tolist() == wanted
    assert np.clip(drawn, 0, 1).tolist() != wanted


# --- what is promised about integers and rows ---------------------------------------------------------------------


@pytest.mark.parametrize("name", GEOMETRIC)
def test_integers_move_by_whole_numbers(name):
    kind = type(INTEGER[name])
    for sensitivity in (1.5, 0.5, Fraction(7, 3)):
        with pytest.raises(InvalidParameter, match="whole numbers"):
            kind(scale=1.0, sensitivity=privacy_sensitivity(kind, sensitivity))


def privacy_sensitivity(kind, value):
    honest = INTEGER[kind.name].sensitivity
    return type(honest)(Fraction(value), norm=honest.norm, unit=honest.unit)


@pytest.mark.parametrize("k", [2, 3, 50])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 20.0])
def test_a_lie_is_rounded_up_at_once(epsilon, k, monkeypatch):
    asked = []
    monkeypatch.setattr(response, "epsilon_of_truth", lambda *given: asked.append(1) or few(len(asked), *given))

    def few(times, *given):
        assert times <= 3, "the lie is searched for step by step"
        return epsilon_of_truth(*given)

    assert epsilon_of_truth(truth_for(epsilon, k), k) <= epsilon


def too_long_by_one(power):
    """Integers with a^2 + b^2 = c^2 + 1: doubles cannot tell that the row (a, b) is longer than c."""
    a, apart = 2**power + 1, 2 ** (power - 1)
    c = (a * a - 1) // apart // 2 + apart // 2
    return a, c - apart, c


@pytest.mark.parametrize("power", [26, 27, 28])
@pytest.mark.parametrize("unit", [1.0, 2.0**-40, 2.0**20])
def test_no_row_is_longer_where_doubles_cannot_tell(power, unit):
    a, b, c = too_long_by_one(power)
    assert a * a + b * b == c * c + 1
    assert math.hypot(a, b) == c
    grid = Grid.finer_than(c * unit, 29)
    for row in ([a, b], [-b, a], [a, -b]):
        whole = clipped_steps(np.array([row]) * unit, c * unit, grid)[0]
        assert sum(int(x) ** 2 for x in whole) <= grid.floor(c * unit) ** 2


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_reach_of_rows_is_attained(relation, rows):
    """All rows of a person point one way in one world, and the other way, or nowhere, in the other."""
    unit, clip = privacy.Unit(relation), 1.5
    made = VectorSum.for_budget(rho=0.1, clip_norm=clip, dimension=2, unit=unit, max_rows=rows)
    mine = np.tile([clip, 0.0], (rows, 1))
    worlds = [made._prepare(data) for data in (mine, -mine if relation == "replace" else mine[:0])]
    moved = float(np.linalg.norm(np.subtract(*worlds))) * made._grid.width
    assert moved == pytest.approx(float(made.noise.sensitivity), rel=1e-6)
    assert moved <= float(made.noise.sensitivity)


class Counted:
    """The factor that shortens a row on the grid, which may be used a few times only."""

    __array_ufunc__ = None  # numpy leaves the product to us

    def __init__(self, factor):
        self.factor, self.times = factor, 0

    def __rmul__(self, array):
        self.times += 1
        assert self.times <= 4, "rows are shortened step by step, not clipped"
        return array * self.factor


@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_rows_are_clipped_at_once(dimension, monkeypatch):
    """Shortening on the grid mends the last digits only."""
    monkeypatch.setattr(vectors, "_SHRINK", Counted(vectors._SHRINK))
    rows = np.random.default_rng(11).normal(size=(50, dimension)) * np.logspace(-3, 6, 50)[:, None]
    grid = Grid.finer_than(1.7, 29)
    found = np.linalg.norm(clipped_steps(rows, 1.7, grid) * grid.width, axis=1)
    assert found == pytest.approx(np.minimum(np.linalg.norm(rows, axis=1), 1.7), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_a_vector_mean_pays_for_its_count(dimension):
    """Under add/remove a row of length c comes with a count that moves by c: l2 length sqrt(2) c."""
    clip = 3.0
    made = VectorMean.for_budget(mu=0.5, clip_norm=clip, dimension=dimension)
    row = np.zeros((1, dimension))
    row[0, 0] = clip
    none, one = (np.array(made._prepare(rows), dtype=float) for rows in (row[:0], row))
    moved = float(np.linalg.norm(one - none)) * made._grid.width
    assert moved == pytest.approx(math.sqrt(2.0) * clip, rel=1e-6)
    assert moved <= float(made.noise.sensitivity)
    too_little = VectorSum.for_budget(mu=0.5, clip_norm=clip, dimension=dimension).noise
    with pytest.raises(InvalidParameter):
        VectorMean(clip_norm=clip, dimension=dimension, noise=too_little)


@pytest.mark.parametrize("name", ["bounded_mean", "bounded_variance", "vector_mean"])
def test_a_public_count_needs_replace_and_one_record_a_person(name):
    kind = registered_mechanisms()[name]
    options = {"clip_norm": 1.0, "dimension": 2} if name == "vector_mean" else {"bounds": (0, 1)}
    replace = privacy.Unit("replace")
    assert kind.for_budget(rho=0.1, n=5, unit=replace, **options).n == 5
    with pytest.raises(InvalidParameter):
        kind.for_budget(rho=0.1, n=5, **options)
    with pytest.raises(InvalidParameter):
        kind.for_budget(rho=0.1, n=5, unit=replace, max_rows=2, **options)
    with pytest.raises(InvalidParameter):
        kind.for_budget(rho=0.1, unit=replace, **options)


@pytest.mark.parametrize("name", members(RecordMechanism))
def test_dropping_needs_add_and_remove(name):
    kind = registered_mechanisms()[name]
    options = {"epsilon": 1.0, "bounds": (0, 10), "unit": privacy.Unit("replace"), "missing": "drop"}
    options |= {} if name == "bounded_sum" else {"n": 5}
    with pytest.raises(InvalidParameter, match="drop"):
        kind.for_budget(**options)


# --- the price, by the exact law ----------------------------------------------------------------------------------


@pytest.mark.parametrize("moved", [1, 2, 5])
@pytest.mark.parametrize("name", [*GEOMETRIC, "laplace"])
def test_a_price_covers_the_pair_that_far_apart(name, moved):
    """Of the noise and the noise moved by the sensitivity: the largest ratio of probabilities is the price."""
    kind = type({**GEOMETRIC, **ADDITIVE}[name])
    made = kind.for_budget(epsilon=0.7, sensitivity=moved)
    points = np.arange(-40.0, 40.0) * (1.0 if name in GEOMETRIC else moved / 4.0)
    left, right = (made.exact_cdf(value, points) for value in (0, moved))
    seen = np.abs(np.log(np.diff(left) / np.diff(right))).max()
    assert made.loss.pure() <= 0.7
    assert seen == pytest.approx(made.loss.pure(), rel=1e-3)


# --- bars, by the exact law ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("name", ADDITIVE)
def test_a_bar_is_the_quantile_of_the_noise(name, confidence):
    mechanism = ADDITIVE[name]
    radius = mechanism.error(confidence).radius
    inside = np.diff(mechanism.exact_cdf(0.0, np.array([-radius - mechanism.step, radius])))[0]
    assert inside == pytest.approx(confidence, abs=1e-5)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("name", INTEGER)
def test_a_bar_of_integers_is_the_least_that_covers(name, confidence):
    mechanism = INTEGER[name]
    radius = mechanism.error(confidence).radius
    wide, narrow = (np.diff(mechanism.exact_cdf(0, np.array([-r - 1, r])))[0] for r in (radius, radius - 1))
    assert wide >= confidence - 1e-12
    assert narrow < confidence
