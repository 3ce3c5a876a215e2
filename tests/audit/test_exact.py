"""Exact checks of finite laws: a proof in either direction, in fractions where possible."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import audit, privacy
from privet.errors import InvalidParameter

QUARTER = Fraction(1, 4)
SWAP = privacy.Unit("replace")


def response(truth: Fraction) -> tuple[dict, dict]:
    return {0: truth, 1: 1 - truth}, {0: 1 - truth, 1: truth}


def k_rr(k: int, truth: Fraction) -> tuple[dict, dict]:
    lie = (1 - truth) / (k - 1)
    return tuple({j: truth if j == value else lie for j in range(k)} for value in (0, 1))


def test_randomized_response_meets_its_claim_without_slack():
    check = audit.exact_pair(*response(1 - QUARTER), claim=privacy.RandomizedResponseLoss(math.log(3.0)))
    assert check.verdict == "not refuted"
    assert check.epsilon == pytest.approx(math.log(3.0), abs=1e-15)
    assert abs(check.slack) < 1e-12


@pytest.mark.parametrize("claimed", [1.0, math.log(3.0) * (1 - 1e-12)])
def test_a_claim_below_the_log_ratio_is_violated(claimed):
    check = audit.exact_pair(*response(1 - QUARTER), claim=privacy.PureLoss(claimed, unit=SWAP))
    assert check.verdict == "violated"


def test_one_part_in_a_trillion_is_seen():
    truth = Fraction(3, 4) + Fraction(1, 10**12)
    assert audit.exact_pair(*response(truth), claim=privacy.PureLoss(math.log(3.0), unit=SWAP)).verdict == "violated"


def test_the_k_rr_bugs_of_the_zoo_have_the_epsilon_of_the_arithmetic():
    e = Fraction(math.e)
    honest = e / (e + 3)
    lie = (1 - honest) / 4
    include = tuple({j: lie + (honest if j == value else 0) for j in range(4)} for value in (0, 1))
    found = audit.exact_pair(*include, claim=privacy.KRRLoss(k=4, epsilon=1.0))
    assert (found.verdict, found.outcome) == ("violated", 0)
    assert found.epsilon == pytest.approx(math.log(1 + 4 * math.e / 3), abs=1e-9)
    two = audit.exact_pair(*k_rr(4, e / (1 + e)), claim=privacy.KRRLoss(k=4, epsilon=1.0))
    assert two.epsilon == pytest.approx(math.log(3 * math.e), abs=1e-9)
    sound = audit.exact_pair(*k_rr(4, honest), claim=privacy.KRRLoss(k=4, epsilon=1.0 + 1e-9))
    assert sound.verdict == "not refuted"


def test_an_outcome_on_one_side_only_is_infinite():
    check = audit.exact_pair(
        {"a": 1, "b": 0}, {"a": Fraction(9, 10), "b": Fraction(1, 10)}, claim=privacy.PureLoss(5.0)
    )
    assert (check.verdict, check.epsilon, check.outcome) == ("violated", math.inf, "b")
    excused = privacy.ApproxLoss(0.2, 0.11)
    assert (
        audit.exact_pair({"a": 1}, {"a": Fraction(9, 10), "b": Fraction(1, 10)}, claim=excused).verdict == "not refuted"
    )
    tight = privacy.ApproxLoss(0.2, 0.09)
    assert audit.exact_pair({"a": 1}, {"a": Fraction(9, 10), "b": Fraction(1, 10)}, claim=tight).verdict == "violated"


def test_both_directions_are_looked_at():
    left, right = {0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: Fraction(9, 10), 1: Fraction(1, 10)}
    cheap = privacy.PureLoss(math.log(1.8) + 1e-9)
    for pair in ((left, right), (right, left)):
        check = audit.exact_pair(*pair, claim=cheap)
        assert check.verdict == "violated"
        assert check.epsilon == pytest.approx(math.log(5.0))


def test_the_exponential_mechanism_of_the_zoo():
    def law(scores, factor):
        weights = np.exp(factor * np.asarray(scores, dtype=float))
        return dict(enumerate((weights / weights.sum()).tolist()))

    left, right = (1,) + (0,) * 19, (0,) + (1,) * 19
    broken = audit.exact_pair(law(left, 1.0), law(right, 1.0), claim=privacy.PureLoss(1.0))
    sound = audit.exact_pair(law(left, 0.5), law(right, 0.5), claim=privacy.PureLoss(1.0))
    assert broken.epsilon == pytest.approx(1.885, abs=5e-4)
    assert (broken.verdict, sound.verdict) == ("violated", "not refuted")


@pytest.mark.parametrize(
    "law",
    [
        {},
        {0: Fraction(1, 2)},
        {0: Fraction(3, 2), 1: Fraction(-1, 2)},
        {0: 0.5, 1: 0.4},
        {0: Fraction(1, 2), 1: Fraction(1, 2) + Fraction(1, 10**15)},
    ],
)
def test_what_is_no_distribution_is_refused(law):
    with pytest.raises(InvalidParameter, match="add up to 1"):
        audit.exact_pair(law, {0: 1}, claim=privacy.PureLoss(1.0))


def test_the_finding_reads_as_a_sentence():
    check = audit.exact_pair(*response(1 - QUARTER), claim=privacy.PureLoss(1.0, unit=SWAP))
    assert str(check).startswith("violated: the largest log-ratio is 1.0986")
