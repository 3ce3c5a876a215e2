"""What a custodian does over the years, the headline, and who may do it."""

import pickle

import pytest

import privet as pv
from privet.errors import BudgetExceeded, InvalidParameter, LedgerError, LedgerTampered
from privet.ledger import new_signing_key
from privet.ledger.entry import canonical, linked
from privet.ledger.verify import Auditor
from privet.privacy import GaussianLoss, LaplaceLoss, PureLoss, Repeated
from tests.ledger.coins import Coin


@pytest.fixture
def ledger(place):
    made = pv.Ledger.create(place, budget=pv.Budget(3.0), dataset="visits")
    made.add_group("team", budget=pv.Budget(2.0))
    made.add_analyst("ann", budget=pv.Budget(1.0), group="team")
    made.add_analyst("bob")
    yield made
    made.verify()
    made.close()


def test_a_ration_is_lowered_and_what_was_spent_stays(ledger):
    ledger.reserve(PureLoss(0.6), analyst="ann")
    ledger.lower_budget(pv.Budget(0.5), analyst="ann", reason="less is needed")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureLoss(0.01), analyst="ann")
    assert ledger.accounts()["analyst:ann"].headline == "used up: every rule is closed"
    assert ledger.spent["basic epsilon"] == 0.6
    ledger.raise_budget(pv.Budget(0.8), analyst="ann", reason="after all")
    ledger.reserve(PureLoss(0.2), analyst="ann")
    ledger.lower_budget(pv.Budget(2.5), reason="the board")
    assert ledger.budget == pv.Budget(2.5)
    assert ledger.policy.raised == ()
    for budget in (pv.Budget(2.6), pv.Budget(1.0, 1e-6), 2.0):
        with pytest.raises((LedgerError, InvalidParameter)):
            ledger.lower_budget(budget, reason="up")
    with pytest.raises(InvalidParameter, match="why"):
        ledger.lower_budget(pv.Budget(2.0), reason=" ")


def test_a_suspended_name_is_granted_nothing_until_resumed(ledger):
    first = ledger.release(Coin(), 1, analyst="ann", key="k")
    ledger.suspend(analyst="ann", reason="leave")
    with pytest.raises(LedgerError, match="suspended: leave"):
        ledger.reserve(PureLoss(0.1), analyst="ann")
    assert ledger.release(Coin(), 1, analyst="ann", key="k").value == first.value
    ledger.reserve(PureLoss(0.1), analyst="bob")
    ledger.resume(analyst="ann", reason="back")
    ledger.reserve(PureLoss(0.1), analyst="ann")
    ledger.suspend(group="team", reason="review")
    with pytest.raises(LedgerError, match="group team is suspended"):
        ledger.preview(PureLoss(0.1), analyst="ann")
    with pytest.raises(LedgerError, match="not suspended"):
        ledger.resume(analyst="ann", reason="x")
    for wrong in ({}, {"analyst": "ann", "group": "team"}):
        with pytest.raises(InvalidParameter, match="name one"):
            ledger.suspend(reason="x", **wrong)
    with pytest.raises(LedgerError, match="there is no analyst"):
        ledger.suspend(analyst="eve", reason="x")


def test_a_removed_name_stays_removed(ledger):
    ledger.reserve(PureLoss(0.1), analyst="ann")
    ledger.remove_analyst("ann", reason="left")
    for act in (
        lambda: ledger.reserve(PureLoss(0.1), analyst="ann"),
        lambda: ledger.remove_analyst("ann", reason="again"),
        lambda: ledger.move_analyst("ann", group=None, reason="x"),
        lambda: ledger.add_analyst("ann", budget=pv.Budget(0.5)),
    ):
        with pytest.raises(LedgerError):
            act()
    assert ledger.spent["basic epsilon"] == 0.1


def test_a_moved_analyst_leaves_charges_behind(ledger):
    ledger.reserve(PureLoss(0.9), analyst="ann")
    ledger.add_group("other", budget=pv.Budget(1.0))
    ledger.move_analyst("ann", group="other", reason="new study")
    ledger.reserve(PureLoss(0.1), analyst="ann")
    spent = {name: standing["basic epsilon"] for name, standing in ledger.accounts().items()}
    assert (spent["group:team"], spent["group:other"], spent["analyst:ann"]) == (0.9, 0.1, 1.0)
    ledger.add_group("small", budget=pv.Budget(0.5))
    with pytest.raises(LedgerError, match="above its cap"):
        ledger.move_analyst("ann", group="small", reason="x")
    ledger.move_analyst("ann", group=None, reason="alone")
    assert ledger.policy.analysts["ann"].group is None


def test_a_ration_above_its_cap_is_refused(ledger):
    for act in (
        lambda: ledger.add_analyst("eve", budget=pv.Budget(3.1)),
        lambda: ledger.add_analyst("eve", budget=pv.Budget(2.1), group="team"),
        lambda: ledger.add_group("big", budget=pv.Budget(3.0, 1e-6)),
        lambda: ledger.raise_budget(pv.Budget(2.1), analyst="ann", reason="x"),
        lambda: ledger.raise_budget(pv.Budget(4.0), group="team", reason="x"),
    ):
        with pytest.raises(LedgerError, match="above its cap"):
            act()
    ledger.add_analyst("eve", budget=pv.Budget(3.0))  # all of it is not above it
    ledger.add_analyst("joe", budget=pv.Budget(rho=9.0))  # another language: no comparison


def test_names_can_be_required(ledger):
    ledger.reserve(PureLoss(0.1))
    ledger.require_analysts()
    ledger.require_analysts()
    before = len(ledger.entries())
    for act in (lambda: ledger.reserve(PureLoss(0.1)), lambda: ledger.release(Coin(), 1)):
        with pytest.raises(LedgerError, match="analyst="):
            act()
    assert len(ledger.entries()) == before
    ledger.reserve(PureLoss(0.1), analyst="bob")


# --- spending and raising are two rights -----------------------------------------------------------------------------


def test_acts_need_the_custodians_key_and_spending_does_not(ledger, tmp_path):
    key = tmp_path / "custodian.key"
    ledger.appoint(new_signing_key(key))
    ledger.reserve(PureLoss(0.1), analyst="ann")
    acts = (
        lambda: ledger.raise_budget(pv.Budget(9.0), reason="more"),
        lambda: ledger.lower_budget(pv.Budget(1.0), reason="less"),
        lambda: ledger.add_analyst("eve"),
        lambda: ledger.suspend(analyst="ann", reason="x"),
        lambda: ledger.open_partition("ward", ["a", "b"]),
        lambda: ledger.appoint("ab" * 32),
        lambda: ledger.close_dataset("no"),
    )
    before = len(ledger.entries())
    for act in acts:
        with pytest.raises(LedgerError, match="act of the custodian"):
            act()
    other = tmp_path / "other.key"
    new_signing_key(other)
    ledger.unlock(other)
    with pytest.raises(LedgerError, match="act of the custodian"):
        ledger.add_analyst("eve")
    assert len(ledger.entries()) == before
    ledger.unlock(key)
    ledger.raise_budget(pv.Budget(9.0), reason="more")
    ledger.open_partition("ward", ["a", "b"])
    if ledger.url != "memory:":
        copy = pickle.loads(pickle.dumps(ledger))
        with pytest.raises(LedgerError, match="act of the custodian"):
            copy.add_analyst("eve")  # the key does not travel
        copy.reserve(PureLoss(0.1), analyst="ann")
        copy.close()
    assert str(key) not in str(ledger.export())
    with pytest.raises(InvalidParameter, match="64 hex"):
        ledger.appoint("custodian")


def test_an_unsigned_raise_is_tampering_to_every_reader(tmp_path):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    ledger.appoint(new_signing_key(tmp_path / "c.key"))
    ledger.unlock(tmp_path / "c.key")
    ledger.raise_budget(pv.Budget(2.0), reason="signed")
    entries = ledger.entries()

    def with_last(change):
        facts = entries[-1].facts
        change(facts)
        auditor = Auditor()
        for entry in [*entries[:-1], linked(entries[-2], "budget", body=canonical(facts))]:
            auditor.read(entry)

    with_last(lambda facts: None)
    for forged in (
        lambda facts: facts.pop("signature"),
        lambda facts: facts.update(budget=pv.Budget(9.0).to_dict()),
        lambda facts: facts.update(signature="00" * 64),
        lambda facts: facts.update(reason="another"),
    ):
        with pytest.raises(LedgerTampered, match="not signed"):
            with_last(forged)
    replayed = linked(entries[-1], "budget", body=entries[-1].body.replace('"policy":"3"', '"policy":"4"'))
    auditor = Auditor()
    for entry in entries:
        auditor.read(entry)
    with pytest.raises(LedgerTampered, match="not signed"):  # an old signature does not serve at another place
        auditor.read(replayed)


# --- one headline ---------------------------------------------------------------------------------------------------


def test_one_headline_everywhere():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    ledger.reserve(PureLoss(0.3))
    words = "used 30%, 0.7 left (rule: basic)"
    assert ledger.remaining.headline == ledger.spent.headline == words
    assert words in repr(ledger.remaining)
    assert str(ledger.remaining).startswith(f"remaining: 0.7 of 1 epsilon ({words})")
    assert str(ledger.spent).startswith(f"spent: 0.3 of 1 epsilon ({words})")
    assert words in str(ledger.preview(PureLoss(0.1)))
    assert pv.report.ledger_status(ledger).headline == words
    assert (ledger.remaining.epsilon, ledger.spent.epsilon) == (0.7, 0.3)
    assert ledger.remaining["basic epsilon"] == 0.7
    assert dict(ledger.remaining) == {"basic epsilon": 0.7, "basic delta": 0.0}
    ledger.reserve(PureLoss(0.7))
    assert ledger.remaining.headline == "used 100%, 0 left (rule: basic)"


def test_a_rule_that_ended_is_closed_and_never_beyond_its_cap():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6))
    ledger.reserve(LaplaceLoss(0.5))
    told = str(ledger.remaining)
    assert told.startswith("remaining: 1 of 3 epsilon (used 66.7%, 1 left (rule: basic))")
    assert "zCDP: closed" in told
    assert "GDP: closed" in told
    for text in (told, repr(ledger.spent), str(ledger.accounts()["dataset"])):
        assert "inf" not in text
        assert all(f"{n}%" not in text for n in (200, 1196, 120, 400))
    assert set(ledger.remaining.used) == {"basic"}
    assert all(0.0 <= share <= 1.0 for share in ledger.remaining.used.values())


def test_a_refusal_does_not_quote_what_ended():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6))
    ledger.reserve(LaplaceLoss(0.5))
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve(PureLoss(2.0))
    assert "asked epsilon 2, 1 left; nothing was spent" in str(caught.value)
    assert "zCDP: closed; GDP: closed" in caught.value.explain()
    assert "basic epsilon: spent 2 of 3, requested 2, remaining 1" in caught.value.explain()
    assert "inf" not in (str(caught.value) + caught.value.explain()).replace("finite", "")


def test_what_is_almost_used_is_not_called_used():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    ledger.reserve(PureLoss(0.9999))
    assert ledger.remaining.headline == "used 99.9%, 0.0001 left (rule: basic)"


def test_a_preview_takes_a_mechanism_and_says_what_ends():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6))
    laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    assert ledger.preview(laplace).fits == ledger.preview(laplace.loss).fits == 6
    assert ledger.preview(laplace).ends == ()
    large = pv.mechanisms.Laplace.for_budget(epsilon=2.0, sensitivity=1.0)
    assert ledger.preview(large).ends == ("zCDP", "GDP")
    assert "warning: this ends the rule zCDP" in str(ledger.preview(large))
    assert len(ledger.entries()) == 1
    with pytest.raises(InvalidParameter):
        ledger.preview(42)


def test_a_mechanism_is_charged_at_the_delta_it_was_made_for():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6))
    made = pv.mechanisms.Gaussian.for_budget(epsilon=0.01, delta=1e-9, sensitivity=1.0)
    ledger.release(made, 10)
    reserve = ledger.entries()[1]
    assert reserve.facts["at"] == "1e-09"
    assert ledger.spent["basic epsilon"] == pytest.approx(0.01, rel=1e-6)
    assert ledger.spent["basic delta"] == pytest.approx(1e-9)
    assert ledger.preview(PureLoss(0.5)).fits == 5
    whole = pv.mechanisms.Gaussian.for_budget(epsilon=0.5, delta=1e-6, sensitivity=1.0)
    ledger.release(whole, 10)  # all of delta would end the basic rule: charged at the budget's share instead
    assert "at" not in ledger.entries()[3].facts
    assert set(ledger.remaining.used) == {"basic", "zCDP", "GDP"}
    assert ledger.explain(2)["at"] == "1e-09"
    assert ledger.verify().underpriced == ()


def test_a_plan_is_granted_as_a_point_and_kept_as_it_is():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-5))
    plan = Repeated(pv.privacy.PoissonSampled(GaussianLoss(4.0), q=0.01), 10_000)
    epsilon, delta = ledger.remaining.point
    assert (epsilon, delta) == (3.0, 2.5e-6)
    ledger.reserve(plan, at=1e-6)
    point = pv.accounting.epsilon(plan, delta=1e-6).upper
    assert ledger.spent["basic epsilon"] == pytest.approx(point)
    assert ledger.total(delta=1e-5).upper == pytest.approx(pv.accounting.epsilon(plan, delta=1e-5).upper)
    assert ledger.verify().underpriced == ()
    left = ledger.remaining.point
    assert ledger.preview(pv.privacy.ApproxLoss(*left)).allowed


def test_a_ledger_is_not_made_by_its_class():
    for call in (lambda: pv.Ledger(), lambda: pv.Ledger("a.ledger"), lambda: pv.Ledger(budget=pv.Budget(1.0))):
        with pytest.raises(InvalidParameter, match=r"Ledger\.create.*Ledger\.open"):
            call()


def test_slots_are_a_budget_that_comes_back(tmp_path):
    rule = pv.accounting.filters.SlotsFilter.of(LaplaceLoss(41.5), 100, delta=1e-6)
    url = str(tmp_path / "slots.ledger")
    pv.Ledger.create(url, budget=pv.Budget(rule=rule)).close()
    ledger = pv.Ledger.open(url)
    assert ledger.budget == pv.Budget(rule=rule)
    assert ledger.preview(LaplaceLoss(50.0)).fits == 100
    with pytest.raises(BudgetExceeded):
        ledger.reserve(LaplaceLoss(41.0))
    kinder = pv.accounting.filters.SlotsFilter.of(LaplaceLoss(20.0), 200, delta=1e-6)
    with pytest.raises(LedgerError):  # slots of another loss are no raise: sums would change their meaning
        ledger.raise_budget(pv.Budget(rule=kinder), reason="x")
    ledger.reserve_many([LaplaceLoss(41.5)] * 100)
    assert ledger.remaining.headline == "used 100%, 0 slots left (rule: slots)"
    assert ledger.verify().underpriced == ()
