"""Inputs chosen to make the reading of a value, its rounding or its refusal depend on what it protects."""

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from privet import mechanisms as m, noise
from privet.errors import InvalidParameter
from privet.mechanisms import registered_mechanisms
from privet.mechanisms.families.values import read_value
from privet.noise.steps import Steps, _sum_of_three
from privet.privacy import Unit
from tests.firsts import mechanism_examples

RECORDS = [
    m.BoundedSum.for_budget(epsilon=1.0, bounds=(-2, 5)),
    m.BoundedMean.for_budget(epsilon=1.0, bounds=(0, 10)),
    m.BoundedVariance.for_budget(epsilon=1.0, bounds=(0, 10)),
    m.Count.for_budget(epsilon=1.0),
    m.Quantile.for_budget(epsilon=1.0, q=0.5, bounds=(0, 10), step=1),
    m.SmoothMedian.for_budget(epsilon=1.0, bounds=(0, 10)),
    m.ProposeTestRelease.for_budget(epsilon=2.0, delta=1e-3, query=m.StableMedian(bounds=(0, 10)), proposal=1.0),
]
RECORD_IDS = [mechanism.name for mechanism in RECORDS]
HOSTILE = [
    [], [None], ["a"], [b"x", 1.0], [1j], [math.nan, math.inf, -math.inf], [10**400, 0.5], [-(10**400), 1], [2**63, -1],
    [True, None], [np.float32(1.5), Fraction(1, 3)], [[1, 2], 3.0], [{}, ()], [5e-324, -0.0], [np.datetime64("NaT"), 1],
    np.array([], dtype=np.uint8), np.array([255, 1], dtype=np.uint8), np.array([2**63], dtype=np.uint64),
    np.array([-(2**63)], dtype=np.int64), np.array([1.5], dtype=np.float16), [[1], [2]], [[1], [2], 5.0],
    np.array([1.0], dtype=np.longdouble), np.ma.array([1.0, 2.0], mask=[True, False]), np.array([True]),
    [np.timedelta64(3, "D")], [np.ma.masked, 1.0], [Decimal("sNaN"), Decimal("1e999999")], [object(), 1.0],
]  # fmt: skip


def shape_of(release):
    """Everything about a release that should be the same for all data: types, keys, price, kind of bar."""
    value = release.value
    keys = tuple(value) if isinstance(value, dict) else ()
    bar = None if release.error is None else release.error.of
    return type(value), keys, release.loss, release.mechanism, release.insecure, bar


@pytest.mark.parametrize("mechanism", RECORDS, ids=RECORD_IDS)
def test_no_list_of_records_is_refused_or_changes_the_shape_of_a_release(mechanism):
    """A propose-test-release may say NaN without a bar: that is its answer, and paid for."""
    takes = [data for data in HOSTILE if mechanism.name != "count" or isinstance(data, list)]  # by dtype
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shapes = {shape_of(mechanism.release(data))[:5] for data in takes}
    assert len(shapes) == 1


@pytest.mark.parametrize("mechanism", RECORDS[:6], ids=RECORD_IDS[:6])
def test_one_strange_record_is_read_by_itself(mechanism):
    """What a record becomes does not depend on its neighbours: reading one by one and all together agree."""
    strange = [None, "a", 3, 2.5, True, math.nan, 10**400, 2**63, -1, 2**53 + 1, np.float32(0.1), Fraction(7, 3)]
    for extra in strange:
        one = mechanism._prepare([extra])
        for other in strange:
            both, second = mechanism._prepare([extra, other]), mechanism._prepare([other])
            if isinstance(both, list):
                assert both == [a + b for a, b in zip(one, second, strict=True)]
            elif isinstance(both, int):
                assert both == one + second
            elif isinstance(both, np.ndarray):
                assert sorted([*one, *second]) == both.tolist()


@pytest.mark.parametrize("big", [2**53 + 1, 2**60 + 127, 2**63, 2**70, -(2**63) - 1])
def test_a_number_is_itself_whatever_stands_beside_it(big):
    """numpy reads [2**63, -1] as doubles and [2**63 - 1, -1] as integers; here every number is read by itself."""
    for beside in (-1, 0.5, None, Fraction(1, 3)):
        assert read_value([big, beside]).fractions()[0] == big
    assert read_value(big).fractions() == [big]


def test_scores_beyond_doubles_move_by_no_more_than_their_sensitivity():
    mechanism = m.Exponential.for_budget(epsilon=1.0, sensitivity=1)
    for one, other in (
        ([2**63, 2**60, -1], [2**63 - 1, 2**60 - 1, -2]),
        ([2**54 + 1, 2**54 + 3, 0.25], [2**54 + 2, 2**54 + 2, 0.25]),
        (np.array([2**62 + 1, 2**62 + 3]), np.array([2**62 + 2, 2**62 + 2])),
    ):
        moved = [abs(a - b) for a, b in zip(mechanism._prepare(one), mechanism._prepare(other), strict=True)]
        assert max(moved) == 1
    chances = mechanism.simulate([2**60 + 1, 2**60 + 3], 20_000, source=noise.Seeded(2)).mean()
    assert abs(chances - 1 / (1 + math.exp(-1.0))) < 0.02  # 2 apart at a scale of 2; as doubles they would be equal


@pytest.mark.parametrize("kind", [m.Laplace, m.Gaussian])
def test_fractions_that_share_a_double_are_told_apart_by_no_more_than_their_distance(kind):
    """2^60 + 127 and + 129 round to doubles 256 apart: a sensitivity of 2 would then have cost 128 times its price."""
    mechanism = kind.for_budget(epsilon=1.0, delta=1e-6, sensitivity=2)
    for make in (Fraction, int, Decimal, np.int64, lambda k: [k], lambda k: np.array([k])):
        left, right = (mechanism.simulate(make(2**60 + k), 4_000, source=noise.Seeded(9)) for k in (127, 129))
        assert 0.05 < np.mean(left == 2.0**60) < 0.95
        assert abs(np.mean(left == 2.0**60) - np.mean(right == 2.0**60)) < 0.49  # tanh(1/2), and luck


def test_large_noise_is_not_rounded_before_it_is_added():
    """2^53 + odd is no double; rounded by itself, an odd value could never show a remainder of 2 modulo 4."""
    drawn = np.arange(2**53 - 8, 2**53 + 8)
    drawn = np.concatenate([drawn, -drawn])
    for whole in (0.0, 1.0, -3.0, 2.0**60):
        expected = [float(int(whole) + int(noise)) for noise in drawn]
        assert Steps(np.full(len(drawn), whole), None, np.zeros(1)).plus(drawn).tolist() == expected
        low = [float(int(whole) + 7 + int(noise)) for noise in drawn]
        assert Steps(np.full(len(drawn), whole), np.full(len(drawn), 7.0), np.zeros(1)).plus(drawn).tolist() == low
    naive = np.full(len(drawn), 1.0) + drawn.astype(float)
    assert naive.tolist() != [float(1 + int(noise)) for noise in drawn]
    mechanism = m.Laplace(scale=2.0**100, sensitivity=2.0**50)
    odd = mechanism.simulate(2.0**50, 100_000, source=noise.Seeded(3)) / 2.0**50
    far = odd[(np.abs(odd) > 2.0**53) & (np.abs(odd) < 2.0**54)]
    assert {int(steps) % 4 for steps in far} == {0, 2}


def test_a_sum_of_three_doubles_is_rounded_once():
    rng = np.random.default_rng(4)
    parts = [np.ldexp(np.rint(rng.normal(size=4_000) * 2.0**53), rng.integers(0, top, 4_000)) for top in (60, 8, 12)]
    expected = [float(sum(map(int, row))) for row in zip(*parts, strict=True)]
    assert _sum_of_three(*parts).tolist() == expected
    assert (parts[0] + (parts[1] + parts[2])).tolist() != expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: m.DiscreteLaplace(scale=2.0**60, sensitivity=1),
        lambda: m.Geometric.for_budget(epsilon=1e-18),
        lambda: m.DiscreteGaussian(scale=2.0**60, sensitivity=1),
        lambda: m.Count.for_budget(epsilon=1e-18),
        lambda: m.BoundedMean.for_budget(epsilon=1e-29, bounds=(0, 1)),
        lambda: m.BoundedSum.for_budget(epsilon=1e-29, bounds=(0, 1)),
        lambda: m.Laplace(scale=2.0**101, sensitivity=1),
        lambda: m.AboveThreshold.for_budget(epsilon=1e-12, sensitivity=1, threshold=0),
    ],
)
def test_a_scale_that_cannot_be_drawn_is_refused_before_anything_is_paid(make):
    with pytest.raises(InvalidParameter):
        make()


@pytest.mark.parametrize("bounds", [(5.0, 10.0), (-2.0, 5.0), (-7.0, -3.0), (0.0, 4.0)])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_sum_of_somebody_with_several_rows(bounds, rows, relation):
    """All that one person can do: have from 0 (exactly one, where it is one) to `rows` rows at either end."""
    people = [p for size in range(rows + 1) for p in combinations_with_replacement(bounds, size)]
    if relation == "replace":
        people = [p for p in people if rows > 1 or len(p) == 1]
        moved = max(abs(sum(a) - sum(b)) for a in people for b in people)
    else:
        moved = max(abs(sum(p)) for p in people)
    mechanism = m.BoundedSum.for_budget(epsilon=1.0, bounds=bounds, max_rows=rows, unit=Unit(relation))
    assert float(mechanism.noise.sensitivity) == moved
    assert float(m.sum_sensitivity(bounds=bounds, max_rows=rows, unit=Unit(relation))) == moved


def test_records_know_two_relations_only():
    m.Laplace(scale=1.0, sensitivity=m.Sensitivity(1, norm="l1", unit=Unit("zero_out")))
    with pytest.raises(InvalidParameter, match="unit"):
        m.BoundedSum(
            bounds=(-1, 1), noise=m.Laplace(scale=1.0, sensitivity=m.Sensitivity(1, norm="l1", unit=Unit("zero_out")))
        )


@pytest.mark.parametrize("name", sorted(registered_mechanisms()))
def test_a_release_holds_what_is_public_or_protected_and_nothing_else(name):
    """Of a value that no noise can hit by accident, no trace in the text, the JSON or the fields of a release."""
    check_releases_hold_what_they_may(name, examples_of(name)[:1])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(registered_mechanisms()))
def test_releases_of_further_examples_hold_nothing_else(name):
    check_releases_hold_what_they_may(name, examples_of(name)[1:])


def examples_of(name):
    return [example for example in mechanism_examples() if example.mechanism.name == name]


def check_releases_hold_what_they_may(name, examples):
    for example in examples:
        release = example.mechanism.release(example.left)
        assert set(vars(release)) == {"value", "loss", "error", "mechanism", "insecure", "provenance", "paid", "stored"}
        assert release.loss == example.mechanism.loss
        assert not release.insecure
        other = example.mechanism.release(example.right)
        assert type(other.value) is type(release.value)
        if release.error is None or other.error is None:
            continue
        if name not in (
            "bounded_mean",
            "bounded_variance",
            "vector_mean",
            "propose_test_release",
            "table_answers",
            "covariance_answers",
            "histogram_answers",
            "group_quantiles",
            "marginal_answers",
            "batch_answers",
        ):  # their bars follow from the release
            assert release.error == other.error or np.shape(example.left) != np.shape(example.right)
        seeded = example.mechanism.release(example.left, source=noise.Seeded(1))
        assert seeded.insecure
        assert "INSECURE" in str(seeded)
        assert '"insecure": true' in seeded.to_json()
