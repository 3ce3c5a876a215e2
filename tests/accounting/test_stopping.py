"""The small pieces on which a search for an interval rests: when it may stop, and on which side errors are charged."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privet import privacy
from privet.accounting.pld.compose import _infinite, compose
from privet.accounting.pld.engine import delta_interval
from privet.accounting.pld.interval import Interval, intersected, larger_of
from privet.accounting.pld.law import LOWER, UPPER
from privet.accounting.pld.plan import make_plan
from privet.accounting.pld.question import DeltaAt, EpsilonAt
from privet.accounting.pld.rounding import lower_law, upper_law
from privet.accounting.pld.single import _enclosure, pair_epsilon, without_grid
from tests.oracles import closed_forms


def test_an_end_at_infinity_is_never_narrow():
    assert Interval(1.0, 2.0).is_within(1.0)
    assert not Interval(1.0, 2.0).is_within(0.99)
    assert not Interval(0.0, math.inf).is_within(math.inf)
    assert not Interval(math.inf, math.inf).is_within(math.inf)


def test_a_width_tells_nothing_while_an_end_is_missing():
    assert Interval(0.9, 1.0).settled
    assert not Interval(0.0, 1.0).settled
    assert not Interval(1e-9, 1.0).settled
    assert not Interval(1.0, math.inf).settled


def test_two_enclosures_and_two_values():
    one, two = Interval(0.0, 2.0, coarse=True), Interval(1.0, 3.0)
    assert intersected(one, two) == Interval(1.0, 2.0, coarse=True)
    assert larger_of(one, two) == Interval(1.0, 3.0, coarse=True)


@pytest.mark.parametrize("value", [0.0, 1e-9, 0.3])
@pytest.mark.parametrize("error", [1e-12, 1e-3])
def test_errors_widen_both_ends(value: float, error: float):
    assert UPPER.charged(value, error) == value + error
    assert LOWER.charged(value, error) == max(value - error, 0.0)
    assert LOWER.factor(error) < 1.0 < UPPER.factor(error)
    assert UPPER.end(1.0, 2.0) == 2.0
    assert LOWER.end(1.0, 2.0) == 1.0


@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.6), (-4.0, 1.0), (0.2, 4.0)])
def test_what_lies_outside_a_window_is_charged(low: float, high: float):
    """Forty normal steps in a window that is too small on one side: the curve read off it is nowhere below the truth."""
    parts, step = [(privacy.GaussianLoss(20.0), 40)], 1e-3
    plan = make_plan(parts, "remove", delta=1e-3)
    cut = type(plan)(**{**vars(plan), "low": low, "high": high})
    law = compose([(upper_law(loss, "remove", step, 1e-15, plan.order), n) for loss, n in parts], step, cut)
    profile = law.profile(UPPER, 0.0)
    for epsilon in (0.3, 0.5, 0.55):
        assert profile.delta(epsilon) >= closed_forms.gaussian_delta(epsilon, math.sqrt(40.0) / 20.0) * (1.0 - 1e-12)


def test_what_wraps_around_from_below_is_taken_off_the_lower_end():
    """Losses below the window come out at its top, where they would count as lost: they are charged."""
    parts, step = [(privacy.GaussianLoss(20.0), 40)], 1e-3
    plan = make_plan(parts, "remove", delta=1e-3)
    cut = type(plan)(**{**vars(plan), "tilt": 0.1, "low": 0.0, "high": 1.2})
    law = compose([(lower_law(loss, "remove", step, 1e-15, plan.order), n) for loss, n in parts], step, cut)
    profile = law.profile(LOWER, 0.0)
    for epsilon in (0.3, 0.5, 0.55):
        assert profile.delta(epsilon) <= closed_forms.gaussian_delta(epsilon, math.sqrt(40.0) / 20.0)


def test_a_direction_is_skipped_only_where_its_losses_end_before():
    parts = [(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.1), 2)]
    most = 2.0 * -math.log1p(-0.1)
    for direction, ends in (("add", (-math.inf, most / 2.0)), ("remove", (-most / 2.0, math.inf))):
        found = parts[0][0].variable(direction).ends
        assert found == pytest.approx(ends, rel=1e-12)
        assert abs(found[1 if direction == "add" else 0]) >= -math.log1p(-0.1)
    epsilon, delta = EpsilonAt(parts, 1e-4, 1e-6), DeltaAt(parts, 1e-4, 0.1)
    assert epsilon.is_settled_by(most, most)
    assert not epsilon.is_settled_by(most, 0.99 * most)
    assert delta.is_settled_by(0.1, 0.0)
    assert not delta.is_settled_by(0.11, 0.0)
    assert DeltaAt(parts, 1e-4, 0.0).is_settled_by(most, 0.0)  # total variation is one number


def test_the_loss_of_the_other_direction_never_exceeds_its_end():
    variable = privacy.PoissonSampled(privacy.GaussianLoss(0.5), q=0.1).variable("add")
    top = variable.ends[1]
    assert float(variable.tails(top)[0]) == 0.0
    assert float(variable.tails(top - 1e-3)[0]) > 0.0


def test_one_release_is_enclosed_from_both_sides():
    pair = without_grid([(privacy.LaplaceLoss(2.0), 1)])
    assert pair is not None
    low, high = _enclosure(pair, 0.2)
    truth = closed_forms.laplace_delta(0.2, 2.0)
    assert low <= truth <= high
    assert low < high
    assert np.isclose(low, high, rtol=1e-6)


def test_the_epsilon_of_one_release_is_met_at_its_upper_end():
    pair = without_grid([(privacy.LaplaceLoss(2.0), 1)])
    ends = pair_epsilon(pair, 1e-3)
    assert ends is not None
    assert ends[0] < ends[1]
    assert closed_forms.laplace_delta(ends[1], 2.0) <= 1e-3 <= closed_forms.laplace_delta(ends[0], 2.0)


def test_mass_at_infinity_adds_up_over_the_steps():
    law = upper_law(privacy.ApproxLoss(0.5, 1e-3), "remove", 0.5, 1e-12)
    assert _infinite([(law, 1)]) >= 1e-3
    assert _infinite([(law, 4)]) == pytest.approx(-math.expm1(4.0 * math.log1p(-1e-3)), rel=1e-9)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("step", [0.05, 0.2])
def test_the_laws_of_one_step_enclose_its_curve(direction: str, step: float):
    """Asymmetric steps, in both directions: what each law says of delta lies on its own side of the truth."""
    loss = privacy.PoissonSampled(privacy.GaussianLoss(0.7), q=0.2)
    for law, sign in ((upper_law(loss, direction, step, 1e-6), 1.0), (lower_law(loss, direction, step, 1e-6), -1.0)):
        for epsilon in (0.0, 0.1, 0.7, 2.0):
            above = law.losses() > epsilon
            said = law.infinite + float((law.mass[above] * -np.expm1(epsilon - law.losses()[above])).sum())
            assert sign * (said - float(loss.variable(direction).delta(epsilon))) >= -1e-13


def test_log_moments_are_those_of_the_law():
    law = upper_law(privacy.LaplaceLoss(1.0), "remove", 0.25, 1e-12)
    for order in (-1.0, 0.0, 0.5, 3.0):
        assert law.log_moment(order) == pytest.approx(math.log(float((law.mass * np.exp(order * law.losses())).sum())))


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_both_directions_are_asked(epsilon: float):
    """Two lopsided releases and their mirror image: the answer is the same, whichever way round they are written."""
    p, q = (0.1, 0.9), (0.5, 0.5)
    found = [delta_interval([(privacy.FinitePairLoss(*pair), 2)], epsilon, 1e-3).upper for pair in ((p, q), (q, p))]
    assert found[0] == pytest.approx(found[1], rel=5e-3)
