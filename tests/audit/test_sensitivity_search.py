"""The search for counter-examples, and the table of sensitivities verified by it under both relations."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet.audit import find_counterexample
from privet.errors import InvalidParameter
from privet.mechanisms import (
    Sensitivity,
    count_sensitivity,
    counts_sensitivity,
    histogram_sensitivity,
    mean_sensitivity,
    sum_sensitivity,
)
from privet.privacy import Unit

AR, RP = Unit(), Unit("replace")
BINS = (0, 1, 2)


def histogram(data):
    return [data.count(b) for b in BINS]


def thresholds(data):
    """Three arbitrary counts that one record may all be in."""
    return [sum(x > t for x in data) for t in (0, 1, 2)]


def mean_of_two(data):
    return Fraction(sum(data), 2) if len(data) == 2 else Fraction(0)


TABLE = {
    "count": (lambda data: data.count(1), BINS, lambda norm, unit: count_sensitivity(norm=norm, unit=unit)),
    "histogram": (histogram, BINS, lambda norm, unit: histogram_sensitivity(norm=norm, unit=unit)),
    "counts": (thresholds, (0, 1, 2, 3), lambda norm, unit: counts_sensitivity(3, norm=norm, unit=unit)),
    "sum": (sum, (-2, 1, 5), lambda norm, unit: sum_sensitivity(bounds=(-2, 5), norm=norm, unit=unit)),
}
VALUES = {  # l1 under add/remove and replace, l2 likewise
    "count": (1, 1, 1, 1),
    "histogram": (1, 2, 1, math.sqrt(2)),
    "counts": (3, 3, math.sqrt(3), math.sqrt(3)),
    "sum": (5, 7, 5, 7),
}


@pytest.mark.parametrize("unit", [AR, RP], ids=lambda unit: unit.relation)
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", TABLE)
def test_the_table_is_right_and_tight(name, norm, unit):
    function, domain, declare = TABLE[name]
    declared = declare(norm, unit)
    assert float(declared) == pytest.approx(VALUES[name][2 * (norm == "l2") + (unit is RP)], rel=1e-15)
    assert find_counterexample(function, declared, domain=domain) is None
    found = find_counterexample(function, declared.times(Fraction(999, 1000)), domain=domain)
    assert found is not None
    assert found.distance == pytest.approx(float(declared))


def test_the_mean_of_a_public_number_of_records():
    declared = mean_sensitivity(bounds=(-2, 5), n=2, unit=RP)
    assert float(declared) == 3.5
    pairs = find_counterexample(mean_of_two, declared.times(Fraction(99, 100)), domain=(-2, 5), max_rows=2)
    assert pairs.distance == 3.5
    assert find_counterexample(mean_of_two, declared, domain=(-2, 5), max_rows=2) is None
    with pytest.raises(InvalidParameter, match="BoundedMean"):
        mean_sensitivity(bounds=(-2, 5), n=2)


def test_rows_of_one_person():
    assert float(histogram_sensitivity(norm="l1", unit=RP, max_rows=3)) == 6
    assert float(histogram_sensitivity(norm="l2", unit=RP, max_rows=3)) == pytest.approx(3 * math.sqrt(2), rel=1e-15)
    declared = Sensitivity(3, norm="l2", unit=Unit(group_size=3))
    assert find_counterexample(histogram, declared, domain=BINS) is None
    assert find_counterexample(histogram, declared.times(Fraction(99, 100)), domain=BINS).distance == 3


def test_known_columns_beat_the_general_bound():
    bmi = [(1, 0, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0), (0, 0, 1, 1), (0, 0, 0, 0)]
    answers = lambda data: np.sum([bmi[x] for x in data], axis=0) if data else [0, 0, 0, 0]  # noqa: E731
    for unit, value in ((AR, 2), (RP, 4)):
        declared = counts_sensitivity(bmi, norm="l1", unit=unit)
        assert float(declared) == value
        assert find_counterexample(answers, declared, domain=range(5), max_rows=2) is None
    assert float(counts_sensitivity(4, norm="l1")) == 4


def test_a_wrong_relation_is_caught():
    found = find_counterexample(histogram, histogram_sensitivity(norm="l1", unit=AR).times(1), domain=BINS)
    assert found is None
    replaced = Sensitivity(1, norm="l1", unit=RP)
    assert find_counterexample(histogram, replaced, domain=BINS).distance == 2


@pytest.mark.parametrize(("bounds", "forgotten"), [((0, 5), 0), ((-5, 0), 0), ((-5, 2), 2)])
def test_a_bound_read_from_the_wrong_end_is_caught(bounds, forgotten):
    # trap: |highest| alone (or a lower bound of 0 taken for the sensitivity)
    twin = Sensitivity(max(abs(forgotten), 1), norm="l1")
    assert find_counterexample(sum, twin, domain=bounds) is not None
    assert find_counterexample(sum, sum_sensitivity(bounds=bounds), domain=bounds) is None


def test_order_and_float_sums_are_caught():
    declared = Sensitivity(1, norm="l1")
    assert find_counterexample(lambda data: float(sum([*data, 2.0**53])) - 2.0**53, declared, domain=[1.0]) is not None
    assert find_counterexample(lambda data: data[0] if data else 0, declared, domain=[0, 3]).distance == 3


def test_answers_without_a_distance_are_infinitely_far():
    declared = Sensitivity(10**6, norm="l1")
    for function in (
        lambda data: math.nan if data else 0.0,
        lambda data: [1] * len(data),
        lambda data: math.inf * len(data) if data else 0,
    ):
        assert math.isinf(find_counterexample(function, declared, domain=[1]).distance)


def test_zero_out_needs_its_null_record():
    declared = Sensitivity(5, norm="l1", unit=Unit("zero_out"))
    assert find_counterexample(sum, declared, domain=[-2, 5], null=0) is None
    assert find_counterexample(sum, declared, domain=[-2, 5], null=-1).distance == 6
    with pytest.raises(InvalidParameter, match="null"):
        find_counterexample(sum, declared, domain=[1])


def test_scores():
    scores = lambda data: [data.count(0), -data.count(1)]  # noqa: E731
    assert find_counterexample(scores, Sensitivity(1, norm="score", unit=RP), domain=[0, 1]) is None
    assert find_counterexample(scores, Sensitivity(Fraction(1, 2), norm="score"), domain=[0, 1]) is not None


def test_large_searches_are_sampled_and_repeatable():
    function = lambda data: 100 if data.count(7) >= 2 else 0  # noqa: E731
    arguments = {"domain": range(20), "max_rows": 6, "limit": 3_000}
    first, second = (find_counterexample(function, Sensitivity(1, norm="l1"), **arguments) for _ in range(2))
    assert first == second
    assert first is not None
    assert len(first.left) - len(first.right) == 1


def test_bad_input_is_refused():
    declared = Sensitivity(1, norm="l1")
    with pytest.raises(InvalidParameter, match="at least one"):
        find_counterexample(sum, declared, domain=[])
    with pytest.raises(InvalidParameter, match="number"):
        find_counterexample(str, declared, domain=[1])
    for patterns in ([], [()], [(1,), (1, 2)], 0):
        with pytest.raises(InvalidParameter):
            counts_sensitivity(patterns, norm="l1")
    with pytest.raises(InvalidParameter):
        counts_sensitivity([(1, 0)], norm="l1", unit=RP)  # one pattern: nothing ever moves
