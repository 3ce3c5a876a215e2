"""Quantiles: the law point by point, duplicates, neighbours by brute force, empty and outlying data, twins."""

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest

from privet import privacy
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import Quantile, quantile
from privet.privacy import Unit
from tests.firsts import ends
from tests.mechanisms.goodness import fits

BOUNDS = {"bounds": (0.0, 6.0), "step": 1.0}


def score(records, point, q):
    """The definition, in fractions."""
    below, upto = sum(x < point for x in records), sum(x <= point for x in records)
    target = q * len(records)
    return -max(Fraction(0), below - target, target - upto)


def rational_law(records, q, base, points=7):
    """Probabilities proportional to base^(2 score): base stands for exp(1/(2 scale)), scores are half-integers."""
    weights = [base ** int(2 * score(records, point, q)) for point in range(points)]
    return [weight / sum(weights) for weight in weights]


def small_data(most):
    grid = range(0, 7, 2)
    return [records for n in range(most + 1) for records in itertools.combinations_with_replacement(grid, n)]


def test_gaps_of_the_handed_down_example():
    """Data 1..5 in [0, 10], q = 1/2, epsilon 1, D = 1: on a fine grid the six gaps have their continuous weights."""
    fine = Quantile.for_budget(epsilon=1.0, q=0.5, bounds=(0.0, 10.0), step=2.0**-12, unit=Unit("replace"))
    law = fine.exact_probabilities([1, 2, 3, 4, 5])
    grid = np.arange(fine.points) * 2.0**-12
    gaps = [law[(grid >= a) & (grid < b)].sum() for a, b in itertools.pairwise([0, 1, 2, 3, 4, 5, 11])]
    golden = [0.0678702, 0.11189905, 0.18449034, 0.18449034, 0.11189905, 0.33935102]
    assert gaps == pytest.approx(golden, abs=1.5e-4)  # the points that hold data are one in 4,096


@pytest.mark.parametrize("records", [[1, 2, 2, 5], [], [3], [0, 0, 6, 6, 6], [2] * 9])
def test_law_is_the_definition(records):
    mechanism = Quantile(q=Fraction(1, 2), scale=1 / (2 * math.log(1.5)), **BOUNDS)
    exact = [float(p) for p in rational_law(records, Fraction(1, 2), Fraction(3, 2))]
    assert mechanism.exact_probabilities(records) == pytest.approx(exact)
    assert fits(mechanism.simulate(records, 20_000), exact)


@pytest.mark.parametrize("q", ends([Fraction(1, 2), Fraction(9, 10), Fraction(1, 100)]))
@pytest.mark.parametrize("near", [0.1, 0.7, 64])
def test_sampler_fits_the_law_near_and_far(q, near, monkeypatch):
    """With a narrow window most points are drawn through the common piece and kept or dropped by an exact coin."""
    monkeypatch.setattr(quantile, "_NEAR", near)
    mechanism = Quantile(q=q, bounds=(0.0, 12.0), step=1.0, scale=2.0)
    records = [1, 2, 2, 2, 5, 7, 7, 11, 12, 12]
    law = mechanism.exact_probabilities(records)
    assert fits(mechanism.simulate(records, 4_000), law)
    monkeypatch.setattr(quantile, "_FEW", 1)
    assert fits(mechanism.simulate(records, 4_000), law)


def test_window_that_ignores_what_lies_outside_is_caught(monkeypatch):
    monkeypatch.setattr(quantile, "_NEAR", 0.1)
    monkeypatch.setattr(Quantile, "_far", lambda self, place, pieces, ranked, source: int(pieces.low))
    mechanism = Quantile(q=Fraction(1, 2), bounds=(0.0, 12.0), step=1.0, scale=2.0)
    records = [1, 2, 2, 2, 5, 7, 7, 11, 12, 12]
    assert not fits(mechanism.simulate(records, 4_000), mechanism.exact_probabilities(records))


@pytest.mark.parametrize("factor", [2 / 3, 3 / 2])
def test_sampler_of_another_scale_is_noticed(factor):
    records = [1, 2, 2, 2, 5]
    law = Quantile(q=0.5, scale=1.0, **BOUNDS).exact_probabilities(records)
    assert not fits(Quantile(q=0.5, scale=factor, **BOUNDS).simulate(records, 100_000), law)


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
def test_sensitivity_by_brute_force(q):
    add, swap = Fraction(0), Fraction(0)
    for records in small_data(3):
        mine = [score(records, o, q) for o in range(7)]
        for extra in range(0, 7, 2):
            other = [score((*records, extra), o, q) for o in range(7)]
            add = max([add, *(abs(a - b) for a, b in zip(mine, other, strict=True))])
            for i in range(len(records)):
                other = [score((*records[:i], *records[i + 1 :], extra), o, q) for o in range(7)]
                swap = max([swap, *(abs(a - b) for a, b in zip(mine, other, strict=True))])
    parts = {"q": q, "scale": 1.0, **BOUNDS}
    assert add == Quantile(**parts).sensitivity == max(q, 1 - q)
    assert swap == Quantile(**parts, unit=Unit("replace")).sensitivity == 1
    assert Quantile(**parts, unit=Unit(group_size=3)).sensitivity == 3 * max(q, 1 - q)


def test_worst_ratio_over_all_small_neighbours_stays_within_the_price():
    base = Fraction(3, 2)  # exp(1/(2 scale)); D = 1/2, so epsilon = 2 D/scale is base^2
    ratios = []
    for records in small_data(4):
        left = rational_law(records, Fraction(1, 2), base)
        for extra in range(0, 7, 2):
            right = rational_law((*records, extra), Fraction(1, 2), base)
            ratios += [max(a / b, b / a) for a, b in zip(left, right, strict=True)]
    assert base < max(ratios) <= base**2


def closed_gap_law(records, epsilon, points):
    """The twin: gaps from data point to data point, both ends included, so that shared ends count twice."""
    ends = [0, *sorted(records), points - 1]
    n, law = len(records), np.zeros(points)
    for i, (a, b) in enumerate(itertools.pairwise(ends)):
        law[a : b + 1] += math.exp(-epsilon * abs(i - n / 2) / (2 * 0.5))
    return law / law.sum()


def test_twin_with_closed_gaps_is_caught():
    epsilon, points = 0.1, 1_001
    records: list[int] = []
    left, right = closed_gap_law(records, epsilon, points), closed_gap_law([*records, 500], epsilon, points)
    assert np.abs(np.log(left / right)).max() > 0.63 > epsilon
    ours = Quantile.for_budget(epsilon=epsilon, q=0.5, bounds=(0.0, 1000.0), step=1.0)
    mine, other = ours.exact_probabilities(records), ours.exact_probabilities([*records, 500])
    assert np.abs(np.log(mine / other)).max() <= epsilon


def test_duplicates_are_harmless():
    """A value that holds 90% of 1,000 rows is the median; the twin with a one-sided rank hardly ever finds it."""
    records = np.concatenate([np.full(900, 500), np.linspace(0, 1000, 100).round()])
    ours = Quantile.for_budget(epsilon=0.1, q=0.5, bounds=(0.0, 1000.0), step=1.0)
    assert ours.exact_probabilities(records)[500] == pytest.approx(1.0, abs=5e-4)
    ranks = np.searchsorted(np.sort(records), np.arange(1001))
    twin = np.exp(-(np.abs(ranks - 500) - np.abs(ranks - 500).min()) / ours.scale)
    assert twin[500] / twin.sum() == pytest.approx(0.005, abs=0.006)
    assert ours.release(records).value == 500.0


def test_empty_data_gives_a_uniform_answer():
    mechanism = Quantile.for_budget(epsilon=1.0, q=0.5, **BOUNDS)
    assert fits(mechanism.simulate([], 14_000), np.full(7, 1 / 7))


def test_outlying_missing_and_infinite_records_count_as_public_constants():
    mechanism = Quantile.for_budget(epsilon=50.0, q=0.5, **BOUNDS)
    assert mechanism.release(np.full(100, 1e9)).value == 6.0
    assert mechanism.release(np.full(100, -np.inf)).value == 0.0
    half = np.concatenate([np.full(60, np.nan), np.full(41, 5.0)])
    assert mechanism.release(half).value == 5.0  # left out
    assert "left out" in mechanism.release(half).provenance[1]
    exchanged = Quantile.for_budget(epsilon=50.0, q=0.5, unit=Unit("replace"), **BOUNDS)
    assert exchanged.release(np.full(100, np.nan)).value == 0.0
    assert "counted as 0" in exchanged.release(half).provenance[1]
    other = Quantile.for_budget(epsilon=50.0, q=0.5, missing=4.0, **BOUNDS)
    assert other.release(np.full(100, np.nan)).value == 4.0
    assert other.release(np.full(100, True)).value == 1.0
    assert other.release([None, "a", 1j, math.nan] * 25).value == 4.0


def test_number_of_records_appears_nowhere():
    mechanism = Quantile.for_budget(epsilon=1.0, q=0.5, **BOUNDS)
    few, many = mechanism.release([1.0, 2.0]), mechanism.release(np.arange(1492.0))
    assert (few.loss, few.error, few.mechanism) == (many.loss, many.error, many.mechanism)
    for bad in (np.zeros((2, 2)), "a", {"a": 1.0}, 3.0, np.array(["a"])):
        with pytest.raises(InvalidData) as caught:
            mechanism.release(bad)
        assert not any(character.isdigit() for character in str(caught.value))


@pytest.mark.parametrize("q", [0.5, 0.9, 0.1])
def test_error_bar_is_about_ranks_and_holds(q):
    mechanism = Quantile.for_budget(epsilon=1.0, q=q, bounds=(0.0, 1000.0), step=1.0)
    records = np.random.default_rng(1).integers(0, 1000, 2_000).astype(float)
    bar = mechanism.error(0.9)
    assert bar.radius == pytest.approx(mechanism.scale * math.log(1001 / 0.1))
    gaps = [-score(records, o, Fraction(q).limit_denominator(10)) for o in range(0, 1001, 7)]
    law = mechanism.exact_probabilities(records)[::7]
    assert law[np.array(gaps, dtype=float) > bar.radius].sum() <= 0.1
    with pytest.raises(InvalidParameter, match="rank"):
        bar.interval(3.0)


def test_price_is_that_of_what_runs():
    median = Quantile.for_budget(epsilon=1.0, q=0.5, **BOUNDS)
    assert median.scale == 1.0  # half the noise that a sensitivity of 1 would need
    assert median.loss == privacy.ExponentialLoss(1.0)
    assert Quantile.for_budget(epsilon=1.0, q=0.5, unit=Unit("replace"), **BOUNDS).scale == 2.0
    upper = Quantile.for_budget(epsilon=1.0, q=0.9, **BOUNDS)
    assert upper.q == Fraction(9, 10)
    assert 2 * Fraction(9, 10) / Fraction(upper.scale) <= Fraction(upper.loss.pure()) <= 1


def test_default_grid_has_both_bounds():
    mechanism = Quantile.for_budget(epsilon=1.0, q=0.5, bounds=(-3.0, 7.0))
    assert mechanism.points == 2**16 + 1
    assert Quantile.for_budget(epsilon=1000.0, q=0.5, bounds=(-3.0, 7.0)).release(np.full(50, 9.0)).value == 7.0


@pytest.mark.parametrize(
    "change",
    [
        {"bounds": (1.0, 1.0)},
        {"bounds": (2.0, 1.0)},
        {"bounds": (0.0, math.inf)},
        {"bounds": 3},
        {"q": 0.0},
        {"q": 1.0},
        {"q": math.nan},
        {"q": 1e-9},
        {"step": 0.0},
        {"step": 100.0},
        {"step": 1e-40},
        {"missing": 9.0},
    ],
)
def test_bad_parameters(change):
    with pytest.raises(InvalidParameter):
        Quantile.for_budget(**{"epsilon": 1.0, "q": 0.5, **BOUNDS, **change})


def test_a_million_records_and_the_clock():
    records = np.random.default_rng(0).normal(size=10**6)
    mechanism = Quantile.for_budget(epsilon=0.1, q=0.5, bounds=(-5.0, 5.0), step=2.0**-40)
    ranked = mechanism._prepare(records)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        value = mechanism._draw(ranked, 1, None)[0]
        seconds.append(time.process_time() - start)
    assert abs(value - np.median(records)) < 0.01
    assert min(seconds) < 0.05  # beyond the sort


def score_of(data, point, q):
    """Minus the score: by how many records the rank of a point misses q n."""
    below, within = sum(x < point for x in data), sum(x <= point for x in data)
    return max(0, below - q * len(data), q * len(data) - within)


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_persons_with_several_records(q, relation):
    """Every person of up to three records that is added, removed or replaced moves no score by more than stated."""
    made = Quantile.for_budget(epsilon=1.0, q=q, bounds=(0, 2), step=1, unit=Unit(relation), max_rows=3)
    rows = [c for n in range(4) for c in itertools.product(range(3), repeat=n)]
    rest = [1, 1]
    others = rows if relation == "replace" else [()]
    moved = max(
        abs(score_of([*rest, *one], point, q) - score_of([*rest, *other], point, q))
        for one in rows
        for other in others
        for point in range(3)
    )
    assert moved <= made.sensitivity
    assert made.sensitivity == 3 * (max(q, 1 - q) if relation == "add_remove" else 1)


def test_three_records_a_person_need_three_times_the_scale():
    one, three = (Quantile.for_budget(epsilon=1.0, q=0.5, bounds=(0, 9), step=1, max_rows=m) for m in (1, 3))
    assert three.scale == pytest.approx(3 * one.scale)
    assert three.loss.pure() <= 1.0
    assert "max_rows" not in one.to_dict()
    assert three.to_dict()["max_rows"] == 3
