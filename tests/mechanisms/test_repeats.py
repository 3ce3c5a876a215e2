"""The epsilon of repeated releases: above the exact one for any number of cells, and close to it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import accounting, privacy
from privet.mechanisms import AboveThreshold, TopK, above_threshold, repeats, target, top_k
from privet.mechanisms.repeats import epsilon_of_repeats
from privet.privacy.families import integer
from tests.firsts import ends

CASES = [(0.02, 100, 1e-6), (0.3, 12, 1e-9), (0.3, 12, 1e-3), (2.0, 5, 1e-5), (0.5, 1, 1e-2)]


def exact_delta(widest, times, epsilon, at_ends, beside):
    """By brute force on twenty thousand losses: the middle of each cell, which loses no more than its width."""
    nodes = np.linspace(-widest, widest, max(5, 20_001 // times) | 1)
    middles = (nodes[1:] + nodes[:-1]) / 2.0
    one = np.diff(nodes) * np.exp(middles / 2.0)
    one[0] += at_ends * math.exp(-widest / 2.0)
    one[-1] += at_ends * math.exp(widest / 2.0)
    total = np.ones(1)
    for _ in range(times):
        total = np.convolve(total, one / one.sum())
    losses = times * middles[0] + (nodes[1] - nodes[0]) * np.arange(len(total))
    high = 1.0 / (1.0 + math.exp(-beside))
    return sum(
        share * float(np.sum(total * np.maximum(-np.expm1(epsilon - losses - move), 0.0)))
        for share, move in ((high, beside), (1.0 - high, -beside))
    )


@pytest.mark.parametrize("beside", [0.0, 0.7])
@pytest.mark.parametrize("at_ends", [0.0, 2.0])
@pytest.mark.parametrize(("widest", "times", "delta"), CASES)
def test_bound_is_above_the_exact_curve_and_close_to_it(widest, times, delta, at_ends, beside):
    rough, close = (epsilon_of_repeats(widest, times, delta, at_ends=at_ends, cells=c, beside=beside) for c in (2, 200))
    most = times * widest + beside
    assert close <= rough * (1.0 + 1e-12) <= most * (1.0 + 1e-8)
    spread = 2.0 * widest / (20_001 // times) * times  # what the oracle may be off by
    assert exact_delta(widest, times, close + spread, at_ends, beside) <= delta
    if spread < close < most * (1.0 - 1e-8):
        assert exact_delta(widest, times, close - spread - 1e-3 * most, at_ends, beside) >= delta


def test_a_bound_without_the_chords_would_be_noticed(monkeypatch):
    """Too much mass between the ends, too little at them."""
    monkeypatch.setattr(repeats.math, "tanh", lambda x: 1.5 * x)
    with pytest.raises(AssertionError):
        test_bound_is_above_the_exact_curve_and_close_to_it(0.3, 12, 1e-3, 2.0, 0.0)


def garbled(q: Fraction, d: int, *, exchange: bool) -> list[Fraction]:
    """What the proof note makes of Laplace noise of decay -ln q, moved by d + 1: its whole part, the ends gathered, shares
    of them passed on, and the rest of them exchanged."""
    low, high = 1 - q / 2, q**d / 2
    inner = [(1 - q) / 2 * q**k for k in range(1, d)]
    rate = (1 - q) ** 2 / (2 * (1 + q)) / (low**2 - high**2)
    shares = [rate * (low * q**k - high * q ** (d - k)) for k in range(1, d)]
    assert all(share >= 0 for share in shares)
    inner = [mass + low * a + high * b for mass, a, b in zip(inner, shares, shares[::-1], strict=True)]
    left, right = low * (1 - sum(shares)), high * (1 - sum(shares))
    back = (left - 1 / (1 + q)) / (left - right) if exchange else Fraction(0)
    assert 0 <= back <= Fraction(1, 2)
    return [left * (1 - back) + right * back, *inner, right * (1 - back) + left * back]


@pytest.mark.parametrize("d", [1, 2, 3, 8])
@pytest.mark.parametrize("q", [Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)])
def test_noise_on_integers_is_garbled_laplace_noise(q, d):
    """In rationals, and without the last step it is another law."""
    geometric = [1 / (1 + q), *((1 - q) / (1 + q) * q**k for k in range(1, d)), q**d / (1 + q)]
    assert garbled(q, d, exchange=True) == geometric
    assert garbled(q, d, exchange=False) != geometric


@pytest.mark.parametrize(("decay", "shift"), [(0.5, 1), (0.3, 4), (0.01, 100), (2.0, 3)])
def test_noise_on_integers_is_below_laplace_noise_a_step_wider(decay, shift):
    integers = privacy.DiscreteLaplaceLoss(1.0 / decay, shift)
    wider, same = (privacy.LaplaceLoss(1.0 / (decay * reach)) for reach in (shift + 1, shift))
    grid = np.linspace(0.0, decay * (shift + 1), 101)
    inside = np.asarray(integers.profile(grid))
    assert np.all(inside <= np.asarray(wider.profile(grid)) * (1.0 + 1e-12) + 1e-15)
    assert np.any(inside > np.asarray(same.profile(grid)) * (1.0 + 1e-9))  # without the step it would be wrong


@pytest.mark.parametrize(("decay", "shift"), [(1e-3, 3000), (1e-3, 3001), (0.02, 301), (1.0, 400)])
def test_gathered_atoms_dominate_those_that_were_there(decay, shift, monkeypatch):
    monkeypatch.setattr(integer, "_CELLS", 20)
    every, some = integer._shifted(decay, shift), integer._gathered(decay, shift)
    assert len(some.losses) <= 42
    assert some.losses[-1] == pytest.approx(decay * shift, rel=1e-14)
    assert some.p.sum() == pytest.approx(1.0, abs=1e-14)
    assert np.log(some.p / some.q) == pytest.approx(some.losses, rel=1e-12, abs=1e-12)
    grid = np.linspace(-0.2, 1.0, 201) * decay * shift
    assert np.all(some.delta(grid) >= every.delta(grid) - 1e-15)
    fewer = integer.AtomicVariable(some.losses, some.p * np.exp(-0.01 * decay), some.q)  # a twin that loses mass
    assert np.any(fewer.delta(grid) < every.delta(grid))


def test_a_million_steps_cost_what_laplace_noise_costs():
    fine, smooth = (
        privacy.Repeated(one, 20) for one in (privacy.DiscreteLaplaceLoss(2.0**22, 2**20), privacy.LaplaceLoss(4.0))
    )
    ours, theirs = (accounting.epsilon(loss, delta=1e-5).upper for loss in (fine, smooth))
    assert theirs * (1.0 - 1e-4) <= ours <= theirs * (1.0 + 1e-4)


BUDGETS = [(0.1, 1e-6), (0.05, 1e-2), (1.0, 1e-3), (1.0, 1e-6), (3.0, 1e-9), (10.0, 1e-5)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("many", ends([1, 3, 20, 50], also=[3]))
def test_calibration_at_a_delta_uses_the_budget(many, epsilon, delta):
    words = TopK.for_budget(epsilon=epsilon, delta=delta, sensitivity=1, k=many)
    watch = AboveThreshold.for_budget(
        epsilon=epsilon, delta=delta, sensitivity=1, threshold=0, positives=many, answer_share=0.5
    )
    for made in (words, watch):
        assert 0.99 * epsilon <= accounting.epsilon(made.loss, delta=delta).upper <= epsilon


def test_calibration_asks_a_bounded_number_of_times(monkeypatch):
    """Time is measured elsewhere: here, that no search is long and that no accountant is asked."""
    asked = []

    def counted(function):
        return lambda *args, **options: asked.append(1) or function(*args, **options)

    monkeypatch.setattr(accounting, "epsilon", None)
    for room in (top_k, above_threshold):
        monkeypatch.setattr(room, "epsilon_of_repeats", counted(epsilon_of_repeats))
    monkeypatch.setattr(top_k, "bounded_range_rdp", counted(top_k.bounded_range_rdp))
    for epsilon, delta in BUDGETS:
        for many in (1, 3, 20, 50, 400):
            asked.clear()
            TopK.for_budget(epsilon=epsilon, delta=delta, sensitivity=1, k=many)
            assert len(asked) <= 100
            asked.clear()
            AboveThreshold.for_budget(
                epsilon=epsilon, delta=delta, sensitivity=1, threshold=0, positives=many, answer_share=0.5
            )
            assert len(asked) <= 15


def test_root_is_on_the_safe_side():
    for goal in (0.03, 0.5, 7.0):
        root = target.root_of_falling(lambda scale: scale**-1.7, goal, 1.0, 1e-6)
        assert root**-1.7 <= goal
        assert (root * (1.0 - 1e-5)) ** -1.7 > goal
