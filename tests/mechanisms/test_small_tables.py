"""Brute force over small tables: totals of records, smooth sensitivity and its noise, distances of propose-test-release."""

import math
from collections import Counter
from fractions import Fraction
from importlib import import_module
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from privet import mechanisms as m
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import smooth_sensitivity
from privet.mechanisms.families.record_totals import FINE
from privet.privacy import Unit

geometric, rounded_cauchy = (import_module(f"privet.noise.{name}") for name in ("geometric", "rounded_cauchy"))
DOMAIN = range(5)


def tables(longest, domain=DOMAIN):
    return [x for size in range(longest + 1) for x in combinations_with_replacement(domain, size)]


def moved(table, records, relation):
    """The data sets that one unit with at most `records` records makes of a table it is not part of."""
    own = tables(records, domain=DOMAIN_ENDS)
    return [table + extra for extra in own if relation == "add_remove" or len(extra) == records]


RELATIONS = ("add_remove", "replace")
DOMAIN_ENDS = (-7.0, 0.0, 1.25, 5.0, math.nan)


CASES = [(kind, *size) for kind in ("sum", "mean", "variance") for size in product((1, 2), (1, 2), RELATIONS)]


@pytest.mark.parametrize(
    ("kind", "rows", "group", "relation"),
    [case for case in CASES if case[0] == "sum" or case[1] == 1 or case[3] == "add_remove"],
)
def test_totals_of_neighbouring_tables_stay_within_the_sensitivity(kind, rows, group, relation):
    """Two units' worth of records at the ends, inside and missing, on top of a small table; both norms, exactly."""
    unit, records = Unit(relation, group), rows * group
    others = moved((1.25,), records, relation)
    sizes = {"n": 1 + records} if relation == "replace" and kind != "sum" else {}
    make = {"sum": m.BoundedSum, "mean": m.BoundedMean, "variance": m.BoundedVariance}[kind].for_budget
    used = 0.0
    for budget in ({"epsilon": 1.0}, {"mu": 1.0}):
        mechanism = make(**budget, bounds=(-7, 5), unit=unit, max_rows=rows, missing=0.0, **sizes)
        declared, step = mechanism.noise.sensitivity, mechanism._grid.step
        totals = [[total * step for total in mechanism._prepare(list(x))] for x in others]
        base = totals if relation == "replace" else [[total * step for total in mechanism._prepare([1.25])]]
        for one, other in product(totals, base):
            gaps = [abs(a - b) for a, b in zip(one, other, strict=True)]
            length = sum(gaps) if declared.norm == "l1" else sum(gap * gap for gap in gaps)
            limit = declared.value if declared.norm == "l1" else declared.value**2
            assert length <= limit
            used = max(used, float(length / limit))
    assert used > 0.99  # attained, but for the slack of rounding


@pytest.mark.parametrize("make", [m.BoundedMean.for_budget, m.BoundedVariance.for_budget])
def test_the_number_of_records_is_not_public_when_a_person_has_several(make):
    """Replacing a person with two records by one with a single record changes it: an error would tell."""
    with pytest.raises(InvalidParameter, match="not public"):
        make(epsilon=1.0, bounds=(0, 1), unit=Unit("replace"), n=10, max_rows=2)


def test_a_wrong_number_of_records_is_not_told():
    mean = m.BoundedMean.for_budget(epsilon=1.0, bounds=(0, 1), unit=Unit("replace"), n=10)
    texts = set()
    for length in (7, 9, 123):
        with pytest.raises(InvalidData) as refused:
            mean.release([0.5] * length)
        texts.add(str(refused.value))
    assert len(texts) == 1


def lower_median(table):
    return 0 if not table else sorted(table)[(len(table) + 1) // 2 - 1]


def replacements(one, other):
    return len(one) - sum((Counter(one) & Counter(other)).values())


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"epsilon": 0.3}, {"epsilon": 1.0, "delta": 1e-3}])
def test_smooth_sensitivity_is_the_maximum_over_all_tables(rows, budget):
    mechanism = m.SmoothMedian.for_budget(**budget, bounds=(0, 4))
    sets = list(combinations_with_replacement(DOMAIN, rows))
    local = {x: max(abs(lower_median(x) - lower_median(y)) for y in sets if replacements(x, y) <= 1) for x in sets}
    for x in sets:
        expected = max(local[y] * math.exp(-mechanism.beta * replacements(x, y)) for y in sets)
        median, smooth = mechanism._prepare(list(x))
        assert median * 4 == lower_median(x) * 2**FINE
        assert smooth * 4 / 2**FINE == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
def test_cauchy_noise_on_all_neighbours_costs_no_more_than_epsilon(epsilon):
    """The densities themselves, on a fine net of outputs: no formula for the price."""
    mechanism = m.SmoothMedian.for_budget(epsilon=epsilon, bounds=(0, 4))
    net = np.tan(np.linspace(-np.pi / 2, np.pi / 2, 20_001)[1:-1])
    worst = 0.0
    for rows in (1, 2, 3, 5):
        sets = list(combinations_with_replacement(DOMAIN, rows))
        laws = {x: mechanism._prepare(list(x)) for x in sets}
        for x, y in product(sets, sets):
            if x < y and replacements(x, y) == 1:
                (a, s), (b, t) = laws[x], laws[y]
                s, t = s / mechanism.share, t / mechanism.share
                z = np.concatenate([a + s * net, b + t * net])
                ratio = np.log(s / t * ((z - b) ** 2 + t * t) / ((z - a) ** 2 + s * s))
                worst = max(worst, float(np.abs(ratio).max()))
    assert 0.6 * epsilon < worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize(("share", "beta"), [(0.1, 0.01), (0.5, 0.5), (0.02, 1.0), (3.0, 0.2), (2.0, 2.0), (8.0, 3.0)])
def test_price_of_a_shift_and_a_dilation_of_cauchy_noise(share, beta):
    """All shifts up to the share and dilations up to exp(beta): the supremum is attained, never passed."""
    claim = smooth_sensitivity._cauchy_epsilon(share, beta)
    assert math.cosh(claim) == pytest.approx(
        max(1 + share**2 / 2, math.cosh(beta) + share**2 * math.exp(-beta) / 2), rel=1e-12
    )
    net = np.tan(np.linspace(-np.pi / 2, np.pi / 2, 8_001)[1:-1])
    worst = 0.0
    for s, wide in product(np.linspace(-share, share, 9), np.exp(np.linspace(0.0, beta, 9))):
        z = np.concatenate([net, s + wide * net])
        worst = max(worst, float(np.abs(np.log((wide**2 + (z - s) ** 2) / (wide * (1 + z * z)))).max()))
    assert claim * (1 - 1e-5) < worst <= claim * (1 + 1e-12)


def laplace_divergence(epsilon, shift, wide):
    """Both directions, from the distribution functions on a net that holds both centres."""
    net = np.union1d(np.linspace(-50 * wide - shift, 50 * wide + shift, 100_001), [0.0, shift])
    masses = []
    for centre, scale in ((0.0, 1.0), (shift, wide)):
        half = np.exp(-np.abs(net - centre) / scale) / 2.0
        masses.append(np.diff(np.where(net < centre, half, 1.0 - half)))
    factor = math.exp(epsilon)
    return max(np.maximum(p - factor * q, 0.0).sum() for p, q in (masses, masses[::-1]))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.1, 1e-2), (3.0, 1e-6), (8.0, 1e-3)])
def test_laplace_noise_of_two_widths_stays_below_delta(epsilon, delta):
    mechanism = m.SmoothMedian.for_budget(epsilon=epsilon, delta=delta, bounds=(0, 1))
    worst = max(
        laplace_divergence(epsilon, s * mechanism.share, math.exp(t * mechanism.beta))
        for s, t in product((0.0, 0.5, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0))
    )
    assert 0.9 * delta < worst <= delta
    assert laplace_divergence(epsilon, 1.2 * mechanism.share, math.exp(1.2 * mechanism.beta)) > delta


@pytest.mark.parametrize(
    "budget", [{"epsilon": 1e-4}, {"epsilon": 1.0}, {"epsilon": 30.0}, {"epsilon": 1.0, "delta": 1e-6}]
)
def test_no_scale_is_so_large_that_a_draw_takes_another_path(budget):
    """Beyond 2^32 steps single draws are split or left to integers, and time would tell the smooth sensitivity."""
    mechanism = m.SmoothMedian.for_budget(**budget, bounds=(0, 1))
    steps = 2.0 ** (FINE - mechanism._coarser) / mechanism.share
    assert steps <= min(2**31, geometric.ONE_FILTER_SCALE / 2)
    assert rounded_cauchy.MARGIN * steps < 1e-3


def neighbours(table, relation, longest):
    if relation == "replace":
        return {tuple(sorted((*table[:i], new, *table[i + 1 :]))) for i in range(len(table)) for new in DOMAIN}
    fewer = {table[:i] + table[i + 1 :] for i in range(len(table))}
    return fewer | ({tuple(sorted((*table, new))) for new in DOMAIN} if len(table) < longest else set())


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("proposal", [Fraction(1, 2), 1, 3])
def test_distance_of_the_median_by_breadth_first_search(relation, proposal):
    longest = 7 if relation == "add_remove" else 4
    graph = {x: neighbours(x, relation, longest) for x in tables(longest)}
    inner = [x for x in graph if relation == "replace" or len(x) < longest]
    front = [x for x in inner if any(abs(lower_median(x) - lower_median(y)) > proposal for y in graph[x])]
    distance, steps = dict.fromkeys(front, 0), 0
    while front:
        steps += 1
        front = [y for x in front for y in graph[x] if distance.setdefault(y, steps) == steps]
        front = list(dict.fromkeys(front))
    query = m.StableMedian(bounds=(0, 4), unit=Unit(relation))
    small = [x for x in distance if len(x) <= (3 if relation == "add_remove" else 4)]
    assert len(small) > 50
    assert all(query.exact_distance(list(x), Fraction(proposal)) == distance[x] for x in small)


@pytest.mark.parametrize("delta", [1e-3, 0.2])
def test_unstable_data_passes_the_test_with_probability_delta_at_most(delta):
    """Pr[the noisy distance reaches the limit] for distance 0, from the law of the rounded noise."""
    query = m.StableMedian(bounds=(0, 4))
    mechanism = m.ProposeTestRelease.for_budget(epsilon=1.0, delta=delta, query=query, proposal=1.0)
    step, scale = Fraction(mechanism.test.step), mechanism.test.scale
    limit = Fraction(mechanism.threshold) + step / 2
    least = math.ceil(limit / step) * step - step / 2  # the continuous noise is at least this
    passes = 0.5 * math.exp(-float(least) / scale)
    assert 0.999 * delta < passes <= delta * (1 + 1e-12)
    unstable = [0, 0, 4, 4]
    assert mechanism._prepare(unstable)[0] == 0
    runs = 2_000
    seen = sum(not math.isnan(value) for value in mechanism.simulate(unstable, runs))
    assert seen <= runs * delta + 6.0 * math.sqrt(runs * delta) + 6.0
