"""Filters and odometers: golden values, laws, an exact adaptive attacker, and twins that it must catch."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from privet import accounting, privacy
from privet.accounting.filters import (
    AdvancedFilter,
    AnyOf,
    BasicFilter,
    Filter,
    FilterState,
    GdpFilter,
    Odometer,
    OdometerState,
    RdpFilter,
    Rule,
    ZcdpFilter,
    basic_or_zcdp,
    best_order_for,
    plan_point,
    pld_filter,
)
from privet.accounting.filters.amounts import to_amount
from privet.errors import BudgetExceeded, InternalError, InvalidParameter, MixedUnits, NoGuarantee

TOTAL, FAILURE = 1.0, 0.05  # large enough that few steps come close to the promise

FILTERS: list[Filter] = [
    BasicFilter(TOTAL),
    BasicFilter(TOTAL, delta=FAILURE),
    AdvancedFilter(TOTAL, delta=FAILURE, delta0=FAILURE / 2),
    ZcdpFilter(TOTAL, delta=FAILURE),
    ZcdpFilter(TOTAL, delta=FAILURE, delta0=FAILURE / 2),
    RdpFilter(TOTAL, delta=FAILURE, alpha=8.0),
    GdpFilter(TOTAL, delta=FAILURE),
    basic_or_zcdp(TOTAL, delta=FAILURE),
    basic_or_zcdp(TOTAL, delta=FAILURE, approximate=False),
]

PURE = st.sampled_from([0.01, 0.05, 0.1, 1.0 / 3.0, 0.25]).map(privacy.PureLoss)
APPROX = st.sampled_from([(0.05, 1e-4), (0.0, 0.01), (0.2, 1e-9)]).map(lambda pair: privacy.ApproxLoss(*pair))
GAUSSIAN = st.sampled_from([5.0, 20.0, 77.7]).map(privacy.GaussianLoss)
LOSSES = st.one_of(PURE, APPROX, GAUSSIAN, st.just(privacy.LaplaceLoss(scale=7.0)))


def name(filter: Filter) -> str:
    return f"{filter.name}-{filter.delta:g}" if isinstance(filter, Rule) else f"{filter.name}-{len(filter.rules)}"


def charge_all(state: FilterState, losses: list[privacy.PrivacyLoss]) -> FilterState | None:
    try:
        for loss in losses:
            state = state.charge(loss)
    except BudgetExceeded:
        return None
    return replace(state, unit=None)


def spend(state: FilterState, losses: list[privacy.PrivacyLoss]) -> FilterState:
    """Charge whatever is granted, as an analyst would."""
    for loss in losses:
        if state.accepts(loss):
            state = state.charge(loss)
    return state


# --- golden values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho", "mu", "squares", "default"),
    [
        (1.0, 1e-5, 0.03055660, 0.26805112, 0.041640, 0.02776203),
        (1.0, 1e-6, 0.02435597, 0.23670438, 0.034938, 0.02251399),
        (3.0, 1e-6, 0.18506984, 0.64772653, 0.294528, 0.17294009),
        (3.0, 1e-5, 0.22424917, 0.71911744, 0.346966, 0.20689281),
    ],
)
def test_limits_are_the_known_ones(epsilon, delta, rho, mu, squares, default):
    assert ZcdpFilter(epsilon, delta=delta).limits[0] == pytest.approx(rho, abs=6e-9)
    assert math.sqrt(GdpFilter(epsilon, delta=delta).limits[0]) == pytest.approx(mu, abs=6e-9)
    assert AdvancedFilter(epsilon, delta=delta).limits[0] == pytest.approx(squares, abs=6e-7)
    assert basic_or_zcdp(epsilon, delta=delta).rules[1].limits[0] == pytest.approx(default, abs=6e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "zcdp", "gdp", "advanced", "basic"),
    [(1.0, 1e-5, 152, 179, 416, 100), (1.0, 1e-6, 121, 140, 349, 100), (3.0, 1e-6, 925, 1048, 2945, 300)],
)
def test_how_much_fits(epsilon, delta, zcdp, gdp, advanced, basic):
    gaussian, pure = privacy.GaussianLoss(50.0), privacy.PureLoss(0.01)
    assert ZcdpFilter(epsilon, delta=delta).start().what_fits(gaussian) == zcdp
    assert GdpFilter(epsilon, delta=delta).start().what_fits(gaussian) == gdp
    assert AdvancedFilter(epsilon, delta=delta).start().what_fits(pure) == advanced
    assert BasicFilter(epsilon).start().what_fits(pure) == basic


def test_the_default_is_kind_to_few_large_answers_and_to_many_small_ones():
    default = basic_or_zcdp(3.0, delta=1e-6)
    assert default.start().what_fits(privacy.PureLoss(0.5)) == 6
    assert ZcdpFilter(3.0, delta=1e-6).start().what_fits(privacy.PureLoss(0.5)) == 1
    assert default.start().what_fits(privacy.PureLoss(0.01)) == 3458  # basic alone: 300
    assert basic_or_zcdp(3.0, delta=0.0) == BasicFilter(3.0)
    assert isinstance(default, AnyOf)
    assert (default.epsilon, default.delta) == (3.0, 1e-6)


def test_limits_keep_the_promise_when_converted_back():
    for epsilon, delta in [(0.1, 1e-9), (1.0, 1e-5), (8.0, 1e-3), (2.0, 0.4)]:
        assert 0.999 * epsilon < accounting.zcdp_epsilon(ZcdpFilter(epsilon, delta=delta).limits[0], delta) <= epsilon
        gaussian = privacy.GaussianLoss(GdpFilter(epsilon, delta=delta).limits[0] ** -0.5)
        assert 0.999 * delta < accounting.Gdp().delta(gaussian, epsilon).upper <= delta
        squares = AdvancedFilter(epsilon, delta=delta).limits[0]
        assert math.sqrt(2.0 * math.log(1.0 / delta) * squares) + squares / 2.0 == pytest.approx(epsilon, rel=1e-9)


# --- laws -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filter", FILTERS, ids=name)
@given(pair=st.lists(LOSSES, max_size=12).flatmap(lambda losses: st.tuples(st.just(losses), st.permutations(losses))))
def test_the_order_does_not_matter(filter, pair):
    """What is granted as a whole in one order is granted as a whole in every order, for the same sums."""
    ends = [charge_all(filter.start(), losses) for losses in pair]
    assert ends[0] == ends[1] == charge_all(filter.start(), [privacy.Composed(pair[0])])


@pytest.mark.parametrize("filter", FILTERS, ids=name)
@pytest.mark.parametrize("loss", [privacy.PureLoss(0.003), privacy.LaplaceLoss(scale=333.0)])
def test_n_singles_cost_what_one_n_fold_costs(filter, loss):
    singles = filter.start()
    for _ in range(7):
        singles = singles.charge(loss)
    assert singles == filter.start().charge(loss, 7) == filter.start().charge(privacy.Repeated(loss, 7))
    assert filter.start().charge(privacy.Composed((loss, privacy.Repeated(loss, 3))), 2) == singles.charge(loss)
    assert filter.start().charge(loss, 0).sums == filter.start().sums


@pytest.mark.parametrize("filter", FILTERS, ids=name)
@given(choices=st.lists(st.tuples(LOSSES, LOSSES), min_size=1, max_size=60))
def test_no_adaptive_sequence_gets_above_the_budget(filter, choices):
    state, granted = filter.start(), []
    for i, pair in enumerate(choices):  # the next loss depends on the state, hence on all answers so far
        loss = pair[(len(granted) + i) % 2]
        try:
            state, granted = state.charge(loss), [*granted, loss]
        except BudgetExceeded:
            assert not state.accepts(loss)
            assert state.what_fits(loss) == 0
    assert any(within_recomputed(rule, granted) for rule in filter.rules)


def within_recomputed(rule: Rule, losses: list[privacy.PrivacyLoss]) -> bool:
    """The rule's condition from scratch, in rationals; decimals are what their author wrote."""
    for i, limit in enumerate(rule.limits):
        prices = [rule.price(loss)[i] for loss in losses]
        if math.inf in prices or sum(Fraction(repr(float(p))) for p in prices) > Fraction(repr(limit)):
            return False
    return True


@pytest.mark.parametrize("filter", FILTERS, ids=name)
@given(losses=st.lists(PURE, max_size=20))
def test_what_is_said_to_fit_does_fit(filter, losses):
    state = spend(filter.start(), losses)
    assert state.largest_pure == 0.0 or state.accepts(privacy.PureLoss(state.largest_pure))
    for loss in (privacy.PureLoss(0.01), privacy.PureLoss(0.3)):
        count = int(state.what_fits(loss))
        assert state.accepts(loss, count)
        assert not state.accepts(loss, count + 1)


def test_a_budget_can_be_spent_to_the_last_decimal():
    for count, epsilon in ((10, 0.1), (3, 0.1), (7, 0.3), (1000, 1e-3)):
        total = float(Fraction(repr(epsilon)) * count)
        state = BasicFilter(total).start().charge(privacy.PureLoss(epsilon), count)
        assert state.remaining["basic epsilon"] == 0.0
        with pytest.raises(BudgetExceeded):
            state.charge(privacy.PureLoss(1e-50))


def test_amounts_are_rounded_to_the_safe_side():
    for value in (0.1, 1.0 / 3.0, 5e-324, 1e-41, 123.456, 2.0**70, 0.1 + 0.2, 1e22):
        up, down = to_amount(value, up=True), to_amount(value, up=False)
        assert None not in (up, down)
        short = len(repr(value).partition("e")[0].replace(".", "").strip("0")) <= 15
        meant = Fraction(repr(value)) if short else Fraction(value)  # a decimal as it was written, or a computed double
        assert Fraction(down, 10**40) <= meant <= Fraction(up, 10**40) <= Fraction(down + 1, 10**40)
    assert to_amount(math.inf, up=True) is None
    assert to_amount(np.float64(0.25), up=True) == 25 * 10**38
    for value in (math.nan, -1.0):
        with pytest.raises(InternalError):
            to_amount(value, up=True)


def test_a_free_loss_always_fits():
    state = BasicFilter(1.0).start().charge(privacy.PureLoss(1.0))
    assert state.what_fits(privacy.PureLoss(0.0)) == math.inf
    assert state.charge(privacy.GaussianLoss(math.inf), 10**9).sums == state.sums


# --- a charge costs the same however many came before ---------------------------------------------------


@dataclass(frozen=True)
class Counting(Rule):
    """A rule that counts how often it is asked for a price."""

    name = "counting"
    source = "a test"
    currencies = ("rho",)
    asked: list[int] = field(default_factory=list, kw_only=True, compare=False)

    @property
    def limits(self) -> tuple[float, ...]:
        return (1e9,)

    def price(self, loss: privacy.PrivacyLoss) -> tuple[float, ...]:
        self.asked.append(1)
        return (loss.zcdp().rho,)

    def pure_room(self, remaining: float) -> float:
        return remaining


def test_a_charge_asks_for_one_price_however_many_came_before():
    rule = Counting(1.0, delta=0.5)
    state = rule.start()
    for i in range(1000):
        state = state.charge(privacy.GaussianLoss(10.0 + i))
        assert len(rule.asked) == i + 1
    assert [len(sums) for sums in state.sums] == [1]  # the state does not grow either


# --- an attacker who adapts, exactly ---------------------------------------------------------------------


def worst_delta(filter: Filter, leaks: tuple[float, ...] = (), base: float = 0.1) -> float:
    """Largest P(S) - e^TOTAL Q(S) over all adaptive choices of two randomized responses and of (0, delta) leaks.

    Value of a position: what the best continuation adds, given the log-likelihood ratio so far (in units of `base`).
    """
    moves = [(k, 1.0 / (1.0 + math.exp(-base * k)), privacy.PureLoss(base * k)) for k in (1, 2)]
    leaking = [(delta, privacy.ApproxLoss(0.0, delta)) for delta in leaks]
    memo: dict[tuple[object, int], float] = {}

    def value(state: FilterState, ratio: int) -> float:
        key = (state.sums, ratio)
        if key not in memo:
            best = max(0.0, -math.expm1(TOTAL - ratio * base))
            for k, truthful, loss in moves:
                if state.accepts(loss):
                    after = state.charge(loss)
                    best = max(best, truthful * value(after, ratio + k) + (1.0 - truthful) * value(after, ratio - k))
            for delta, loss in leaking:
                if state.accepts(loss):
                    best = max(best, delta + (1.0 - delta) * value(state.charge(loss), ratio))
            memo[key] = best
        return memo[key]

    return value(filter.start(), 0)


ATTACKED = [
    (BasicFilter(TOTAL), ()),
    (BasicFilter(TOTAL, delta=FAILURE), (FAILURE / 2,)),
    (AdvancedFilter(TOTAL, delta=FAILURE, delta0=FAILURE / 2), (FAILURE / 2,)),
    (ZcdpFilter(TOTAL, delta=FAILURE), ()),
    (ZcdpFilter(TOTAL, delta=FAILURE, delta0=FAILURE / 2), (FAILURE / 2,)),
    (GdpFilter(TOTAL, delta=FAILURE), ()),
    (basic_or_zcdp(TOTAL, delta=FAILURE), (FAILURE / 2, FAILURE / 10)),
]


@pytest.mark.parametrize(("filter", "leaks"), ATTACKED, ids=[name(f) for f, _ in ATTACKED])
def test_no_adaptive_strategy_breaks_the_promise(filter, leaks):
    promised = filter.delta
    worst = worst_delta(filter, leaks)
    assert worst <= promised + 1e-12
    assert worst >= 0.25 * promised  # the attacker is worth fearing


def test_twin_any_of_without_a_split_of_delta_is_broken():
    both = AnyOf((BasicFilter(TOTAL, delta=FAILURE), ZcdpFilter(TOTAL, delta=FAILURE)))
    assert both.delta == 2.0 * FAILURE  # what AnyOf promises for it
    assert FAILURE < worst_delta(both, (FAILURE,)) <= both.delta


def test_twin_that_charges_only_the_rule_that_granted_is_caught():
    loss = privacy.PureLoss(0.8)
    with pytest.raises(BudgetExceeded):
        AnyOf((BasicFilter(1.0), BasicFilter(1.0))).start().charge(loss).charge(loss)
    twin = [BasicFilter(1.0).start().charge(loss) for _ in range(2)]  # each sum holds, the whole is spent twice
    assert sum(state.balances[0].spent for state in twin) > 1.0


def test_a_rule_that_was_crossed_never_recovers():
    filter = AnyOf((BasicFilter(1.0), ZcdpFilter(1.0, delta=1e-5)))
    state = filter.start().charge(privacy.GaussianLoss(50.0))  # no epsilon: basic is over
    assert state.sums[0][0] is None
    assert state.remaining["basic epsilon"] == 0.0
    assert not state.accepts(privacy.PureLoss(0.5))
    assert filter.start().accepts(privacy.PureLoss(0.5))


@pytest.mark.parametrize(
    "twin",
    [
        lambda state, loss, count: state.charge(loss),  # the count dropped
        lambda state, loss, count: state.charge(privacy.PureLoss(loss.approximate().epsilon), count),  # delta dropped
        lambda state, loss, count: replace(state.charge(loss, count), sums=state.sums),  # refunded
    ],
)
def test_twins_of_charge_are_caught(twin: Callable[[FilterState, privacy.PrivacyLoss, int], FilterState]):
    start, loss = BasicFilter(1.0, delta=1e-6).start(), privacy.ApproxLoss(0.01, 1e-9)
    assert twin(start, loss, 7).sums != start.charge(loss, 7).sums


def test_twin_with_float_sums_drifts():
    assert BasicFilter(1.0).start().charge(privacy.PureLoss(0.1), 10).remaining["basic epsilon"] == 0.0
    assert sum([0.1] * 10) < 1.0  # the twin would still have room


# --- the order of an RDP filter, plans, PLD --------------------------------------------------------------


def test_the_rdp_limit_is_the_conversion_at_the_fixed_order():
    rule = RdpFilter(1.0, delta=1e-5, alpha=16.0)
    assert accounting.rdp.epsilon_of_renyi(16.0, rule.limits[0], 1e-5) == pytest.approx(1.0, rel=1e-9)
    assert accounting.rdp.epsilon_of_renyi(16.0, rule.limits[0], 1e-5) <= 1.0
    with pytest.raises(InvalidParameter, match="larger order"):
        RdpFilter(0.1, delta=1e-9, alpha=2.0)


def test_a_sampled_run_fits_better_at_its_best_order_than_at_others():
    step = privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01)
    best = best_order_for(step, epsilon=1.0, delta=1e-5)
    fits = {a: RdpFilter(1.0, delta=1e-5, alpha=a).start().what_fits(step) for a in (best, 14.0, 40.0)}
    assert fits[best] == max(fits.values())
    assert 9000 < fits[best] < 10_000  # 10,000 steps cost 1.035
    assert ZcdpFilter(1.0, delta=1e-5).start().what_fits(step) == 0  # large orders see the unsampled Gaussian
    with pytest.raises(NoGuarantee):
        best_order_for(privacy.RdpLoss((2.0,), (0.1,)), epsilon=0.1, delta=1e-9)  # nothing known at larger orders


def test_a_plan_is_charged_as_one_loss():
    plan = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 10_000)
    point = plan_point(plan, delta=1e-7)
    assert point.unit == plan.unit
    assert point.epsilon == accounting.epsilon(plan, delta=1e-7).upper
    state = basic_or_zcdp(3.0, delta=1e-6).start()
    assert not state.accepts(plan)
    assert state.what_fits(point) == 2


def test_pld_is_refused_as_a_filter():
    with pytest.raises(NoGuarantee, match=r"2602\.06756"):
        pld_filter(1.0, delta=1e-5)


# --- refusals and bad input -------------------------------------------------------------------------------


def test_a_refusal_says_spent_requested_remaining_and_what_fits():
    state = BasicFilter(1.0).start().charge(privacy.PureLoss(0.75))
    with pytest.raises(BudgetExceeded) as caught:
        state.charge(privacy.PureLoss(0.5))
    text = str(caught.value)
    for word in ("Rogers", "spent 0.75 of 1", "requested 0.5", "remaining 0.25", "epsilon up to 0.25"):
        assert word in text
    with pytest.raises(BudgetExceeded, match="requested more than any finite amount"):
        state.charge(privacy.GaussianLoss(1.0))
    assert state.charge(privacy.PureLoss(0.25)).remaining["basic epsilon"] == 0.0  # the refusals cost nothing


@pytest.mark.parametrize("start", [BasicFilter(1.0).start, Odometer(0.1, delta=1e-6).start])
def test_units_do_not_mix(start):
    replacing = privacy.PureLoss(0.1, unit=privacy.Unit("replace"))
    with pytest.raises(MixedUnits):
        start().charge(privacy.PureLoss(0.1)).charge(replacing)
    with pytest.raises(MixedUnits):
        start(privacy.Unit()).charge(replacing)
    assert start().charge(replacing).unit == privacy.Unit("replace")


@pytest.mark.parametrize(
    "build",
    [
        lambda: BasicFilter(0.0),
        lambda: BasicFilter(math.nan),
        lambda: BasicFilter(1.0, delta=1.0),
        lambda: BasicFilter(1.0, delta=-1e-9),
        lambda: ZcdpFilter(1.0),
        lambda: ZcdpFilter(1.0, delta=1e-6, delta0=1e-6),
        lambda: ZcdpFilter(1.0, delta=1e-6, delta0=-1e-9),
        lambda: AdvancedFilter(-1.0, delta=1e-6),
        lambda: AdvancedFilter(1.0, delta=1e-6, delta0=1e-5),
        lambda: GdpFilter(1.0, delta=0.0),
        lambda: RdpFilter(1.0, delta=1e-6, alpha=1.0),
        lambda: AnyOf(()),
        lambda: AnyOf((AnyOf((BasicFilter(1.0),)),)),
        lambda: AnyOf((BasicFilter(1.0, delta=0.6), BasicFilter(1.0, delta=0.6))),
        lambda: basic_or_zcdp(1.0, delta=1.5),
        lambda: Odometer(0.0, delta=1e-6),
        lambda: Odometer(0.1, delta=0.7, delta0=0.4),
        lambda: BasicFilter(1.0).start().charge(0.5),
        lambda: BasicFilter(1.0).start().charge(privacy.PureLoss(0.1), -1),
        lambda: BasicFilter(1.0).start().charge(privacy.PureLoss(0.1), 1.5),
        lambda: Odometer(0.1, delta=1e-6).start().charge(0.5),
        lambda: BasicFilter(1.0).resume(((-1, 0),), privacy.Unit()),
        lambda: BasicFilter(1.0).resume(((0.5, 0),), privacy.Unit()),
        lambda: BasicFilter(1.0).resume(((0,),), privacy.Unit()),
    ],
)
def test_bad_input_is_refused(build):
    with pytest.raises(InvalidParameter):
        build()


def test_a_stored_state_goes_on_where_it_stopped():
    filter = basic_or_zcdp(1.0, delta=1e-6)
    state = filter.start().charge(privacy.GaussianLoss(50.0), 3)
    resumed = filter.resume([list(sums) for sums in state.sums], privacy.Unit())
    assert resumed == state
    assert resumed.charge(privacy.GaussianLoss(50.0)) == filter.start().charge(privacy.GaussianLoss(50.0), 4)
    crossed = filter.resume(((None, 0), (10**41, 0)), privacy.Unit())
    assert crossed.largest_pure == 0.0
    with pytest.raises(BudgetExceeded):
        crossed.charge(privacy.PureLoss(1e-9))


# --- the odometer -----------------------------------------------------------------------------------------


def worst_crossing(running: Callable[[OdometerState], float], steps: int, delta: float, base: float = 0.05) -> float:
    """Largest probability, over stopping rules, that the loss ever exceeds the running epsilon."""
    loss, truthful = privacy.PureLoss(base), 1.0 / (1.0 + math.exp(-base))
    state, crossed, paths = Odometer(base**2 / 2.0, delta=delta).start(), 0.0, {0: 1.0}
    for _ in range(steps):
        state, moved = state.charge(loss), {}
        for ratio, mass in paths.items():
            moved[ratio + 1] = moved.get(ratio + 1, 0.0) + truthful * mass
            moved[ratio - 1] = moved.get(ratio - 1, 0.0) + (1.0 - truthful) * mass
        bound = running(state)
        crossed += sum(mass for ratio, mass in moved.items() if ratio * base > bound)
        paths = {ratio: mass for ratio, mass in moved.items() if ratio * base <= bound}
    return crossed


def test_the_odometer_holds_at_all_times_at_once():
    assert 0.0 < worst_crossing(lambda state: state.epsilon.upper, 2000, 0.05) <= 0.05


def test_twins_that_report_a_filter_as_a_running_bound_are_caught():
    def simple(state: OdometerState) -> float:
        rho = state.rho / 10**40
        return rho + 2.0 * math.sqrt(rho * math.log(1.0 / 0.05))

    assert worst_crossing(simple, 200, 0.05) > 0.05
    assert worst_crossing(lambda state: accounting.zcdp_epsilon(state.rho / 10**40, 0.05), 200, 0.05) > 0.5


def test_the_shares_of_the_rungs_add_up_to_delta():
    odometer = Odometer(0.01, delta=1e-6)
    shares = math.fsum(odometer.share(j) for j in range(1, 20_000))
    rest = 1e-6 * 6.0 / math.pi**2 / 20_000  # the tail of sum 1/j^2
    assert shares + rest <= 1e-6 * (1 + 1e-12)
    assert shares + rest == pytest.approx(1e-6, rel=1e-7)


def test_the_odometer_is_close_to_a_filter_and_above_it():
    odometer, loss = Odometer(1e-4, delta=1e-6), privacy.GaussianLoss(50.0)
    state, last = odometer.start(), 0.0
    for _ in range(60):
        state = state.charge(loss, 10)
        rho = state.rho / 10**40
        assert state.epsilon.upper >= last
        assert accounting.zcdp_epsilon(rho, 1e-6) < state.epsilon.upper < 1.6 * accounting.zcdp_epsilon(rho, 1e-6)
        last = state.epsilon.upper
    assert state == odometer.start().charge(privacy.Repeated(loss, 600))
    assert state.charge(loss, 0) == state


def test_the_odometer_meets_losses_with_a_failure_probability():
    odometer, loss = Odometer(0.01, delta=1e-6, delta0=3e-9), privacy.ApproxLoss(0.1, 1e-9)
    state = odometer.start().charge(loss, 3)
    assert state.delta == 1e-6 + 3e-9
    with pytest.raises(BudgetExceeded, match="spent 3e-09, requested 1e-09, remaining 0"):
        state.charge(loss)
    with pytest.raises(NoGuarantee):
        state.charge(privacy.RdpLoss((2.0,), (0.1,)))
    assert state.charge(privacy.PureLoss(0.1)).rho > state.rho
