"""Numbers of the handbook's page, to six digits."""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from privet import local
from privet.local.families.hashes import hashed, pool, walsh
from privet.privacy.divergences import contraction
from tests.local.members import log_of


@pytest.mark.parametrize(
    ("protocol", "variance"),
    [
        (local.KRR(k=1024, epsilon=2.0), 25.2177389),
        (local.UnaryEncoding(k=1024, epsilon=2.0, symmetric=True), 0.9206736),
        (local.UnaryEncoding(k=1024, epsilon=2.0), 0.7240617),
        (local.HadamardResponse(k=1024, epsilon=2.0), 1.7240617),
        (local.SubsetSelection(k=1024, epsilon=2.0), 0.7206953),
        (local.OLH(k=1024, epsilon=2.0, cells=8), 0.7245914),
        (local.OLH(k=1024, epsilon=2.0, cells=9), 0.7252046),
        (local.FLH(k=1024, epsilon=2.0), 0.7245914),
    ],
)
def test_variances(protocol, variance):
    assert protocol.variance(0.0) == pytest.approx(variance, rel=1e-6)


def test_the_better_number_of_cells_and_of_chosen_values():
    assert local.OLH(k=1024, epsilon=2.0).cells == 8
    assert local.SubsetSelection(k=1024, epsilon=2.0).chosen == 122
    assert local.OLH.binary(k=7, epsilon=1.0).variance(0.0) == pytest.approx(
        local.HadamardResponse(k=7, epsilon=1.0).variance(0.0), rel=1e-6
    )


def test_the_variance_of_a_sketch():
    wide = local.CountMeanSketch(k=4, epsilon=4.0, depth=1, width=2**20)
    assert wide.variance(0.0) == pytest.approx(0.1810154, rel=1e-4)


@pytest.mark.parametrize(
    ("protocol", "eta"),
    [
        (local.KRR(k=6, epsilon=1.3), 0.307902),
        (local.UnaryEncoding(k=6, epsilon=1.3, symmetric=True), 0.314021),
        (local.UnaryEncoding(k=6, epsilon=1.3), 0.285835),
        (local.HadamardResponse(k=6, epsilon=1.3), 0.285835),
        (local.SubsetSelection(k=6, epsilon=1.3, chosen=2), 0.376667),
        (local.Warner(epsilon=1.3), 0.571670),
    ],
)
def test_contractions_at_one(protocol, eta):
    assert float(contraction(protocol.channel(), 1)) == pytest.approx(eta, abs=6e-7)
    assert float(protocol.loss.profile(0.0)) == pytest.approx(eta, abs=6e-7)


@pytest.mark.parametrize("e", [4, 9])
def test_closed_forms_of_contraction(e):
    epsilon, k = log_of(e), 5
    root = {4: 2, 9: 3}[e]
    for gamma in (1, 2, Fraction(7, 2)):
        gap = Fraction(e) - gamma
        assert contraction(local.Warner(epsilon=epsilon).channel(), gamma) == gap / (e + 1)
        assert contraction(local.KRR(k=k, epsilon=epsilon).channel(), gamma) == gap / (e + k - 1)
        assert contraction(local.UnaryEncoding(k=k, epsilon=epsilon).channel(), gamma) == gap / (2 * (e + 1))
        symmetric = local.UnaryEncoding(k=k, epsilon=epsilon, symmetric=True)
        assert contraction(symmetric.channel(), gamma) == gap / (1 + root) ** 2
        assert contraction(local.HadamardResponse(k=k, epsilon=epsilon).channel(), gamma) == gap / (2 * (e + 1))
        subset = local.SubsetSelection(k=k, epsilon=epsilon, chosen=2)
        assert contraction(subset.channel(), gamma) == gap * 3 / (e * 4 + 6)  # C(3,1), C(4,1), C(4,2)
        for protocol in (symmetric, subset):
            assert contraction(protocol.channel(), gamma) <= gap / (e + 1)  # the universal bound


def words_of(seed: int):
    """The sequence of a pool in plain integers."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield z ^ z >> 31


def test_hashes_are_the_same_everywhere():
    a, b = pool(7, 3)
    assert int(a[0]) == 7191089600892374487
    assert np.stack((a, b), axis=1).reshape(-1).tolist() == list(islice(words_of(7), 6))
    values = [0, 1, 5, 2**32 - 1]
    plain = [((int(a[1]) * x + int(b[1])) % 2**64 >> 32) * 1000 >> 32 for x in values]
    assert hashed(np.array(values, dtype=np.uint64), a[1], b[1], 1000).tolist() == plain
    matrix = walsh(np.eye(8, dtype=np.int64))
    assert np.array_equal(matrix @ matrix, 8 * np.eye(8))


def test_krr_is_better_than_unary_encoding_while_k_is_small():
    e = np.exp(2.0)
    for k in (int(3 * e + 2) - 1, int(3 * e + 2) + 2):
        krr, unary = (kind(k=k, epsilon=2.0).variance(0.0) for kind in (local.KRR, local.UnaryEncoding))
        assert (krr < unary) == (k < 3 * e + 2)
