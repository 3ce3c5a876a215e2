"""Choice by dominating integer weights: the law with and without the exact path, extreme scores, bad input."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import power_divergence

from privet import noise
from privet.errors import InvalidData, InvalidParameter
from tests.noise.helpers import ALPHA, module

SCORES, COUNTS, SCALE = np.array([0.0, 1.0, 2.0, -3.5, -30.0]), np.array([3, 5, 2, 1000, 10**10]), Fraction(3, 2)


def law(scores=SCORES, counts=COUNTS, scale=SCALE):
    weights = np.asarray(counts) * np.exp(np.asarray(scores) / float(scale))
    return weights / weights.sum()


def p_value(draws, probabilities):
    counts = np.bincount(draws, minlength=len(probabilities))
    return power_divergence(counts, probabilities * len(draws), lambda_="log-likelihood").pvalue


@pytest.mark.parametrize(
    ("bits", "margin", "runs"), [(60, 2.0**-40, 200_000), (4, 0.25, 6_000), (8, 0.01, 6_000), (2, 0.6, 6_000)]
)
def test_law_whatever_path_decides(bits, margin, runs, monkeypatch):
    """Few units and a wide margin: proposals are often rejected, and most coins need exact arithmetic."""
    monkeypatch.setattr(module("choice_exp"), "_BITS", bits)
    monkeypatch.setattr(module("choice_exp"), "_MARGIN", margin)
    draws = noise.choice_exp(SCORES, scale=SCALE, counts=COUNTS, size=runs)
    assert p_value(draws, law()) > ALPHA
    assert p_value(draws, law(scale=1.5 * SCALE)) < ALPHA


def test_twin_without_the_exact_coin_is_caught(monkeypatch):
    """Keeping every proposal: with few units the law of the integers shows."""
    monkeypatch.setattr(module("choice_exp"), "_BITS", 4)
    monkeypatch.setattr(
        module("choice_exp")._Proposal, "_accept", lambda self, stream, index: np.ones(len(index), bool)
    )
    assert p_value(noise.choice_exp(SCORES, scale=SCALE, counts=COUNTS, size=20_000), law()) < ALPHA


def test_no_tail_is_cut():
    """A candidate far below one unit of weight: its coin has the exact probability, not 0."""
    proposal = module("choice_exp")._Proposal(np.array([0.0, -50.0]), Fraction(1), None)
    units = int(proposal.ends[1] - proposal.ends[0])
    assert units == 1
    heads = Fraction(2) ** proposal.shift * Fraction(math.exp(-50.0))
    assert 0 < heads < 1
    from privet.noise.families.refined import Refined

    stream = noise.Seeded(0).stream()
    edge = math.floor(heads * 2**64)
    assert proposal._exactly(Refined(stream, edge - 2**20, 64), 1, units)
    assert not proposal._exactly(Refined(stream, edge + 2**20, 64), 1, units)


def test_extremes():
    assert noise.choice_exp([-1e308, 1e308, -np.inf], scale=1) == 1
    assert noise.choice_exp([7.0], scale=Fraction(1, 10**9), size=3).tolist() == [0, 0, 0]
    assert noise.choice_exp([5.0, 0.0], scale=1, counts=[0, 2**62]) == 1
    flat = noise.choice_exp([0.0, -1e-300], scale=1, size=10_000)
    assert p_value(flat, np.array([0.5, 0.5])) > ALPHA
    huge = noise.choice_exp([0.0, 0.0, -1.0], scale=1, counts=[2**62, 2**62, 2**62], size=10_000)
    assert p_value(huge, law([0.0, 0.0, -1.0], [1, 1, 1], 1)) > ALPHA


@pytest.mark.parametrize("bad", [[], [[1.0]], [np.nan], [np.inf, 0.0], [-np.inf], "ab", [None]])
def test_bad_scores(bad):
    with pytest.raises(InvalidData):
        noise.choice_exp(bad, scale=1)


@pytest.mark.parametrize("counts", [[1], [1, -1], [0, 0], [1.5, 2.0], [2**63, 1], [[1, 2]], [True, False]])
def test_bad_counts(counts):
    with pytest.raises(InvalidData):
        noise.choice_exp([0.0, 1.0], scale=1, counts=counts)


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, "1", True, Fraction(1, 10**400)])
def test_bad_scales(scale):
    with pytest.raises(InvalidParameter):
        noise.choice_exp([0.0, 1.0], scale=scale)
