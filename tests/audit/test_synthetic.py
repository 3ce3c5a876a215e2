"""Synthetic tables: copies are accused, tables of strangers are not, and the control group decides."""

import numpy as np
import pytest

from privet import audit, noise, testing
from privet.errors import InvalidData, InvalidParameter

STRICT = testing.alarm_level("attacks", of=100)


def people(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    ward = rng.integers(0, 6, n)
    return {
        "age": age,
        "ward": np.array(list("abcdef"))[ward],
        "cost": np.round(100.0 * ward + age + rng.normal(0, 20, n), 1),
        "ill": (rng.random(n) < 0.2 + 0.1 * ward).astype(int),
    }


MEMBERS, OTHERS = people(600, 1), people(600, 2)


def rates(made, **more):
    return audit.exact_synthetic_rates(MEMBERS, made, OTHERS, secret="ill", guesses=250, **more)


def test_a_plain_copy_is_accused_by_every_rate():
    found = rates(MEMBERS)
    assert {"singling out", "linkability", "inference"} <= set(found.accused)
    assert found.inference.members.rate.value == 1.0
    assert "no evidence in either direction" in found.explain()
    assert "not releasable" in found.explain()


def coarse(n, seed):
    """Few values a column: most people are like somebody else, and only some are alone with all columns."""
    rng = np.random.default_rng(seed)
    return {name: rng.choice(many, n, p=rng.dirichlet(np.ones(many) / 2)) for name, many in COARSE.items()}


COARSE = {"sex": 2, "race": 5, "school": 16, "married": 7, "rich": 2}


@pytest.mark.parametrize("n", [300, 1500])
def test_a_plain_copy_of_coarse_columns_is_accused_and_strangers_are_not(n):
    """Predicates of one to three columns were rarely alone in such a table, and a copy went unnoticed."""
    members, others, strangers = _parts(coarse(3 * n, 7), n)
    found = audit.exact_synthetic_rates(members, members, others, secret="rich", guesses=300)
    assert "singling out" in found.accused
    assert found.singling_out.members.rate.value == 1.0  # whoever is alone in a copy is alone in the data
    assert audit.exact_synthetic_rates(members, strangers, others, secret="rich", guesses=300).accused == ()


def _parts(table, n):
    return [{name: values[k * n : (k + 1) * n] for name, values in table.items()} for k in range(3)]


def test_one_kind_of_value_in_three_files():
    """Frames turn whole numbers into floats where one is missing, and `1` and `1.0` were different answers."""
    floats = {**MEMBERS, "ill": MEMBERS["ill"].astype(float), "age": MEMBERS["age"].astype(object)}
    assert rates(floats).to_dict() == rates(MEMBERS).to_dict()
    words = {**MEMBERS, "ill": np.where(MEMBERS["ill"] == 1, "yes", "no")}
    mixed = audit.exact_synthetic_rates(MEMBERS, words, OTHERS, secret="ill", guesses=50)
    assert mixed.inference.members.rate.value == 0.0  # words are no numbers, and nobody is guessed right


def test_missing_values_of_frames_are_values():
    pandas = pytest.importorskip("pandas")
    ages = pandas.Series([30, pandas.NA] * 20, dtype=object)
    frame = pandas.DataFrame({"age": ages, "ill": [0, 1] * 20})
    others = frame.head(38)
    found = audit.exact_synthetic_rates(frame, frame, others, secret="ill", guesses=20)
    assert found.inference.members.rate.value == 1.0
    floats = {"age": np.array([30.0, np.nan] * 20), "ill": frame["ill"].astype(float)}  # 30 and 30.0 are one age
    found = audit.exact_synthetic_rates(floats, frame, others, secret="ill", guesses=20)
    assert found.distances == (0.0, 0.0)


def test_a_table_in_which_nobody_is_alone_singles_nobody_out():
    twice = {name: np.concatenate((values, values)) for name, values in MEMBERS.items()}
    found = rates(twice).singling_out
    assert (found.members.right, found.others.right, found.members.many) == (0, 0, 1)


def test_others_who_are_the_members_hide_everything_and_are_refused():
    """A holdout that is the data has the same rates as the data, whatever the table gives away."""
    order = np.random.default_rng(1).permutation(600)
    again = {name: values[order] for name, values in MEMBERS.items()}
    with pytest.raises(InvalidData, match="the very members"):
        audit.exact_synthetic_rates(MEMBERS, MEMBERS, again, secret="ill")
    made = people(600, 3)
    with pytest.raises(InvalidData, match="the very synthetic rows"):
        audit.exact_synthetic_rates(MEMBERS, made, made, secret="ill")
    mixed = {name: np.concatenate((values[:300], OTHERS[name][:300])) for name, values in MEMBERS.items()}
    found = audit.exact_synthetic_rates(MEMBERS, made, mixed, secret="ill", guesses=20)
    assert 0.5 <= found.shared < 1.0
    assert "the same person on both" in found.explain()
    assert found.to_dict()["others equal to a member"] == found.shared


@pytest.mark.parametrize("which", range(3))
def test_tables_without_rows_are_refused(which):
    tables = [MEMBERS, people(600, 3), OTHERS]
    tables[which] = {name: values[:0] for name, values in MEMBERS.items()}
    with pytest.raises(InvalidData, match="a row each"):
        audit.exact_synthetic_rates(*tables, secret="ill")


def test_strangers_of_the_same_population_are_not():
    assert rates(people(600, 3)).accused == ()


def test_the_control_group_is_what_decides():
    """The planted mistake: without it a table of strangers looks as if it gave people away."""
    found = rates(people(600, 3))
    assert found.inference.members.rate.low > 0.5
    assert not found.inference.accused


def test_both_ends_of_the_excess_share_one_level():
    found = rates(people(600, 3)).inference
    sides, kind = (found.members, found.others), type(found.members)
    ends = [kind(each.right, each.many, each.alpha / 2.0).rate for each in sides]
    assert found.excess.low == ends[0].low - ends[1].high
    assert found.excess.high == ends[0].high - ends[1].low


def rates_covered(runs):
    """How often each interval of members minus others holds 0, of a table that was made from neither."""
    covered = np.zeros(4)
    for seed in range(runs):
        found = audit.exact_synthetic_rates(
            people(120, 3 * seed), people(120, 3 * seed + 1), people(120, 3 * seed + 2), secret="ill", guesses=60
        )
        covered += [0.0 in each.excess for each in found.named.values()]
    return covered


def test_null_calibration_of_the_rates():
    assert (rates_covered(30) >= 28).all()


@pytest.mark.slow
def test_null_calibration_of_the_rates_in_a_thousand_runs():
    assert (rates_covered(1_000) >= 940).all()


def alarms_about_nobody(runs):
    """How often a synthesizer that never looks at the target is said to break a claim of next to nothing."""

    def blind(table):
        return people(20, int(noise.uniform_int(bound=2**31)))

    few = {name: values[:10].tolist() for name, values in MEMBERS.items()}
    return sum(
        audit.synthetic(blind, few, ODD, claim=1e-9, shadows=2, runs=24, alpha=0.05).verdict == "violated"
        for _ in range(runs)
    )


@pytest.mark.slow
def test_synthesizers_that_never_saw_the_target_are_accused_within_the_level():
    assert alarms_about_nobody(1_000) <= 60


def test_a_secret_of_many_values_is_not_rebuilt_from_counts():
    assert audit.exact_synthetic_rates(MEMBERS, people(90, 3), OTHERS, secret="ward", guesses=20).reconstruction is None
    assert rates(people(600, 3)).reconstruction is not None


def test_tables_that_do_not_suit_are_refused():
    with pytest.raises(InvalidData, match="same columns"):
        audit.exact_synthetic_rates(MEMBERS, {"age": [1]}, OTHERS, secret="ill")
    with pytest.raises(InvalidParameter, match="secret"):
        audit.exact_synthetic_rates(MEMBERS, MEMBERS, OTHERS, secret="name")
    with pytest.raises(InvalidParameter, match="known"):
        audit.exact_synthetic_rates(MEMBERS, MEMBERS, OTHERS, secret="ill", known=list(MEMBERS))
    with pytest.raises(InvalidData, match="one length"):
        audit.exact_synthetic_rates({"a": [1, 2], "b": [1]}, MEMBERS, OTHERS, secret="ill")
    with pytest.raises(InvalidData, match="a table is"):
        audit.exact_synthetic_rates([1, 2], MEMBERS, OTHERS, secret="ill")


ROWS = {name: values[:60].tolist() for name, values in MEMBERS.items()}
ODD = {"age": 117, "ward": "z", "cost": 9000.0, "ill": 1}


def resampled(table, seed=None):
    """Rows drawn from the table with replacement: about a third of them never appear."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, len(table["age"]), len(table["age"]))
    return {name: [values[i] for i in chosen] for name, values in table.items()}


def noisy_wards(table):
    """Counts of wards with noise of epsilon 1, and rows of them: nothing else of the table is used."""
    wards = [*"abcdef", "z"]
    counts = np.array([table["ward"].count(ward) for ward in wards])
    private = np.maximum(counts + np.asarray(noise.discrete_laplace(scale=1, size=len(wards))), 0)
    drawn = [ward for ward, many in zip(wards, private.tolist(), strict=True) for _ in range(many)] or ["a"]
    return {"age": [50] * len(drawn), "ward": drawn, "cost": [0.0] * len(drawn), "ill": [0] * len(drawn)}


def independent(table):
    """Each column by itself, without noise."""
    rng = np.random.default_rng()
    return {name: [values[i] for i in rng.integers(0, len(values), len(values))] for name, values in table.items()}


@pytest.mark.parametrize("make", [dict, resampled, independent], ids=["copy", "resampled", "independent columns"])
def test_synthesizers_that_keep_an_odd_record_are_refuted(make):
    found = audit.synthetic(make, ROWS, ODD, claim=1.0, shadows=8, runs=120, alpha=STRICT)
    assert found.verdict == "violated"
    assert found.trainings > 16


def test_noisy_counts_are_not_refuted_and_a_smaller_claim_is():
    assert (
        audit.synthetic(noisy_wards, ROWS, ODD, claim=1.0, shadows=8, runs=120, alpha=STRICT).verdict == "not refuted"
    )
    assert audit.synthetic(noisy_wards, ROWS, ODD, claim=0.05, shadows=20, runs=400, alpha=1e-3).verdict == "violated"


def test_the_level_holds_at_the_edge_of_a_claim():
    """Randomised response about the odd record alone, at epsilon 1: the claim is exactly true."""

    def told(table):
        there = "z" in table["ward"]
        keep = bool(noise.bernoulli(p=float(np.e / (1.0 + np.e))))
        return {**{name: ["a"] for name in table}, "age": [117 if there == keep else 20], "cost": [0.0], "ill": [0]}

    accused = sum(
        audit.synthetic(told, ROWS, ODD, claim=1.0, shadows=4, runs=60, alpha=0.2).verdict == "violated"
        for _ in range(30)
    )
    assert accused <= 17  # more has probability below 1e-6


def test_a_target_needs_all_columns():
    with pytest.raises(InvalidData, match="a value for each"):
        audit.synthetic(dict, ROWS, {"age": 3}, claim=1.0)
    with pytest.raises(InvalidData, match="columns of the records"):
        audit.synthetic(lambda table: {"age": [1]}, ROWS, ODD, claim=1.0)


def test_missing_values_are_a_value_and_a_table_of_one_row_is_a_table():
    known = {"age": np.array([30.0, np.nan] * 20), "ward": np.array(["a", None] * 20, dtype=object), "ill": [0, 1] * 20}
    others = {name: values[:38] for name, values in known.items()}
    found = audit.exact_synthetic_rates(known, known, others, secret="ill", guesses=20)
    assert found.inference.members.rate.value == 1.0  # by what is missing
    assert found.accused == ()
    one = {name: [values[0]] for name, values in MEMBERS.items()}
    alone = audit.exact_synthetic_rates(one, one, {name: [v[1]] for name, v in OTHERS.items()}, secret="ill")
    assert alone.accused == ()  # one person on each side shows nothing
    assert alone.inference.members.many == 1
