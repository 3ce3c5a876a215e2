"""What a price says beyond what it knows, and of its costliest block."""

import math

import numpy as np

from privet import privacy


def test_nothing_is_known_beyond_the_last_order():
    known = privacy.RdpLoss((2.0, 8.0), (0.1, 0.5))
    at = known.rdp(np.array([4.0, 8.0, 8.001, 100.0])).values
    assert np.isfinite(at[:2]).all()
    assert list(at[2:]) == [math.inf, math.inf]


def test_blocks_cost_what_the_dearest_costs():
    cheap, costly = privacy.ZcdpLoss(0.1), privacy.ZcdpLoss(0.5)
    for blocks in ((cheap, costly), (costly, cheap)):
        assert privacy.Parallel(blocks).zcdp().rho == 0.5
