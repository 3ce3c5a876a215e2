"""The law of the whole ledger: on neighbouring data its answers, errors and entries are equal up to what was charged.

One half is a path: with fixed coins, or with the releases of one world put into the other, nothing else may differ. The
other half is a distribution: a script through a ledger is audited against the sum of what it paid.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings, strategies as st
from hypothesis.errors import NoSuchExample

import privet as pv
from privet import audit
from privet.privacy import PureLoss
from tests.laws.ledger_calls import CALLS, QUESTIONS, TWINS, Call, ComparesData, Rows, transcript

NAMES = st.none() | st.sampled_from(["k", "l"])
ONE_CALL = st.builds(
    Call,
    do=st.sampled_from(CALLS),
    label=st.sampled_from("ab"),
    question=st.integers(0, len(QUESTIONS) - 1),
    key=NAMES,
    about=st.none() | st.just("May"),
    analyst=st.none() | st.sampled_from(["ann", "bob"]),
    part=st.none() | st.sampled_from("AB"),
)
SCRIPTS = st.lists(ONE_CALL, min_size=1, max_size=10).map(tuple)
WORLDS = st.tuples(st.lists(st.integers(0, 3), max_size=4), st.integers(0, 3))


def key(do: str, question: int, **asked: Any) -> Call:
    return Call(do, question=question, key="k", **asked)


# Everything that a ledger does, at least once, with questions whose answers differ between the worlds or within one.
FIXED = {
    "two questions under one key": (key("release", 1), key("release", 2), key("release", 1)),
    "one after the other": (key("release", 0), key("release", 3), Call("release", key="l"), Call("release")),
    "versions": (key("release", 1, about="May"), key("release", 2, about="May"), key("release", 1), Call("verify")),
    "another mechanism": (key("release", 1), key("release", 1, label="b"), Call("preview"), Call("report")),
    "a failure and its key": (key("fail", 0), key("release", 1), key("release", 2), Call("history"), Call("report")),
    "by hand": (key("record", 1), key("record", 2), key("release", 1), Call("total")),
    "a run": (
        *(key("start", 0), key("slice", 1), key("slice", 2), key("start", 0), key("repeat", 1), key("slice", 2)),
        *(key("slice", 1), key("slice", 1), key("release", 1), Call("verify"), Call("history"), Call("report")),
    ),
    "names": (
        *(key("release", 1, analyst="ann"), Call("member", analyst="ann"), key("release", 2, analyst="ann")),
        *(Call("member"), *[Call("release", analyst="bob", question=1)] * 5, Call("suspend"), Call("history")),
        *(Call("release", analyst="bob"), Call("release", analyst="eve"), Call("report")),
    ),
    "parts": (*[Call("release", part=part, question=1) for part in "ABA"], Call("report"), Call("total")),
    "an empty budget": (*[Call("release", question=1)] * 21, key("release", 1), Call("preview"), Call("raise_budget")),
    "an end": (key("release", 1), Call("close"), key("release", 2), Call("release"), Call("history"), Call("verify")),
}
PAIRS: tuple[tuple[Rows, Rows], ...] = (([], [2]), ([2], [2, 3]), ([0, 1, 3], [0, 1, 3, 2]), ([3], []))


def test_every_call_is_in_a_fixed_script():
    assert {call.do for script in FIXED.values() for call in script} == set(CALLS)


@pytest.mark.parametrize("name", FIXED)
def test_fixed_scripts_walk_one_path(name: str):
    for left, right in PAIRS:
        one, other = (transcript(pv.Ledger, FIXED[name], rows) for rows in (left, right))
        assert one == other


def test_fixed_scripts_do_what_they_say():
    """Answers, stored ones, conflicts and refusals all occur: equal silence on both sides would prove nothing."""
    seen = str([transcript(pv.Ledger, script, [2, 3]) for script in FIXED.values()])
    for word in ("KeyConflict", "BudgetExceeded", "ReleaseFailed", "LedgerError", "is suspended", "is closed", "paid"):
        assert word in seen, word
    path = transcript(pv.Ledger, FIXED["two questions under one key"], [2, 3])
    assert [answer[1] for _, answer, _ in path[:-1]] == [None, 4, 4]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(script=SCRIPTS, worlds=WORLDS)
def test_any_script_walks_one_path(script: tuple[Call, ...], worlds: tuple[Rows, int]):
    rows, person = worlds
    assert transcript(pv.Ledger, script, rows) == transcript(pv.Ledger, script, [*rows, person])


@pytest.mark.parametrize("twin", TWINS)
def test_ledgers_that_look_at_data_leave_the_path(twin: type[pv.Ledger]):
    assert any(
        transcript(twin, script, left) != transcript(twin, script, right)
        for left, right in PAIRS
        for script in FIXED.values()
    )


def test_a_search_finds_the_ledger_that_compares():
    def told_apart(case: tuple[tuple[Call, ...], tuple[Rows, int]]) -> bool:
        script, (rows, person) = case
        return transcript(ComparesData, script, rows) != transcript(ComparesData, script, [*rows, person])

    releases = st.builds(Call, do=st.just("release"), question=st.integers(0, 4), key=NAMES)
    several = st.lists(releases, min_size=2, max_size=4)
    quick = settings(max_examples=300, database=None, deadline=None)
    try:
        script, _ = find(st.tuples(several.map(tuple), WORLDS), told_apart, settings=quick)
    except NoSuchExample:
        pytest.fail("no script tells the twin apart")
    assert len(script) == 2


@pytest.mark.parametrize("name", FIXED)
def test_replay_of_a_script_sees_nothing_but_what_was_paid(name: str):
    for left, right in PAIRS[:3]:
        found = audit.replay(lambda rows: transcript(pv.Ledger, FIXED[name], rows, real=True), left, right)
        assert not found.refuted, found.findings


@pytest.mark.parametrize("twin", [twin for twin in TWINS if twin.__name__ != "TellsWhy"])
def test_replay_refutes_ledgers_that_look(twin: type[pv.Ledger]):
    """(Real mechanisms do not fail on purpose, so there is nothing for the one that tells why.)"""
    assert any(
        audit.replay(lambda rows, s=script: transcript(twin, s, rows, real=True), left, right).refuted
        for left, right in PAIRS
        for script in FIXED.values()
    )


LARGE = pv.mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)


def asked_adaptively(kind: type[pv.Ledger], rows: Rows) -> list[Any]:
    """Two releases of 0.5 each: the second is chosen by the first, and a used key is tried in between."""
    ledger = kind.create("memory:", budget=pv.Budget(1.0))
    first = ledger.release(LARGE, QUESTIONS[1](rows), key="k").value
    try:
        again = ledger.release(LARGE, QUESTIONS[2](rows), key="k").value
    except pv.errors.PrivetError as error:
        again = type(error).__name__
    last = ledger.release(LARGE, QUESTIONS[1 if first > 1 else 2](rows), key="l").value
    try:
        ledger.release(LARGE, QUESTIONS[1](rows))
        refused = False
    except pv.errors.BudgetExceeded:
        refused = True
    return [first, str(again) if again != first else "stored", last, refused, ledger.length]


def audited(kind: type[pv.Ledger], claim: float, runs: int) -> audit.MechanismAudit:
    """With the person who is 2, the two questions have other answers than without."""
    return audit.mechanism(
        lambda rows: asked_adaptively(kind, rows),
        claim=PureLoss(claim),
        neighbours=[([3], [3, 2])],
        runs=runs,
        alpha=1e-4,
    )


def test_the_audit_of_a_script_does_not_refute_its_price():
    # as many runs as refute the ledger that compares, below; ten thousand are slow
    assert audited(pv.Ledger, 1.0, 300).verdict == "not refuted"


@pytest.mark.slow
def test_the_audit_of_a_script_refutes_a_part_of_its_price():
    assert audited(pv.Ledger, 0.05, 800).verdict == "violated"


@pytest.mark.slow
def test_a_longer_audit_of_a_script_does_not_refute_its_price_and_refutes_half_of_it():
    assert audited(pv.Ledger, 1.0, 10_000).verdict == "not refuted"
    assert audited(pv.Ledger, 0.4, 10_000).verdict == "violated"


def test_the_audit_refutes_a_ledger_that_compares():
    assert audited(ComparesData, 1.0, 300).verdict == "violated"
