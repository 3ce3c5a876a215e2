"""Exposure: bits, ties, fits, and two lower bounds that hold at their level."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from privet import audit, privacy, testing
from privet.errors import InvalidData, InvalidParameter

STRICT = testing.alarm_level("attacks", of=1000)
rng = np.random.default_rng


def test_bits_are_logarithms_of_base_two():
    candidates = np.arange(1024.0)
    found = audit.exposure(candidates[[0, 1, 1023]], candidates, space=1024)
    assert found.bits.tolist() == [10.0, 9.0, 0.0]
    assert found.method == "by rank"
    assert audit.exposure([-1.0], candidates[1:], space=1024).bits.tolist() == [10.0]  # all but the secret


def test_the_unit_of_the_score_does_not_matter():
    nats = rng(0).gamma(20.0, size=2000)
    for by in (audit.Sampled(), audit.Extrapolated()):
        one, two = (
            audit.exposure(np.array([4.0]) * unit, nats * unit, by=by).bits[0] for unit in (1.0, 1 / math.log(2))
        )
        assert one == pytest.approx(two, rel=1e-3)


def test_equal_scores_count_against_the_secret():
    assert audit.exposure([1.0], np.ones(8), space=8).bits.tolist() == [0.0]
    assert audit.exposure([1.0], np.ones(7)).bits.tolist() == [0.0]
    assert audit.exposure([1.0], np.ones(7), by=audit.Extrapolated()).method == "sampled"


@pytest.mark.parametrize("bits", [14.95, 29.92])
def test_extrapolation_of_a_normal_population_is_near_the_truth(bits):
    secret = stats.norm.isf(1.0 - 2.0**-bits) if bits < 20 else -stats.norm.isf(2.0**-bits)
    references = rng(1).normal(size=20_000)
    found = audit.exposure([secret], references, by=audit.Extrapolated())
    assert found.method == "extrapolated"
    assert found.bits[0] == pytest.approx(bits, abs=1.5)
    assert audit.exposure([secret], references).bits[0] <= math.log2(20_001)


def test_a_law_that_does_not_fit_falls_back_and_says_so():
    lumpy = np.concatenate((rng(2).normal(size=500), rng(3).normal(40.0, size=500)))
    for references in (lumpy, np.zeros(100), np.append(lumpy, np.inf), lumpy[:20]):
        found = audit.exposure([-60.0], references, by=audit.Extrapolated())
        assert found.method == "sampled"
        assert "No skew-normal law" in found.explain()
        assert found.bits[0] == pytest.approx(math.log2(len(references) + 1))


def test_the_law_without_training():
    scores = rng(4).normal(size=(4000, 64))
    found = audit.exposure(scores[:, 0], scores[:, 1:])
    for bits in (1.0, 3.0, 5.0):
        rate = float((found.bits >= bits).mean())
        assert stats.binomtest(int(rate * 4000), 4000, 2.0**-bits).pvalue > STRICT
    assert found.mean < found.allowed(0.0)


def test_the_means_of_the_page():
    found = audit.exposure([1.0], np.arange(1.0, 9.0))
    for epsilon, bits in ((0.0, 1.443), (0.65, 2.380), (1.21, 3.188), (5.26, 9.031)):
        assert found.allowed(epsilon) == pytest.approx(bits, abs=1e-3)
    assert audit.Exposure.chance(10.0, 3.0, 1e-5) == pytest.approx(math.exp(3.0) / 1024 + 1e-5)
    assert audit.Exposure.chance(1.0, 3.0) == 1.0


def own_runs(m, epsilon, bits, alpha, seed):
    """Each run hits its secret with the largest probability that pure epsilon allows."""
    p = 2.0**-bits
    chance = min(1.0, math.exp(epsilon) * p)
    hit = rng(seed).random(m) < chance
    references = np.ones((m, 2**bits - 1))
    return audit.exposure(np.where(hit, 0.0, 2.0), references).lower(bits=bits, alpha=alpha).lower


def test_runs_of_their_own_accuse_within_the_level_and_reach_near_the_truth():
    found = [own_runs(60, 2.0, 5, 0.05, seed) for seed in range(400)]
    assert np.mean([lower > 2.0 for lower in found]) <= 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / 400)
    assert np.median(found) > 1.2


def shared_run(m, replaced, bits, alpha, seed):
    """Given the output each secret lies in the set of the event with the largest posterior that replace-DP allows."""
    p = 2.0**-bits
    q = math.exp(replaced) * p / (math.exp(replaced) * p + 1.0 - p)
    hit = rng(seed).random(m) < q
    size = 2**bits
    found = audit.exposure(np.where(hit, 0.0, size - 1.0), np.arange(float(size)), space=size)
    return found.lower(bits=bits, alpha=alpha, unit=privacy.Unit("replace")).lower


def test_one_run_accuses_within_the_level():
    found = [shared_run(60, 2.0, 5, 0.05, seed) for seed in range(400)]
    assert np.mean([lower > 2.0 for lower in found]) <= 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / 400)
    assert np.median(found) > 1.2


@pytest.mark.slow
@pytest.mark.parametrize("law", [own_runs, shared_run])
def test_secrets_that_were_never_in_are_accused_within_the_level(law):
    """A thousand trainings without the secrets: a bound above 0 in at most 6% of them."""
    assert np.mean([law(60, 0.0, 3, 0.05, seed) > 0.0 for seed in range(1_000)]) <= 0.06


def test_secrets_of_one_run_are_not_binomial_at_the_known_rate():
    """Two secrets, four candidates, epsilon 0.5 under add/remove: a linear programme finds a mechanism that hits one
    of them with probability .692, where independent trials would give .654."""
    epsilon, worlds = 0.5, list(product((None, 0, 1, 2, 3), repeat=2))
    outputs = list(product(range(4), repeat=2))  # the candidate that is guessed for each secret
    at = {(w, o): i for i, (w, o) in enumerate(product(range(len(worlds)), range(len(outputs))))}
    rows, equal = [], []
    for a, one in enumerate(worlds):
        for b, two in enumerate(worlds):
            differs = [i for i in (0, 1) if one[i] != two[i]]
            if len(differs) == 1 and None in (one[differs[0]], two[differs[0]]):
                for o in range(len(outputs)):
                    row = np.zeros(len(at))
                    row[at[a, o]], row[at[b, o]] = 1.0, -math.exp(epsilon)
                    rows.append(row)
    for a in range(len(worlds)):
        row = np.zeros(len(at))
        row[[at[a, o] for o in range(len(outputs))]] = 1.0
        equal.append(row)
    cost = np.zeros(len(at))
    for a, world in enumerate(worlds):
        if None not in world:
            for o, guessed in enumerate(outputs):
                cost[at[a, o]] = -any(x == y for x, y in zip(world, guessed, strict=True)) / 16.0
    best = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=np.array(equal), b_eq=np.ones(len(equal)))
    seen = -best.fun
    rate = math.exp(epsilon) / 4.0
    assert seen == pytest.approx(0.692, abs=1e-3)
    assert 1.0 - (1.0 - rate) ** 2 == pytest.approx(0.654, abs=1e-3)
    q = math.exp(2 * epsilon) / (math.exp(2 * epsilon) + 3.0)
    assert seen <= 1.0 - (1.0 - q) ** 2


def test_one_sample_of_references_for_many_secrets_pays_for_its_luck():
    scores = rng(5).normal(size=2000)
    ranked = audit.exposure(np.full(20, -9.0), np.append(scores, -8.0), space=2001)
    sampled = audit.exposure(np.full(20, -9.0), scores)
    assert sampled.lower(bits=8.0).lower < ranked.lower(bits=8.0).lower
    assert sampled.lower(bits=8.0).counts.estimated


def test_copies_of_a_secret_are_a_group():
    once = audit.exposure(np.zeros(20), np.ones((20, 1023)))
    thrice = audit.exposure(np.zeros(20), np.ones((20, 1023)), copies=3)
    assert thrice.lower(bits=10.0).lower == pytest.approx(once.lower(bits=10.0).lower / 3.0)
    assert thrice.allowed(0.5) == pytest.approx(once.allowed(1.5))
    with pytest.raises(InvalidParameter, match="pure claims"):
        thrice.lower(bits=10.0, delta=1e-5)
    with pytest.raises(InvalidParameter, match="pure claims"):
        audit.exposure(np.zeros(20), np.ones(1023)).lower(bits=10.0, delta=1e-5)


def test_extrapolated_figures_bound_nothing():
    found = audit.exposure([-9.0], rng(0).normal(size=1000), by=audit.Extrapolated())
    with pytest.raises(InvalidParameter, match="no known rate"):
        found.lower(bits=3.0)


@pytest.mark.parametrize(
    ("secrets", "references", "more"),
    [([np.nan], [1.0], {}), ([], [1.0], {}), ([1.0], [], {}), ([1.0, 2.0], np.ones((3, 4)), {}), ([1.0], [np.nan], {})],
)
def test_scores_that_are_none_are_refused(secrets, references, more):
    with pytest.raises(InvalidData):
        audit.exposure(secrets, references, **more)


def test_a_space_that_does_not_suit_is_refused():
    with pytest.raises(InvalidParameter, match="all candidates"):
        audit.exposure([1.0], np.ones(10), space=1e9, by=audit.Ranked())
    with pytest.raises(InvalidParameter, match="more references"):
        audit.exposure([1.0], np.ones(10), space=4)
    with pytest.raises(InvalidParameter, match="largest figure"):
        audit.exposure(np.zeros(3), np.ones((3, 15))).lower(bits=5.0)
    assert audit.exposure([0.0], np.ones(15), space=1e9).ceiling == 4.0


@pytest.mark.parametrize("one_run", [False, True])
@pytest.mark.parametrize("hits", [0, 3, 12, 20])
def test_the_test_of_a_claim_says_what_the_bound_says(one_run, hits):
    seen = audit.Hits(hits, 20, 2.0**-6, one_run=one_run)
    lower = audit.known_rate_lower(seen, alpha=0.05).lower
    for epsilon in (0.5 * lower, 0.999 * lower, 1.001 * lower + 1e-9, lower + 1.0):
        found = audit.known_rate_test(seen, claim=privacy.PureLoss(epsilon), alpha=0.05)
        assert (found.verdict == "violated") == (epsilon < lower)
    thrice = audit.Hits(hits, 20, 2.0**-6, one_run=one_run, copies=3)
    assert audit.known_rate_test(thrice, claim=privacy.PureLoss(lower + 1e-6), alpha=0.05).verdict == "not refuted"


def test_a_claim_without_a_pure_epsilon_is_not_refuted_by_one_run():
    seen = audit.Hits(20, 20, 2.0**-20, one_run=True)
    assert audit.known_rate_test(seen, claim=privacy.GaussianLoss(1.0)).p_value == 1.0
    assert audit.known_rate_test(audit.Hits(20, 20, 2.0**-20), claim=privacy.GaussianLoss(1.0)).verdict == "violated"


def test_a_secret_behind_all_others_has_no_bits_and_not_minus_none():
    bits = audit.exposure([5.0], np.ones(7), by=audit.Sampled()).bits
    assert bits.tolist() == [0.0]
    assert not np.signbit(bits).any()


def test_the_share_that_a_sample_lets_through_is_bounded_from_above():
    """Of 1,023 candidates 31 lie below the threshold of 5 bits: the space may hold more than a share of 2^-5 of such."""
    seen = audit.exposure(np.zeros(4), np.arange(1.0, 1024.0), space=1e9).hits(bits=5.0, alpha=0.05)
    assert seen.estimated
    assert seen.chance == pytest.approx(stats.beta.isf(0.025, 32, 1023 - 31), rel=1e-9)
