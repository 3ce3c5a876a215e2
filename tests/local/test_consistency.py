"""Consistent shares: projections and maximum likelihood, which say that no interval is left."""

import numpy as np
import pytest
from scipy.optimize import minimize

from privet import local
from privet.errors import InvalidParameter


@pytest.mark.parametrize(
    ("raw", "shares"),
    [
        ([0.5, 0.4, 0.3, -0.2], [0.43333, 0.33333, 0.23333, 0.0]),
        ([-0.5, -0.4, -0.3], [0.23333, 0.33333, 0.43333]),
        ([0.2, 0.2, 0.2, 0.2], [0.25] * 4),
        ([7.0], [1.0]),
        ([-7.0], [1.0]),
        ([2.0, -1.0], [1.0, 0.0]),
    ],
)
def test_projections(raw, shares):
    assert local.NormSub().project(raw).round(5).tolist() == shares


def test_the_projection_is_the_nearest_point():
    rng = np.random.default_rng(2)
    for _ in range(20):
        raw = rng.normal(0.2, 0.4, 5)
        found = local.NormSub().project(raw)
        assert found.sum() == pytest.approx(1.0)
        assert found.min() >= 0.0
        for _ in range(50):
            other = rng.dirichlet(np.ones(5))
            assert np.sum((raw - found) ** 2) <= np.sum((raw - other) ** 2) + 1e-12


def test_a_consistent_estimate_keeps_the_raw_one_and_has_no_interval():
    protocol = local.KRR(k=6, epsilon=1.0)
    state = protocol.simulate_counts([500, 300, 100, 0, 0, 0])
    raw = protocol.estimate(state)
    for consistency in (local.NormSub(), local.EM()):
        told = protocol.estimate(state, consistency=consistency)
        assert np.array_equal(told.raw, raw.raw)
        assert told.value.sum() == pytest.approx(1.0)
        assert told.value.min() >= 0.0
        assert told.interval is None
        assert told.error is None
        assert "no interval is claimed" in told.notes[0]
        assert "low" not in told.columns()
    assert raw.interval is not None
    with pytest.raises(InvalidParameter, match="candidates"):
        protocol.estimate(state, candidates=[0, 1], consistency=local.NormSub())


@pytest.mark.parametrize("protocol", [local.KRR(k=4, epsilon=1.0), local.HadamardResponse(k=4, epsilon=1.0)])
def test_em_finds_the_most_likely_shares_of_the_true_channel(protocol):
    state = protocol.simulate_counts([400, 300, 200, 100])
    channel = np.array([[float(mass) for mass in row] for row in protocol.channel()])
    seen = state.table

    def loss(angles):
        shares = np.exp(angles) / np.exp(angles).sum()
        return -float(seen @ np.log(shares @ channel))

    best = min((minimize(loss, start, method="BFGS") for start in np.eye(4)), key=lambda each: each.fun)
    told = protocol.estimate(state, consistency=local.EM(within=1e-12))
    shares = np.exp(best.x) / np.exp(best.x).sum()
    assert -float(seen @ np.log(told.value @ channel)) <= best.fun + 1e-6 * abs(best.fun)
    assert np.allclose(told.value, shares, atol=0.02)


def test_em_is_refused_where_reports_were_not_counted():
    protocol = local.UnaryEncoding(k=4, epsilon=1.0)
    with pytest.raises(InvalidParameter, match="sums of bits"):
        protocol.estimate(protocol.privatize([0, 1, 2]), consistency=local.EM())
