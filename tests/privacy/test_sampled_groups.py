"""Groups of sampled releases that are not Gaussian: the pair of outcomes ordered alike, against laws written down."""

import math

import numpy as np
import pytest
from scipy import stats

from privet import accounting, privacy
from privet.privacy.base import ordered
from privet.privacy.grouped import _chained
from privet.report.base.price import describe

X = np.arange(-400, 401)
NOISES = {
    "discrete Laplace": (privacy.DiscreteLaplaceLoss(3.0), lambda x: np.exp(-np.abs(x) / 3.0)),
    "discrete Gaussian": (privacy.DiscreteGaussianLoss(2.5), lambda x: np.exp(-(x**2) / 12.5)),
    "Skellam": (privacy.SkellamLoss(8.0), lambda x: stats.skellam.pmf(x, 4.0, 4.0)),
}
EPSILONS = (0.0, 0.1, 0.5, 1.5)


def binomial(k, q):
    return [math.comb(k, j) * q**j * (1.0 - q) ** (k - j) for j in range(k + 1)]


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def moved(law, k, q, sign):
    whole = law(X).sum()
    return sum(w * law(X - sign * j) for j, w in enumerate(binomial(k, q))) / whole


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize(("q", "k"), [(0.1, 2), (0.02, 5), (0.5, 3)])
def test_integer_noise_is_exact(name, q, k):
    loss, law = NOISES[name]
    with_group, without, others = moved(law, k, q, 1), moved(law, 0, q, 1), moved(law, k, q, -1)
    group = privacy.Grouped(privacy.PoissonSampled(loss, q), k)
    swapped = privacy.Grouped(privacy.PoissonSampled(loss, q), 2 * k, "replace")
    assert group.exact
    assert swapped.exact
    assert not group.chained
    for epsilon in EPSILONS:
        for pair, expected in (
            (group.variable("remove"), hockey_stick(with_group, without, epsilon)),
            (group.variable("add"), hockey_stick(without, with_group, epsilon)),
            (swapped.variable("remove"), hockey_stick(with_group, others, epsilon)),
            (swapped.variable("add"), hockey_stick(others, with_group, epsilon)),
        ):
            low, high = pair.enclose(epsilon)
            assert low <= expected + 1e-15
            assert expected <= high + 1e-15
            assert high - low <= 1e-9 * expected + 1e-14


def test_laplace_noise_is_nearly_exact_and_the_chain_was_not():
    q, k, shift = 0.5, 3, 1.0 / 1.3
    x = np.linspace(0.0, k * shift, 100_001)

    def cells(centre):
        t = x - centre
        below = np.where(t < 0.0, 0.5 * np.exp(np.minimum(t, 0.0)), 1.0 - 0.5 * np.exp(-np.maximum(t, 0.0)))
        return np.concatenate(([below[0]], np.diff(below), [1.0 - below[-1]]))

    p = sum(w * cells(j * shift) for j, w in enumerate(binomial(k, q)))
    sampled = privacy.PoissonSampled(privacy.LaplaceLoss(1.3), q)
    for epsilon in (0.0, 0.5, 1.0):
        truth = hockey_stick(p, cells(0.0), epsilon)
        assert truth <= float(privacy.Grouped(sampled, k).profile(epsilon)) <= truth * (1.0 + 1e-5)
        assert float(_chained(sampled, k).delta(epsilon)) > 1.1 * truth


def test_random_tables_stay_below():
    """Any pure mechanism on subsets of two records: the group's curve is never exceeded, and nearly met."""
    rng = np.random.default_rng(3)
    q, closest = 0.3, 0.0
    for _ in range(200):
        laws = rng.dirichlet(np.full(3, rng.choice([0.5, 2.0, 10.0])), size=4) + 1e-3  # nobody, first, second, both
        laws /= laws.sum(axis=1, keepdims=True)
        steps = [(0, 1), (0, 2), (1, 3), (2, 3)]
        epsilon = max(float(np.abs(np.log(laws[a] / laws[b])).max()) for a, b in steps)
        weights = np.array([(1 - q) ** 2, q * (1 - q), q * (1 - q), q * q])
        claim = privacy.Grouped(privacy.PoissonSampled(privacy.PureLoss(epsilon), q), 2)
        for at in (0.0, 0.2, 0.5, 1.0):
            truth, bound = hockey_stick(weights @ laws, laws[0], at), float(claim.profile(at, "remove"))
            assert truth <= bound + 1e-12
            assert hockey_stick(laws[0], weights @ laws, at) <= float(claim.profile(at, "add")) + 1e-12
            closest = max(closest, truth / bound if bound > 1e-9 else 0.0)
    assert closest > 0.5


def test_the_order_of_outcomes_matters(monkeypatch):
    """Joining records ordered like the leaving ones would hide the loss."""
    pair = privacy.PureLoss(1.0).variable("remove")
    cases = [(0.5, None), (0.5, pair)]
    right = ordered.ordered_mixture(cases, list(cases))
    real = ordered._ratios
    monkeypatch.setattr(ordered, "_ratios", lambda pair, *, top: real(pair, top=True))
    wrong = ordered.ordered_mixture(cases, list(cases))
    assert float(right.delta(0.0)) > float(wrong.delta(0.0)) + 0.1


def test_composed_groups_have_two_ends():
    loss = privacy.Repeated(privacy.Grouped(privacy.PoissonSampled(privacy.DiscreteLaplaceLoss(3.0), 0.1), 3), 20)
    bound = accounting.epsilon(loss, delta=1e-6)
    assert 0.999 < bound.lower / bound.upper <= 1.0


def test_a_chained_bound_says_so():
    plain = privacy.PoissonSampled(privacy.LaplaceLoss(1.0), 0.1)
    chained = privacy.Grouped(privacy.PoissonSampled(privacy.KRRLoss(4, 1.0, unit=privacy.Unit()), 0.1), 3)
    assert chained.chained
    assert "chaining" in describe(chained)
    assert "chaining" not in describe(privacy.Grouped(plain, 3))
    assert describe(privacy.Grouped(plain, 3)).endswith("for a group of 3")
