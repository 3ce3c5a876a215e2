"""`privet pate plan`: prices of the page, labels of a budget, majorities; wrong input in one sentence."""

import json

import numpy as np
import pytest

PLAN = ("pate", "plan", "--teachers", 250, "--queries", 640, "--answers", 286, "--sigma", 40)
CONFIDENT = (*PLAN, "--threshold", 200, "--sigma1", 150)


def test_a_plan_says_price_labels_and_majorities(privet):
    told = privet(*CONFIDENT)
    assert told.code == 0
    assert "at most 286 of 640 queries answered by 250 teachers, noise 40 on every count" in told.out
    assert "price: epsilon 2.5426" in told.out
    assert "a budget of epsilon 2 buys 178 labels" in told.out
    assert told.out.splitlines()[-1].split()[:2] == ["250", "100.00%"]
    plain = privet(*PLAN)
    assert "the first 286 of 640 queries" in plain.out
    assert "price: epsilon 2.43536" in plain.out
    assert "a budget of epsilon 2 buys 201 labels" in plain.out
    assert "a budget of epsilon 1 buys 57 labels" in plain.out


@pytest.mark.parametrize(
    ("sigma", "epsilon", "thresholds", "labels"),
    [
        (40, 1, (), 57),
        (100, 1, (), 359),
        (40, 2, ("--threshold", 200, "--sigma1", 150), 178),
        (60, 2, ("--threshold", 200, "--sigma1", 200), 423),
    ],
)
def test_what_a_budget_buys(privet, sigma, epsilon, thresholds, labels):
    asked = ("pate", "plan", "--teachers", 250, "--queries", 640, "--answers", 286, "--sigma", sigma, *thresholds)
    found = json.loads(privet(*asked, "--epsilon", epsilon, "--json").out)
    assert found["labels"] == [{"epsilon": epsilon, "labels": labels}]


def test_all_queries_are_answered_unless_it_is_said(privet):
    asked = ("pate", "plan", "--teachers", 250, "--queries", 286, "--sigma", 40)
    told = privet(*asked)
    assert "the first 286 of 286 queries" in told.out
    assert "price: epsilon 2.43536" in told.out
    assert told.out == privet(*asked, "--answers", 286).out


def test_two_classes_have_the_exact_price(privet):
    asked = ("pate", "plan", "--teachers", 100, "--queries", 100, "--answers", 100, "--sigma", 40, "--json")
    two, many = (json.loads(privet(*asked, "--classes", classes).out) for classes in (2, 3))
    assert two["epsilon"] < 0.9 * many["epsilon"]
    assert two["labels"][0]["labels"] > many["labels"][0]["labels"]


def test_majorities_win_more_often_the_larger_they_are(privet):
    found = json.loads(privet(*CONFIDENT, "--json").out)["majorities"]
    for name in ("against_all", "against_one"):
        assert np.all(np.diff([each[name] for each in found]) >= 0.0)
    assert all(each["against_all"] >= each["against_one"] - 1e-12 for each in found if each["votes"] >= 125)
    (tie,) = json.loads(privet(*PLAN, "--majority", 125, "--json").out)["majorities"]
    # eight classes without a vote win now and then, and the rivals are alike
    assert 0.49 < tie["against_one"] < 0.5
    assert tie["answered"] == 1.0
    (edge,) = json.loads(privet(*CONFIDENT, "--majority", 200, "--json").out)["majorities"]
    assert edge["answered"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--answers", 641), "answers must be at most queries"),
        (("--sigma", 0), "--sigma must be greater than 0"),
        (("--threshold", 200), "threshold and sigma1"),
        (("--sigma1", 200), "threshold and sigma1"),
        (("--teachers", 0), "--teachers must be a whole number from 1"),
        (("--delta", 0), "delta"),
        (("--epsilon", -1), "--epsilon must be greater than 0"),
        (("--majority", 251), "250 teachers"),
        (("--classes", 1), "--classes must be a whole number from 2"),
        (("--sigma", "wide"), "expected a number"),
    ],
)
def test_mistakes_are_one_sentence(privet, more, words):
    told = privet(*PLAN, *more)
    assert told.code == 2
    assert words in told.err
    assert told.out == ""
