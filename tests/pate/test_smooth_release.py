"""Published figures: golden values, smoothness by enumeration, both directions, and what is refused or caught."""

import itertools
import math

import numpy as np
import pytest

import privet as pv
from privet import accounting, pate
from privet.errors import InvalidData, InvalidParameter, NoGuarantee
from privet.mechanisms import Example
from privet.pate.small_votes import moved
from privet.pate.smooth_votes import SmoothVotes
from privet.pate.vote_law import NormalVotes, exact_renyi
from privet.pate.vote_theorems import log_losing_normal
from privet.privacy import SmoothReleaseLoss, Unit

PAGE = SmoothVotes(40.0, 20.0, 10)


def test_ends_of_the_page():
    assert pytest.approx(-3.156873049, abs=1e-9) == PAGE.log_q0
    assert pytest.approx(-3.260312837, abs=1e-9) == PAGE.log_q1
    assert PAGE.plateau == pytest.approx(8.181986343e-4, rel=1e-9)


@pytest.mark.parametrize(
    ("votes", "cost", "local", "far", "slow", "fast"),
    [
        ([250] + [0] * 9, 5.321317752e-5, 7.966749951e-6, 73, 3.942972775e-4, 2.486297079e-5),
        ([200, 10] + [5] * 8, 1.609631785e-3, 1.755691289e-4, 37, 5.701379896e-4, 1.762225264e-4),
        ([150, 12] + [11] * 8, 0.0125, 0.0, 8, 7.552925339e-4, None),
    ],
)
def test_smooth_sensitivities_of_the_page(votes, cost, local, far, slow, fast):
    counts = np.array(votes)
    changes = PAGE.changes(counts, 250)
    assert PAGE.cost(log_losing_normal(counts[None], 40.0))[0] == pytest.approx(cost, rel=1e-9)
    assert changes[0] == pytest.approx(local, rel=1e-9)
    assert np.flatnonzero(changes >= PAGE.plateau * (1 - 1e-12))[0] == far
    assert PAGE.smooth(changes, 0.01) == pytest.approx(slow, rel=1e-9)
    assert fast is None or PAGE.smooth(changes, 0.05) == pytest.approx(fast, rel=1e-9)


# --- by enumeration -----------------------------------------------------------------------------------------------------


def every(teachers, classes):
    return [each for each in itertools.product(range(teachers + 1), repeat=classes) if sum(each) == teachers]


def distance(one, other):
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) // 2


SMALL = [(2.0, 2.0, 2, 14), (1.5, 2.0, 3, 12), (1.0, 1.5, 4, 10)]


@pytest.mark.parametrize(("sigma", "order", "classes", "teachers"), SMALL)
@pytest.mark.parametrize("two_sided", [False, True])
def test_changes_cover_all_votes_and_are_smooth(sigma, order, classes, teachers, two_sided):
    bound = SmoothVotes(sigma, order, classes, two_sided)
    bound.refuse_unless_monotone()
    states = np.array(every(teachers, classes))
    apart = np.abs(states[:, None] - states[None]).sum(axis=2) // 2
    costs = bound.cost(log_losing_normal(states, sigma))
    assert len(set(costs.tolist())) > 3
    local = np.where(apart == 1, np.abs(costs[:, None] - costs[None]), 0.0).max(axis=1)
    changes = np.array([bound.changes(each, teachers) for each in states])
    assert local.max() > 0.3 * bound.plateau
    for far in range(teachers):
        seen = np.where(apart <= far, local[None], 0.0).max(axis=1)
        assert np.all(seen <= changes[:, far] * (1 + 1e-9) + 1e-15)
    for beta in (0.05, 0.5):
        smooth = np.array([bound.smooth(each, beta) for each in changes])
        ratios = np.where(apart == 1, smooth[:, None] / smooth[None], 1.0)
        assert ratios.max() <= math.exp(beta) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_the_cost_bounds_both_directions(seed):
    rng = np.random.default_rng(seed)
    classes, teachers = int(rng.integers(2, 6)), int(rng.integers(5, 60))
    counts = rng.multinomial(teachers, rng.dirichlet(np.full(classes, 0.3)))
    sigma, order = float(rng.uniform(2.0, 12.0)), float(rng.uniform(1.2, 6.0))
    bound = SmoothVotes(sigma, order, classes, two_sided=True)
    stated = bound.cost(log_losing_normal(counts[None], sigma))[0]
    assert exact_renyi(NormalVotes(sigma), counts, np.array([order]))[0] <= stated * (1 + 1e-9)


def test_one_direction_is_not_what_is_published():
    counts = np.array([30, 0])
    chance = log_losing_normal(counts[None], 4.0)
    exact = exact_renyi(NormalVotes(4.0), counts, np.array([2.0]))[0]
    forward, both = (SmoothVotes(4.0, 2.0, 2, side).cost(chance)[0] for side in (False, True))
    assert forward < exact < both
    asked = pate.GNMax(sigma=4.0, queries=1, classes=2)
    told = pate.SmoothRelease(aggregator=asked, order=2.0, delta=1e-5, beta=0.1, scale=1.0)
    assert told._prepare(pate.Votes([[30, 0]], teachers=30))[0] == both


def test_neighbours_stay_between_the_moved_chances():
    states = np.array(every(9, 3))
    bound = SmoothVotes(2.0, 2.0, 3)
    chances = log_losing_normal(states, 2.0)
    low, high = bound.moved(chances, -1), bound.moved(chances, 1)
    for i, one in enumerate(states):
        for j, other in enumerate(states):
            if distance(one, other) == 1 and chances[i] < math.log(2 / 3):  # below the cap
                assert low[i] - 1e-9 <= chances[j] <= high[i] + 1e-9


# --- the release --------------------------------------------------------------------------------------------------------

ROWS = [[2000] + [0] * 9, [1800, 40] + [20] * 8, [1040, 160] + [100] * 8]  # of 2,000 teachers


def figure(**more):
    asked = pate.GNMax(sigma=100.0, queries=300, classes=10)
    public = {"aggregator": asked, "order": 20.0, "delta": 1e-5, "beta": 0.01, "scale": 20.0}
    return pate.SmoothRelease(**(public | more))


def test_the_figure_is_above_the_exact_cost_as_often_as_it_says():
    votes = pate.Votes(ROWS * 100, teachers=2_000)
    cost, smooth = figure()._prepare(votes)
    own = figure().loss.rdp([20.0]).values[0]
    exact = cost + own + math.log1p(-1 / 20) - (math.log(1e-5) + math.log(20)) / 19
    drawn = np.asarray(figure().simulate(votes, 4_000))
    assert np.mean(drawn >= exact) == pytest.approx(0.95, abs=0.02)
    careless = np.asarray(figure(confidence=0.5).simulate(votes, 4_000))
    assert careless.mean() < drawn.mean() - smooth * 20.0 * 1.5
    plain = accounting.epsilon(figure().aggregator.loss, delta=1e-5).upper
    assert drawn.max() < plain


def test_changes_of_queries_are_added_before_the_largest_is_taken():
    """A query in which all agree and one in which they do not have their largest changes at different distances."""
    agreed, split = [[250] + [0] * 9], [[150, 12] + [11] * 8]
    made = [
        figure(aggregator=pate.GNMax(sigma=40.0, queries=len(rows), classes=10)) for rows in (agreed, agreed + split)
    ]
    alone = made[0]._prepare(pate.Votes(agreed, teachers=250))[1]
    other = made[0]._prepare(pate.Votes(split, teachers=250))[1]
    both = made[1]._prepare(pate.Votes(agreed + split, teachers=250))[1]
    assert max(alone, other) < both < alone + other


def test_confident_figures_count_thresholds_and_all_queries():
    votes = pate.Votes(ROWS * 100, teachers=2_000)
    confident = {"threshold": 1500.0, "sigma1": 300.0, "sigma2": 100.0, "queries": 300, "classes": 10}
    asked = pate.ConfidentGNMax(**confident, answers=250)
    plain, more = figure(), figure(aggregator=asked)
    assert plain._prepare(votes) == more._prepare(votes)
    difference = np.median(more.simulate(votes, 500)) - np.median(plain.simulate(votes, 500))
    assert difference == pytest.approx(300 * 20 / (2 * 300.0**2), rel=0.1)
    few = figure(aggregator=pate.ConfidentGNMax(**confident, answers=1), confidence=0.999)
    lowest = few._figures(np.array([0.0]))[0]
    assert np.asarray(few.simulate(votes, 50)).max() <= lowest + 20 / 100.0**2 + 1e-12


def test_labels_and_figure_are_both_paid():
    asked = pate.GNMax(sigma=100.0, queries=3, classes=10)
    told = figure(aggregator=asked)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=5.0, delta=1e-4))
    votes = pate.Votes(ROWS, teachers=2_000)
    ledger.release(asked, votes, at=1e-5)
    before = ledger.spent["basic epsilon"]
    release = ledger.release(told, votes, at=1e-5)
    own = float(accounting.epsilon(told.loss, delta=1e-5).upper)
    assert ledger.spent["basic epsilon"] - before == pytest.approx(own, rel=1e-6)
    assert isinstance(release.value, float)
    assert any("confidence 0.95" in note for note in release.provenance)
    assert release.error is None


def test_adaptive_votes_are_refused_before_paying():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=5.0, delta=1e-4))
    adaptive = pate.Votes(ROWS * 100, teachers=2_000, adaptive=True)
    with pytest.raises(InvalidData, match="earlier answers"):
        ledger.release(figure(), adaptive, at=1e-5)
    with pytest.raises(InvalidData, match="300 queries"):
        ledger.release(figure(), pate.Votes(ROWS, teachers=2_000), at=1e-5)
    assert ledger.spent["basic epsilon"] == 0.0


MISTAKES = {
    "C6 does not hold": ({"order": 100.0, "beta": 0.001}, "C6"),
    "an order without a price": ({"order": 60.0}, "order must be below"),
    "order 1": ({"order": 1.0}, "order"),
    "no noise": ({"scale": 0.0}, "scale"),
    "no smoothness": ({"beta": 0.0}, "beta"),
    "a figure that is too small": ({"confidence": 0.3}, "confidence"),
    "another aggregator": ({"aggregator": pate.LNMax(gamma=1.0, queries=1, classes=2)}, "aggregator"),
    "two teachers": (
        {"aggregator": pate.GNMax(sigma=40.0, queries=1, classes=2, unit=Unit("replace"))},
        "one teacher",
    ),
    "delta 0": ({"delta": 0.0}, "delta"),
}


@pytest.mark.parametrize(("mistake", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_one_sentence(mistake, words):
    with pytest.raises(InvalidParameter, match=words):
        figure(**mistake)


class Falling:
    """A cost that falls where teachers agree less."""

    plain, log_q1 = 1.0, -1.0

    def cost(self, log_q):
        return -np.asarray(log_q)

    def moved(self, log_q, steps):
        return np.asarray(log_q)


def test_a_cost_that_falls_is_refused():
    with pytest.raises(InvalidParameter, match="C5"):
        SmoothVotes.refuse_unless_monotone(Falling())


def test_figures_are_bought():
    asked = pate.GNMax(sigma=40.0, queries=286, classes=10)
    bought = pate.SmoothRelease.for_budget(aggregator=asked, order=20.0, epsilon=0.5, delta=1e-5)
    assert 0.49 < float(accounting.epsilon(bought.loss, delta=1e-5).upper) <= 0.5
    assert bought.beta == 0.01
    with pytest.raises(NoGuarantee, match="epsilon and a delta"):
        pate.SmoothRelease.for_budget(aggregator=asked, order=20.0, rho=0.5)


# --- broken twins -------------------------------------------------------------------------------------------------------


class LocalOnly(pate.SmoothRelease):
    """Noise by the local sensitivity: where it is nothing, the cost is published as it is."""

    name = "example_local_only"

    def _prepare(self, value):
        cost, _ = super()._prepare(value)
        local = sum(self.bound.changes(row, 0)[0] for row in value.exact_counts)
        return cost, max(float(local), self._largest * 2.0**-12)


class CheapMargin(pate.SmoothRelease):
    """The mean moves by the private sensitivity, and only its noise is paid for."""

    name = "example_cheap_margin"

    @property
    def loss(self):
        return SmoothReleaseLoss(self.beta, self.scale)


def twin_of(kind, rows, other, **more):
    asked = pate.GNMax(sigma=20.0, queries=1, classes=2)
    made = kind(**({"aggregator": asked, "order": 2.0, "delta": 1e-2, "beta": 0.02, "scale": 2.0} | more))
    return Example(made, *moved(rows, other))


def test_a_twin_with_local_noise_is_caught():
    """Its noise changes by more than its price covers, somewhere; that of the mechanism nowhere."""
    states = [pate.Votes([[100 - n, n]], teachers=100) for n in range(51)]
    made = [twin_of(kind, [[60, 40]], [[61, 39]]).mechanism for kind in (LocalOnly, pate.SmoothRelease)]
    twin, sound = (np.log([each._prepare(votes)[1] for votes in states]) for each in made)
    assert np.abs(np.diff(twin)).max() > 100 * made[0].loss.beta
    assert np.abs(np.diff(sound)).max() <= made[1].loss.beta


def test_a_margin_is_paid_for():
    """Many deviations of margin move the mean by more than the noise covers."""
    sound = twin_of(pate.SmoothRelease, [[84, 16]], [[85, 15]], confidence=0.999999, scale=20.0).mechanism
    cheap = twin_of(CheapMargin, [[84, 16]], [[85, 15]], confidence=0.999999, scale=20.0).mechanism
    means = []
    for rows in ([[84, 16]], [[85, 15]]):
        cost, smooth = sound._prepare(pate.Votes(rows, teachers=100))
        means.append((cost + 4.753424 * 20.0 * smooth, smooth))
    (mean, here), (other, there) = means
    order = 2.0
    mixed = 400.0 * (order * there**2 + (1 - order) * here**2)
    between = math.log(there / here) + math.log(400 * there**2 / mixed) / 2 + order * (mean - other) ** 2 / (2 * mixed)
    assert cheap.loss.rdp([order]).values[0] < between <= sound.loss.rdp([order]).values[0]
