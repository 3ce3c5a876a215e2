"""What a loss without an epsilon costs, the default of three rules, and slots: golden figures, laws, an exact attacker."""

import math

import pytest

from privet import accounting
from privet.accounting.filters import (
    AnyOf,
    ApproxGdpFilter,
    BasicFilter,
    Filter,
    GdpFilter,
    SlotsFilter,
    Sums,
    ZcdpFilter,
    basic_or_zcdp,
    basic_zcdp_or_gdp,
    dominated,
    point_at,
    settle,
    sums_after,
)
from privet.errors import BudgetExceeded, InvalidParameter
from privet.privacy import (
    ApproxLoss,
    Composed,
    DiscreteLaplaceLoss,
    GaussianLoss,
    GdpLoss,
    LaplaceLoss,
    PoissonSampled,
    PureLoss,
    Repeated,
    Unit,
)

SMALL = GaussianLoss(noise_multiplier=600.0)  # (0.01, 1e-9) and less
PLAN = Repeated(PoissonSampled(GaussianLoss(4.0), q=0.01), 10_000)


# --- one Gaussian does not end the basic rule ---------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "answer", "fits"), [((3.0, 1e-6), 0.5, 5), ((1.0, 1e-6), 0.25, 3)])
def test_one_gaussian_leaves_room_for_pure_answers(budget, answer, fits):
    after = basic_zcdp_or_gdp(budget[0], delta=budget[1]).start().charge(SMALL)
    assert after.standing == ("basic", "zCDP", "GDP")
    assert after.what_fits(PureLoss(answer)) == fits
    before = basic_or_zcdp(budget[0], delta=budget[1]).start().charge(SMALL)  # the twin: no delta to charge it at
    assert before.standing == ("zCDP",)
    assert before.what_fits(PureLoss(answer)) <= 1


def test_a_thousand_gaussians_fit_into_the_share_of_delta():
    rule = basic_zcdp_or_gdp(3.0, delta=1e-6).rules[0]
    far = GaussianLoss(1e7)
    assert rule.start().what_fits(far) == 1000
    assert rule.start().charge(far, 1000).standing == ("basic",)


def test_the_charge_is_the_tight_epsilon_at_that_delta():
    rule = BasicFilter(1.0, delta=1e-6, at=1e-9)
    (((epsilon, delta),),) = rule.start().offers(SMALL)
    assert epsilon / 10**40 == pytest.approx(accounting.epsilon(SMALL, delta=1e-9).upper, rel=1e-12)
    assert epsilon / 10**40 >= accounting.epsilon(SMALL, delta=1e-9).upper
    assert delta == 10**31
    mixed = Composed((PureLoss(0.1), Repeated(SMALL, 9)))
    (((together, once),),) = rule.start().offers(mixed)
    alone = accounting.epsilon(Repeated(SMALL, 9), delta=1e-9).upper
    assert together / 10**40 == pytest.approx(
        0.1 + alone, rel=1e-12
    )  # what has an epsilon keeps it, the rest is one point
    assert once == delta


def test_a_named_delta_charges_a_plan_as_one_point():
    filter = basic_zcdp_or_gdp(3.0, delta=1e-5)
    state = filter.start().charge(PLAN, at=1e-7)
    point = point_at(PLAN, 1e-7)
    assert state.balances[0].spent == pytest.approx(point.epsilon, rel=1e-12)
    assert state.balances[1].spent == pytest.approx(1e-7, rel=1e-12)
    rho = state.balances[2].spent  # the smaller of its own rho (312.5) and that pair's
    assert rho == pytest.approx(point.zcdp().rho, rel=1e-9)
    assert rho < 1.0 < 300.0 < sum(n * part.zcdp().rho for part, n in PLAN.parts())
    gaussian = filter.start().charge(GaussianLoss(50.0), at=1e-7)
    assert gaussian.balances[2].spent == pytest.approx(2e-4)  # its own rho, and nothing set aside
    assert gaussian.balances[3].spent == 0.0


def test_of_two_valid_prices_a_rule_takes_one_that_it_can_bear():
    rule = ZcdpFilter(3.0, delta=1e-6, delta0=1e-8)
    cheap = Repeated(PoissonSampled(GaussianLoss(4.0), q=0.001), 5)
    state = rule.start()
    (offers,) = state.offers(cheap, at=1e-9)
    assert len(offers) == 2
    assert offers[0][0] < offers[1][0]
    spent = state.charge(ApproxLoss(0.0, 1e-8))  # the failures that were set aside are used up
    assert state.price(cheap, at=1e-9) == (offers[0],)
    assert spent.price(cheap, at=1e-9) == (offers[1],)


def test_a_share_belongs_to_the_rule_and_is_checked():
    with pytest.raises(InvalidParameter, match="share"):
        BasicFilter(1.0, delta=1e-6, at=1e-5)
    with pytest.raises(InvalidParameter):
        BasicFilter(1.0, delta=1e-6, at=-1e-9)
    with pytest.raises(InvalidParameter, match="at must"):
        BasicFilter(1.0, delta=1e-6).start().charge(SMALL, at=0.0)
    with pytest.raises(BudgetExceeded, match=r"at="):
        BasicFilter(1.0, delta=1e-6).start().charge(SMALL)


LISTS = [
    [PureLoss(0.05), GaussianLoss(20.0), LaplaceLoss(9.0)],
    [ApproxLoss(0.05, 1e-3), GaussianLoss(20.0), GaussianLoss(20.0)],
    [Repeated(GaussianLoss(40.0), 3), PureLoss(0.1)],
]


@pytest.mark.parametrize("losses", LISTS, ids=range(3))
@pytest.mark.parametrize("at", [None, 1e-3])
def test_what_basic_adds_up_is_never_below_the_true_total(losses, at):
    state = basic_zcdp_or_gdp(1.0, delta=0.05).start()
    for loss in losses:
        after = state.charge(loss, at=at)
        for old, new in zip(state.sums, after.sums, strict=True):
            assert all(b is None or (a is not None and b >= a) for a, b in zip(old, new, strict=True))
        state = after
    assert "basic" in state.standing
    epsilon, delta = (row.spent for row in state.balances[:2])
    assert accounting.epsilon(Composed(losses), delta=delta).upper <= epsilon * (1.0 + 1e-9)


# --- the figures of the default -----------------------------------------------------------------------------------


def smallest(filter: Filter, loss, low: float, high: float, count: int = 100) -> float:
    """The smallest noise at which `count` releases fit."""
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (low, middle) if filter.start().what_fits(loss(middle)) >= count else (middle, high)
    return high


@pytest.mark.parametrize(
    ("epsilon", "gaussian", "laplace"), [(1.0, 42.247, 41.487), (3.0, 15.439, 15.007)], ids=["1", "3"]
)
def test_a_hundred_releases_cost_little_more_than_if_they_were_fixed_in_advance(epsilon, gaussian, laplace):
    new, old = basic_zcdp_or_gdp(epsilon, delta=1e-6), basic_or_zcdp(epsilon, delta=1e-6)
    normal = smallest(new, GaussianLoss, 1.0, 100.0) / gaussian - 1.0
    assert normal < 0.0445
    assert smallest(old, GaussianLoss, 1.0, 100.0) / gaussian - 1.0 > 0.10
    double = smallest(new, LaplaceLoss, 1.0, 100.0) / laplace - 1.0
    assert double < smallest(old, LaplaceLoss, 1.0, 100.0) / laplace - 1.0 + 0.03


def test_the_default_promises_what_it_was_asked_for():
    for epsilon, delta in [(1.0, 1e-6), (3.0, 1e-5), (0.1, 1e-9), (8.0, 0.01)]:
        filter = basic_zcdp_or_gdp(epsilon, delta=delta)
        assert filter.epsilon == epsilon
        assert filter.delta == pytest.approx(delta, rel=1e-14)
        basic, zcdp, gdp = filter.rules
        assert accounting.zcdp_epsilon(zcdp.limits[0], zcdp.delta - zcdp.delta0) <= epsilon
        loss = GaussianLoss(gdp.limits[0] ** -0.5)
        assert accounting.delta(loss, epsilon=epsilon).upper <= gdp.delta - gdp.delta0
        assert 0.0 < basic.at < basic.delta / 999
    assert basic_zcdp_or_gdp(3.0, delta=0.0) == BasicFilter(3.0)


def test_a_pair_is_a_gaussian_outside_its_failure():
    rule = ApproxGdpFilter(1.0, delta=1e-5, delta0=1e-6)
    for loss, mu, failure in ((ApproxLoss(0.1, 1e-7), PureLoss(0.1).gdp(), 1e-7), (GaussianLoss(10.0), 0.1, 0.0)):
        square, delta = rule.price(loss)
        assert mu * mu <= square <= mu * mu * (1.0 + 1e-14)  # rounded up, by no more than a few units
        assert delta == failure
    assert rule.limits[0] == GdpFilter(1.0, delta=1e-5 - 1e-6).limits[0]
    assert math.isinf(rule.price(PoissonSampled(GaussianLoss(1.0), q=0.01))[0]) or rule.price(PLAN)[0] > 0.0
    with pytest.raises(InvalidParameter):
        ApproxGdpFilter(1.0, delta=1e-6, delta0=1e-6)


# --- slots --------------------------------------------------------------------------------------------------------


def test_slots_are_exactly_as_costly_as_the_plan():
    loss = LaplaceLoss(41.5)
    rule = SlotsFilter.of(loss, 100, delta=1e-6)
    assert rule.epsilon == pytest.approx(accounting.epsilon(Repeated(loss, 100), delta=1e-6).upper, rel=1e-8)
    state = rule.start().charge(loss, 99).charge(LaplaceLoss(50.0))
    with pytest.raises(BudgetExceeded):
        state.charge(loss)
    with pytest.raises(InvalidParameter, match="fewer slots"):
        SlotsFilter(rule.epsilon * 0.99, delta=1e-6, loss=loss, count=100)
    assert ZcdpFilter(rule.epsilon, delta=1e-6).start().what_fits(loss) < 90


SAMPLED = PoissonSampled(GaussianLoss(4.0), q=0.01)
DOMINATED = [
    (LaplaceLoss(2.0), LaplaceLoss(2.0)),
    (LaplaceLoss(3.0), LaplaceLoss(2.0)),
    (LaplaceLoss(2.0), PureLoss(0.5)),
    (PureLoss(0.4), PureLoss(0.5)),
    (PureLoss(0.4), ApproxLoss(0.5, 1e-6)),
    (ApproxLoss(0.4, 1e-7), ApproxLoss(0.5, 1e-6)),
    (GaussianLoss(3.0), GaussianLoss(2.0)),
    (GdpLoss(0.4), GaussianLoss(2.0)),
    (PureLoss(0.3), GaussianLoss(2.0)),
    (PoissonSampled(GaussianLoss(4.0), q=0.005), SAMPLED),
    (PoissonSampled(GaussianLoss(5.0), q=0.01), SAMPLED),
]
NOT_DOMINATED = [
    (LaplaceLoss(1.9), LaplaceLoss(2.0)),
    (PureLoss(0.5), LaplaceLoss(2.0)),  # the same epsilon, a worse curve
    (DiscreteLaplaceLoss(3.0), LaplaceLoss(2.0)),
    (GaussianLoss(100.0), LaplaceLoss(2.0)),  # far smaller at most deltas, yet unbounded
    (GaussianLoss(100.0), PureLoss(0.5)),
    (ApproxLoss(0.5, 1e-6), PureLoss(0.5)),
    (ApproxLoss(0.4, 1e-5), ApproxLoss(0.5, 1e-6)),
    (PureLoss(0.5), GaussianLoss(2.0)),
    (GaussianLoss(4.0), SAMPLED),
    (PoissonSampled(GaussianLoss(4.0), q=0.02), SAMPLED),
    (PoissonSampled(GaussianLoss(3.0), q=0.005), SAMPLED),
    (LaplaceLoss(3.0, unit=Unit("replace")), LaplaceLoss(2.0)),
]


@pytest.mark.parametrize(("loss", "by"), DOMINATED, ids=str)
def test_domination_is_visible_in_the_whole_curve(loss, by):
    assert dominated(loss, by)
    for direction in ("remove", "add"):
        for epsilon in (-0.3, 0.0, 0.01, 0.1, 0.3, 0.45, 1.0, 2.0):
            assert loss.profile(epsilon, direction) <= by.profile(epsilon, direction) + 1e-12


@pytest.mark.parametrize(("loss", "by"), NOT_DOMINATED, ids=str)
def test_what_is_not_proved_to_be_dominated_takes_no_slot(loss, by):
    assert not dominated(loss, by)
    rule = SlotsFilter.of(by, 3, delta=1e-5)
    if loss.unit == by.unit:
        with pytest.raises(BudgetExceeded):
            rule.start().charge(loss)
        both = AnyOf((rule, ZcdpFilter(30.0, delta=1e-4, delta0=5e-5))).start().charge(loss)
        assert both.standing == ("zCDP",)  # among others the rule is over, and the others go on


# --- an attacker who adapts, exactly ------------------------------------------------------------------------------

TOTAL, FAILURE = 1.0, 0.05


def worst_delta(filter: Filter, base: float = 0.1, leaks: tuple[float, ...] = (), at: float | None = None) -> float:
    """Largest P(S) - e^TOTAL Q(S) over all adaptive choices of two randomised responses and of (0, delta) leaks, each
    charged as it is or, with `at`, as a point.
    """
    start = filter.start()
    caps = tuple(rule.caps for rule in filter.rules)
    ways = {None, at}
    moves = [
        (k, 1.0 / (1.0 + math.exp(-base * k)), start.offers(PureLoss(base * k), at=way)) for k in (1, 2) for way in ways
    ]
    leaking = [(delta, start.offers(ApproxLoss(0.0, delta))) for delta in leaks]
    memo: dict[tuple[object, int], float] = {}

    def value(sums: Sums, ratio: int) -> float:
        place = (sums, ratio)
        if place not in memo:
            best = max(0.0, -math.expm1(TOTAL - ratio * base))
            for k, truthful, offers in moves:
                after, granted = sums_after(caps, sums, settle(caps, sums, offers))
                if granted:
                    after = _crossed(caps, after)
                    best = max(best, truthful * value(after, ratio + k) + (1.0 - truthful) * value(after, ratio - k))
            for delta, offers in leaking:
                after, granted = sums_after(caps, sums, settle(caps, sums, offers))
                if granted:
                    best = max(best, delta + (1.0 - delta) * value(_crossed(caps, after), ratio))
            memo[place] = best
        return memo[place]

    return value(start.sums, 0)


def _crossed(caps, sums: Sums) -> Sums:
    """A rule that was crossed is over, by however much: fewer positions to look at."""
    return tuple(
        amounts
        if all(a is not None and a <= cap for a, cap in zip(amounts, limits, strict=True))
        else (None,) * len(amounts)
        for limits, amounts in zip(caps, sums, strict=True)
    )


def test_no_adaptive_strategy_breaks_the_default():
    filter = basic_zcdp_or_gdp(TOTAL, delta=FAILURE)
    worst = worst_delta(filter, leaks=(FAILURE / 4, FAILURE / 20))
    assert 0.2 * FAILURE < worst <= FAILURE


def test_no_adaptive_choice_of_the_delta_breaks_the_default():
    filter = basic_zcdp_or_gdp(TOTAL, delta=FAILURE)
    assert worst_delta(filter, base=0.2, leaks=(FAILURE / 20,), at=0.002) <= FAILURE


def test_no_adaptive_strategy_breaks_approximate_gdp_or_slots():
    rule = ApproxGdpFilter(TOTAL, delta=FAILURE, delta0=FAILURE / 2)
    assert 0.2 * FAILURE < worst_delta(rule, leaks=(FAILURE / 2, FAILURE / 8)) <= FAILURE
    count = max(n for n in range(1, 60) if accounting.delta(Repeated(PureLoss(0.2), n), epsilon=TOTAL).upper <= FAILURE)
    slots = SlotsFilter(TOTAL, delta=FAILURE, loss=PureLoss(0.2), count=count)
    assert 0.5 * FAILURE < worst_delta(slots) <= FAILURE
    both = AnyOf((BasicFilter(TOTAL, delta=FAILURE / 2), _slots(FAILURE / 2)))
    assert 0.2 * FAILURE < worst_delta(both, leaks=(FAILURE / 2,)) <= FAILURE


def _slots(delta: float) -> SlotsFilter:
    fits = [n for n in range(1, 60) if accounting.delta(Repeated(PureLoss(0.2), n), epsilon=TOTAL).upper <= delta]
    return SlotsFilter(TOTAL, delta=delta, loss=PureLoss(0.2), count=max(fits))


def test_twins_without_a_split_of_delta_are_caught():
    unsplit = AnyOf(
        (
            BasicFilter(TOTAL, delta=FAILURE),
            ZcdpFilter(TOTAL, delta=FAILURE),
            GdpFilter(TOTAL, delta=FAILURE),
        )
    )
    assert FAILURE < worst_delta(unsplit, leaks=(FAILURE,)) <= unsplit.delta
    with_slots = AnyOf((BasicFilter(TOTAL, delta=FAILURE), _slots(FAILURE)))
    assert FAILURE < worst_delta(with_slots, leaks=(FAILURE,)) <= with_slots.delta


def test_twin_that_forgets_the_delta_of_a_point_is_caught():
    """Charging only the epsilon of a point lets an attacker repeat leaks for free."""

    class Forgetful(BasicFilter):
        def price(self, loss):
            return loss.approximate().epsilon, 0.0

    assert worst_delta(Forgetful(TOTAL, delta=FAILURE), base=0.5, leaks=()) <= FAILURE
    state = Forgetful(TOTAL, delta=FAILURE).start()
    assert state.what_fits(ApproxLoss(0.0, FAILURE)) == math.inf
    assert BasicFilter(TOTAL, delta=FAILURE).start().what_fits(ApproxLoss(0.0, FAILURE)) == 1
