"""Named analyses of objective perturbation: published noise, what they need, and prices that are never below the truth."""

from itertools import product

import numpy as np
import pytest

from privet.errors import InvalidParameter
from privet.learn.losses import HuberHinge, Logistic
from privet.learn.problem import Classes, Task
from privet.learn.solvers import ObjectivePerturbation
from privet.learn.solvers.analyses import (
    Point,
    amp_share,
    cms11_price,
    least_strength,
    proved_price,
    proved_sigma,
    rkw_curvature,
)
from privet.learn.solvers.objective_perturbation import ObjectiveFit, least_multiplier, pure_price
from privet.privacy import Guarantee, ObjectivePerturbationLoss, Unit
from tests.learn.densities import LOGISTIC, Problem, huber_hinge, one_dimension

REPLACE = Unit("replace")
UNITS = (Unit(), REPLACE)
NAMED = ("rkw", "kst12", "amp")
PUBLISHED = [  # epsilon, Lambda, KST12, RKW, any GLM, one sign, logistic; delta = 1e-6
    (0.1, 5.0, 107.92, 74.294, 70.892, 67.748, 41.837),
    (0.5, 1.0, 21.732, 18.668, 14.546, 14.006, 8.978),
    (1.0, 0.25, None, None, 13.205, 12.721, 7.261),
    (1.0, 0.5, 10.958, 13.205, 7.097, 6.855, 4.577),
    (1.0, 1.0, 10.958, 5.992, 5.525, 5.342, 4.225),
    (2.0, 0.125, None, None, 4.809, 4.652, 2.942),
    (4.0, 0.06, None, None, 1.977, 1.920, 1.370),
    (8.0, 0.02, None, None, 0.940, 0.917, 0.722),
]


def task(unit: Unit = Unit()) -> Task:  # noqa: B008
    return Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=unit)


@pytest.mark.parametrize(("epsilon", "strength", "kst12", "rkw", "general", "one_sign", "logistic"), PUBLISHED)
def test_published_noise(epsilon, strength, kst12, rkw, general, one_sign, logistic):
    for shape, curvature, known in (
        ("general", 0.25 / strength, general),
        ("fixed_sign", 0.25 / strength, one_sign),
        ("logistic", 1.0 / strength, logistic),
    ):
        assert least_multiplier(epsilon, 1e-6, curvature, shape, Unit()) == pytest.approx(known, rel=0.01)
    if kst12 is not None:
        assert proved_sigma("kst12", Logistic(), Point(epsilon, 1e-6), Unit()) == pytest.approx(kst12, rel=1e-3)
        assert strength >= least_strength("kst12", Logistic(), epsilon)
        curvature = rkw_curvature(Logistic(), strength)
        assert least_multiplier(epsilon, 1e-6, curvature, "general", Unit()) == pytest.approx(rkw, rel=0.01)
    else:
        assert strength < least_strength("kst12", Logistic(), epsilon) or strength <= 0.25


def test_published_pure_prices():
    assert cms11_price(Logistic(), 1.0, 0.05) == pytest.approx(5.5835, abs=1e-4)
    assert cms11_price(Logistic(), 1.0, 1.0) == pytest.approx(2.4463, abs=1e-4)
    for gradients, strength, known in ((1.0, 0.05, 2.3642), (2.0, 0.05, 3.3642), (1.0, 1.0, 1.0), (2.0, 1.0, 2.0)):
        assert pure_price(Logistic(), 1.0, strength, gradients) == pytest.approx(known, abs=6e-5)
    for scale, strength, gradients in product((0.1, 1.0, 30.0), (0.01, 1.0), (1.0, 2.0)):
        assert cms11_price(Logistic(), scale, strength) >= pure_price(Logistic(), scale, strength, gradients)


@pytest.mark.parametrize("unit", UNITS, ids=["add_remove", "replace"])
@pytest.mark.parametrize("analysis", NAMED)
def test_what_is_proved_is_true_by_the_sharp_theorem(analysis, unit):
    """Another theorem about the same noise and regulariser promises at least as much, for every point."""
    for loss, epsilon, delta in product((Logistic(), HuberHinge()), (0.01, 0.3, 1.0, 3.0, 8.0), (1e-2, 1e-6, 1e-10)):
        if analysis == "rkw":
            strength, sigma = 1.5 * loss.smoothness, loss.lipschitz / epsilon
            claimed = proved_price("rkw", loss, strength, sigma, None, unit).bound(epsilon)
        else:
            strength = least_strength(analysis, loss, epsilon)
            sigma, claimed = proved_sigma(analysis, loss, Point(epsilon, delta), unit), delta
        curvature = (1.0 if loss.shape == "logistic" else loss.smoothness) / strength
        sharp = ObjectivePerturbationLoss(sigma / loss.lipschitz, curvature, loss.shape, unit=unit)
        assert sharp.bound(epsilon) <= claimed * (1.0 + 1e-9)


@pytest.mark.parametrize("unit", UNITS, ids=["add_remove", "replace"])
@pytest.mark.parametrize("analysis", NAMED)
def test_no_exact_law_lies_above_a_plan(analysis, unit):
    """The hinge in one dimension, at its own promise; with a quarter of the noise of the least of them it would."""
    for epsilon, (loss, psi) in product((0.5, 2.0), ((Logistic(), LOGISTIC), (HuberHinge(), huber_hinge()))):
        plan = ObjectivePerturbation(analysis=analysis).plan(task(unit), loss, Guarantee(epsilon, 1e-4))
        assert float(plan.loss.profile(epsilon)) <= 1e-4
        first = Problem(psi, (((1.0,), 1.0),), (plan.strength,))
        rest = (((-1.0,), 1.0),) if unit == REPLACE else ()
        second = Problem(psi, rest, (plan.strength,))
        at = np.array([epsilon])
        assert one_dimension(first, second, plan.sigma, at).max() <= float(plan.loss.profile(epsilon))
        assert one_dimension(first, second, plan.sigma / 8.0, at).max() > 1e-4


def test_a_pure_plan_by_the_first_analysis():
    for unit, epsilon in product(UNITS, (0.1, 1.0, 6.0)):
        plan = ObjectivePerturbation(analysis="cms11").plan(task(unit), Logistic(), Guarantee(epsilon))
        assert 0.99 * epsilon <= plan.loss.pure() <= epsilon
        sharp = ObjectivePerturbation(strength=plan.strength).plan(task(unit), Logistic(), Guarantee(epsilon))
        assert sharp.scale < plan.scale


@pytest.mark.parametrize("analysis", NAMED)
def test_sharp_noise_is_the_least(analysis):
    plan = ObjectivePerturbation(analysis=analysis).plan(task(), Logistic(), Guarantee(1.0, 1e-6))
    sharp = ObjectivePerturbation(strength=plan.strength).plan(task(), Logistic(), Guarantee(1.0, 1e-6))
    assert sharp.sigma < plan.sigma


@pytest.mark.parametrize(
    ("made", "promise"),
    [
        ({"analysis": "kst12", "strength": 0.4}, Guarantee(1.0, 1e-6)),
        ({"analysis": "amp", "strength": 1.0}, Guarantee(1.0, 1e-6)),
        ({"analysis": "rkw", "strength": 0.25}, Guarantee(1.0, 1e-6)),
        ({"analysis": "rkw"}, Guarantee(1.0)),
        ({"analysis": "cms11"}, Guarantee(1.0, 1e-6)),
        ({"analysis": "dwork"}, Guarantee(1.0, 1e-6)),
    ],
    ids=lambda each: str(each),
)
def test_what_an_analysis_does_not_prove_is_refused(made, promise):
    with pytest.raises(InvalidParameter):
        ObjectivePerturbation(**made).plan(task(), Logistic(), promise)


@pytest.mark.parametrize("analysis", ["kst12", "amp"])
def test_a_plan_with_less_than_its_analysis_needs_is_refused(analysis):
    plan = ObjectivePerturbation(analysis=analysis).plan(task(), Logistic(), Guarantee(1.0, 1e-6))
    facts = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
    for change in (
        {"sigma": plan.sigma / 2.0},
        {"strength": plan.strength / 2.0},
        {"point": (0.5, 1e-7)},
        {"point": None},
    ):
        with pytest.raises(InvalidParameter):
            ObjectiveFit(**{**facts, **change})
    assert amp_share(1.0) == pytest.approx(0.88671 + 0.0186607)
