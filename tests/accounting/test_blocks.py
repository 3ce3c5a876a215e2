"""Compositions with parallel blocks, against the enumerated game of whoever picks the block step by step."""

import math

import numpy as np
import pytest

from privet import accounting, privacy
from privet.accounting.blocks import Blocks, _cut
from privet.errors import NoGuarantee
from privet.privacy.families.sums import lattice_law

ONE = ((0.02, 0.98), (0.0005, 0.9995))
TWO = ((0.55, 0.45), (0.45, 0.55))


def game(pairs, rest, steps, gamma):
    """The largest hockey stick over all strategies; plain releases come first in time."""
    if rest:
        p, q = rest[0]
        return sum(a * game(pairs, rest[1:], steps, gamma * b / a) for a, b in zip(p, q, strict=True))
    if steps == 0:
        return max(0.0, 1.0 - gamma)
    return max(
        sum(a * game(pairs, rest, steps - 1, gamma * b / a) for a, b in zip(p, q, strict=True)) for p, q in pairs
    )


def loss_of(steps, rest):
    blocks = privacy.Parallel([privacy.FinitePairLoss(*pair) for pair in (ONE, TWO)])
    return privacy.Composed([privacy.Repeated(blocks, steps), *(privacy.FinitePairLoss(*pair) for pair in rest)])


@pytest.mark.parametrize("rest", [(), (((0.6, 0.4), (0.5, 0.5)),)])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_game_of_blocks(steps, rest):
    loss = loss_of(steps, rest)
    for epsilon in (0.0, 0.2, 0.9):
        swapped = [(q, p) for p, q in (ONE, TWO)], tuple((q, p) for p, q in rest)
        exact = max(game((ONE, TWO), rest, steps, math.exp(epsilon)), game(*swapped, steps, math.exp(epsilon)))
        bound = Blocks().delta(loss, epsilon)
        assert exact * (1.0 - 1e-12) <= bound.upper <= exact * 1.01 + 2e-4
        best = accounting.delta(loss, epsilon=epsilon)
        assert best.lower <= exact * (1.0 + 1e-9) <= best.upper * (1.0 + 2e-9)


def test_a_choice_made_once_is_less_than_the_game():
    """A twin that lets the block be chosen only once falls below what a strategy attains."""
    exact = game((ONE, TWO), (), 5, math.exp(0.2))
    once = max(game((pair,), (), 5, math.exp(0.2)) for pair in (ONE, TWO))
    assert once < exact * 0.9


def test_sampled_steps_beside_laplace_noise():
    sampled, noise = privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01), privacy.LaplaceLoss(50.0)
    loss = privacy.Repeated(privacy.Parallel((sampled, noise)), 100)
    bound = accounting.epsilon(loss, delta=1e-5)
    assert bound.upper == pytest.approx(0.7803, abs=1e-3)
    assert bound.method == "PLD, block by block"
    costliest = max(accounting.epsilon(privacy.Repeated(block, 100), delta=1e-5).lower for block in (sampled, noise))
    assert bound.lower == pytest.approx(costliest, rel=1e-9)
    assert accounting.PLD().epsilon(loss, 1e-5).upper > 1.1 * bound.upper  # composing the envelope


@pytest.mark.parametrize(
    "loss",
    [
        privacy.Repeated(privacy.LaplaceLoss(2.0), 3),
        privacy.Repeated(privacy.Parallel((privacy.GaussianLoss(9.0), privacy.LaplaceLoss(9.0))), 1001),
        privacy.Composed(
            (
                privacy.Parallel((privacy.GaussianLoss(9.0), privacy.LaplaceLoss(9.0))),
                privacy.Parallel((privacy.GaussianLoss(8.0), privacy.LaplaceLoss(9.0))),
            )
        ),
    ],
)
def test_what_this_method_does_not_take_is_refused(loss):
    with pytest.raises(NoGuarantee):
        Blocks().epsilon(loss, 1e-5)
    assert accounting.epsilon(loss, delta=1e-5).upper > 0.0


@pytest.mark.parametrize("pairs", [(ONE, TWO), (ONE[::-1], TWO[::-1])], ids=["remove", "add"])
def test_the_worse_direction_decides(pairs):
    """The same pairs the other way round: whichever direction is the worse one, the bound covers it."""
    loss = privacy.Repeated(privacy.Parallel([privacy.FinitePairLoss(*pair) for pair in pairs]), 3)
    worse, other = (game(side, (), 3, math.exp(0.2)) for side in ((ONE, TWO), (ONE[::-1], TWO[::-1])))
    assert worse > 1.2 * other
    assert Blocks().delta(loss, 0.2).upper >= worse * (1.0 - 1e-12)


@pytest.mark.parametrize("most", [3, 10, 40, 1000])
def test_mass_beyond_the_window_is_moved_up_never_lost(most):
    """The slack of the grid hides what a rare loss beyond it costs, so the cut is looked at by itself."""
    law = lattice_law(privacy.LaplaceLoss(0.4).variable("remove"), 0.1)
    cut = _cut(law, most)
    places, kept = law.start + np.arange(len(law.mass)), cut.start + np.arange(len(cut.mass))
    assert cut.mass.sum() + cut.infinite == pytest.approx(law.mass.sum() + law.infinite, rel=1e-14)
    for place in range(-most, most + 1):  # at every loss inside, no less mass lies above it than before
        before = law.mass[places > place].sum() + law.infinite
        assert cut.mass[kept > place].sum() + cut.infinite >= before * (1.0 - 1e-14)
    assert (cut.infinite > 0.01) == (most < 24)  # Laplace noise of this scale has a largest loss of 2.5
