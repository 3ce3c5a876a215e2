"""Trees over time with the best branching: prices by brute force, errors by their law, no cliff, twins."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import testing
from privet.errors import InvalidParameter, PrivetError
from privet.mechanisms import Example
from privet.privacy import Unit
from privet.workloads import BinaryTreeCount, ContinualCount, TreeCount
from privet.workloads.families.noise_law import NoiseLaw
from privet.workloads.families.radii import sum_radii
from privet.workloads.streams import tree_count, tree_shape
from tests.firsts import ends, slow

SHAPES = [(), (2,), (3,), (2, 2), (3, 2), (4, 3)]


def columns_of(counter):
    """What each step moves, weighted: the noise is taken out, and each unit vector put in."""
    columns = []
    for place in range(counter.horizon):
        state, seen = counter._counting(1, None), []
        sound = state.measure

        def measure(level, sound=sound, seen=seen):
            found = sound(level)
            seen.append(int(found[0]) * counter._weights[level])
            return found

        state.measure = measure
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TreeCount, "_noise", lambda *_: np.zeros(1, dtype=np.int64))
            for step in range(counter.horizon):
                state.step(int(step == place))
        columns.append(np.array(seen, dtype=object))
    return columns


@pytest.mark.parametrize("branching", SHAPES)
@pytest.mark.parametrize("horizon", ends([1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16], also=[2, 3, 4, 12, 13]))
def test_prices_are_those_of_what_is_measured(horizon, branching):
    if math.prod(branching) > horizon:
        with pytest.raises(InvalidParameter, match="never end"):
            TreeCount(horizon=horizon, scale=1.0, norm="l1", branching=branching)
        return
    for norm in ("l1", "l2"):
        for unit in (Unit(), Unit("replace")):
            counter = TreeCount(horizon=horizon, scale=1.0, norm=norm, branching=branching, unit=unit)
            columns = columns_of(counter)
            moved = columns + [a - b for a in columns for b in columns] * (unit.relation == "replace")
            reach = max(sum(abs(each)) if norm == "l1" else sum(each * each) for each in moved)
            got = counter._longest() if unit.relation != "replace" else max(counter._longest(), counter._farthest())
            assert got == reach
            assert counter.sensitivity.value >= (reach if norm == "l1" else Fraction(math.sqrt(reach)) * (1 - 2**-50))


@pytest.mark.parametrize("branching", [*SHAPES, None])
def test_without_noise_the_sums_are_the_sums(branching, monkeypatch):
    monkeypatch.setattr(TreeCount, "_noise", lambda self, level, runs, source: np.zeros(runs, dtype=np.int64))
    counter = TreeCount.for_budget(epsilon=1.0, horizon=40, branching=branching)
    counts = np.random.default_rng(1).integers(0, 100, 40)
    np.testing.assert_allclose(counter.simulate(counts, 2), np.tile(np.cumsum(counts), (2, 1)), atol=1e-9)


@pytest.mark.parametrize(
    "counter",
    [
        TreeCount.for_budget(epsilon=1.0, horizon=13, branching=(3, 2)),
        TreeCount.for_budget(epsilon=5.0, horizon=12, branching=(4,)),
        TreeCount.for_budget(rho=0.5, horizon=9, branching=(2, 2)),
        TreeCount.for_budget(epsilon=1.0, horizon=5, branching=()),
    ],
    ids=str,
)
def test_errors_are_those_that_were_said(counter):
    """Standard deviations within 6 of their own, bars within what 20,000 runs allow: one false alarm in ten million."""
    runs = 20_000
    counts = [2] * counter.horizon
    off = np.asarray(counter.simulate(counts, runs)) - np.cumsum(counts)
    said = counter.deviations()
    fourth = np.mean(off**4, axis=0) / said**4
    assert np.all(np.abs(np.mean(off**2, axis=0) / said**2 - 1.0) < 6.0 * np.sqrt((fourth - 1.0) / runs))
    assert counter.rmse == pytest.approx(math.sqrt(np.mean(said**2)))
    for confidence in (0.5, 0.95):
        radii = counter._radii(range(1, counter.horizon + 1), confidence)
        inside = np.mean(np.abs(off) <= radii + 1e-9, axis=0)
        assert np.all(inside >= confidence - 6.0 * math.sqrt(confidence * (1.0 - confidence) / runs))
    assert said.min() < 1.0 or np.all(radii <= 2.6 * said)  # noise of less than a step is nearly always 0


def test_bars_are_those_of_one_law_at_a_time():
    """The grid beside the inversion of each law, and the rounding of digits only upwards."""
    counter = TreeCount.for_budget(epsilon=1.0, horizon=500, branching=(7, 6))
    steps = [1, 3, 6, 7, 41, 42, 100, 499, 500]
    for step, radius in zip(steps, counter._radii(steps, 0.95), strict=True):
        digits = counter._digits(np.array([step]))[0]
        weights = [[], [], []]
        for many, part in zip(digits.tolist(), counter._parts(), strict=True):
            for level, (size, how_many) in enumerate(part):
                weights[level] += [size] * int(many * how_many)
        groups = tuple((len(w), scale) for w, (_, scale) in zip(weights, counter._law.groups, strict=True))
        exact = NoiseLaw("laplace", groups).radius(np.concatenate(weights), 0.95)
        assert radius == pytest.approx(exact, rel=0.01)


def test_bars_of_long_lists_are_wider_and_never_narrower(monkeypatch):
    counter = TreeCount.for_budget(epsilon=1.0, horizon=900, branching=(9, 8))
    exact = counter._radii(range(1, 901), 0.9)
    monkeypatch.setattr(tree_count, "_BARS", 60)
    coarse = counter._radii(range(1, 901), 0.9)
    assert np.all(coarse >= exact * (1.0 - 2e-3))
    assert np.mean(coarse / exact) < 1.35


def test_a_law_without_noise_and_refusals():
    law = NoiseLaw("laplace", ((1, Fraction(10)),))
    assert sum_radii(law, [[(1.0, 1.0)]], np.array([[0], [1]]), 0.5).tolist()[0] == 0.0
    with pytest.raises(InvalidParameter, match="so near 1"):
        sum_radii(law, [[(1.0, 1.0)]], np.array([[1]]), 1.0 - 1e-15)


@pytest.mark.parametrize(
    ("horizon", "most"),
    ends([(256, 11.0), (365, 12.0), (1_000, 15.6), (1_024, 15.6), (4_096, 20.1), (10**5, 32.7), (10**6, 43.0)]),
)
def test_below_every_uniform_tree(horizon, most):
    """The best online tree of one branching, equal noise and no combination, as computed elsewhere."""
    counter = TreeCount.for_budget(epsilon=1.0, horizon=horizon)
    assert counter.rmse <= most
    assert counter.rmse < 0.55 * BinaryTreeCount.for_budget(epsilon=1.0, horizon=horizon).rmse


@pytest.mark.parametrize(
    "horizon", ends([16, 27, 64, 81, 128, 144, 169, 256, 343, 512, 625, 1_000, 1_024, 4_096], also=[256, 343])
)
def test_no_cliff(horizon):
    """From one horizon to the next the error hardly moves, also at powers."""
    here, next_one = (TreeCount.for_budget(epsilon=1.0, horizon=h).rmse for h in (horizon, horizon + 1))
    assert abs(next_one / here - 1.0) < 0.04


def test_the_front_takes_it():
    visits = ContinualCount(horizon=365)
    assert visits.for_budget(epsilon=1.0).name == "tree_count"
    assert visits.for_budget(rho=0.5).name == "square_root_count"
    assert "tree of" in ContinualCount(horizon=365).explain(epsilon=1.0).splitlines()[0]


@pytest.mark.slow
def test_the_front_takes_it_for_very_long_streams():
    assert ContinualCount(horizon=2**23).for_budget(rho=0.5).name == "tree_count"


def test_hardly_any_noise():
    counter = TreeCount.for_budget(epsilon=1e4, horizon=30, branching=(3, 3))
    assert np.isfinite(counter.rmse)
    assert counter.release([1] * 30).value.tolist() == pytest.approx(list(range(1, 31)))


@pytest.mark.parametrize("doublings", [20, slow(40)])
def test_the_state_is_small(doublings):
    stream = TreeCount.for_budget(epsilon=1.0, horizon=2**doublings)
    state = stream._counting(1, None)
    assert len(state.exact) + state.ended.size <= doublings
    assert state.step(5).shape == (1,)


def test_shapes():
    assert tree_shape.best_branching(1, "l1") == ()
    digits = tree_shape.mean_digits(23, (1, 3, 6))
    steps = np.arange(1, 24)
    assert digits == pytest.approx([np.mean(steps % 3), np.mean(steps % 6 // 3), np.mean(steps // 6)])
    for norm in ("l1", "l2"):
        digits = tree_shape.mean_digits(1_000, (1, 12, 120))
        best = tree_shape.best_shares(digits, (12, 10), norm)
        least = tree_shape.error_of(best, digits, (12, 10), norm)
        for change in np.random.default_rng(0).normal(0.0, 0.05, (50, 3)):
            assert tree_shape.error_of(best * np.exp(change), digits, (12, 10), norm) >= least * (1.0 - 1e-9)


@pytest.mark.parametrize("wrong", [3, "22", (1,), (2.5,), (2, 0)])
def test_one_clear_refusal(wrong):
    with pytest.raises(PrivetError, match="branching"):
        TreeCount(horizon=8, scale=1.0, norm="l1", branching=wrong)
    with pytest.raises(PrivetError, match=r"too small|noise"):
        TreeCount.for_budget(epsilon=1e-17, horizon=8)


class TestTwins:
    """What a careless author would write, caught by the audit of the same pair."""

    PAIR = ([3, 0, 2, 1], [4, 0, 2, 1])

    def survives(self):
        made = TreeCount.for_budget(epsilon=2.0, horizon=4, branching=(2,))
        testing.check_survives_audit(Example(made, *self.PAIR))

    def test_the_sound_one_survives(self):
        assert self.survives() is None

    def test_the_widest_level_alone(self, monkeypatch):
        monkeypatch.setattr(TreeCount, "_longest", lambda self: self._weights[-1])
        with pytest.raises(AssertionError, match=r"refuted|violated"):
            self.survives()

    @pytest.mark.slow
    def test_the_exact_sum_of_the_open_block(self, monkeypatch):
        """A sum that adds what has not been measured yet."""
        sound = tree_count._Open.step

        def step(self, counted):
            return sound(self, counted) + self.exact[-1]

        monkeypatch.setattr(tree_count._Open, "step", step)
        with pytest.raises(AssertionError, match=r"refuted|violated"):
            self.survives()
