"""Money: exact at the boundary, never below the true sum, caps of analysts, partitions, and raises that are entries."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

import privet as pv
from privet.accounting.filters import BasicFilter, basic_zcdp_or_gdp
from privet.errors import BudgetExceeded, MixedUnits, PrivetError
from privet.privacy import ApproxLoss, GaussianLoss, LaplaceLoss, PureLoss, Repeated, Unit
from tests.ledger.hostile.checks import check_boundary
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin, books_of, check_books, sums_of

EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)
UNIT = Fraction(1, 10**40)


def spent(ledger: pv.Ledger) -> Fraction:
    """The epsilon of a pure ledger, exactly."""
    return sums_of(ledger)[0][0] * UNIT


@EVERY
def test_the_boundary_is_exact(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0)) as ledger:
        check_boundary(ledger)


def test_one_unit_too_much():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    ledger.reserve(PureLoss(1e-40))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureLoss(1.0))
    ledger.reserve(PureLoss(0.999999999999999))
    assert spent(ledger) <= 1


def test_a_million_tiny_spends():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e-3))
    ledger.reserve(Repeated(PureLoss(1e-9), 999_000))
    for _ in range(500):
        ledger.reserve(PureLoss(1e-9))
    ledger.reserve_many([PureLoss(1e-9)] * 500)
    assert spent(ledger) == Fraction(1, 1000)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureLoss(1e-9))


@settings(max_examples=60)
@given(st.lists(st.floats(1e-30, 0.3), min_size=1, max_size=30))
def test_never_below_the_exact_sum(prices: list[float]):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0))
    paid = Fraction(0)
    for price in prices:
        ledger.reserve(PureLoss(price))
        paid += min(Fraction(price), Fraction(str(price)))  # the double, or the decimal that its author wrote
    assert paid <= spent(ledger) <= paid * (1 + Fraction(1, 2**40)) + len(prices) * UNIT


@EVERY
def test_a_batch_is_all_or_nothing(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0)) as ledger:
        ledger.reserve(PureLoss(0.5))
        before = sums_of(ledger)
        with pytest.raises(BudgetExceeded):
            ledger.reserve_many([PureLoss(0.1)] * 6)
        assert sums_of(ledger) == before
        with pytest.raises(PrivetError):
            ledger.reserve_many([PureLoss(0.1), PureLoss(0.1, unit=Unit("replace"))])
        assert sums_of(ledger) == before
        ledger.reserve_many([PureLoss(0.1)] * 5)
        assert spent(ledger) == 1
        check_books(ledger, BasicFilter(1.0))


@EVERY
def test_a_preview_spends_nothing(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0)) as ledger:
        ledger.preview(PureLoss(0.5))
        ledger.preview(PureLoss(5.0))
        assert spent(ledger) == 0
        assert books_of(ledger).reserved == []


@EVERY
def test_the_default_rule_of_an_approximate_budget(fresh: Fresh):
    rule = basic_zcdp_or_gdp(1.0, delta=1e-5)
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0, delta=1e-5)) as ledger:
        losses = [GaussianLoss(50.0), PureLoss(0.01), ApproxLoss(0.01, 1e-8), LaplaceLoss(100.0)] * 8
        for loss in losses:
            ledger.reserve(loss)
        check_books(ledger, rule)
        state = rule.start()
        for loss in losses:
            state = state.charge(loss)
        while state.accepts(PureLoss(0.1)):
            state = state.charge(PureLoss(0.1))
            ledger.reserve(PureLoss(0.1))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(PureLoss(0.1))
        assert check_books(ledger, rule).reserved.count(PureLoss(0.1)) > 0


@EVERY
def test_analysts_ration_and_add_up_to_the_cap_of_the_data_set(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0)) as ledger:
        ledger.add_group("ward", budget=pv.Budget(epsilon=0.7))
        ledger.add_analyst("ada", budget=pv.Budget(epsilon=0.6), group="ward")
        ledger.add_analyst("bob", budget=pv.Budget(epsilon=0.6), group="ward")
        ledger.add_analyst("eve", budget=pv.Budget(epsilon=1.0))
        ledger.reserve(PureLoss(0.5), analyst="ada")
        for epsilon, analyst in ((0.2, "ada"), (0.3, "bob"), (0.6, "eve")):  # own cap, the group's, the data set's
            with pytest.raises(BudgetExceeded):
                ledger.reserve(PureLoss(epsilon), analyst=analyst)
        ledger.reserve(PureLoss(0.2), analyst="bob")
        ledger.reserve(PureLoss(0.3), analyst="eve")
        assert spent(ledger) == 1
        for analyst in ("ada", "bob", "eve", None):
            with pytest.raises(BudgetExceeded):
                ledger.reserve(PureLoss(0.001), analyst=analyst)
        assert len(check_books(ledger, BasicFilter(1.0)).reserved) == 3


@EVERY
def test_nobody_registers_twice_for_a_second_share(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0)) as ledger:
        ledger.add_analyst("ada", budget=pv.Budget(epsilon=0.1))
        ledger.reserve(PureLoss(0.1), analyst="ada")
        with contextlib.suppress(PrivetError):
            ledger.add_analyst("ada", budget=pv.Budget(epsilon=0.1))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(PureLoss(0.1), analyst="ada")


@EVERY
def test_parallel_composition_pays_the_dearest_part(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0)) as ledger:
        ledger.open_partition("ward", parts=["A", "B"])
        for part in ("A", "B"):
            for _ in range(3):
                ledger.release(Coin(0.2), None, part=("ward", part))
        assert spent(ledger) == Fraction(6, 10)
        ledger.release(Coin(0.4), None)
        assert spent(ledger) == 1
        with pytest.raises(BudgetExceeded):
            ledger.release(Coin(0.1), None, part=("ward", "A"))
        with pytest.raises(PrivetError):
            ledger.release(Coin(0.1), None, part=("ward", "C"))
        with pytest.raises(PrivetError):
            ledger.release(Coin(0.1), None, part=("street", "A"))
        ledger.verify()


@EVERY
def test_a_person_who_moves_changes_two_parts(fresh: Fresh):
    """Under replace the two costliest parts add up, and prices under replace alone do not say what a move costs."""
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0), unit=Unit("replace")) as ledger:
        ledger.open_partition("ward", parts=["A", "B", "C"])
        with pytest.raises(MixedUnits):
            ledger.reserve(PureLoss(0.1, unit=Unit("replace")), part=("ward", "A"))
        assert spent(ledger) == 0
        for part, true_cost in (("A", "0.2"), ("B", "0.4"), ("C", "0.4")):
            ledger.reserve(PureLoss(0.2), part=("ward", part))
            assert Fraction(true_cost) <= spent(ledger) <= Fraction("0.4")
        ledger.reserve(PureLoss(0.3), part=("ward", "B"))
        assert spent(ledger) >= Fraction("0.7")  # moving between B and another part
        with pytest.raises(BudgetExceeded):
            ledger.reserve(PureLoss(0.1), part=("ward", "B"))
        ledger.verify()


@EVERY
def test_a_raise_is_an_entry_and_a_cut_does_not_forgive(fresh: Fresh):
    url = fresh()
    with pv.Ledger.create(url, budget=pv.Budget(epsilon=1.0)) as ledger:
        ledger.reserve(PureLoss(1.0))
        before = len(list(ledger.entries()))
        ledger.raise_budget(pv.Budget(epsilon=2.0), reason="more questions")
        assert len(list(ledger.entries())) == before + 1
        ledger.reserve(PureLoss(1.0))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(PureLoss(0.1))
        assert spent(ledger) == 2
        ledger.verify()
    if url != "memory:":
        with pv.Ledger.open(url) as ledger, pytest.raises(BudgetExceeded):
            ledger.reserve(PureLoss(0.1))


@EVERY
def test_a_closed_data_set_stays_closed(fresh: Fresh):
    url = fresh()
    with pv.Ledger.create(url, budget=pv.Budget(epsilon=1.0)) as ledger:
        stored = ledger.release(Coin(0.1), None, key="k").value
        ledger.close_dataset("retired")
        for spend in (lambda: ledger.reserve(PureLoss(0.1)), lambda: ledger.release(Coin(0.1), None)):
            with pytest.raises(PrivetError):
                spend()
        with pytest.raises(PrivetError):
            ledger.raise_budget(pv.Budget(epsilon=2.0), reason="more questions")
        assert ledger.release(Coin(0.1), None, key="k").value == stored
        assert len(books_of(ledger).reserved) == 1
        ledger.verify()
