"""Every accountant meets bad targets and odd prices: a finite interval or one clear error, never silence."""

import math
import resource
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

from privet import accounting, privacy, testing
from privet.accounting.pld import engine
from privet.accounting.pld.compose import compose
from privet.accounting.pld.engine import delta_interval
from privet.errors import InternalError, NoGuarantee, PrivetError
from privet.privacy import Unit
from tests.effort import tries
from tests.firsts import ends

REPLACE = Unit("replace")
ACCOUNTANTS = {type(accountant).__name__: accountant for accountant in testing.accountants()}
LOSSES = [privacy.PureLoss(1.0), privacy.GaussianLoss(1.0), privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.1)]
QUICK = accounting.Tightest(1e-2)


def shown(value):
    return repr(value)[:30]


def kind_of(loss):
    return loss.kind


def assert_honest(make, target, *, ask="epsilon", accountant=QUICK):
    """A finite interval whose upper end is no silent zero, or a refusal; but never a contradiction."""
    try:
        loss = make if isinstance(make, privacy.PrivacyLoss) else make()
        if ask == "epsilon":
            bound = accounting.epsilon(loss, delta=target, accountant=accountant)
        else:
            bound = accounting.delta(loss, epsilon=target, accountant=accountant)
    except InternalError:
        raise
    except PrivetError:
        return
    assert 0.0 <= bound.lower <= bound.upper < math.inf
    if ask == "epsilon" and bound.upper == 0.0:  # then no single release may already break the promise
        for part, _ in loss.parts():
            assert not part.exact or float(part.profile(0.0)) <= target * (1.0 + 1e-6) + 1e-15


# --- bad targets -----------------------------------------------------------------------------------------------


def faults(bound):
    """An interval with ends that are numbers in order is sound."""
    if not 0.0 <= bound.lower <= bound.upper < math.inf:
        yield f"the interval is {bound}"


def test_questions_refuse_nonsense():
    testing.check_call_refuses_nonsense(accounting.epsilon, faults, loss=LOSSES[0], delta=1e-5)
    testing.check_call_refuses_nonsense(accounting.delta, faults, loss=LOSSES[0], epsilon=0.5)
    with pytest.raises(PrivetError):
        accounting.delta(LOSSES[0], epsilon=math.inf)
    with pytest.raises(PrivetError):
        accounting.epsilon(LOSSES[0], delta=1.0000001)


@pytest.mark.parametrize("name", ACCOUNTANTS)
def test_every_accountant_refuses_nonsense_by_itself(name):
    """Quick prices of three sorts: each answer comes by another way."""
    for loss in (*LOSSES[:2], privacy.ApproxLoss(1.0, 1e-9)):
        for ask, target in ((ACCOUNTANTS[name].epsilon, 1e-5), (ACCOUNTANTS[name].delta, 0.5)):
            for bad in (-1.0, math.nan, math.inf, -math.inf, "1", None, True, 1j, [target]):
                with pytest.raises(PrivetError):
                    ask(loss, bad)
        for delta in (1.0, 2.0):
            with pytest.raises(PrivetError):
                ACCOUNTANTS[name].epsilon(loss, delta)


def test_delta_zero_is_pure_privacy_or_a_refusal():
    assert accounting.epsilon(privacy.Repeated(privacy.LaplaceLoss(2.0), 3), delta=0.0).upper == pytest.approx(1.5)
    for loss in LOSSES[1:]:
        with pytest.raises(NoGuarantee):
            accounting.epsilon(loss, delta=0.0)


@pytest.mark.parametrize("name", ACCOUNTANTS)
def test_delta_zero_is_honest_for_every_accountant(name):
    for loss in LOSSES:
        assert_honest(loss, 0.0, accountant=ACCOUNTANTS[name])


def test_delta_one_is_refused():
    for loss in LOSSES:
        with pytest.raises(NoGuarantee):
            accounting.epsilon(loss, delta=1.0)


@pytest.mark.parametrize("make", [accounting.PLD, accounting.Tightest])
def test_a_bad_tolerance_is_refused(make):
    for tol in (0.0, 1.0, -1e-3, math.nan, math.inf, "x", None, True):
        with pytest.raises(PrivetError):
            make(tol).epsilon(privacy.PoissonSampled(privacy.LaplaceLoss(1.0), q=0.1), 1e-5)


def no_number(value):
    if not 0.0 <= value < math.inf:
        yield f"the answer is {value}"


FORMULAS = {
    accounting.advanced_epsilon: {"epsilon": 0.1, "steps": 10, "delta_prime": 1e-6},
    accounting.per_step_epsilon: {"total": 1.0, "steps": 10, "delta_prime": 1e-6},
    accounting.per_step_epsilon_corollary: {"total": 1.0, "steps": 10, "delta_prime": 1e-6},
    accounting.optimal_delta: {"epsilon": 0.1, "delta": 0.0, "steps": 10, "at": 1.0},
    accounting.optimal_epsilon: {"epsilon": 0.1, "delta": 0.0, "steps": 10, "target": 1e-6},
    accounting.zcdp_epsilon: {"rho": 0.1, "delta": 1e-6},
}


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.__name__)
def test_formulas_refuse_nonsense(formula):
    testing.check_call_refuses_nonsense(formula, no_number, **FORMULAS[formula])


def test_formulas_never_return_infinity():
    for call in (
        lambda: accounting.advanced_epsilon(700.0, 10, 1e-6, sharp=False),
        lambda: accounting.advanced_epsilon(1.7e308, 10**12, 1e-6),
    ):
        try:
            value = call()
        except PrivetError:
            continue
        assert math.isfinite(value)


# --- odd prices ------------------------------------------------------------------------------------------------

EXTREME = [1e-40, 1e-17, 699.0, 800.0, 1e40]
KINDS = {
    "pure": privacy.PureLoss,
    "approx": lambda x: privacy.ApproxLoss(x, 1e-7),
    "laplace": privacy.LaplaceLoss,
    "gaussian": privacy.GaussianLoss,
    "discrete_laplace": privacy.DiscreteLaplaceLoss,
    "exponential": privacy.ExponentialLoss,
    "k_rr": lambda x: privacy.KRRLoss(3, x),
    "zcdp": privacy.ZcdpLoss,
    "gdp": privacy.GdpLoss,
    "rdp": lambda x: privacy.RdpLoss((2.0, 8.0), (x, x)),
    "fixed_sampled": lambda x: privacy.FixedSampled(privacy.PureLoss(x, unit=REPLACE), 1, 10),
    "poisson_sampled": lambda x: privacy.PoissonSampled(privacy.PureLoss(x), q=0.1),
    "poisson_sampled laplace": lambda x: privacy.PoissonSampled(privacy.LaplaceLoss(x), q=0.1),
    "parallel": lambda x: privacy.Parallel((privacy.PureLoss(x), privacy.LaplaceLoss(1.0))),
    "selected": lambda x: privacy.Selected(privacy.PureLoss(x), 3.0),
    "grouped": lambda x: privacy.Grouped(privacy.ApproxLoss(x, 1e-7), 2),
}


@pytest.mark.parametrize("value", EXTREME, ids=shown)
@pytest.mark.parametrize("kind", KINDS)
def test_extreme_parameters_are_priced_honestly(kind, value):
    def loss():
        return KINDS[kind](value)

    assert_honest(loss, 1e-5)
    assert_honest(loss, 0.5, ask="delta")
    for accountant in testing.accountants()[:6]:
        assert_honest(loss, 1e-5, accountant=accountant)


MANY = {
    "pure": privacy.PureLoss(1e-6),
    "gaussian": privacy.GaussianLoss(1e6),
    "costly": privacy.LaplaceLoss(1.0),
    "free": privacy.GaussianLoss(math.inf),
}
MORE = {
    "laplace": privacy.LaplaceLoss(1e6),
    "approx": privacy.ApproxLoss(1e-6, 1e-20),
    "k_rr": privacy.KRRLoss(3, 1e-6),
    "discrete_laplace": privacy.DiscreteLaplaceLoss(1e6),
    "poisson_sampled": privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=1e-5),
    "fixed_sampled": privacy.FixedSampled(privacy.GaussianLoss(1.0, unit=REPLACE), m=1, n=10**5),
    "zcdp": privacy.ZcdpLoss(1e-12),
}


@pytest.mark.parametrize("times", ends([10**9, 10**12, 10**18]), ids=lambda n: f"1e{len(str(n)) - 1}")
@pytest.mark.parametrize("name", [*MANY, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)])
def test_very_many_steps_are_priced_honestly(name, times):
    def loss():
        return privacy.Repeated({**MANY, **MORE}[name], times)

    assert_honest(loss, 1e-5)
    assert_honest(loss, 0.5, ask="delta")


def test_ten_to_the_ninth_gaussian_steps_are_exact():
    steps = privacy.Repeated(privacy.GaussianLoss(1e5), 10**9)
    single = privacy.GaussianLoss(1e5 / math.sqrt(1e9))
    bound, exact = (accounting.epsilon(loss, delta=1e-6) for loss in (steps, single))
    assert bound.upper == pytest.approx(exact.upper, rel=1e-9)


ODD = {
    "empty composition": lambda: privacy.Composed(()),
    "one outcome": lambda: privacy.FinitePairLoss((1.0,), (1.0,)),
    "disjoint worlds": lambda: privacy.FinitePairLoss((1.0, 0.0), (0.0, 1.0)),
    "nearly equal": lambda: privacy.FinitePairLoss((0.5, 0.5), (0.5 + 1e-16, 0.5 - 1e-16)),
    "nearly tied": lambda: privacy.FinitePairLoss((0.2, 0.2, 0.6), (0.2 + 1e-15, 0.2, 0.6 - 1e-15)),
    "almost certain failure": lambda: privacy.ApproxLoss(1.0, 0.999999999),
    "one order": lambda: privacy.RdpLoss((2.0,), (0.0,)),
    "order near one": lambda: privacy.RdpLoss((1.0000001, 1e300), (1.0, 1.0)),
    "event of probability one": lambda: privacy.RdpLoss((2.0,), (1.0,), delta0=1.0),
    "huge order value": lambda: privacy.RdpLoss((2.0,), (1e300,)),
    "rate near zero": lambda: privacy.PoissonSampled(privacy.PureLoss(601.0), 1e-300),
    "product of rates underflows": lambda: privacy.PoissonSampled(
        privacy.PoissonSampled(privacy.PureLoss(1.0), 1e-14), 1e-14
    ),
    "ratio near one": lambda: privacy.GeometricLoss(1.0 - 1e-16),
    "ratio near zero": lambda: privacy.GeometricLoss(1e-50),
    "large group": lambda: privacy.Grouped(privacy.PureLoss(1e-9), 10**9),
    "many values": lambda: privacy.KRRLoss(10**18, 1.0),
    "mean of many runs": lambda: privacy.Selected(privacy.PureLoss(0.5), 1e300),
    "eta near minus one": lambda: privacy.Selected(privacy.PureLoss(0.5), 3.0, -0.9999999),
    "large eta": lambda: privacy.Selected(privacy.PureLoss(0.5), 3.0, 1e300),
    "sensitivity beyond enumeration": lambda: privacy.DiscreteLaplaceLoss(1e9, sensitivity=10**9),
    "places beyond 64 bits": lambda: privacy.Repeated(
        privacy.Composed((privacy.PureLoss(1.0), privacy.PureLoss(1e60))), 1000
    ),
    "sensitivity beyond memory": lambda: privacy.DiscreteGaussianLoss(1.0, sensitivity=10**12),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_prices_are_honest(name):
    for accountant in (QUICK, accounting.PLD()):
        for delta in (1e-300, 1e-5, 0.5):
            assert_honest(ODD[name], delta, accountant=accountant)
        for epsilon in (0.0, 0.5, 800.0, 1e300):
            assert_honest(ODD[name], epsilon, ask="delta", accountant=accountant)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 5.0])
def test_steps_without_a_finite_loss_above_zero_are_found_on_a_grid(epsilon):
    """All that such steps show they show at infinity: delta is 1 - (1 - q p)^n at every epsilon."""
    step = privacy.PoissonSampled(privacy.FinitePairLoss((1e-4, 1.0 - 1e-4), (0.0, 1.0)), 0.5)
    found = delta_interval([(step, 3)], epsilon, 1e-3)
    exact = -math.expm1(3 * math.log1p(-0.5e-4))
    assert found.lower <= exact * (1.0 + 1e-12)
    assert exact * (1.0 - 1e-12) <= found.upper <= exact * 1.001


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-50, 0.5, 1.0 - 1e-16])
@pytest.mark.parametrize("name", ACCOUNTANTS)
def test_extreme_deltas_are_honest(name, delta):
    for loss in (privacy.PureLoss(1.0), privacy.GaussianLoss(1.0), privacy.Repeated(privacy.LaplaceLoss(2.0), 5)):
        assert_honest(loss, delta, accountant=ACCOUNTANTS[name])


@settings(max_examples=60)
@given(
    loss=testing.loss_strategy(extreme=True).filter(lambda loss: "discrete_gaussian" not in loss.key),
    delta=st.sampled_from([1e-300, 1e-12, 1e-5, 0.1]),
)
def test_fuzz_epsilon(loss, delta):
    for accountant in testing.accountants()[:6]:  # the closed forms; sampled Gaussians on a grid are for the slow test
        assert_honest(loss, delta, accountant=accountant)


@pytest.mark.slow
@settings(max_examples=tries(300))
@given(
    loss=testing.loss_strategy(extreme=True, selection=True),
    delta=st.sampled_from([1e-300, 1e-12, 1e-5, 0.1]),
)
def test_fuzz_everything(loss, delta):
    assert_honest(loss, delta)
    assert_honest(loss, 0.5, ask="delta")


@pytest.mark.parametrize(
    "loss", [privacy.PureLoss(1e6), privacy.LaplaceLoss(1e-6), privacy.ApproxLoss(1e6, 0.0), privacy.PureLoss(1e60)]
)
def test_sums_beyond_what_can_be_planned_are_answered(loss):
    """1e15 losses of 1e6 each: the logarithms of their moments were no numbers, and neither was the window made of them."""
    many = privacy.Repeated(loss, 10**15)
    whole = loss.pure() * 1e15
    assert 0.9 * whole < accounting.epsilon(many, delta=1e-6).upper <= whole * (1.0 + 1e-4)
    assert accounting.tradeoff(many, 0.1) == 0.0  # warnings are errors here: no mass is computed as 0 times infinity
    assert accounting.tpr_at(many, 1e-9) == 1.0


@pytest.mark.slow
def test_slopes_that_vanish_divide_nothing():
    """At epsilon 1e60 the slope of ln delta times delta lies below the doubles."""
    pair = privacy.FinitePairLoss(p=(0.999999, 1e-06, 0.0), q=(0.75, 0.2499, 0.0001))
    assert accounting.delta(privacy.PoissonSampled(pair, q=0.999999), epsilon=1e60).upper < 1e-100


def test_a_curve_of_very_many_steps_keeps_to_its_nodes(monkeypatch):
    """Coarser nodes do not make the support of many steps shorter: each reaches over a few nodes, however far apart."""
    seen = []

    def watched(laws, step, plan):
        seen.append((plan.high - plan.low) / step)
        return compose(laws, step, plan)

    monkeypatch.setattr(engine, "_MOST_NODES", 1 << 12)
    monkeypatch.setattr(engine, "compose", watched)
    step = privacy.PoissonSampled(privacy.GaussianLoss(0.05), q=1e-3)
    for times in (1, 10**6):
        accounting.tradeoff(privacy.Repeated(step, times), 0.1)
    assert len(seen) > 2
    assert max(seen) < 1 << 14


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from privet import accounting, privacy
from privet.errors import PrivetError
try:
    accounting.epsilon({loss}, delta=1e-5)
except PrivetError:
    pass
"""

HEAVY = {
    "discrete gaussian, largest sigma": "privacy.DiscreteGaussianLoss(1e5)",
    "discrete gaussian, large sensitivity": "privacy.DiscreteGaussianLoss(1e3, sensitivity=10**7)",
    "tiny rate": "privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=1e-9)",
    "much noise, sampled": "privacy.PoissonSampled(privacy.GaussianLoss(700.0), q=0.1)",
    "selection over a sampled release": "privacy.Selected(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.1), 10.0)",
    "large group of a sampled release": "privacy.Grouped(privacy.PoissonSampled(privacy.GaussianLoss(5.0), q=0.1), 10**6)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HEAVY)
def test_heavy_prices_keep_to_four_gigabytes_and_twenty_seconds(name):
    """Seconds of the processor, whatever else it has to do."""
    code = LIMITED.format(loss=HEAVY[name])
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=3000)
    assert run.returncode == 0, run.stderr[-600:]
    assert resource.getrlimit(resource.RLIMIT_AS)  # only the child was limited
