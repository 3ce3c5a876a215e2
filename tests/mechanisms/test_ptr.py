"""Propose-test-release: distances against brute force, the price of a refusal, and exact privacy on a small domain."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from privet import noise
from privet._numerics import round_up
from privet.errors import InvalidData, InvalidParameter, NoGuarantee
from privet.mechanisms import Laplace, ProposeTestRelease, StableMedian, StableQuery
from privet.privacy import Unit

GRID = (0, 1, 3, 4)
BOUNDS = (0, 4)


def median(data):
    ordered = [BOUNDS[0], *sorted(data)]
    return ordered[(len(data) + 1) // 2]


def neighbours(data, relation):
    if relation == "replace":
        return {tuple(sorted((*data[:i], new, *data[i + 1 :]))) for i in range(len(data)) for new in GRID}
    removed = {(*data[:i], *data[i + 1 :]) for i in range(len(data))}
    return removed | {tuple(sorted((*data, new))) for new in GRID}


def brute_distance(data, relation, proposal, farthest=6):
    """Breadth-first search to a data set whose neighbour's median is further away than the proposal."""
    reached, seen = {tuple(sorted(data))}, set()
    for steps in range(farthest):
        if any(abs(median(a) - median(b)) > proposal for a in reached for b in neighbours(a, relation)):
            return steps
        seen |= reached
        reached = {b for a in reached for b in neighbours(a, relation)} - seen
    return farthest


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("proposal", [Fraction(1, 2), 1, 2, 3])
def test_distance_is_the_true_one(relation, proposal):
    query = StableMedian(bounds=BOUNDS, unit=Unit(relation))
    for rows in range(1, 6):
        for data in itertools.combinations_with_replacement(GRID, rows):
            assert query.exact_value(data) == median(data)
            assert query.exact_distance(data, Fraction(proposal)) == brute_distance(data, relation, proposal)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_distance_of_the_other_relation_is_caught(relation):
    other = {"add_remove": "replace", "replace": "add_remove"}[relation]
    query = StableMedian(bounds=BOUNDS, unit=Unit(other))
    cases = list(itertools.combinations_with_replacement(GRID, 4))
    assert any(query.exact_distance(data, Fraction(1)) != brute_distance(data, relation, 1) for data in cases)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_one_record_moves_the_distance_by_at_most_one(relation):
    query = StableMedian(bounds=BOUNDS, unit=Unit(relation))
    for data in itertools.combinations_with_replacement(GRID, 5):
        here = query.exact_distance(data, Fraction(1))
        others = [query.exact_distance(other, Fraction(1)) for other in neighbours(data, relation)]
        assert all(abs(here - other) <= 1 for other in others)


def make(epsilon=2.0, delta=1e-6, proposal=1, unit=None, **more):
    query = StableMedian(bounds=(0, 10), unit=unit or Unit())
    return ProposeTestRelease.for_budget(epsilon=epsilon, delta=delta, query=query, proposal=proposal, **more)


def test_threshold_is_the_exact_quantile():
    mechanism = make()
    assert abs(mechanism.threshold - 13.122363) < 1e-6
    assert mechanism.threshold < math.log(1e6)  # the textbook's
    assert abs(0.5 * math.exp(-mechanism.threshold) - 1e-6) < 1e-18
    # unstable data passes with probability at most delta, and the textbook's threshold would allow half of it
    assert 1 - float(mechanism.test._noise_cdf(np.array(mechanism.threshold))) == pytest.approx(1e-6, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 0.7, 1.0, 3.0])
def test_the_price_is_no_less_than_both_parts_and_no_more_than_the_promise(epsilon):
    """In rationals: a sum in doubles was a unit in the last place too small for every seventh share."""
    for share in range(1, 100):
        made = ProposeTestRelease.for_budget(
            epsilon=epsilon, delta=1e-6, query=StableMedian(bounds=BOUNDS), proposal=0.5, test_share=share / 100
        )
        parts = Fraction(made.test.loss.pure()) + Fraction(made.noise.loss.pure())
        assert parts <= Fraction(made.loss.approximate().epsilon) <= Fraction(epsilon)


def test_a_refusal_is_a_release_and_is_paid_for():
    mechanism = make()
    release = mechanism.release([0.0, 10.0])
    assert math.isnan(release.value)
    assert release.loss == mechanism.loss
    assert release.loss.approximate() == (2.0, 1e-6)
    assert release.error is None
    assert release.mechanism == "propose_test_release"


def test_stable_data_is_released_with_the_noise_of_the_proposal():
    mechanism = make(delta=1e-3)
    values = np.array(mechanism.simulate([5.0] * 200, 400, source=noise.Seeded(1)))
    assert not np.isnan(values).any()
    assert abs(np.median(values) - 5.0) < 0.5
    release = mechanism.release([5.0] * 200)
    assert release.error == mechanism.noise.error()
    assert release.error.radius == Laplace.for_budget(epsilon=1.0, sensitivity=1).error().radius


def exact_curve(mechanism, left, right, epsilon):
    """Hockey-stick divergence of the outputs on two data sets, from the two exact Laplace laws."""
    parts = []
    for data in (left, right):
        distance, value = mechanism._prepare(data)
        passed = 1.0 - float(mechanism.test._noise_cdf(np.array(mechanism.threshold - distance)))
        edges = np.arange(-60, 80, 0.01)
        law = np.diff(mechanism.noise._noise_cdf(edges - float(value)), prepend=0.0, append=1.0)
        parts.append(np.append(passed * law, 1.0 - passed))
    p, q = parts
    return max(
        float(np.maximum(p - math.exp(epsilon) * q, 0).sum()), float(np.maximum(q - math.exp(epsilon) * p, 0).sum())
    )


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_privacy_on_a_small_domain(relation):
    query = StableMedian(bounds=BOUNDS, unit=Unit(relation))
    mechanism = ProposeTestRelease.for_budget(epsilon=1.0, delta=0.05, query=query, proposal=1)
    worst = max(
        exact_curve(mechanism, data, other, 1.0)
        for data in itertools.combinations_with_replacement(GRID, 4)
        for other in neighbours(data, relation)
    )
    assert 0.01 < worst <= 0.05 + 1e-9


def test_without_the_test_it_is_not_private():
    # the broken twin releases whatever the distance says
    mechanism = make(epsilon=1.0, delta=0.05)
    always = ProposeTestRelease(query=mechanism.query, test=mechanism.test, noise=mechanism.noise, delta=0.499999)
    assert exact_curve(always, (0, 10, 10), (0, 10), 1.0) > 0.05
    assert exact_curve(mechanism, (0, 10, 10), (0, 10), 1.0) <= 0.05 + 1e-9


@pytest.mark.parametrize(
    "wrong",
    [{"delta": 0.0}, {"delta": 1.0}, {"delta": 0.6}, {"epsilon": 0.0}, {"proposal": 0}, {"test_share": 1.0}],
    ids=repr,
)
def test_bad_parameters_are_refused(wrong):
    with pytest.raises((InvalidParameter, NoGuarantee)):
        make(**wrong)


def test_queries_are_checked():
    with pytest.raises(InvalidParameter, match="known for"):
        StableMedian(bounds=(0, 1), unit=Unit(group_size=2))
    with pytest.raises(InvalidParameter, match="nothing to test"):
        make(proposal=10).release([1.0])
    with pytest.raises(InvalidParameter, match="unit"):
        ProposeTestRelease(
            query=StableMedian(bounds=(0, 1), unit=Unit("replace")),
            test=Laplace.for_budget(epsilon=1.0, sensitivity=1),
            noise=Laplace.for_budget(epsilon=1.0, sensitivity=1),
            delta=1e-6,
        )


def test_an_own_query():
    class Constant(StableQuery):
        unit = Unit()

        def exact_value(self, data):
            return Fraction(3)

        def exact_distance(self, data, proposal):
            return 10**50

    mechanism = ProposeTestRelease.for_budget(epsilon=1.0, delta=1e-6, query=Constant(), proposal=1)
    assert abs(mechanism.release(object()).value - 3) < 100

    class Half(Constant):
        def exact_distance(self, data, proposal):
            return 0.5

    with pytest.raises(InvalidData, match="integer"):
        ProposeTestRelease.for_budget(epsilon=1.0, delta=1e-6, query=Half(), proposal=1).release([])


# --- several records a person ---------------------------------------------------------------------------------


def persons_apart(rows):
    """Every data set on {0, ..., 4} with up to four records, and those that one person with `rows` records makes of it."""
    sets = [tuple(sorted(c)) for n in range(5) for c in itertools.combinations_with_replacement(range(5), n)]
    extra = [tuple(c) for n in range(1, rows + 1) for c in itertools.combinations_with_replacement(range(5), n)]
    return [(one, tuple(sorted(one + more))) for one in sets for more in extra]


def test_a_person_with_several_records_moves_the_distance_by_at_most_one():
    query = StableMedian(bounds=(0, 4), max_rows=2)
    for proposal in (Fraction(1), Fraction(2)):
        for left, right in persons_apart(2):
            near, far = (query.exact_distance(list(data), proposal) for data in (left, right))
            assert abs(near - far) <= 1
            if max(near, far) >= 1:
                assert abs(query.exact_value(list(left)) - query.exact_value(list(right))) <= proposal


def test_the_distance_of_single_records_would_not_do():
    """The twin that forgets `max_rows`: one person moves its distance by more than 1."""
    query = StableMedian(bounds=(0, 4))
    assert any(
        abs(query.exact_distance(list(left), Fraction(1)) - query.exact_distance(list(right), Fraction(1))) > 1
        for left, right in persons_apart(2)
    )


def test_several_records_need_add_remove():
    with pytest.raises(InvalidParameter, match="several records"):
        StableMedian(bounds=(0, 4), unit=Unit("replace"), max_rows=2)


def test_half_a_step_of_the_grid_is_asked_for_besides(monkeypatch):
    """What is seen on the grid stands for a distance of up to half a step less, which has not passed the threshold."""
    made = next(
        each for each in (make(delta=0.01 + i / 1000) for i in range(20)) if 0 < _above(each) < each.test.step / 2
    )
    first = Fraction(round_up(made.threshold, 8.0)) + Fraction(_above(made))
    step = Fraction(made.test.step)
    for seen, shown in ((first - step, False), (first, False), (first + step, True)):
        monkeypatch.setattr(
            Laplace,
            "_protect",
            lambda self, value, runs, source, near=seen: [near if self is made.test else value] * runs,
        )
        assert [not math.isnan(each) for each in made.simulate([5.0] * 3, 4)] == [shown] * 4


def _above(mechanism):
    """How far the first point of the grid at the threshold or above it is above it."""
    limit, step = Fraction(round_up(mechanism.threshold, 8.0)), Fraction(mechanism.test.step)
    return math.ceil(limit / step) * step - limit
