"""Paying, refusing, answering again: the contract of the ledger on every store."""

import pytest

import privet as pv
from privet import mechanisms, privacy
from privet.accounting import filters
from privet.errors import (
    BudgetExceeded,
    InvalidParameter,
    KeyConflict,
    LedgerError,
    MixedUnits,
    NoGuarantee,
    NotPrivate,
    ReleaseFailed,
)
from privet.mechanisms import Release
from privet.privacy import ApproxLoss, GaussianLoss, LaplaceLoss, PureLoss, Unit, from_json
from tests.ledger.coins import Coin, broken

ONE = 10**40  # one epsilon, in the ledger's units


def test_a_release_is_paid_run_recorded_and_returned(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0), dataset="visits")
    laplace = mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    made = ledger.release(laplace, 1000, analyst="ann", purpose="how many", key="n")
    opened, reserve, release = ledger.entries()
    assert [opened.kind, reserve.kind, release.kind] == ["open", "reserve", "release"]
    assert from_json(reserve.loss) == laplace.loss
    assert (reserve.analyst, reserve.key, reserve.facts["purpose"], reserve.facts["dataset"]) == (
        "ann",
        "n",
        "how many",
        "visits",
    )
    assert Release.from_json(release.facts["release"]).value == made.value
    assert ledger.spent.sums[0][0] == ONE // 2
    assert ledger.verify().entries == 3


def test_nothing_is_read_before_the_charge_is_written(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    seen = []

    def look(data):
        seen.append([entry.kind for entry in ledger.entries()])
        return Release(1, loss=PureLoss(0.1))

    ledger.release(Coin(says=look), "private")
    assert seen == [["open", "reserve"]]


def test_the_boundary_is_exact(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    for _ in range(9):
        ledger.reserve(PureLoss(0.1))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureLoss(0.1000001))
    ledger.reserve(PureLoss(0.1))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureLoss(1e-40))
    assert ledger.spent.sums[0][0] == ONE
    assert len(ledger.entries()) == 11


def test_a_refusal_says_what_a_reader_needs_and_costs_nothing(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0), dataset="visits")
    ledger.reserve(PureLoss(0.75))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(PureLoss(0.5))
    for words in ("visits", "basic", "spent 0.75", "requested 0.5", "remaining 0.25", "up to 0.25", "raise the cap"):
        assert words in refusal.value.explain()
    assert "asked epsilon 0.5, 0.25 left; nothing was spent. Ask for at most epsilon 0.25" in str(refusal.value)
    assert len(ledger.entries()) == 2


def test_the_same_key_and_request_is_answered_for_free(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(0.1))
    first = ledger.release(Coin(), 1, key="k")
    assert ledger.release(Coin(), 1, key="k").value == first.value
    with pytest.raises(KeyConflict):
        ledger.release(Coin(label="another question"), 1, key="k")
    with pytest.raises(BudgetExceeded):
        ledger.release(Coin(), 1, key="k", analyst="ann")  # keys belong to their analyst


def test_a_key_whose_release_was_lost_is_paid_again(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    with pytest.raises(ReleaseFailed):
        ledger.release(Coin(says=broken), 1, key="k")
    ledger.release(Coin(), 1, key="k")
    assert [entry.kind for entry in ledger.entries()] == ["open", "reserve", "reserve", "release"]
    assert ledger.spent.sums[0][0] == ONE // 5
    with pytest.raises(KeyConflict):
        ledger.release(Coin(label="x"), 1, key="k")


@pytest.mark.parametrize("key", [None, "k"])
def test_a_reservation_records_one_release(place, key):
    """A second one would be a second draw on one payment: the first is returned, and the second is not kept."""
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    paid = ledger.reserve(Coin().loss, key=key)
    first = paid.record(Coin().release(None))
    for between in (False, True):  # alone at the head, and with somebody else's entry after it
        if between:
            ledger.reserve(Coin().loss)
        assert paid.record(Coin().release(None)).value == first.value
    assert [entry.kind for entry in ledger.entries()].count("release") == 1
    ledger.verify()


def test_a_key_in_flight_is_paid_twice_and_the_first_record_wins(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    inner = []

    def overtaken(data):
        inner.append(ledger.release(Coin(), data, key="k"))
        return Release(-1, loss=PureLoss(0.1))

    assert ledger.release(Coin(says=overtaken), 0, key="k").value == inner[0].value
    assert [entry.kind for entry in ledger.entries()] == ["open", "reserve", "reserve", "release"]


@pytest.mark.parametrize(
    "says",
    [
        broken,
        lambda data: (_ for _ in ()).throw(MemoryError),
        lambda data: 42,
        lambda data: Release(1, loss=PureLoss(0.05)),
        lambda data: Release(object(), loss=PureLoss(0.1)),
    ],
    ids=["error", "memory", "no release", "another loss", "no json"],
)
def test_a_mechanism_that_fails_is_paid_and_says_nothing(place, says):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    texts = set()
    for secret in (1234567, 7654321):
        with pytest.raises(ReleaseFailed) as failure:
            ledger.release(Coin(says=says), secret)
        assert failure.value.__context__ is None
        assert failure.value.__cause__ is None
        texts.add(str(failure.value))
    assert len(texts) == 1
    assert ledger.spent.sums[0][0] == ONE // 5
    assert ledger.verify().orphans == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_and_is_paid(place, error):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))

    def stop(data):
        raise error

    with pytest.raises(error):
        ledger.release(Coin(says=stop), 1)
    assert ledger.spent.sums[0][0] == ONE // 10
    ledger.reserve(PureLoss(0.1))


@pytest.mark.parametrize(
    "loss", [0.1, True, None, "0.1", float("nan"), float("inf"), -0.1, object()], ids=lambda value: str(value)[:8]
)
def test_what_is_no_loss_is_refused_before_the_transaction(place, loss):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    for ask in (ledger.reserve, ledger.preview):
        with pytest.raises(InvalidParameter):
            ask(loss)
    with pytest.raises(InvalidParameter):
        ledger.release(Coin(loss=loss), 1)
    assert len(ledger.entries()) == 1


def test_an_unknown_kind_of_loss_is_an_error_never_free(place):
    opaque = from_json('{"privet": 1, "kind": "from the future", "unit": {}, "x": 1}')
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    with pytest.raises(NoGuarantee):
        ledger.reserve(opaque)
    assert len(ledger.entries()) == 1


def test_units_do_not_mix(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0), unit=Unit("replace"))
    with pytest.raises(MixedUnits):
        ledger.reserve(PureLoss(0.1))
    ledger.reserve(PureLoss(0.1, unit=Unit("replace")))
    ledger.reserve(privacy.to_replace(PureLoss(0.1)))
    assert ledger.spent.sums[0][0] == 3 * ONE // 10


def test_several_reservations_are_all_or_nothing(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    with pytest.raises(BudgetExceeded):
        ledger.reserve_many([PureLoss(0.4)] * 3)
    assert len(ledger.entries()) == 1
    made = ledger.reserve_many([PureLoss(0.4), PureLoss(0.6)], key="batch")
    assert [each.seq for each in made] == [2, 3]
    assert [each.key for each in made] == ["batch/0", "batch/1"]
    assert ledger.reserve_many([]) == []
    assert ledger.verify().entries == 3


def test_a_reservation_can_be_recorded_and_answers_its_key(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    reservation = ledger.reserve(PureLoss(0.1), key="k")
    made = reservation.record(Release((1, 2.5), loss=PureLoss(0.1)))
    again = ledger.reserve(PureLoss(0.1), key="k")
    assert again.release.value == made.value
    assert again.seq == reservation.seq
    assert ledger.spent.sums[0][0] == ONE // 10
    with pytest.raises(LedgerError, match="another loss"):
        ledger.reserve(PureLoss(0.2)).record(Release(1, loss=PureLoss(0.1)))
    with pytest.raises(InvalidParameter):
        reservation.record("a release")
    assert ledger.verify().orphans == 1


def test_seeded_noise_is_refused_by_durable_stores(durable):
    ledger = pv.Ledger.create(durable, budget=pv.Budget(1.0))
    with pytest.raises(NotPrivate):
        ledger.release(Coin(insecure=True), 1)
    assert len(ledger.entries()) == 1  # before paying, since the mechanism says so
    with pytest.raises(NotPrivate):
        ledger.release(Coin(says=lambda data: Release(1, loss=PureLoss(0.1), insecure=True)), 1)
    assert [entry.kind for entry in ledger.entries()] == ["open", "reserve"]


def test_seeded_noise_keeps_its_stamp_in_memory():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    assert ledger.release(Coin(insecure=True), 1, key="k").insecure
    assert ledger.release(Coin(insecure=True), 1, key="k").insecure


def test_only_the_reservation_carries_a_time(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    ledger.release(Coin(), 1)
    _, reserve, release = ledger.entries()
    assert "time" in reserve.facts
    assert not [name for name in release.facts if "time" in name]


def test_entries_hold_texts_and_no_numbers(place):
    def leaves(value):
        if isinstance(value, dict | list):
            for each in value.values() if isinstance(value, dict) else value:
                yield from leaves(each)
        else:
            yield value

    ledger = pv.Ledger.create(place, budget=pv.Budget(3.0, 1e-6), unit=Unit(group_size=2))
    ledger.reserve(GaussianLoss(50.0, unit=Unit(group_size=2)), analyst="ann")
    kinds = {type(leaf) for entry in ledger.entries() for leaf in leaves([entry.facts, entry.charged])}
    assert kinds <= {str, bool, type(None)}


def test_a_preview_tells_and_does_not_pay(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    ledger.reserve(PureLoss(0.25))
    shown = ledger.preview(PureLoss(0.25))
    assert (shown.allowed, shown.fits) == (True, 3)
    assert shown.before["basic epsilon"] == 0.75
    assert shown.after["basic epsilon"] == 0.5
    refused = ledger.preview(PureLoss(0.8))
    assert not refused
    assert "asked epsilon 0.8, 0.75 left" in refused.refusal
    assert "remaining 0.75" in refused.explain()
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize(
    "name", ["", " ann", "a\nb", "a\0b", "x" * 201, 7, b"ann", "\ud800"], ids=lambda name: repr(name)[:8]
)
def test_names_that_no_store_could_hold_are_refused(place, name):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    for field in ("analyst", "key"):
        with pytest.raises(InvalidParameter):
            ledger.reserve(PureLoss(0.1), **{field: name})
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("name", ["Zoë", "李", "a/b:c|d", '"quoted"', "O'Hara", "%s {s}"])
def test_other_names_travel_unharmed(place, name):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0), dataset=name)
    made = ledger.release(Coin(), 1, analyst=name, key=name, purpose=name)
    assert ledger.release(Coin(), 1, analyst=name, key=name, purpose=name).value == made.value
    assert ledger.entries()[1].analyst == name
    assert ledger.verify().entries == 3


def test_a_filter_of_your_choice_is_named_in_every_answer(place):
    rule = filters.GdpFilter(1.0, delta=1e-5)
    ledger = pv.Ledger.create(place, budget=pv.Budget(rule=rule))
    assert ledger.preview(GaussianLoss(50.0)).fits == 179
    assert "GDP" in repr(ledger.remaining)
    assert rule.theorem in ledger.spent.explain()
    assert rule.theorem in ledger.preview(GaussianLoss(50.0)).explain()
    with pytest.raises(BudgetExceeded):
        ledger.reserve(ApproxLoss(0.1, 1e-7))


def test_a_rule_that_is_crossed_ends_and_only_that(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(3.0, 1e-6))
    assert ledger.preview(PureLoss(0.5)).fits == 6
    preview = ledger.preview(LaplaceLoss(0.4))
    assert preview.ends == ("zCDP", "GDP")
    ledger.reserve(LaplaceLoss(0.4))
    assert ledger.remaining["zCDP rho"] == ledger.remaining["GDP sum of mu^2"] == 0.0
    assert ledger.preview(PureLoss(0.5)).fits == 1
