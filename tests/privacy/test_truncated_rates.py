"""Truncated samples: the rate of a full batch, every number of records up to the cap, and what one number would miss."""

import itertools
import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from privet import accounting, privacy
from privet.privacy import truncated_sampled

ROUNDING = 1e-15  # of curves that are 0 from there on
GAUSSIAN = privacy.GaussianLoss(1.0)


def made(q, batch, n, **unit):
    return privacy.TruncatedPoissonSampled(privacy.GaussianLoss(1.0, **unit), q, batch, n)


@pytest.mark.parametrize(("q", "batch", "records"), [*itertools.product((0.1, 0.5, 0.9), (1, 2, 5), (6, 7, 20))])
def test_chance_and_rate_in_rationals(q, batch, records):
    exact, others = Fraction(q), records - 1
    law = {s: comb(others, s) * exact**s * (1 - exact) ** (others - s) for s in range(batch, others + 1)}
    chance = sum(law.values())
    rate = sum(p * exact * Fraction(batch, s + 1) for s, p in law.items()) / chance
    found = made(q, batch, 50)._full(records)
    assert chance <= Fraction(found[0]) <= chance * Fraction(1 + 1e-7)
    assert rate <= Fraction(found[1]) <= rate * Fraction(1 + 1e-7)


@pytest.mark.parametrize("relation", ["add_remove", "zero_out"])
@pytest.mark.parametrize("n", [3, 4, 18, 19])
def test_the_curve_grows_with_the_cap_and_never_falls_below_plain_sampling(relation, n):
    """Both sides of the largest number of records that are told apart (batch + 16)."""
    unit = {"unit": privacy.Unit(relation)}
    loss, fewer = made(0.3, 2, n, **unit), made(0.3, 2, n - 1, **unit)
    plain = privacy.PoissonSampled(privacy.GaussianLoss(1.0, **unit), 0.3)
    assert (n - 2 > truncated_sampled._FEW) == (n == 19)
    for direction in ("remove", "add"):
        for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0, 4.0):
            here = loss.variable(direction).enclose(epsilon)[1]
            for other in (plain, fewer):
                assert here >= other.variable(direction).enclose(epsilon)[0] * (1.0 - 1e-9) - ROUNDING


def test_the_pair_of_exactly_n_records_would_fall_below():
    """The broken twin: the pair for n records alone is no bound for a cap."""
    loss = made(0.3, 2, 18)
    base, swap = GAUSSIAN.variable("remove"), privacy.to_replace(GAUSSIAN).variable("remove")
    plain = truncated_sampled.SampledVariable(base, 0.3)
    alone = loss._of_crowd(*loss._full(18), plain, swap)
    assert alone.enclose(0.0)[1] < 0.9 * plain.enclose(0.0)[0]
    assert loss.variable("remove").enclose(0.0)[1] >= plain.enclose(0.0)[0] * (1.0 - 1e-9)


def test_the_published_setting():
    """dp-accounting has 17.904 here; the rate q in the place of that of a full batch gave 19.691."""
    parts = privacy.Repeated(made(0.5, 2, 4), 3), privacy.Repeated(made(0.5, 2, 3), 2)
    assert 16.45 < accounting.epsilon(privacy.Composed(parts), delta=1e-6).upper < 16.50


def _sums(records, q, batch):
    """The law of the sum of a batch, over all samples and subsets: how likely each sum is."""
    law = {}
    for joined in itertools.product((False, True), repeat=len(records)):
        chance = math.prod(q if each else 1.0 - q for each in joined)
        taken = [each for each, there in zip(records, joined, strict=True) if there]
        kept = list(itertools.combinations(taken, min(batch, len(taken))))
        for each in kept:
            law[sum(each)] = law.get(sum(each), 0.0) + chance / len(kept)
    return law


@pytest.mark.parametrize("others", sorted({tuple(sorted(each)) for each in itertools.product((-1, 0, 1), repeat=3)}))
def test_no_data_set_that_is_enumerated_shows_more(others):
    """Sums of at most two of four records with normal noise, by quadrature, in both directions."""
    z = np.linspace(-12.0, 12.0, 24_001)
    densities = [
        sum(chance * np.exp(-0.5 * (z - at) ** 2) for at, chance in _sums(records, 0.5, 2).items())
        / math.sqrt(2 * math.pi)
        for records in ((1, *others), others)
    ]
    loss, step = made(0.5, 2, 4), z[1] - z[0]
    for direction, (left, right) in (("remove", densities), ("add", densities[::-1])):
        for epsilon in (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0):
            shown = float(np.maximum(left - math.exp(epsilon) * right, 0.0).sum()) * step
            assert shown <= loss.profile(epsilon, direction) + 1e-6
