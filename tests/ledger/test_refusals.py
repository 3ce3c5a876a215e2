"""Refusals and hints in plain words: what was asked and is left, the next step, and nothing spent."""

import pytest

import privet as pv
from privet.errors import BudgetExceeded, InvalidParameter, UnknownName
from privet.privacy import ApproxLoss, GaussianLoss, PureLoss


@pytest.fixture
def table() -> pv.Table:
    return pv.Table(
        {"age": [31, 47] * 20, "ward": ["A", "B"] * 20},
        columns={"age": pv.Int(0, 110), "ward": pv.Category(["A", "B"])},
    )


@pytest.fixture
def ledger(table: pv.Table) -> pv.Ledger:
    return pv.Ledger.create("memory:", epsilon=0.7, dataset="visits", unit=table.unit)


def test_a_refusal_is_two_sentences_and_the_theorem_is_in_explain(ledger: pv.Ledger) -> None:
    ledger.reserve(PureLoss(0.5))
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve(PureLoss(0.5))
    first, second = str(caught.value).split(". ")
    assert first == "data set 'visits': asked epsilon 0.5, 0.2 left; nothing was spent"
    assert second.startswith("Ask for at most epsilon 0.2 ")
    assert "Rogers" not in str(caught.value)
    assert "Rogers, Roth, Ullman & Vadhan 2016" in caught.value.explain()
    assert "spent 0.5 of 0.7" in caught.value.explain()
    assert ledger.spent.epsilon == 0.5
    seen = ledger.preview(PureLoss(0.5))
    assert seen.refusal == str(caught.value)
    assert "Rogers" in seen.explain()
    assert "Rogers" not in str(seen)
    assert "Rogers" in ledger.preview(PureLoss(0.1)).explain()


def test_what_is_left_is_never_rounded_up(ledger: pv.Ledger) -> None:
    ledger.reserve(PureLoss(0.123456789))
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve(PureLoss(0.576544))
    left = float(str(caught.value).partition("at most epsilon ")[2].split()[0])
    ledger.reserve(PureLoss(left))


def test_where_nothing_is_left_no_amount_is_named(ledger: pv.Ledger) -> None:
    ledger.reserve(PureLoss(0.7))
    with pytest.raises(
        BudgetExceeded, match=r"asked epsilon 0\.1, 0 left; nothing was spent\. Nothing more like it fits: only"
    ):
        ledger.reserve(PureLoss(0.1))


def test_a_delta_that_is_exceeded_is_named(ledger: pv.Ledger) -> None:
    with pytest.raises(BudgetExceeded, match=r"asked delta 1e-06, 0 left; nothing was spent"):
        ledger.reserve(ApproxLoss(0.1, 1e-6))


def test_a_price_without_an_epsilon_is_told_how_to_be_charged(ledger: pv.Ledger) -> None:
    with pytest.raises(BudgetExceeded, match=r"more than any finite, 0\.7 left.*Say at which delta to charge it \(at="):
        ledger.reserve(GaussianLoss(10.0))


def test_spent_and_remaining_say_which_they_are(ledger: pv.Ledger) -> None:
    ledger.reserve(PureLoss(0.25))
    assert str(ledger.spent).startswith("spent: 0.25 of 0.7 epsilon (used 35.8%, 0.45 left")
    assert str(ledger.remaining).startswith("remaining: 0.45 of 0.7 epsilon (used 35.8%, 0.45 left")
    assert "basic epsilon: 0.25 of 0.7" in str(ledger.spent)
    assert "basic epsilon: 0.45 of 0.7" in str(ledger.remaining)
    assert "Rogers" not in str(ledger.spent)
    assert ledger.spent.explain().endswith("Rogers, Roth, Ullman & Vadhan 2016")
    assert ledger.spent._repr_html_() != ledger.remaining._repr_html_()


@pytest.mark.parametrize("name", ["undo", "refund", "rollback", "reset"])
def test_there_is_no_way_back_and_the_ledger_says_why(ledger: pv.Ledger, name: str) -> None:
    with pytest.raises(UnknownName, match="known to whoever saw it, so what was paid stays paid"):
        getattr(ledger, name)


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda table, query, release: query.value, r"release = ledger\.release\(query, epsilon=0\.5\)"),
        (lambda table, query, release: query.collect(), r"ledger\.release\(query"),
        (lambda table, query, release: query.plot(), r"release\.plot\(\)"),
        (lambda table, query, release: table.group_by("ward").count(), r"groups\.agg\(n=pv\.count\(\)\)"),
        (lambda table, query, release: table.group_by("ward").mean("age"), r"groups\.agg\(answer=pv\.mean"),
        (lambda table, query, release: release.value.plot(), r"release\.plot\(\)"),
        (lambda table, query, release: release.value.n, r"answer\['n'\]"),
        (lambda table, query, release: release.value.to_pandas(), r"release\.to_pandas\(\)"),
        (lambda table, query, release: release.data, r"release\.value"),
        (lambda table, query, release: release.to_csv("x"), r"release\.to_pandas\(\)"),
        (lambda table, query, release: release.nonsense, r"\.value, \.interval, \.epsilon"),
    ],
)
def test_wrong_names_are_answered_with_the_right_call(table: pv.Table, ask: object, named: str) -> None:
    ledger = pv.Ledger.create("memory:", epsilon=100.0, unit=table.unit)
    query = table.group_by("ward").agg(n=pv.count())
    with pytest.raises(UnknownName, match=named):
        ask(table, query, ledger.release(query, epsilon=50.0))


@pytest.mark.parametrize("name", ["query", "sql", "log", "report", "plot", "epsilon", "left"])
def test_a_ledger_names_the_call(ledger: pv.Ledger, name: str) -> None:
    with pytest.raises(UnknownName, match=r"ledger\.release|ledger\.history|report\.|ledger\.spent|remaining"):
        getattr(ledger, name)


def test_data_in_the_place_of_a_question_name_the_table(table: pv.Table, ledger: pv.Ledger) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [987654]})
    for wrong in (frame, {"age": [987654]}, [987654], table):
        for promise in ({}, {"epsilon": 0.5}):
            with pytest.raises(InvalidParameter, match=r"pv\.Table\(df, columns=") as caught:
                ledger.release(wrong, **promise)
            assert "987654" not in str(caught.value)
    for wrong, named in (
        ("SELECT 1", r"table\.sql\("),
        (pv.count(), "a Count is no question"),
        (table.group_by("ward"), "Groups"),
    ):
        with pytest.raises(InvalidParameter, match=named):
            ledger.release(wrong, epsilon=0.5)
    assert ledger.spent.epsilon == 0.0


def test_a_query_is_previewed_by_the_ledger(table: pv.Table, ledger: pv.Ledger) -> None:
    query = table.agg(n=pv.count())
    assert ledger.preview(query, epsilon=0.5).fits == 1
    assert not ledger.preview(query, epsilon=0.8)
    assert ledger.spent.epsilon == 0.0


def test_an_epsilon_is_short_for_a_budget(tmp_path: object) -> None:
    place = str(tmp_path / "visits.ledger")
    made = pv.Ledger.create(place, epsilon=3.0, delta=1e-6)
    assert made.budget == pv.Budget(3.0, 1e-6)
    assert pv.Ledger.open(place, epsilon=3.0, delta=1e-6).budget == made.budget
    assert pv.Ledger.open_or_create(place, epsilon=3.0, delta=1e-6).budget == made.budget
    made.add_group("team", epsilon=1.0)
    made.add_analyst("ann", epsilon=0.5, group="team")
    assert made.policy.analysts["ann"].budget == pv.Budget(0.5)
    with pytest.raises(InvalidParameter, match="give either budget= or epsilon="):
        pv.Ledger.create("memory:", budget=pv.Budget(1.0), epsilon=1.0)


def test_groups_take_a_list_as_pandas_does(table: pv.Table) -> None:
    assert table.group_by(["ward", "age"]).names == table.group_by("ward", "age").names
