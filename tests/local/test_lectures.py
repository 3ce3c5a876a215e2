"""The lectures' statements about local privacy, with their own numbers."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from privet import local, privacy
from privet.privacy.divergences import contraction, hockey_stick, is_approximate_dp, push_forward
from tests.local.members import KINDS, log_of, made

HALF = Fraction(1, 2)


def test_the_fair_coin_survey_has_epsilon_ln_3():
    """Heads: the truth; tails: a second fair coin answers."""
    table = {x: HALF * (x == 1) + HALF * HALF for x in (0, 1)}  # Pr[yes | x]
    assert table == {0: Fraction(1, 4), 1: Fraction(3, 4)}
    assert local.epsilon_of([(1 - table[x], table[x]) for x in (0, 1)]) == log_of(3)
    assert round(log_of(3), 6) == 1.098612
    survey = local.Warner(epsilon=math.log(3))
    assert survey.channel() == ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))
    assert survey.loss == privacy.RandomizedResponseLoss(log_of(3))


@pytest.mark.parametrize("e", [2, 3, 4, 9])
def test_the_lie_must_be_at_least_one_over_one_plus_e_and_that_is_tight(e):
    def channel(r):
        return (1 - r, r), (r, 1 - r)

    tight = Fraction(1, 1 + e)
    assert contraction(channel(tight), e) == 0
    assert local.epsilon_of(channel(tight)) == log_of(e)
    assert contraction(channel(tight - Fraction(1, 10**9)), e) > 0
    assert contraction(channel((tight + HALF) / 2), e) == 0
    assert local.Warner(epsilon=log_of(e)).other == tight


@pytest.mark.parametrize("k", [2, 3, 10])
def test_k_ary_randomized_response_is_exactly_epsilon(k):
    e = 4
    protocol = local.KRR(k=k, epsilon=log_of(e))
    assert protocol.own == Fraction(e, e + k - 1)
    assert protocol.other == Fraction(1, e + k - 1)
    assert local.epsilon_of(protocol.channel()) == log_of(e)
    for gamma in (1, 2, 3, 4):
        assert contraction(protocol.channel(), gamma) == Fraction(e - gamma, e + k - 1)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_definition_by_hockey_sticks(kind):
    """epsilon-LDP says E_{e^epsilon}(M_x; M_x') = 0 for every two values, both ways round."""
    rows = made(kind, k=4, epsilon=log_of(4)).channel()
    worst = max(hockey_stick(a, b, Fraction(4)) for a, b in product(rows, rows))
    assert worst == 0
    assert max(hockey_stick(a, b, Fraction(399, 100)) for a, b in product(rows, rows)) > 0


def laws(size: int, seed: int, count: int = 25):
    """Laws of the input: corners, the even one, and random fractions."""
    rng = np.random.default_rng(seed)
    yield from ([Fraction(int(i == j)) for i in range(size)] for j in range(size))
    yield [Fraction(1, size)] * size
    for _ in range(count):
        weights = [int(w) for w in rng.integers(0, 50, size) + (rng.random(size) < 0.5)]
        yield [Fraction(w + 1, sum(weights) + size) for w in weights]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_theorem_private_channels_make_all_input_laws_close(kind):
    """eta_{e^epsilon} = 0, hence E_{e^epsilon}(P_Z; Q_Z) = 0 whatever the laws P and Q of the value are."""
    channel = made(kind, k=3, epsilon=log_of(4)).channel()
    seen = [push_forward(law, channel) for law in list(laws(len(channel), 1))[:12]]
    for p, q in product(seen, repeat=2):
        assert hockey_stick(p, q, Fraction(4)) == 0


@pytest.mark.parametrize("name", ["lie may be the truth", "bits never flipped back", "one person honest"])
def test_theorem_the_other_way_broken_channels_have_laws_that_show_it(name):
    e, third = 4, Fraction(1, 3)
    broken = {
        "lie may be the truth": [
            [Fraction(e + third * 2, e + 2) if x == y else Fraction(2, 3 * (e + 2)) for y in range(3)] for x in range(3)
        ],
        "bits never flipped back": [[Fraction(0), Fraction(1)], [Fraction(4, 5), Fraction(1, 5)]],
        "one person honest": [[1, 0], [Fraction(1, 5), Fraction(4, 5)]],
    }[name]
    channel = [[Fraction(item) / sum(map(Fraction, row)) for item in row] for row in broken]
    assert contraction(channel, e) > 0
    assert local.epsilon_of(channel) > log_of(e)
    corners = list(laws(len(channel), 2, count=0))
    assert any(
        hockey_stick(push_forward(p, channel), push_forward(q, channel), Fraction(e)) > 0
        for p, q in product(corners, corners)
    )


def test_the_factor_of_contraction_is_never_passed_and_attained_at_two_points():
    for kind in KINDS.values():
        channel = made(kind, k=3, epsilon=log_of(9)).channel()
        gamma = Fraction(2)
        eta = contraction(channel, gamma)
        ratios = []
        pushed = [(law, push_forward(law, channel)) for law in laws(len(channel), 3, count=4)]
        for (p, seen), (q, other) in product(pushed, repeat=2):
            before, after = hockey_stick(p, q, gamma), hockey_stick(seen, other, gamma)
            assert after <= eta * before
            ratios.append(after / before if before else Fraction(0))
        assert max(ratios) == eta


def test_a_half_against_a_third_is_zero_and_a_sixth():
    """(1/2, 1/2) and (1/3, 2/3): delta 1/6 at epsilon 0, although the loss exceeds 0 half of the time."""
    p, q = (HALF, HALF), (Fraction(1, 3), Fraction(2, 3))
    assert hockey_stick(p, q, 1) == hockey_stick(q, p, 1) == Fraction(1, 6)
    assert is_approximate_dp(p, q, 0.0, "1/6")
    assert round(local.epsilon_of((p, q)), 6) == 0.405465
    assert local.delta_of((p, q), 0.0) == pytest.approx(1 / 6, rel=1e-15)


@pytest.mark.parametrize("m", [10, 1000])
def test_a_check_of_single_outcomes_is_not_enough_for_delta(m):
    """The value beside a random number in 1..m: every outcome has a tiny probability, and all is told."""
    rows = [[Fraction(int(y // m == x), m) for y in range(2 * m)] for x in (0, 1)]
    delta = Fraction(1, m)
    assert all(a <= 1 * b + delta for a, b in zip(*rows, strict=True))  # outcome by outcome it looks private
    assert local.delta_of(rows, 0.0) == local.delta_of(rows, 5.0) == 1.0  # over sets it is not at all
    assert local.epsilon_of(rows) == math.inf


def test_the_survey_without_a_trusted_curator():
    """A share of 0.3 among 10,000 people, asked with two fair coins."""
    survey = local.Warner(epsilon=math.log(3))
    people = np.arange(10_000) < 3_000
    told = survey.estimate(survey.privatize(people))
    sd = math.sqrt(survey.variance(0.3, n=10_000))
    assert sd == pytest.approx(math.sqrt(7.5e-5))
    assert abs(told.raw[1] - 0.3) < 5.0 * sd
    assert told.raw.sum() == pytest.approx(1.0)
    low, high = (end[1] for end in told.interval)
    assert low < told.raw[1] < high
    assert high - low == pytest.approx(2 * norm.ppf(0.975) * sd, rel=0.02)
