"""What the words say agrees with the numbers, and the numbers with attacks that can be enumerated."""

import math
import re

import pytest

from privet import accounting, privacy
from privet.report import answer_in_words, describe, meaning_in_words, posterior, quote, what_it_means

EPSILONS = [0.0, 0.1, math.log(3.0), 0.947, 5.0]


def number(pattern, sentence):
    return float(re.search(pattern, sentence)[1].replace(",", ""))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("prior", [0.01, 0.5, 0.9])
def test_the_posterior_is_what_bayes_makes_of_randomized_response(epsilon, prior):
    # The worst pure mechanism: one bit, true with probability e^eps/(1 + e^eps); Bayes' rule for each of its outputs.
    true = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    beliefs = [prior * here / (prior * here + (1.0 - prior) * (1.0 - here)) for here in (true, 1.0 - true)]
    assert posterior(epsilon, prior=prior) == pytest.approx(max(beliefs))


def test_the_posterior_at_its_ends():
    assert posterior(10_000.0) == 1.0
    assert posterior(3.0, prior=0.0) == 0.0
    assert posterior(3.0, prior=1.0) == 1.0


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_sentence_about_odds_says_the_right_numbers(epsilon, delta):
    loss = privacy.ApproxLoss(epsilon, delta)
    odds = meaning_in_words(what_it_means(loss, epsilon=epsilon, delta=delta), loss.unit)[0]
    factor = number(r"factor of at most ([\d.,]*\d)", odds)
    belief = number(r"ends at ([\d.]+)% at most", odds)
    assert math.exp(epsilon) <= factor * (1.0 + 1e-12) <= math.exp(epsilon) * 1.002
    exact = 100.0 * math.exp(epsilon) / (1.0 + math.exp(epsilon))
    assert exact <= belief + 1e-9 <= exact + 0.11
    assert ("1e-05" in odds) == (delta > 0.0)


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
def test_guess_and_alarms_are_those_of_the_worst_mechanism(delta):
    # The worst (epsilon, delta) pair: reveal with probability delta, else randomized response. Its tests in closed form.
    epsilon, fpr = 1.0, 0.01
    loss = privacy.ApproxLoss(epsilon, delta)
    meaning = what_it_means(loss, epsilon=epsilon, delta=delta, fpr=fpr)
    true = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    advantage = delta + (1.0 - delta) * (2.0 * true - 1.0)
    assert meaning.advantage == pytest.approx(advantage, rel=1e-3)
    assert meaning.accuracy == pytest.approx((1.0 + advantage) / 2.0, rel=1e-3)
    assert meaning.tpr == pytest.approx(delta + math.exp(epsilon) * fpr, rel=1e-3)
    sentences = meaning_in_words(meaning, loss.unit)
    assert number(r"right ([\d.]+)% of the time", sentences[1]) >= 100.0 * meaning.accuracy - 1e-9
    assert number(r"by at most ([\d.]*\d)", sentences[1]) >= meaning.advantage - 1e-12
    assert number(r"probability ([\d.]+)% at most", sentences[2]) >= 100.0 * meaning.tpr - 1e-9


def test_the_oracle_of_the_words_is_no_weaker_than_the_result():
    # (1/2, 1/2) against (1/3, 2/3) is (0, 1/6)-DP, yet its own loss exceeds 0 with probability 1/2: what the words may
    # claim is that an oracle which reveals all with probability 1/6, and else nothing, allows every test it allows.
    epsilon, delta = 0.0, 1.0 / 6.0
    for p, q in [((0.5, 0.5), (1 / 3, 2 / 3)), ((1 / 3, 2 / 3), (0.5, 0.5))]:
        for outputs in (0, 1):
            found, false = p[outputs], q[outputs]
            assert found <= math.exp(epsilon) * false + delta + 1e-12
    loss = privacy.ApproxLoss(epsilon, delta)
    words = meaning_in_words(what_it_means(loss, epsilon=epsilon, delta=delta), loss.unit)[0]
    assert "oracle" in words
    assert "reveals everything with probability" in words


def test_a_price_without_a_pair_is_explained_from_its_one_point(monkeypatch):
    def refuse(*_):
        raise accounting_error("no pair")

    from privet.errors import NoGuarantee as accounting_error

    monkeypatch.setattr("privet.report.meaning.tradeoff", refuse)
    monkeypatch.setattr("privet.report.meaning.advantage", refuse)
    meaning = what_it_means(privacy.PureLoss(1.0), epsilon=1.0, delta=0.0)
    assert meaning.advantage == pytest.approx((math.e - 1.0) / (math.e + 1.0))
    assert meaning.tpr == pytest.approx(0.01 * math.e)


@pytest.mark.parametrize(
    ("unit", "phrase"),
    [
        (privacy.Unit(), "that you are in the data"),
        (privacy.Unit("replace"), "between two versions of your record"),
        (privacy.Unit("zero_out"), "that your record was used"),
        (privacy.Unit(group_size=3), "about your group of 3 records"),
    ],
)
def test_the_words_speak_about_the_unit(unit, phrase):
    loss = privacy.PureLoss(1.0, unit=unit)
    assert phrase in meaning_in_words(what_it_means(loss, epsilon=1.0, delta=0.0), unit)[0]


def test_a_huge_epsilon_is_called_empty():
    loss = privacy.PureLoss(500.0)
    odds = meaning_in_words(what_it_means(loss, epsilon=500.0, delta=0.0), loss.unit)[0]
    assert "empty" in odds
    assert "inf" not in odds


def test_the_answer_is_never_narrower_than_the_bound():
    bound = accounting.epsilon(privacy.GaussianLoss(1.3), delta=1e-5)
    words = answer_in_words(bound, answer="epsilon", asked="delta", given=1e-5)
    assert number(r"at most ([\d.]*\d)", words) >= bound.upper
    assert number(r"at least ([\d.]*\d)", words) <= bound.lower
    assert "no lower end" in answer_in_words(
        accounting.epsilon(privacy.ZcdpLoss(0.1), delta=1e-5, accountant=accounting.Zcdp()),
        answer="epsilon",
        asked="delta",
        given=1e-5,
    )


@pytest.mark.parametrize(
    ("loss", "line"),
    [
        (privacy.PureLoss(0.5), "pure (epsilon 0.5)"),
        (privacy.GaussianLoss(math.inf), "gaussian (noise multiplier inf)"),
        (privacy.Composed(()), "nothing at all"),
        (
            privacy.Composed((privacy.PureLoss(0.5), privacy.ZcdpLoss(1.0), privacy.ZcdpLoss(1.0))),
            "1 × pure (epsilon 0.5) + 2 × zcdp (rho 1)",
        ),
        (
            privacy.FixedSampled(privacy.LaplaceLoss(2.0, unit=privacy.Unit("replace")), m=10, n=1000),
            "laplace (scale 2) on 10 of 1,000 records",
        ),
    ],
)
def test_losses_are_described_in_a_line(loss, line):
    assert describe(loss) == line


def test_a_quote_needs_one_question():
    with pytest.raises(ValueError, match="either delta"):
        quote(privacy.PureLoss(1.0))
    with pytest.raises(ValueError, match="either delta"):
        quote(privacy.PureLoss(1.0), delta=0.0, epsilon=1.0)
