"""Inversion: four figures, and only one of them is about members."""

import inspect

import numpy as np
import pytest

from privet import audit
from privet.errors import InvalidData, InvalidParameter


def people(n, seed):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    hidden = np.array(["A/A", "A/G", "G/G"])[np.clip(group + rng.integers(0, 2, n), 0, 2)]
    dose = np.select([hidden == "A/A", hidden == "A/G"], [1.0, 2.0], 3.0) + rng.normal(0, 0.7, n)
    return group, hidden, dose


SHARES = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
VALUES = ["A/A", "A/G", "G/G"]


def run(predict, use_rest=False, members=people(600, 1), others=people(600, 2)):  # noqa: B008 (never changed)
    return audit.invert(
        predict, members=members, others=others, values=VALUES, sigma=0.7, given_rest=lambda rest: SHARES[rest],
        use_rest=use_rest,
    )  # fmt: skip


def taught(rest, value):
    return np.full(len(rest), float(VALUES.index(value) + 1))


def test_a_model_of_the_population_helps_and_leaks_nothing_about_members():
    alone, helped = run(taught), run(taught, use_rest=True)
    assert alone.exact_others.rate.low > alone.exact_majority.rate.high
    assert helped.exact_others.rate.low > helped.exact_given_rest.rate.high
    for found in (alone, helped):
        assert 0.0 in found.leak
    assert "does not hide" in helped.explain()


def test_a_model_that_knows_its_members_by_heart_is_seen():
    members = people(600, 1)
    right = {dose: value for value, dose in zip(members[1], members[2], strict=True)}
    outcomes = {len(members[0]): members[2]}

    def learned(rest, value):
        doses = outcomes.get(len(rest), np.zeros(len(rest)))
        return np.array([dose if right.get(dose) == value else dose + 5.0 for dose in doses.tolist()])

    found = run(learned, members=members, others=people(500, 2))
    assert found.exact_members.rate.value == 1.0
    assert found.leak.low > 0.3


def test_there_is_no_headline_without_all_four():
    needed = {
        name
        for name, each in inspect.signature(audit.invert).parameters.items()
        if each.default is inspect.Parameter.empty
    }
    assert {"members", "others", "given_rest"} <= needed
    text = run(taught).explain()
    assert all(words in text for words in ("Commonest value", "other attributes", "on members", "on others"))


def gaps_covered(runs):
    """How often the interval of members minus others holds 0, of a model that was trained on neither."""
    pairs = ((people(150, 2 * seed), people(150, 2 * seed + 1)) for seed in range(runs))
    return sum(0.0 in run(taught, members=members, others=others).leak for members, others in pairs)


def test_the_interval_of_the_gap_covers_nothing_where_there_is_nothing():
    assert gaps_covered(40) >= 38


@pytest.mark.slow
def test_the_interval_of_the_gap_covers_nothing_in_a_thousand_runs():
    assert gaps_covered(1_000) >= 940


def test_what_cannot_be_judged_is_refused():
    good = people(5, 0)
    with pytest.raises(InvalidData, match="not among values"):
        run(taught, members=(good[0], np.array(["x"] * 5), good[2]))
    with pytest.raises(InvalidData, match="triple"):
        run(taught, members=good[:2])
    with pytest.raises(InvalidData, match="at least one record"):
        run(taught, members=(good[0][:0], good[1][:0], good[2][:0]))
    with pytest.raises(InvalidData, match="share for each"):
        audit.invert(
            taught, members=good, others=good, values=VALUES, sigma=1.0, given_rest=lambda rest: np.ones((len(rest), 2))
        )
    with pytest.raises(InvalidParameter):
        audit.invert(taught, members=good, others=good, values=["A/A"], sigma=1.0, given_rest=lambda rest: rest)


def fails(*given):
    raise ValueError("SECRET 12345")


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"members": ([0], ["A/A"], ["SECRET"])}, "outcomes of members must be numbers"),
        ({"predict": fails}, r"predict failed on the records it was asked about \(ValueError\)"),
        ({"predict": lambda rest, value: ["SECRET"] * len(rest)}, "outcomes of predict must be numbers"),
        ({"predict": lambda rest, value: [1.0]}, "an outcome for each record"),
        ({"given_rest": fails}, "given_rest failed on the records"),
        ({"given_rest": lambda rest: [["SECRET"] * 3] * len(rest)}, "shares of given_rest must be numbers"),
    ],
)
def test_no_word_of_a_record_is_in_an_error(change, wanted):
    good = {"predict": taught, "members": people(5, 0), "others": people(5, 1), "given_rest": lambda rest: SHARES[rest]}
    given = {**good, **change}
    with pytest.raises(InvalidData, match=wanted) as caught:
        audit.invert(given.pop("predict"), **given, values=VALUES, sigma=1.0)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_what_is_common_decides_where_outcomes_say_nothing():
    rest, hidden = np.zeros(200, dtype=int), np.array(["A/A"] * 20 + ["A/G"] * 180)
    told = (rest, hidden, np.zeros(200))
    shares = np.array([[0.1, 0.9, 0.0]])
    found = audit.invert(lambda rest, value: np.zeros(len(rest)), members=told, others=told, values=VALUES, sigma=1.0,
                         given_rest=lambda rest: shares[rest])  # fmt: skip
    assert found.exact_members.rate.value == found.exact_majority.rate.value == 0.9


def test_both_ends_of_the_gap_share_one_level():
    found = run(taught)
    sides, kind = (found.exact_members, found.exact_others), type(found.exact_members)
    ends = [kind(each.right, each.many, found.alpha / 2.0).rate for each in sides]
    assert found.leak.low == ends[0].low - ends[1].high
    assert found.leak.high == ends[0].high - ends[1].low
