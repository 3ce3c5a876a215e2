"""What an odometer's figure means: a guarantee at the moment of stopping, and a bound on the loss only without deltas."""

import math
from itertools import product

import pytest

import privet as pv
from privet.accounting.filters import Odometer
from privet.errors import BudgetExceeded
from privet.privacy import ApproxLoss, PureLoss

SHARE = 0.01
METER = Odometer(first_rho=0.01, delta=1e-6, delta0=SHARE)


def chance(bits: tuple[int, ...], tilt: float) -> float:
    """The probability of bits that are 1 with probability (1 + tilt) / 2 each."""
    return math.prod((1.0 + tilt) / 2.0 if bit else (1.0 - tilt) / 2.0 for bit in bits)


def shown(parts: int) -> float:
    ledger = pv.Ledger.create("memory:", odometer=METER)
    for _ in range(parts):
        ledger.reserve(ApproxLoss(0.0, SHARE / parts * (1.0 - 1e-12)))  # thirds do not round down by themselves
    return ledger.spent["odometer epsilon"]


@pytest.mark.parametrize("parts", [1, 3, 5])
def test_bits_that_the_failures_pay_for_show_a_loss_that_the_figure_does_not_bound(parts: int):
    """One bit is (0, d)-DP, so d of failures pay for it and the odometer shows 0, while half of all outcomes have a loss
    above 0: why the note claims a bound on the loss for delta0 = 0 alone.
    """
    epsilon, tilt = shown(parts), SHARE / parts
    assert epsilon == 0.0
    outcomes = [(chance(bits, tilt), chance(bits, -tilt)) for bits in product((0, 1), repeat=parts)]
    above = sum(p for p, q in outcomes if math.log(p / q) > epsilon)
    assert above > 0.4
    assert above > 40 * (METER.delta + METER.delta0)
    if parts == 1:
        assert above == pytest.approx(0.505)
        assert math.log(1.01 / 0.99) == pytest.approx(0.020, abs=1e-4)


@pytest.mark.parametrize("parts", [1, 3, 5])
def test_as_a_guarantee_the_figure_holds_for_every_event(parts: int):
    epsilon, tilt = shown(parts), SHARE / parts
    pairs = [(chance(bits, tilt), chance(bits, -tilt)) for bits in product((0, 1), repeat=parts)]
    worst = sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in pairs)  # the best event takes where it gains
    assert worst <= METER.delta + METER.delta0
    assert worst >= 0.3 * METER.delta0  # and is close: the failures are spent


def test_failures_beyond_what_was_set_aside_are_refused():
    ledger = pv.Ledger.create("memory:", odometer=METER)
    ledger.reserve(ApproxLoss(0.0, SHARE))
    with pytest.raises(BudgetExceeded, match="delta0"):
        ledger.reserve(ApproxLoss(0.0, 1e-12))
    ledger.reserve(PureLoss(0.1))
    assert ledger.spent["odometer epsilon"] > 0.0
