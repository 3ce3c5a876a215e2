"""A price about rows, restated for persons, is charged by a ledger about persons; mixed relations still raise."""

import pytest

import privet as pv
from privet import accounting, privacy
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy import (
    Composed,
    GaussianLoss,
    Grouped,
    LaplaceLoss,
    PoissonSampled,
    PureLoss,
    Repeated,
    Unit,
    from_json,
    per_person,
    to_json,
    to_replace,
)

PATIENT = Unit(person="patient_id")
LOSSES = [
    PureLoss(0.1),
    LaplaceLoss(20.0),
    GaussianLoss(40.0),
    Repeated(PoissonSampled(GaussianLoss(8.0), q=0.01), 50),
    Composed([PureLoss(0.05), GaussianLoss(40.0)]),
]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_person_costs_what_so_many_rows_cost(loss):
    person, group = per_person(loss, person="patient_id", rows=5), Grouped(loss, 5)
    assert person.unit == PATIENT
    assert person.pure() == group.pure()
    assert person.zcdp() == group.zcdp()
    assert person.gdp() == group.gdp()
    ours, theirs = (accounting.epsilon(each, delta=1e-6) for each in (person, group))
    assert (ours.lower, ours.upper) == (theirs.lower, theirs.upper)
    assert from_json(to_json(person)) == person
    assert person != group
    if len(loss.parts()) == 1 and loss.parts()[0][1] == 1:  # not a bound that forgets the factor
        assert ours.upper > accounting.epsilon(loss, delta=1e-6).upper


def test_a_ledger_about_persons_takes_it():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6), unit=PATIENT)
    rows = PureLoss(0.1)
    for refused in (rows, Grouped(rows, 5), per_person(rows, person="customer", rows=5)):
        with pytest.raises(MixedUnits):
            ledger.reserve(refused)
    ledger.reserve(per_person(rows, person="patient_id", rows=5))
    assert ledger.spent["basic epsilon"] == pytest.approx(0.5)
    assert ledger.verify().underpriced == ()
    assert ledger.total(delta=0.0).upper == pytest.approx(0.5)


def test_relations_are_not_mixed():
    replaced = PureLoss(0.1, unit=Unit("replace"))
    with pytest.raises(MixedUnits, match="number of rows"):
        per_person(replaced, person="patient_id", rows=5)
    with pytest.raises(MixedUnits, match="already"):
        per_person(per_person(PureLoss(0.1), person="a", rows=2), person="a", rows=2)
    person = per_person(PureLoss(0.1), person="patient_id", rows=5)
    assert to_replace(person).unit == Unit("replace", 1, "patient_id")
    assert to_replace(person).pure() == pytest.approx(1.0)
    with pytest.raises(MixedUnits):
        Composed([person, to_replace(person)])
    nulled = per_person(PureLoss(0.1, unit=Unit("zero_out")), person="patient_id", rows=5)
    assert nulled.unit == Unit("zero_out", 1, "patient_id")
    for bad in (
        {"person": "", "rows": 5},
        {"person": "a", "rows": 0},
        {"person": 3, "rows": 1},
        {"person": "a", "rows": 1.5},
    ):
        with pytest.raises(InvalidParameter):
            per_person(PureLoss(0.1), **bad)


def test_a_price_about_groups_is_not_grouped_twice():
    grouped = Grouped(PureLoss(0.1), 2)
    assert per_person(grouped, person="a", rows=5).pure() == pytest.approx(0.6)  # three groups of two hold five rows
    assert privacy.Grouped(per_person(PureLoss(0.1), person="a", rows=5), 2).pure() == pytest.approx(1.0)
