"""Answers that are sent again, and several questions to one person; why fake answers are not offered."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from privet import local, noise
from privet.errors import InvalidData, InvalidParameter, PrivetError
from privet.local.channels import epsilon_of


def test_a_memorised_answer_is_sent_again_and_paid_once():
    protocol = local.KRR(k=50, epsilon=1.0)
    client = local.Memo(protocol)
    assert client.loss.pure() == 0.0
    answers = {int(client.report(7)) for _ in range(200)}
    assert len(answers) == 1
    assert client.loss == protocol.loss
    client.report(9, period=1)
    client.report(9, period=1)
    assert client.loss.pure() == 2 * protocol.loss.pure()
    assert "7" not in repr(client)


@pytest.mark.parametrize("later", [42, None, math.nan, "text", 10**30, [1, 2]])
def test_a_value_that_changes_at_a_time_of_its_own_shows_nothing(later):
    """Neither another answer nor a refusal: both would tell when."""
    client = local.Memo(local.KRR(k=50, epsilon=1.0))
    first = client.report(41)
    assert client.report(later) == first
    assert client.loss == local.KRR(k=50, epsilon=1.0).loss


@pytest.mark.parametrize("odd", [None, 2.5, math.nan, 2**63, 2**70, -1, "text"])
def test_no_value_refuses_the_reports_of_others(odd):
    search = local.PrefixSearch(bits=8, epsilon=1.0)
    reports = search.privatize([1, odd, 3])
    assert sum(len(each) for each in reports) == 3


def test_a_lost_memory_is_another_answer_and_another_charge():
    protocol = local.KRR(k=50, epsilon=1.0)
    answers = {int(local.Memo(protocol).report(7)) for _ in range(60)}
    assert len(answers) > 1


def test_of_two_answers_that_are_drawn_at_once_one_is_heard():
    """A thread that came between the look and the draw sent a second answer, and one was paid."""
    heard, protocol = [], local.KRR(k=2**20, epsilon=0.1)
    client = local.Memo(protocol)

    class Interrupted:
        """The protocol, in whose first draw another report begins and ends."""

        def privatize(self, value, source=None):
            if value == 2:
                heard.append(client.report(1))
            return protocol.privatize(value)

    client.protocol = Interrupted()
    heard.append(client.report(2))
    assert heard[0] == heard[1]
    assert len(client._sent) == 1


def test_a_fresh_answer_in_every_round_would_be_noticed():
    """The broken twin forgets its memory: its answers differ."""

    class Forgetful:
        def __init__(self, protocol):
            self.protocol = protocol

        def report(self, value):
            return self.protocol.privatize(value)

    broken = Forgetful(local.KRR(k=50, epsilon=1.0))
    assert len({int(broken.report(7)) for _ in range(200)}) > 1


# --- several questions ------------------------------------------------------------------------------------------------


def questions(epsilon):
    return {
        "smokes": local.Warner(epsilon=epsilon),
        "colour": local.KRR(labels=("red", "green", "blue"), epsilon=epsilon),
        "age": local.Hybrid(epsilon=epsilon, bounds=(0.0, 100.0)),
    }


ANSWERS = {
    "smokes": [0, 1, 1, 0] * 500,
    "colour": ["red", "blue", "blue", "green"] * 500,
    "age": [20, 30, 40, 50] * 500,
}


def test_all_questions_share_the_budget_and_one_question_has_all_of_it():
    shared, single = local.AllQuestions(questions(0.5)), local.OneQuestion(questions(1.5))
    assert shared.loss.pure() == pytest.approx(1.5, abs=1e-6)
    assert shared.loss.pure() <= 1.5
    assert single.loss.pure() <= 1.5
    for whole in (shared, single):
        told = whole.estimate(whole.privatize(ANSWERS))
        assert told["smokes"].raw[1] == pytest.approx(0.5, abs=0.25)
        assert told["age"].value == pytest.approx(35.0, abs=25.0)
        assert told["colour"].labels == ("red", "green", "blue")


def test_every_person_answers_exactly_one_question():
    single = local.OneQuestion(questions(1.0))
    reports = single.privatize(ANSWERS, source=noise.Seeded(4))
    sizes = [len(column) for column in reports.values()]
    assert sum(sizes) == 2000
    assert min(sizes) > 500
    which = single.drawn(3000, source=noise.Seeded(4))
    assert set(which.tolist()) == {0, 1, 2}


def test_questions_and_answers_must_match():
    single = local.OneQuestion(questions(1.0))
    for wrong in ({"smokes": [1]}, {**ANSWERS, "age": [1]}, [1, 2], {**ANSWERS, "more": ANSWERS["age"]}):
        with pytest.raises(InvalidData, match="one list for each question"):
            single.privatize(wrong)
    for bad in ({}, {"a": 1}, [local.Warner(epsilon=1.0)], {1: local.Warner(epsilon=1.0)}):
        with pytest.raises(InvalidParameter):
            local.AllQuestions(bad)
    with pytest.raises(PrivetError):
        local.Memo("krr")


# --- fake answers -----------------------------------------------------------------------------------------------------


def fake_data_channel(sizes, claim):
    """RS+FD: one question is answered at ln(d (e - 1) + 1), all others evenly at random, and which is not told."""
    d, e = len(sizes), Fraction(math.exp(claim))
    inner = d * (e - 1) + 1
    records = list(itertools.product(*map(range, sizes)))

    def law(record, report):
        total = Fraction(0)
        for asked in range(d):
            one = Fraction(1, d)
            for j, k in enumerate(sizes):
                truth = inner / (inner + k - 1) if record[j] == report[j] else 1 / (inner + k - 1)
                one *= truth if j == asked else Fraction(1, k)
            total += one
        return total

    return [[law(record, report) for report in records] for record in records]


def test_fake_data_hold_their_claim_for_one_question_of_equal_sizes_only():
    channel = fake_data_channel((3, 3), 1.0)
    assert epsilon_of(channel) == pytest.approx(1.489880, abs=5e-7)
    one = [row for row, record in zip(channel, itertools.product(range(3), repeat=2), strict=True) if record[1] == 0]
    assert epsilon_of(one) == pytest.approx(1.0, abs=1e-9)


def test_fake_data_of_unequal_sizes_break_even_that():
    channel = fake_data_channel((20, 2), 1.0)
    records = list(itertools.product(range(20), range(2)))
    same_first = [row for row, record in zip(channel, records, strict=True) if record[0] == 0]
    same_second = [row for row, record in zip(channel, records, strict=True) if record[1] == 0]
    assert max(epsilon_of(same_first), epsilon_of(same_second)) == pytest.approx(1.224175, abs=5e-7)


def test_variance_of_one_question_is_below_that_of_a_split_budget():
    d, n = 3, 3000
    shared, single = local.KRR(k=4, epsilon=0.5), local.KRR(k=4, epsilon=1.5)
    assert single.variance(0.0, n=n // d) < 0.5 * shared.variance(0.0, n=n)
    assert np.isfinite(shared.variance(1.0, n=n))


@pytest.mark.parametrize("names", [("cheap", "dear"), ("dear", "cheap")])
def test_one_question_costs_as_much_as_the_costliest(names: tuple[str, str]) -> None:
    epsilons = {"cheap": 0.5, "dear": 2.0}
    one = local.OneQuestion({name: local.Warner(epsilon=epsilons[name]) for name in names})
    assert one.loss.pure() == local.Warner(epsilon=2.0).loss.pure()


def test_which_question_is_asked_is_drawn_anew_each_time() -> None:
    one = local.OneQuestion({"a": local.Warner(epsilon=1.0), "b": local.Warner(epsilon=1.0)})
    many = {len(one.privatize({"a": [0] * 40, "b": [0] * 40}, source=noise.Seeded(seed))["a"]) for seed in range(8)}
    assert len(many) > 2


def test_a_memory_keeps_its_answer_with_any_source() -> None:
    client = local.Memo(local.KRR(k=1000, epsilon=0.1))
    first = client.report(2, source=noise.Seeded(1))
    assert all(client.report(2, source=noise.Seeded(seed)) == first for seed in range(2, 9))


@pytest.mark.parametrize("kind", [local.AllQuestions, local.OneQuestion])
@pytest.mark.parametrize(
    "column",
    [lambda: 1, lambda: None, lambda: "xy", lambda: b"xy", lambda: np.array(1), lambda: iter([1]), lambda: {0: 1},
     lambda: {1}],
    ids=["number", "missing", "text", "bytes", "0-d array", "iterator", "mapping", "set"],
)  # fmt: skip
def test_what_is_no_column_is_refused_in_words(kind, column):
    """One person's answers are lists of one: texts would count as many people as they have letters."""
    both = kind({"a": local.KRR(k=3, epsilon=1.0), "b": local.KRR(labels=("zw", "z"), epsilon=1.0)})
    for answers in ({"a": column(), "b": column()}, {"a": [1], "b": column()}):
        with pytest.raises(InvalidData, match="lists of one"):
            both.privatize(answers)
    one = both.privatize({"a": [1], "b": ["zw"]})
    assert sum(len(column) for column in one.values()) == (2 if kind is local.AllQuestions else 1)


@pytest.mark.parametrize("kind", [local.AllQuestions, local.OneQuestion])
@pytest.mark.parametrize("reports", [{}, {"a": [1]}, None, [1], {"a": [1], "b": [0], "c": [0]}], ids=repr)
def test_reports_of_other_questions_are_refused_in_words(kind, reports):
    both = kind({"a": local.KRR(k=3, epsilon=1.0), "b": local.KRR(k=2, epsilon=1.0)})
    with pytest.raises(InvalidData, match="for each question"):
        both.estimate(reports)
