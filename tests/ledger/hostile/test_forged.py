"""What verify must notice although every hash is right: a holder of the file who rewrites the chain from some entry."""

import json

import pytest

import privet as pv
from privet.accounting.filters import RdpFilter, basic_or_zcdp
from privet.errors import LedgerTampered
from privet.ledger.entry import Entry, canonical, linked
from privet.ledger.verify import Auditor, verify_export
from privet.mechanisms import Release
from privet.privacy import GaussianLoss, PoissonSampled, PureLoss, Repeated, Unit, to_replace


def audit(entries: list[Entry]) -> Auditor:
    auditor = Auditor()
    for entry in entries:
        auditor.read(entry)
    return auditor


def rewritten(entries: list[Entry], change) -> list[Entry]:
    """The same entries with some facts, amounts or losses changed, and every hash made good again."""
    made: list[Entry] = []
    for entry in entries:
        facts, amounts = entry.facts, entry.charged
        change(entry, facts, amounts)
        made.append(
            linked(
                made[-1] if made else None,
                entry.kind,
                body=canonical(facts),
                analyst=entry.analyst,
                key=entry.key,
                loss=entry.loss,
                amounts=canonical(amounts),
            )
        )
    return made


def entries_of(*acts, budget=None, unit=None, schedule=()) -> list[Entry]:
    begin = getattr(pv.Ledger, "create", pv.Ledger.open)
    ledger = begin("memory:", budget=budget or pv.Budget(1.0), unit=unit, schedule=schedule)
    for act in acts:
        act(ledger)
    return ledger.entries()


def nothing(entry, facts, amounts):
    pass


def part_of(ledger):
    ledger.open_partition("ward", ["a", "b"])
    ledger.reserve(PureLoss(0.2), part="a")


def free(entry, facts, amounts):
    """Forge every charge to nothing, with sums that agree."""
    if entry.kind == "reserve":
        for scope in amounts:
            amounts[scope] = [["0" for _ in rule] for rule in amounts[scope]]
    for scope in facts["sums"]:
        facts["sums"][scope] = [["0" for _ in rule] for rule in facts["sums"][scope]]


@pytest.mark.parametrize(
    "act",
    [
        lambda ledger: ledger.reserve(PureLoss(0.2)),
        part_of,
        lambda ledger: ledger.reserve(PureLoss(0.2), analyst="ann"),
    ],
    ids=["whole", "part", "analyst"],
)
def test_a_charge_forged_to_nothing_is_underpriced(act):
    entries = entries_of(act)
    assert audit(rewritten(entries, nothing)).underpriced == []
    assert audit(rewritten(entries, free)).underpriced == [entries[-1].seq]


@pytest.mark.parametrize("scope", ["analyst:ann", "cell:ward:a", ""])
def test_a_charge_to_an_account_that_it_does_not_touch_is_refused(scope):
    """No sum grows by it: whoever reads the entry would believe in a charge that no account knows of."""

    def more(entry, facts, amounts):
        if entry.kind == "reserve":
            amounts[scope] = amounts["dataset"]

    entries = entries_of(lambda ledger: ledger.reserve(PureLoss(0.2)), lambda ledger: ledger.reserve(PureLoss(0.1)))
    with pytest.raises(LedgerTampered, match="charges an account that it does not touch"):
        audit(rewritten(entries, more))


def test_an_export_holds_the_entry_whose_hash_is_known():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    before = ledger.export()
    ledger.reserve(PureLoss(0.2))
    now = ledger.export()
    old, new = (each["head"]["hash"] for each in (before, now))
    assert verify_export(now, old).anchored == 0
    assert verify_export(now, new).anchored == 2
    for document, head in ((before, new), (now, "00" * 32)):
        with pytest.raises(LedgerTampered, match="does not contain the entry with that hash"):
            verify_export(document, head)


def test_a_part_is_priced_for_moving_too():
    moving = Unit("replace")

    def act(ledger):
        ledger.open_partition("ward", ["a", "b"])
        ledger.reserve(PureLoss(0.2), part="a")

    entries = entries_of(act, unit=moving)
    assert audit(entries).underpriced == []
    assert audit(rewritten(entries, free)).underpriced == [entries[-1].seq]


def test_a_part_costs_at_least_what_two_releases_cost_where_that_is_more():
    """A divergence of sampled noise for replacing may be less than twice the one for adding; who moves pays the latter."""
    sampled = PoissonSampled(Repeated(GaussianLoss(3.0), 4), q=0.25)
    rule = RdpFilter(epsilon=5.0, delta=1e-6, alpha=8.0)
    ((single, _),), ((replaced, _),) = (rule.start().price(each) for each in (sampled, to_replace(sampled)))
    assert 1.5 * single < replaced < 1.9 * single

    def act(ledger):
        ledger.open_partition("ward", ["a", "b"])
        ledger.reserve(sampled, part="a")

    def cheaper(entry, facts, amounts):
        if entry.kind == "reserve":
            assert amounts["dataset"] == [[str(2 * single), "0"]]
            for told in (amounts, facts["sums"]):
                told.update({scope: [[str(replaced), "0"]] for scope in told})

    entries = entries_of(act, budget=pv.Budget(rule=rule), unit=Unit("replace"))
    assert audit(entries).underpriced == []
    assert audit(rewritten(entries, cheaper)).underpriced == [entries[-1].seq]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_points_on_parts_verify(relation):
    def act(ledger):
        ledger.open_partition("ward", ["a", "b"])
        for part in "aab":
            ledger.reserve(GaussianLoss(200.0), part=part, at=1e-9)
            ledger.reserve(GaussianLoss(300.0), part=part)

    entries = entries_of(act, budget=pv.Budget(3.0, 1e-6), unit=Unit(relation))
    assert audit(entries).underpriced == []
    assert len(audit(rewritten(entries, free)).underpriced) == 6


@pytest.mark.parametrize("at", [None, "1e-08"])
def test_a_point_is_checked_at_its_delta(at):
    entries = entries_of(lambda ledger: ledger.reserve(GaussianLoss(100.0), at=1e-9), budget=pv.Budget(3.0, 1e-6))
    assert audit(entries).underpriced == []

    def kinder(entry, facts, amounts):  # claim that it was charged at another delta, where it would have cost less
        if entry.kind == "reserve":
            facts["at"] = at
            if at is None:
                del facts["at"]

    assert audit(rewritten(entries, kinder)).underpriced == [2]


def test_the_limits_in_the_first_entry_are_compared():
    def caps(entry, facts, amounts):
        if entry.kind == "open":
            facts["caps"][0][0] = "9" + facts["caps"][0][0]

    with pytest.raises(LedgerTampered, match="entry 1 states limits"):
        audit(rewritten(entries_of(), caps))


def test_a_raise_is_not_called_scheduled_when_it_was_not():
    def scheduled(entry, facts, amounts):
        if entry.kind == "budget":
            facts["scheduled"] = True

    raised = entries_of(lambda ledger: ledger.raise_budget(pv.Budget(2.0), reason="why"))
    assert audit(raised).policy.raised == (2,)
    with pytest.raises(LedgerTampered, match="scheduled"):
        audit(rewritten(raised, scheduled))
    planned = entries_of(lambda ledger: ledger.raise_budget(), schedule=[pv.Budget(2.0)])
    assert audit(planned).policy.raised == ()


def two_charges(ledger):
    ledger.reserve(PureLoss(0.1))
    ledger.reserve(PureLoss(0.2))


def test_an_entry_that_was_replaced_breaks_the_link_of_the_next():
    """It has its own hash, and sums that agree; only the next entry knows the one that stood there."""

    def renamed(entry, facts, amounts):
        if entry.seq == 2:
            facts["purpose"] = "another"

    entries = entries_of(two_charges)
    forged = rewritten(entries, renamed)
    audit(forged)
    with pytest.raises(LedgerTampered, match="entry 3 was changed, moved or replaced"):
        audit([*forged[:2], entries[2]])


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_whole_is_charged_what_its_parts_grew(relation):
    def spared(entry, facts, amounts):
        if entry.kind == "reserve":
            amounts["dataset"] = [["0", "0"]]
            facts["sums"]["dataset"] = [["0", "0"]]

    entries = entries_of(part_of, unit=Unit(relation))
    audit(entries)
    with pytest.raises(LedgerTampered, match="entry 3 charges"):
        audit(rewritten(entries, spared))


NOTHING = {"dataset": [["0", "0"]]}
ACTS = {
    "adopt": {"anchor": None, "complete": True, "reason": "restored"},
    "analyst": {"what": "analyst", "name": "ann", "group": None, "budget": None},
    "partition": {"name": "ward", "parts": ["a", "b"], "per_person": "1"},
}


@pytest.mark.parametrize("kind", ACTS)
def test_no_act_lowers_what_was_spent(kind):
    entries = entries_of(two_charges)
    spent = entries[-1].facts["sums"]
    audit(appended(entries, kind, **ACTS[kind], policy="4", sums=spent))
    with pytest.raises(LedgerTampered, match="entry 4 lowers or changes a sum"):
        audit(appended(entries, kind, **ACTS[kind], policy="4", sums=NOTHING))


# --- releases and marks that were appended -------------------------------------------------------------------------


def appended(entries: list[Entry], kind: str, **more) -> list[Entry]:
    """One more entry with the right hash, sums and rules, as whoever writes the file could make it."""
    fields = {name: more.pop(name) for name in ("analyst", "key", "loss", "amounts") if name in more}
    last = entries[-1]
    body = {"policy": last.facts["policy"], "sums": {"dataset": last.facts["sums"]["dataset"]}, **more}
    return [*entries, linked(last, kind, body=canonical(body), **fields)]


def release_of(reserve: int, **more):
    made = Release(0.5, loss=PureLoss(0.1), mechanism="coin").to_json()
    return {"reserve": str(reserve), "release": made, "request": None, "insecure": False, "software": "privet", **more}


def paid_twice(ledger):
    """Two attempts under one key, both paid for: legal. The first one is recorded."""
    first, second = (ledger.reserve(PureLoss(0.1), key="k") for _ in "ab")
    assert (first.seq, second.seq) == (2, 3)
    first.record(Release(0.25, loss=PureLoss(0.1), mechanism="coin"))


def test_a_second_release_under_one_key_is_noticed():
    entries = entries_of(paid_twice)
    assert len(audit(entries).open_reserves) == 1
    with pytest.raises(LedgerTampered, match="entry 5 records a second release under one key"):
        audit(appended(entries, "release", key="k", **release_of(3)))


def test_a_second_release_of_one_reservation_is_noticed():
    entries = entries_of(lambda ledger: ledger.reserve(PureLoss(0.1)).record(Release(1, loss=PureLoss(0.1))))
    with pytest.raises(LedgerTampered, match="entry 4 records a release that no reservation"):
        audit(appended(entries, "release", **release_of(2)))


@pytest.mark.parametrize(
    "forged",
    [
        {**release_of(2), "key": "other"},
        {**release_of(2), "key": "k", "analyst": "bob"},
        release_of(2),
        {**release_of(1), "key": "k"},
        {**release_of(99), "key": "k"},
        {**release_of(0), "key": "k"},
    ],
    ids=["another key", "another analyst", "no key", "the first entry", "no entry", "nothing"],
)
def test_a_release_that_its_own_reservation_did_not_pay_for_is_noticed(forged):
    entries = entries_of(lambda ledger: ledger.reserve(PureLoss(0.1), key="k", analyst="ann"))
    audit(appended(entries, "release", key="k", analyst="ann", **release_of(2)))
    with pytest.raises(LedgerTampered, match="entry 3 records a release that no reservation"):
        audit(appended(entries, "release", **forged))


def started(ledger):
    ledger.start([PureLoss(0.1), PureLoss(0.2)], key="k")


def mark(next: int, *paid: tuple[int, int]):
    return {"id": "2", "next": str(next), "paid": [[str(a), str(b)] for a, b in paid]}


def test_a_slice_is_marked_once_and_by_its_payer():
    entries = entries_of(started)
    first = appended(entries, "slice", key="k", run=mark(1, (2, 2)), slice="0", paid="2")
    audit(first)
    forged = [
        {"run": mark(1, (2, 2)), "slice": "0", "paid": "2"},  # again
        {"run": mark(2), "slice": "1", "paid": "9"},
        {"run": mark(2, (2, 2)), "slice": "1", "paid": "2"},
        {"run": mark(2), "slice": "0", "paid": "2"},
        {"run": {**mark(2), "id": "1"}, "slice": "1", "paid": "2"},
    ]
    for each in forged:
        with pytest.raises(LedgerTampered, match="entry 4 moves the mark"):
            audit(appended(first, "slice", key="k", **each))
    with pytest.raises(LedgerTampered, match="entry 4 moves the mark"):
        audit(appended(first, "slice", key="other", run=mark(2), slice="1", paid="2"))
    whole = appended(first, "slice", key="k", run=mark(2), slice="1", paid="2")
    audit(whole)
    with pytest.raises(LedgerTampered, match="entry 5 moves the mark"):
        audit(appended(whole, "slice", key="k", run=mark(3), slice="2", paid="2"))


def repeated(ledger):
    run = ledger.start([PureLoss(0.1), PureLoss(0.2)], key="k")
    run.begin(), run.begin()
    run.repeat(1)


def test_a_repeat_that_pays_for_other_slices_is_noticed():
    """The last slice costs 0.2; a repeat that charged the first one's 0.1, with sums that agree, is no repeat of it."""
    entries = entries_of(repeated)
    audit(entries)
    real = entries[-1]
    one, spent = str(10**39), str(4 * 10**39)
    facts = {**real.facts, "sums": {"dataset": [[spent, "0"]]}}
    cheap = linked(
        entries[-2],
        "reserve",
        body=canonical(facts),
        key="k",
        loss=pv.privacy.to_json(PureLoss(0.1)),
        amounts=canonical({"dataset": [[one, "0"]]}),
    )
    with pytest.raises(LedgerTampered, match="entry 5 moves the mark"):
        audit([*entries[:-1], cheap])


def test_underpriced_entries_are_said_aloud():
    found = pv.ledger.Verified(9, "ab", 0, 0, (6,))
    assert "Underpriced: entries 6" in str(found)
    assert "nderpriced" not in str(pv.ledger.Verified(9, "ab", 0, 0, ()))


# --- ledgers that were begun under the former default --------------------------------------------------------------


def test_a_ledger_of_the_former_default_opens_spends_raises_and_verifies(tmp_path):
    url = str(tmp_path / "old.ledger")
    begin = getattr(pv.Ledger, "create", pv.Ledger.open)
    old = begin(url, budget=pv.Budget(rule=basic_or_zcdp(3.0, delta=1e-6)), schedule=[])
    assert '"at"' not in json.dumps(old.entries()[0].facts["budget"])  # the very text that was written then
    old.reserve(GaussianLoss(50.0))
    old.close()
    again = pv.Ledger.open(url)
    assert again.budget.describe() == "(3, 1e-06)-DP by basic or zCDP"
    again.reserve(GaussianLoss(50.0))
    again.raise_budget(pv.Budget(4.0, 1e-6), reason="the board")
    assert again.budget == pv.Budget(rule=basic_or_zcdp(4.0, delta=1e-6))
    assert again.verify().underpriced == ()
