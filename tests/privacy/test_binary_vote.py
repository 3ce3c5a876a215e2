"""The price of a binary vote: golden values, enumeration of all splits, and twins that are too cheap."""

import math

import numpy as np
import pytest
from scipy import stats

from privet import accounting, testing
from privet.errors import InvalidParameter
from privet.privacy import BinaryVoteLoss, GaussianLoss, Repeated, Unit, to_replace

ORDERS = np.arange(2.0, 501.0)
EPSILONS = np.linspace(-2.0, 2.0, 81)


def tight(rdp, delta=1e-5):
    return float(np.min(rdp + np.log1p(-1 / ORDERS) - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1)))


GOLDEN = [
    (10.0, "gaussian", 5.458278),
    (20.0, "gaussian", 2.487807),
    (40.0, "gaussian", 1.158172),
    (20.0, "laplace", 2.133159),
    (10.0, "laplace", 4.647966),
    (5.0, "laplace", 10.580968),
    (20.0, "gumbel", 2.152153),
]


@pytest.mark.parametrize(("scale", "noise", "epsilon"), GOLDEN)
def test_a_hundred_questions_to_a_hundred_teachers(scale, noise, epsilon):
    loss = BinaryVoteLoss(100, scale, noise)
    assert tight(100 * loss.rdp(ORDERS).values) == pytest.approx(epsilon, abs=6e-7)
    assert float(accounting.epsilon(Repeated(loss, 100), delta=1e-5).upper) <= epsilon


def test_labels_that_a_budget_buys():
    """More than by the Gaussian price, which buys 57 and 359."""
    for sigma, plain in ((40.0, 57), (100.0, 359)):
        exact, gaussian = (
            accounting.calibrate(
                lambda n, one=one: Repeated(one, n), epsilon=1.0, delta=1e-5, bounds=(1, 4000), integer=True
            )
            for one in (BinaryVoteLoss(100, sigma), GaussianLoss(sigma / math.sqrt(2.0)))
        )
        assert gaussian == plain
        assert plain < exact < 2.5 * plain


DIFFERENCES = {
    "gaussian": lambda b: stats.norm(scale=math.sqrt(2.0) * b).cdf,
    "gumbel": lambda b: stats.logistic(scale=b).cdf,
    "laplace": lambda b: (
        lambda x: np.where(
            x < 0, (2 + abs(x) / b) / 4 * np.exp(-abs(x) / b), 1 - (2 + abs(x) / b) / 4 * np.exp(-abs(x) / b)
        )
    ),
}


@pytest.mark.parametrize("noise", DIFFERENCES)
@pytest.mark.parametrize(("teachers", "moved"), [(1, 1), (2, 1), (5, 1), (6, 2), (9, 3), (4, 4)])
def test_the_largest_of_all_splits(noise, teachers, moved):
    scale = 1.7
    chance = DIFFERENCES[noise](scale)
    loss = BinaryVoteLoss(teachers, scale, noise, moved)
    curves, orders = [], np.array([1.01, 1.5, 2.0, 7.0, 64.0])
    divergences = []
    for before in range(teachers + 1):
        for after in range(teachers + 1):
            if 0 < abs(before - after) <= moved:
                p, q = ([float(chance(2 * n - teachers)), float(chance(teachers - 2 * n))] for n in (before, after))
                curves.append(np.maximum(np.subtract.outer(p, np.zeros(81)) - np.outer(q, np.exp(EPSILONS)), 0).sum(0))
                divergences.append(
                    [math.log(sum(a**o * b ** (1 - o) for a, b in zip(p, q, strict=True))) / (o - 1) for o in orders]
                )
    assert loss.profile(EPSILONS) == pytest.approx(np.max(curves, axis=0), abs=1e-12)
    assert loss.rdp(orders).values == pytest.approx(np.max(divergences, axis=0), rel=1e-9)
    assert (loss.rdp(orders).values >= np.max(divergences, axis=0) * (1 - 1e-12)).all()


def test_two_teachers_are_less_than_a_chain():
    one, two = to_replace(BinaryVoteLoss(50, 10.0)), BinaryVoteLoss(50, 10.0, moved=2, unit=Unit("replace"))
    assert one.unit == two.unit
    assert float(one.profile(0.0)) * 0.4 < float(two.profile(0.1)) < float(one.profile(0.1))


def test_statements_of_half_the_noise_are_caught():
    class Half(BinaryVoteLoss):
        kind = "example_half_the_vote"

        def pure(self):
            return super().pure() / 2

    with pytest.raises(AssertionError, match="pure"):
        testing.check_statements_cover_pair(Half(1, 2.0))
    testing.check_statements_cover_pair(BinaryVoteLoss(1, 2.0))


def test_a_tie_is_not_the_worst():
    """Odd numbers of teachers, one vote between the classes: worst at small orders only."""
    loss = BinaryVoteLoss(101, 40.0)
    wins = float(stats.norm.cdf(1 / (math.sqrt(2) * 40)))
    for order, factor in ((2.0, 1.001), (128.0, 1.5)):
        tie = math.log(wins**order * (1 - wins) ** (1 - order) + (1 - wins) ** order * wins ** (1 - order)) / (
            order - 1
        )
        found = loss.rdp(np.array([order])).values[0]
        assert tie * (1 - 1e-9) <= found
        assert (found < factor * tie) == (order == 2.0)


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: BinaryVoteLoss(0, 1.0),
        lambda: BinaryVoteLoss(10**7, 1.0),
        lambda: BinaryVoteLoss(5, 0.0),
        lambda: BinaryVoteLoss(5, math.nan),
        lambda: BinaryVoteLoss(5, 1.0, "cauchy"),
        lambda: BinaryVoteLoss(5, 1.0, moved=0),
        lambda: BinaryVoteLoss(5, 1.0, moved=6),
    ],
)
def test_mistakes(mistake):
    with pytest.raises(InvalidParameter):
        mistake()


@pytest.mark.parametrize("noise", DIFFERENCES)
@pytest.mark.parametrize("scale", [1e-60, 1e-5, 1e-2, 1e3, 1e6, 1e9, 1e60])
def test_ends_of_the_scale(noise, scale):
    """The price of no noise, of noise that no double tells from infinite, and whether both sides of a threshold agree."""
    loss = BinaryVoteLoss(250, scale, noise)
    assert float(loss.profile(0.0)) <= 1.0
    if scale <= 1e-2:
        known = scale == 1e-2 or (scale == 1e-5 and noise != "gaussian")
        # from a tie to a majority of two votes; without digits for the pair, the largest loss stands for it
        assert float(loss.profile(1.0)) == pytest.approx(0.5 if known else 1.0, abs=1e-6)
    else:
        assert float(loss.profile(0.0)) <= loss.pure() <= 4.0 / scale + 1e-13
        assert loss.rdp(np.array([2.0])).values[0] <= 4.0 / scale**2 * (1 + 1e-6)
