"""Several questions and prefix searches, audited as a whole: the exact channel of a person's whole record."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from privet import local
from privet.local.channels import delta_of, epsilon_of
from privet.local.families.hashes import hashed
from privet.testing import g_test

QUESTIONS = {
    "smokes": local.Warner(epsilon=0.7),
    "colour": local.KRR(k=3, epsilon=0.7),
    "habit": local.UnaryEncoding(k=2, epsilon=0.7),
}
RECORDS = list(itertools.product(range(2), range(3), range(2)))


def all_channel(questions):
    """Every answer is sent: products of rows."""
    laws = [protocol.channel() for protocol in questions.values()]
    return [
        [math.prod(parts) for parts in itertools.product(*(law[x] for law, x in zip(laws, record, strict=True)))]
        for record in RECORDS
    ]


def one_channel(questions):
    """One answer is sent, with the question: rows side by side, each by the probability that it is asked."""
    laws = [protocol.channel() for protocol in questions.values()]
    share = [Fraction(1, len(laws))] * len(laws)
    return [
        [part * mass for law, x, part in zip(laws, record, share, strict=True) for mass in law[x]] for record in RECORDS
    ]


@pytest.mark.parametrize(("asked", "channel"), [(local.AllQuestions, all_channel), (local.OneQuestion, one_channel)])
def test_the_price_of_a_whole_record_is_that_of_its_exact_channel(asked, channel):
    whole = asked(QUESTIONS)
    exact = epsilon_of(channel(QUESTIONS))
    assert exact <= whole.loss.pure() * (1 + 1e-12)
    assert exact == pytest.approx(whole.loss.pure(), rel=1e-9)
    for epsilon in (0.0, 0.3, 0.6):
        assert delta_of(channel(QUESTIONS), epsilon) <= float(whole.loss.profile(epsilon)) * (1 + 1e-9) + 1e-12


def test_a_price_of_one_question_for_all_of_them_would_be_noticed():
    assert epsilon_of(all_channel(QUESTIONS)) > local.OneQuestion(QUESTIONS).loss.pure() + 1.0


def agrees(samples, law) -> bool:
    masses = np.array([float(mass) for mass in law])

    def law_at(y):
        return np.where((y >= 0) & (y < len(masses)), masses[np.clip(y, 0, len(masses) - 1).astype(int)], 0.0)

    return g_test(samples, law_at).p_value > 1e-6


def test_the_draws_follow_the_channel_of_whole_records():
    people, record = 6000, RECORDS[-1]
    answers = {name: [x] * people for name, x in zip(QUESTIONS, record, strict=True)}
    sent = local.AllQuestions(QUESTIONS).privatize(answers)
    smokes, colour, habit = (QUESTIONS[name].rows(sent[name]).reshape(people).astype(int) for name in QUESTIONS)
    row = RECORDS.index(record)
    assert agrees(12 * smokes + 4 * colour + habit, all_channel(QUESTIONS)[row])
    assert not agrees(12 * smokes + 4 * colour + habit, all_channel(QUESTIONS)[0])  # the law of another record
    sent = local.OneQuestion(QUESTIONS).privatize(answers)
    parts = [QUESTIONS[name].rows(sent[name]).reshape(-1).astype(int) for name in QUESTIONS]
    seen = np.concatenate([part + start for part, start in zip(parts, (0, 2, 5), strict=True)])
    assert agrees(seen, one_channel(QUESTIONS)[row])
    assert not agrees(seen, one_channel(QUESTIONS)[0])


def test_a_prefix_search_costs_one_report_of_one_round():
    """Given any hash of any round, the exact ratio of two whole values is at most the price."""
    search = local.PrefixSearch(bits=4, epsilon=1.0, start=2, step=1)
    hashes = [(np.uint64(a), np.uint64(b)) for a, b in ((0x9E3779B97F4A7C15, 3), (0xD1B54A32D192ED03, 2**63 + 11))]
    worst = 0.0
    for a, b in hashes:
        rows = []
        for value in range(16):
            row = []
            for length in search.lengths:
                told = search.protocol(length).response
                cell = int(hashed(np.array([value >> (4 - length)]), a, b, told.k)[0])
                row += [(told.truth if y == cell else told.lie) / len(search.lengths) for y in range(told.k)]
            rows.append(row)
        worst = max(worst, epsilon_of(rows))
    assert worst == pytest.approx(search.loss.pure(), rel=1e-9)
    assert worst <= search.loss.pure() * (1 + 1e-12) <= 1.0 + 1e-12
    reports = search.privatize(np.full(3000, 9))
    sizes = [len(group) for group in reports]
    assert sum(sizes) == 3000
    assert min(sizes) > 800  # groups are even, whatever the value
