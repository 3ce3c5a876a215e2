"""Parallel composition: the costliest parts are the price, also when a person moves, also for adaptive choices."""

import itertools
import random

import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import BudgetExceeded, InvalidParameter, LedgerError, MixedUnits
from privet.ledger.partition import Parts
from privet.privacy import GaussianLoss, PureLoss, Unit, to_replace

ONE = 10**40


def test_disjoint_parts_cost_the_dearest(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    region = ledger.open_partition("region", ["north", "south", "west"])
    for part in region.parts:
        ledger.reserve(PureLoss(0.4), part=region[part])
    assert ledger.spent.sums[0][0] == 4 * ONE // 10
    ledger.reserve(PureLoss(0.5), part="south")
    assert ledger.spent.sums[0][0] == 9 * ONE // 10
    ledger.reserve(PureLoss(0.5), part=("region", "west"))
    assert ledger.spent.sums[0][0] == 9 * ONE // 10
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureLoss(0.2), part="south")
    ledger.reserve(PureLoss(0.1))  # about everybody: on top
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureLoss(0.1), part="south")
    ledger.reserve(PureLoss(0.5), part="north")
    assert ledger.verify().orphans == 7


def test_two_partitions_add_up(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    ledger.open_partition("region", ["north", "south"])
    ledger.open_partition("age", ["young", "old"])
    for part in ("north", "south", "young", "old"):
        ledger.reserve(PureLoss(0.5), part=part)
    assert ledger.remaining["basic epsilon"] == 0.0
    assert ledger.verify().entries == 7


def test_a_person_in_two_parts_costs_the_two_dearest():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(10.0))
    ledger.open_partition("ward", ["a", "b", "c"], per_person=2)
    for part, epsilon in (("a", 1.0), ("b", 0.5), ("c", 0.75), ("b", 0.5)):
        ledger.reserve(PureLoss(epsilon), part=part)
    assert ledger.spent.sums[0][0] == 2 * ONE
    assert ledger.verify().entries == 6


def test_groups_may_sit_in_several_parts():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(10.0), unit=Unit(group_size=2))
    ledger.open_partition("ward", ["a", "b", "c"])
    for part in "abc":
        ledger.reserve(PureLoss(1.0, unit=Unit(group_size=2)), part=part)
    assert ledger.spent.sums[0][0] == 2 * ONE


def test_under_replace_a_person_may_move():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(10.0), unit=Unit("replace"))
    ledger.open_partition("ward", ["a", "b"])
    for part in "ab":
        ledger.reserve(PureLoss(0.5), part=part)  # an add_remove price, charged for replacing
    assert ledger.spent.sums[0][0] == ONE
    with pytest.raises(MixedUnits, match="move"):
        ledger.reserve(PureLoss(0.5, unit=Unit("replace")), part="a")
    with pytest.raises(MixedUnits):
        ledger.reserve(PureLoss(0.5))  # about everybody: priced for replacing by whoever asks
    ledger.reserve(to_replace(PureLoss(0.5)))
    assert ledger.spent.sums[0][0] == 2 * ONE


def test_a_person_who_moves_pays_twice_what_a_part_costs():
    """Charged at a delta, leaving one part and entering another fail with that delta each: the price for replacing, which
    has it once, is not enough.
    """
    at, budget = 1e-8, pv.Budget(rule=BasicFilter(10.0, delta=1e-6))
    ledger = pv.Ledger.create("memory:", budget=budget, unit=Unit("replace"))
    ledger.open_partition("ward", ["a", "b"])
    loss = GaussianLoss(4.0)
    for part in "ab":
        ledger.reserve(loss, part=part, at=at)
    alone = pv.Ledger.create("memory:", budget=budget)
    alone.reserve(loss, at=at)
    (epsilon, delta), (one_epsilon, one_delta) = ledger.spent.sums[0], alone.spent.sums[0]
    assert delta == 2 * one_delta
    assert epsilon >= 2 * one_epsilon
    assert ledger.verify().underpriced == ()
    whole = pv.Ledger.create("memory:", budget=budget, unit=Unit("replace"))
    whole.reserve(to_replace(loss), at=at)
    assert whole.spent.sums[0][1] == one_delta  # so that the line is needed


def test_blanking_and_parts_do_not_mix():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0), unit=Unit("zero_out"))
    with pytest.raises(LedgerError, match="blanked"):
        ledger.open_partition("ward", ["a", "b"])


def test_rations_are_parallel_too(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(10.0))
    ledger.add_analyst("ann", budget=pv.Budget(rho=0.0101))
    ledger.open_partition("ward", ["a", "b"])
    for part in "abab":
        ledger.reserve(PureLoss(0.1), analyst="ann", part=part)
    with pytest.raises(BudgetExceeded, match="analyst ann"):
        ledger.reserve(PureLoss(0.1), analyst="ann", part="a")
    assert ledger.spent.sums[0][0] == 2 * ONE // 10
    assert ledger.verify().entries == 7


def test_parts_are_declared_never_discovered(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    for part in ("north", ("region", "north"), ("region",), 7):
        with pytest.raises((LedgerError, InvalidParameter)):
            ledger.reserve(PureLoss(0.1), part=part)
    for parts in ([], ["one"], ["a", "a"], "ab", ["a", 7]):
        with pytest.raises(InvalidParameter):
            ledger.open_partition("region", parts)
    region = ledger.open_partition("region", ["north", "south"])
    assert ledger.open_partition("region", ["north", "south"]) == region
    with pytest.raises(LedgerError, match="other parts"):
        ledger.open_partition("region", ["north", "south", "west"])
    with pytest.raises(InvalidParameter, match="no part"):
        ledger.reserve(PureLoss(0.1), part=("region", "east"))
    ledger.open_partition("pole", ["north", "magnetic"])
    with pytest.raises(LedgerError, match="several"):
        ledger.reserve(PureLoss(0.1), part="north")
    assert len(ledger.entries()) == 3


@pytest.mark.parametrize("spread", [1, 2, 3])
def test_the_largest_sums_are_kept_exactly(spread):
    draw = random.Random(spread)
    cells = dict.fromkeys(range(5), ((0, 0),))
    top, parent = (((0, 0),),) * spread, [0, 0]
    for _ in range(300):
        cell = draw.randrange(5)
        price = ((draw.choice([0, 1, 1, 2, 7]), draw.choice([0, 0, 3])),)
        after, increase = Parts(cells[cell], top).charge(price)
        cells[cell], top = after.cell, after.top
        for i in range(2):
            parent[i] += increase[0][i]
            best = max(sum(cells[c][0][i] for c in chosen) for chosen in itertools.combinations(range(5), spread))
            assert parent[i] == best


def test_infinite_prices_stay_infinite():
    after, increase = Parts(((1,),), (((1,),),)).charge(((None,),))
    assert (after.cell, increase) == (((None,),), ((None,),))
    again, none = after.charge(((5,),))
    assert (again.cell, none) == (((None,),), ((0,),))
