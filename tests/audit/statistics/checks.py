"""Checks of the statistics that the tests run and that planted bugs must break.

Each null check counts rejections of a true claim, at its very boundary, over at least 1,000 runs. If the statistic keeps
its level, more than `allowed(runs, ALPHA)` rejections have probability at most FALSE_ALARM; one check makes at most 250
such comparisons, so it would turn red on fresh seeds with probability below 3e-5, and never on the fixed ones.
"""

import math
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from scipy import special

from privet import audit, noise, privacy
from privet.audit.statistics import bayes, canaries, clopper_pearson, curve, gaussian
from privet.errors import ReusedData

# modules that carry the name of their main function
one_run, one_run_fdp = (import_module(f"privet.audit.statistics.{name}") for name in ("one_run", "one_run_fdp"))

ALPHA = 0.05
FALSE_ALARM = 1e-7
SIZES = (50, 200, 1_000, 10_000)
RUNS = 1_000

GOLDEN_POINT = [(400, 100, 1_000, 1.122151), (4_000, 1_000, 10_000, 1.303210), (2_000, 100, 100_000, 2.755643)]
GOLDEN_ONE_RUN = [  # canaries, guesses, correct, delta, epsilon
    (1_000, 1_000, 600, 0.0, 0.297468),
    (1_000, 1_000, 600, 1e-5, 0.297227),
    (1_000, 100, 95, 0.0, 2.172434),
    (1_000, 100, 95, 1e-5, 2.165176),
    (1_000, 100, 100, 0.0, 3.492965),
    (1_000, 100, 100, 1e-5, 3.465376),
    (5_000, 1_000, 930, 1e-5, 2.375632),
    (10_000, 200, 199, 1e-6, 3.710960),
    (100, 100, 50, 0.0, 0.0),
]
GOLDEN_FDP = [  # canaries, guesses, correct, mu, delta, epsilon
    (1_000, 1_000, 600, 0.163850, 1e-5, 0.583540),
    (1_000, 100, 95, 0.786812, 1e-5, 3.323300),
    (1_000, 100, 100, 1.225533, 1e-5, 5.549028),
    (5_000, 1_000, 930, 0.840360, 1e-5, 3.582968),
    (10_000, 200, 199, 1.098231, 1e-5, 4.880509),
    (10_000, 200, 199, 1.098231, 1e-6, 5.438310),
    (100, 100, 50, 0.0, 1e-5, 0.0),
]


@cache
def allowed(runs: int, alpha: float = ALPHA) -> int:
    """The smallest count that Bin(runs, alpha) exceeds with probability at most FALSE_ALARM."""
    counts = np.arange(runs + 1)
    return int(np.argmax(special.bdtrc(counts, runs, alpha) <= FALSE_ALARM))


def assert_level(rejected: np.ndarray, alpha: float = ALPHA) -> None:
    assert len(rejected) >= 1_000
    assert int(rejected.sum()) <= allowed(len(rejected), alpha), f"{rejected.mean():.3f} false alarms at level {alpha}"


def on_the_boundary(epsilon: float, delta: float) -> list[tuple[float, float]]:
    """Pairs (TPR, FPR) that an (epsilon, delta)-DP mechanism reaches and none exceeds."""
    growth = math.exp(epsilon)
    corner = (growth + delta) / (1.0 + growth), (1.0 - delta) / (1.0 + growth)
    rare = 0.02 * growth + delta, 0.02
    return [corner, rare, (1.0 - rare[1], 1.0 - rare[0])]


# --- one event in two worlds -------------------------------------------------------------------------------------


def check_rates_cover() -> None:
    """Exact: at the bound itself the chance of such a count is alpha, neither more nor visibly less."""
    for n in (1, 2, 7, 30, 1_000):
        k = np.arange(1, n + 1)
        for alpha in (1e-6, 0.025, 0.3):
            below = special.betainc(k, n - k + 1, clopper_pearson.rate_below(k, n, alpha))  # P[Bin(n, bound) >= k]
            above = special.betaincc(k, n - k + 1, clopper_pearson.rate_above(k - 1, n, alpha))  # P[Bin <= k - 1]
            assert np.all(below <= alpha)
            assert np.all(above <= alpha)
            assert np.allclose([below, above], alpha, rtol=1e-6)
        ends = clopper_pearson.rate_below(0, n, 0.05), clopper_pearson.rate_above(n, n, 0.05)
        assert [float(end) for end in ends] == [0.0, 1.0]


def check_point_golden() -> None:
    for tp, fp, n, expected in GOLDEN_POINT:
        found = audit.point_lower(audit.Counts(tp=tp, fp=fp, n=n), delta=1e-5, alpha=0.05)
        assert abs(found.lower - expected) < 1e-6


def check_point_level() -> None:
    rng = np.random.default_rng(1)
    for epsilon, delta in ((0.0, 0.0), (0.7, 0.0), (0.5, 0.05)):
        for n in SIZES:
            for tpr, fpr in on_the_boundary(epsilon, delta):
                tp, fp = rng.binomial(n, tpr, RUNS), rng.binomial(n, fpr, RUNS)
                for a, b in ((tp, fp), (fp, tp)):
                    for two_sided in (False, True):
                        lower = clopper_pearson.point_epsilon(a, b, n, n, delta=delta, alpha=ALPHA, two_sided=two_sided)
                        assert_level(lower > epsilon)


def check_point_sees_the_other_order() -> None:
    """Swapped worlds: one order sees nothing, two-sided sees what the right order sees at half of alpha."""
    counts = audit.Counts(tp=100, fp=400, n=1_000)
    assert audit.point_lower(counts, delta=1e-5).lower == 0.0
    both = audit.point_lower(counts, delta=1e-5, alpha=0.05, two_sided=True).lower
    one = audit.point_lower(counts.swapped(), delta=1e-5, alpha=0.025).lower
    assert one > 1.0
    assert abs(both - one) < 1e-9


def sampled_gaussian(q: float, z: float, cut: float) -> tuple[float, float]:
    """P[x >= cut] with and without the record, for one Poisson-sampled Gaussian step."""
    without = float(special.ndtr(-cut))
    return (1.0 - q) * without + q * float(special.ndtr(1.0 / z - cut)), without


def curve_nulls() -> list[tuple[privacy.PrivacyLoss, float, float]]:
    """True claims with a pair (TPR, FPR) on their curve, in both orders of the worlds."""
    sampled = privacy.PoissonSampled(privacy.GaussianLoss(0.5), q=0.2)
    with_, without = sampled_gaussian(0.2, 0.5, 1.4)
    laplace = 1.0 - 0.5 * math.exp(-0.5), 0.5 * math.exp(-0.5)  # threshold halfway, shift 1, scale 1
    gaussian_rates = float(special.ndtr(0.5)), float(special.ndtr(-0.5))
    return [
        (privacy.GaussianLoss(1.0), *gaussian_rates),
        (privacy.LaplaceLoss(1.0), *laplace),
        (sampled, with_, without),
        (sampled, 1.0 - without, 1.0 - with_),
        (privacy.ApproxLoss(0.5, 0.05), *on_the_boundary(0.5, 0.05)[1]),
    ]


def check_curve_level() -> None:
    rng = np.random.default_rng(2)
    for claim, tpr, fpr in curve_nulls():
        for n in SIZES:
            tp, fp = rng.binomial(n, tpr, 1_000), rng.binomial(n, fpr, 1_000)
            assert_level(curve.curve_refutes(claim, tp, fp, n, n, alpha=ALPHA))
            assert_level(curve.curve_refutes(claim, tp, fp, n, n, alpha=0.4), 0.4)


def check_curve_power(runs: int = 400) -> None:
    """epsilon = 1, delta = 1e-5: a sigma 10% too small at 1e5 runs a world, 5% at 1e6, threshold fixed at mu/2."""
    rng = np.random.default_rng(3)
    mu = 0.268051
    claim = privacy.GaussianLoss(1.0 / mu)
    for n, short in ((10**5, 0.90), (10**6, 0.95)):
        tp = rng.binomial(n, special.ndtr(mu / short - mu / 2), runs)
        fp = rng.binomial(n, special.ndtr(-mu / 2), runs)
        assert curve.curve_refutes(claim, tp, fp, n, n, alpha=ALPHA).mean() >= 0.97


def check_gaussian_level() -> None:
    rng = np.random.default_rng(4)
    for mu in (0.0, 0.268051, 1.666031):
        for n in SIZES:
            for cut in (mu / 2, mu / 2 + 1.0, -1.0):
                tp, fp = rng.binomial(n, special.ndtr(mu - cut), RUNS), rng.binomial(n, special.ndtr(-cut), RUNS)
                for a, b in ((tp, fp), (n - fp, n - tp), (fp, tp)):
                    for two_sided in (False, True):
                        assert_level(gaussian.gaussian_mu(a, b, n, n, alpha=ALPHA, two_sided=two_sided) > mu)


def check_gaussian_power() -> None:
    """Expected counts at the threshold mu/2: what one event reaches of the true epsilon at 1e5 runs a world."""
    mus = {0.5: 0.142211, 1.0: 0.268051, 2.0: 0.501552, 4.0: 0.924931, 8.0: 1.666031}
    reached = []
    for epsilon, mu in mus.items():
        assert abs(gaussian.epsilon_of_mu(mu, 1e-5) / epsilon - 1.0) < 5e-6
        tp = round(10**5 * float(special.ndtr(mu / 2)))
        bound = audit.gaussian_lower(audit.Counts(tp=tp, fp=10**5 - tp, n=10**5), delta=1e-5)
        reached.append(round(bound.lower / epsilon, 2))
    assert reached == [0.88, 0.94, 0.97, 0.98, 0.99]


def check_bayes_against_draws() -> None:
    """The quantile against 400,000 posterior draws: within five standard errors of the draws' own quantile."""
    rng = np.random.default_rng(5)
    for tp, fp, n, delta in ((400, 100, 1_000, 1e-5), (30, 12, 40, 0.05), (9, 0, 10, 0.0)):
        found = audit.credible_lower(audit.Counts(tp=tp, fp=fp, n=n), delta=delta, alpha=0.05).value
        tpr = rng.beta(tp + 0.5, n - tp + 0.5, 400_000)
        fpr = rng.beta(fp + 0.5, n - fp + 0.5, 400_000)
        growth = math.exp(found)
        hold = (tpr <= growth * fpr + delta) & (1.0 - fpr <= growth * (1.0 - tpr) + delta)
        assert abs(hold.mean() - 0.05) < 5.0 * math.sqrt(0.05 * 0.95 / 400_000)
    assert abs(bayes.posterior(audit.Counts(tp=7, fp=3, n=10), 1.0, delta=1.0) - 1.0) < 1e-12


# --- sequential ---------------------------------------------------------------------------------------------------


def betting_verdicts(
    epsilon: float, delta: float, pairs: int, runs: int, *, events: int = 1, both: bool = False, seed: int = 6
) -> np.ndarray:
    """Which of many tests reject a true claim; every event has its own independent pairs."""
    rng = np.random.default_rng(seed)
    tpr, fpr = on_the_boundary(epsilon, delta)[0]
    rejected = np.zeros(runs, dtype=bool)
    for run in range(runs):
        test = audit.BettingTest(epsilon=epsilon, delta=delta, alpha=ALPHA, both=both)
        rejected[run] = test.feed(rng.random((pairs, events)) < tpr, rng.random((pairs, events)) < fpr) == "violated"
    return rejected


def check_betting_level() -> None:
    assert_level(betting_verdicts(0.5, 0.0, 200, 1_000, events=20))
    assert_level(betting_verdicts(0.5, 0.0, 200, 1_000, both=True))
    for epsilon, delta, pairs in ((0.0, 0.0, 50), (1.0, 0.1, 1_000), (1.0, 0.0, 1_000), (0.5, 0.0, 10_000)):
        assert_level(betting_verdicts(epsilon, delta, pairs, 1_000))


def check_betting_power() -> None:
    """Randomized response with 1.31 (1.99) against a claim of 1: the median number of pairs until the end."""
    rng = np.random.default_rng(7)
    for true, most in ((1.31, 358), (1.99, 49)):
        truth = math.exp(true) / (1.0 + math.exp(true))
        needed = []
        for _ in range(200):
            test = audit.BettingTest(epsilon=1.0, alpha=ALPHA)
            test.feed(rng.random(4_000) < truth, rng.random(4_000) < 1.0 - truth)
            needed.append(test.pairs)
        assert np.median(needed) <= most


# --- one run ------------------------------------------------------------------------------------------------------


def guesses_of(m: int, r: int, v: int) -> audit.Guesses:
    return audit.Guesses(correct=v, made=r, canaries=m)


def check_one_run_golden() -> None:
    for m, r, v, delta, expected in GOLDEN_ONE_RUN:
        assert abs(audit.one_run_lower(guesses_of(m, r, v), delta=delta, alpha=0.05).lower - expected) < 1e-6


def check_one_run_level() -> None:
    """Each canary is told outright with probability delta, else by randomized response: exactly (epsilon, delta)-DP."""
    rng = np.random.default_rng(8)
    for epsilon, delta in ((0.0, 0.0), (1.0, 0.0), (0.0, 0.01), (1.0, 0.01)):
        for m in SIZES:
            truth = math.exp(epsilon) / (1.0 + math.exp(epsilon))
            correct = rng.binomial(m, delta + (1.0 - delta) * truth, RUNS)
            values, where = np.unique(correct, return_inverse=True)
            p = [one_run.one_run_p_value(guesses_of(m, m, int(v)), epsilon=epsilon, delta=delta) for v in values]
            assert_level(np.array(p)[where] <= ALPHA)


def check_fdp_golden() -> None:
    for m, r, v, mu, delta, expected in GOLDEN_FDP:
        guesses = guesses_of(m, r, v)
        assert abs(one_run_fdp.one_run_mu(guesses, alpha=0.05) - mu) < 1e-6
        assert abs(audit.one_run_fdp_lower(guesses, delta=delta, alpha=0.05).lower - expected) < 2e-6


def gaussian_canaries(rng: np.random.Generator, m: int, k: int, mu: float) -> audit.Guesses:
    """m canaries whose score is normal, mu higher when in; guesses on the k largest and the k smallest."""
    included = rng.random(m) < 0.5
    scores = rng.normal(size=m) + mu * included
    ranked = np.argpartition(scores, (k - 1, m - k))
    return guesses_of(m, 2 * k, int(included[ranked[m - k :]].sum() + (~included[ranked[:k]]).sum()))


def check_fdp_level() -> None:
    rng = np.random.default_rng(9)
    for m, k, mu in ((50, 25, 0.0), (200, 40, 0.5), (1_000, 100, 0.268), (10_000, 500, 1.666)):

        def mirror(x: float, mu: float = mu) -> float:
            return float(special.ndtr(special.ndtri(x) - mu))

        seen = [gaussian_canaries(rng, m, k, mu) for _ in range(1_000)]
        verdicts = [one_run_fdp.one_run_rejects(guesses, mirror=mirror, alpha=ALPHA) for guesses in seen]
        assert_level(np.array(verdicts))


def check_one_run_power(runs: int = 200) -> None:
    """Means over runs, 4,000 Gaussian canaries, 5% guessed at each end: the point version and the f-DP version.

    Expected shares of epsilon (400 runs): 0.374, 0.445, 0.437 and, f-DP, 0.517, 0.640, 0.656; standard errors of the
    means below are at most 0.012.
    """
    rng = np.random.default_rng(10)
    floors = {1.0: (0.268051, 0.36, 0.49), 4.0: (0.924931, 0.44, 0.60), 8.0: (1.666031, 0.42, 0.60)}
    for epsilon, (mu, point, whole) in floors.items():
        seen, times = np.unique(
            [gaussian_canaries(rng, 4_000, 200, mu).correct for _ in range(runs)], return_counts=True
        )
        guesses = [guesses_of(4_000, 400, int(v)) for v in seen]
        reached = np.average([audit.one_run_lower(g, delta=1e-5).lower for g in guesses], weights=times) / epsilon
        whole_reached = (
            np.average([audit.one_run_fdp_lower(g, delta=1e-5).lower for g in guesses], weights=times) / epsilon
        )
        assert point <= reached < 1.0
        assert whole <= whole_reached < 1.0


def check_ties_are_broken_at_random() -> None:
    """All scores equal, canaries listed by coin: whoever trusts the order of the list sees the coins in it."""
    correct = []
    for seed in range(40):
        included = np.repeat([False, True], 100)
        found = canaries.guess(np.zeros(200), included, top=100, bottom=100, source=noise.Seeded(seed))
        correct.append(found.correct)
    assert min(correct) >= 60  # hypergeometric, mean 100, deviation 7: 40 runs miss with probability below 1e-6
    assert max(correct) <= 140
    assert len(set(correct)) > 5


# --- selection ----------------------------------------------------------------------------------------------------


def selection_verdicts(selection: audit.Selection, n: int, runs: int, seed: int) -> np.ndarray:
    """Two equal worlds: whichever bound is above 0 is a false alarm."""
    rng = np.random.default_rng(seed)
    found = np.zeros(runs, dtype=bool)
    for run in range(runs):
        sample = audit.Sample(rng.normal(size=n), rng.normal(size=n))
        found[run] = selection.run(sample, audit.Gaussian(delta=1e-5), alpha=0.2).result.lower > 0.0
    return found


def check_split_level() -> None:
    thresholds = [audit.AtLeast(cut) for cut in (-1.0, 0.0, 1.0)]
    assert_level(selection_verdicts(audit.Split(), 50, 1_000, 11), 0.2)
    assert_level(selection_verdicts(audit.Split(), 200, 1_000, 12), 0.2)
    assert_level(selection_verdicts(audit.Split(events=thresholds), 2_000, 1_000, 13), 0.2)


def check_bonferroni_level() -> None:
    """Ten looks at independent coordinates, both orders: an equal share of alpha each."""
    rng = np.random.default_rng(14)
    choices = [
        audit.Choice(lambda x, j=j: x[:, j] > 0.0, swapped=swapped) for j in range(5) for swapped in (False, True)
    ]
    found = np.zeros(1_000, dtype=bool)
    for run in range(1_000):
        sample = audit.Sample(rng.normal(size=(50, 5)), rng.normal(size=(50, 5)))
        found[run] = audit.Bonferroni(choices).run(sample, audit.Gaussian(delta=1e-5), alpha=0.5).result.lower > 0.0
    assert_level(found, 0.5)


def check_split_power(runs: int = 12) -> None:
    """n = 1e5 a world, half for choosing: at least 0.9 of the best threshold's bound on the tested half, on average."""
    rng = np.random.default_rng(15)
    cuts, half = np.linspace(-5.0, 7.0, 3_001), 50_000
    for mu in (0.142211, 0.268051, 0.501552, 0.924931, 1.666031):
        tp, fp = (half * special.ndtr(shift - cuts) for shift in (mu, 0.0))
        oracle = clopper_pearson.point_epsilon(tp, fp, half, half, delta=1e-5, alpha=ALPHA).max()
        reached = []
        for _ in range(runs):
            sample = audit.Sample(rng.normal(size=2 * half) + mu, rng.normal(size=2 * half))
            reached.append(audit.Split().run(sample, audit.Point(delta=1e-5)).result.lower)
        assert np.mean(reached) >= 0.9 * oracle


def check_reuse_is_refused() -> None:
    """An event chosen on some runs is not tested on any of them, however they are wrapped."""
    rng = np.random.default_rng(16)
    whole = audit.Sample(rng.normal(size=100), rng.normal(size=100))
    choice = audit.Split().choose(whole, audit.Point(delta=0.0))
    copied = audit.Sample(whole.first.copy(), whole.second.copy())
    sliced = audit.Sample(whole.first[40:60], whole.second[40:60])
    for reused in (whole, whole.part(0.0, 0.5), whole.part(0.4, 1.0), copied, copied.part(0.0, 0.1), sliced):
        with pytest.raises(ReusedData):
            choice.count(reused)
    assert choice.count(whole.part(0.5, 1.0)).n == 50
    assert choice.count(copied.part(0.5, 1.0)).n == 50


def check_coins() -> None:
    """Fair, fresh, bound by the commitment, and hidden in what is printed."""
    coins = audit.Coins.draw(4_000)
    assert abs(int(coins.included.sum()) - 2_000) < 200  # six standard deviations
    assert not np.array_equal(coins.included, audit.Coins.draw(4_000).included)
    opening = coins.opening()
    assert audit.Coins.verify(coins.commitment, opening)
    flipped = opening[:-1] + "10"[int(opening[-1])]
    assert not audit.Coins.verify(coins.commitment, flipped)
    other = audit.Coins(~coins.included, coins.nonce)
    assert other.commitment != coins.commitment
    assert "True" not in repr(coins)
    assert coins.nonce.hex() not in repr(coins)
    assert audit.Coins(coins.included, bytes(32)).commitment != coins.commitment
