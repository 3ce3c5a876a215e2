"""Statistics of records: exact sums whatever the records are, the table of sensitivities, bars that hold."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from privet import noise
from privet.audit import find_counterexample
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import (
    BoundedMean,
    BoundedSum,
    BoundedVariance,
    Count,
    Gaussian,
    Laplace,
    Release,
    Sensitivity,
    laplace,
)
from privet.mechanisms.families.record_totals import noisy_totals
from privet.mechanisms.families.record_values import as_records
from privet.noise import Grid
from privet.noise.grid import half_up
from privet.privacy import Unit

REPLACE = Unit("replace")
RECORDS = (BoundedSum, BoundedMean, BoundedVariance)
N = 3


def make(kind, relation="add_remove", **more):
    public = {"n": N} if relation == "replace" and kind is not BoundedSum else {}
    return kind.for_budget(**{"epsilon": 1.0, "bounds": (-2.0, 5.0), "unit": Unit(relation), **public, **more})


def exact_vector(mechanism, data):
    """The protected vector itself, in the units of its noise: what the sensitivity speaks about."""
    return [mechanism._grid.times(total) for total in mechanism._prepare(data)]


def of_norm(mechanism, norm):
    """The same mechanism with noise for that norm: a variance measures other totals for each."""
    bound = Sensitivity(mechanism._moves(norm, mechanism.unit), norm=norm, unit=mechanism.unit)
    return replace(mechanism, noise=(Laplace if norm == "l1" else Gaussian).for_budget(rho=0.5, sensitivity=bound))


# --- sensitivities ---------------------------------------------------------------------------------------------------

AWKWARD = [-2.0, 5.0, 0.1, 4.9999999, math.nan, None, math.inf, -math.inf, 1e300, -1e300, "x", 10**400, True, -0.0]


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("kind", RECORDS)
def test_no_pair_of_neighbours_breaks_the_sensitivity(kind, relation, norm):
    public = {"n": 1} if relation == "replace" and kind is not BoundedSum else {}
    single = of_norm(make(kind, relation, **public), norm)
    moves = single._moves(norm, Unit(relation))
    declared = Sensitivity(moves, norm=norm, unit=Unit(relation))
    assert find_counterexample(lambda data: exact_vector(single, data), declared, domain=AWKWARD, max_rows=1) is None


@pytest.mark.parametrize(
    ("relation", "l1", "l2"), [("add_remove", Fraction(1), Fraction(3, 2)), ("replace", Fraction(9, 4), Fraction(2))]
)
def test_the_table_for_the_variance_is_attained(relation, l1, l2):
    made = make(BoundedVariance, relation, bounds=(-1.0, 1.0), **({"n": 1} if relation == "replace" else {}))
    domain = np.linspace(-1, 1, 41)
    for norm, value in (("l1", l1), ("l2", l2)):
        mechanism = of_norm(made, norm)
        declared = mechanism._moves(norm, Unit(relation))
        assert value <= declared <= value + Fraction(1, 2**38)
        less = Sensitivity(value * Fraction(999_999, 10**6), norm=norm, unit=Unit(relation))
        found = find_counterexample(
            lambda data, made=mechanism: exact_vector(made, data), less, domain=domain, max_rows=1
        )
        assert found is not None
        assert abs(found.distance - value) < 1e-9


@pytest.mark.parametrize(("relation", "expected"), [("add_remove", 5), ("replace", 7)])
def test_the_table_for_the_sum(relation, expected):
    for mechanism in (make(BoundedSum, relation), make(BoundedSum, relation, delta=1e-6)):
        assert mechanism.noise.sensitivity.value == expected
        assert mechanism.loss.unit.relation == relation


def test_rows_and_groups_multiply():
    many = BoundedSum.for_budget(epsilon=1.0, bounds=(0, 2), max_rows=3, unit=Unit(group_size=4))
    assert many.noise.sensitivity.value == 24
    assert Count.for_budget(epsilon=1.0, max_rows=5).noise.sensitivity.value == 5


def test_noise_for_a_smaller_sensitivity_is_refused():
    weak = Laplace.for_budget(epsilon=1.0, sensitivity=1)
    with pytest.raises(InvalidParameter, match="smaller sensitivity"):
        BoundedSum(bounds=(0, 2), noise=weak)
    with pytest.raises(InvalidParameter, match="smaller sensitivity"):
        BoundedMean(bounds=(0, 2), noise=weak, max_rows=2)
    with pytest.raises(InvalidParameter, match="smaller sensitivity"):
        Count(noise=Gaussian.for_budget(mu=1.0, sensitivity=1), max_rows=2)


# --- sums are exact --------------------------------------------------------------------------------------------------


def exact_sum(data, bounds, **more):
    return exact_vector(BoundedSum.for_budget(epsilon=1.0, bounds=bounds, **more), data)[0]


def test_order_does_not_matter():
    data = [0.1] * 10 + [1e6, -1e6 + 0.3, 1e-9]
    sums = {exact_sum(order, (-1e6, 1e6)) for order in itertools.islice(itertools.permutations(data), 0, 5000, 97)}
    assert len(sums) == 1
    assert (
        len({sum(order) for order in itertools.islice(itertools.permutations(data), 0, 5000, 97)} | {sum(data[::-1])})
        > 1
    )


def test_a_float_sum_breaks_its_sensitivity_and_ours_does_not():
    domain = [2.0**53, 1.0, -(2.0**53)]
    declared = Sensitivity(2**53, norm="l1")
    bounds = (-(2.0**53), 2.0**53)
    assert find_counterexample(lambda data: float(np.sum(data)), Sensitivity(1, norm="l1"), domain=domain) is not None
    # removing a record of size 1 moves the float sum by 0 or 2
    one = find_counterexample(
        lambda data: float(sum([*data, 2.0**53])) - 2.0**53, Sensitivity(1, norm="l1"), domain=[1.0], max_rows=4
    )
    assert one is not None
    assert one.distance == 2.0
    ours = Sensitivity(exact_sum([2.0**53], bounds), norm="l1")
    assert ours.value == declared.value
    assert find_counterexample(lambda data: exact_sum(data, bounds), ours, domain=domain) is None


@pytest.mark.parametrize(
    "data",
    [
        np.full(1000, 255, dtype=np.uint8),
        np.full(1000, 255, dtype=np.float32),
        np.full(1000, 255, dtype=np.float16),
        np.full(1000, 255, dtype=np.int16),
        np.full(1000, 255, dtype=np.uint64),
        [255] * 1000,
        [Decimal(255)] * 1000,
        [Fraction(255)] * 1000,
        (255 for _ in range(1000)),
        np.ma.masked_array([255] * 1000),
        np.full(1000, 300.0),
        np.full(1000, np.inf),
    ],
    ids=lambda data: str(getattr(data, "dtype", type(data).__name__)),
)
def test_every_kind_of_number_is_summed_without_wrapping(data):
    assert exact_sum(data, (0, 255)) == 255_000


def test_large_integers_do_not_overflow():
    assert exact_sum(np.full(10_000, 2**62), (0, 2.0**62)) == 10_000 * 2**62
    assert exact_sum(np.full(3_000_000, 1.0), (0.0, 1.0)) == 3_000_000


def test_an_offset_of_two_to_the_fifty():
    low = 2.0**50
    assert exact_sum([low + 1, low + 0.25, low], (low, low + 1)) == 3 * 2**50 + Fraction(5, 4)
    assert exact_vector(make(BoundedMean, bounds=(low, low + 1)), [low + 1, low + 0.25])[0] == Fraction(5, 4)


def test_booleans_are_numbers():
    assert exact_sum(np.array([True, False, True]), (0, 1)) == exact_sum([True, False, True], (0, 1)) == 2


@pytest.mark.parametrize("missing", [None, math.nan, "?", [1], Decimal("sNaN"), 1j, np.datetime64("2020")], ids=repr)
def test_a_missing_record_is_the_declared_constant(missing):
    assert exact_sum([missing, 1.0], (1, 4)) == 1  # left out, where that is free
    assert exact_sum([missing, 1.0], (1, 4), missing="drop") == 1
    assert exact_sum([missing, 1.0], (0, 4), unit=REPLACE) == 3  # the middle
    assert exact_sum([missing, 1.0], (0, 4), missing=0.5) == Fraction(3, 2)


def test_the_release_says_what_became_of_missing_records():
    for more, said in (({}, "left out"), ({"missing": 1.5}, "counted as 1.5"), ({"unit": REPLACE}, "counted as 2")):
        note = BoundedSum.for_budget(epsilon=1.0, bounds=(0, 4), **more).release([None, 1.0]).provenance[1]
        assert said in note
        assert "the bar covers noise alone" in note
    with pytest.raises(InvalidParameter, match="drop"):
        BoundedSum.for_budget(epsilon=1.0, bounds=(0, 4), missing="drop", unit=REPLACE)
    mean = BoundedMean.for_budget(epsilon=100.0, bounds=(0, 110)).release([23, None, 61.5, 40] * 500).value
    assert abs(mean["mean"] - 41.5) < 0.1
    assert abs(mean["count"] - 1500) < 2


def test_nan_that_passes_the_clamp_would_be_seen():
    def twin(data):  # np.clip keeps NaN
        return float(np.clip(np.array(data, dtype=float), 0, 4).sum())

    found = find_counterexample(twin, Sensitivity(4, norm="l1"), domain=[1.0, math.nan], max_rows=2)
    assert found is not None
    assert math.isinf(found.distance)


def test_a_record_is_read_by_itself():
    # a float beside it must not change how a large integer is read
    big = 2**60 + 1
    alone, together = as_records([big]), as_records([big, 0.5])
    assert alone[0] == together[0] == float(big)
    assert np.array_equal(as_records([big, None])[:1], alone)


def test_half_up():
    halves = np.arange(-5, 6) + 0.5
    assert np.array_equal(half_up(halves), np.arange(-4, 7))
    assert np.array_equal(np.diff(half_up(halves)), np.ones(10))
    # half-even is the broken twin: a shift by one step becomes a shift by two
    assert np.diff(np.rint(halves)).max() == 2
    assert half_up(np.array([0.49999999999999994, 2.0**52 + 1])).tolist() == [0, 2**52 + 1]


@pytest.mark.parametrize(
    "bounds", [(1, 1), (2, 1), (0, math.inf), (math.nan, 1), (0,), "01", None, (0, "1"), (False, 1)], ids=repr
)
@pytest.mark.parametrize("kind", RECORDS)
def test_bad_bounds_are_refused(kind, bounds):
    with pytest.raises(InvalidParameter):
        kind.for_budget(epsilon=1.0, bounds=bounds)


@pytest.mark.parametrize(
    "data", [3.0, "abc", None, np.zeros((2, 2)), {"a": 1}, np.array(["a"]), np.array([1j])], ids=repr
)
@pytest.mark.parametrize("kind", [*RECORDS, Count])
def test_what_is_no_list_of_records_is_refused(kind, data):
    mechanism = kind.for_budget(epsilon=1.0) if kind is Count else make(kind)
    with pytest.raises(InvalidData):
        mechanism.check(data)
    with pytest.raises(InvalidData):
        mechanism.release(data)


def test_parameters_are_checked():
    for wrong in ({"missing": 9.0}, {"max_rows": 0}, {"unit": Unit("zero_out")}, {"n": 5}):
        with pytest.raises(InvalidParameter):
            make(BoundedMean, **wrong)
    with pytest.raises(InvalidParameter, match="n="):
        BoundedMean.for_budget(epsilon=1.0, bounds=(0, 1), unit=REPLACE)
    with pytest.raises(InvalidData, match="n = 3"):
        make(BoundedMean, "replace").release([1.0])


# --- the price -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*RECORDS, Count])
def test_the_price_does_not_depend_on_the_data(kind):
    mechanism = kind.for_budget(epsilon=1.0) if kind is Count else make(kind)
    losses = {mechanism.release(data).loss for data in ([], [1.0], [None] * 5, np.zeros(1000) == 0)}
    assert losses == {mechanism.loss}


@pytest.mark.parametrize("kind", RECORDS)
def test_several_numbers_one_price(kind):
    assert make(kind).loss.pure() == 1.0
    assert make(kind, delta=1e-6).loss.parts()[0][1] == 1


def test_the_pair_for_the_mean_halves_the_variance_of_sum_and_count():
    pair = make(BoundedMean).noise  # l1 = 1 against 2 for (sum of (x - c)/h, count)
    naive = Laplace.for_budget(epsilon=1.0, sensitivity=2)
    assert pair.sensitivity.value == 1
    # mean = c + h a/count: at the middle the naive one has error h Lap(2)/n = width Lap(1)/n; ours width (Z - Z')/(2 n)
    assert (2 * pair.standard_deviation**2 / 4) / (naive.standard_deviation**2 / 4) == 0.5


# --- releases --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [BoundedMean, BoundedVariance])
@pytest.mark.parametrize("data", [[], [1.0], [math.nan] * 3, [1e9] * 2], ids=repr)
def test_small_data_stay_within_the_bounds(kind, data):
    for value in make(kind, epsilon=0.1).simulate(data, 300, source=noise.Seeded(3)):
        assert -2.0 <= value["mean"] <= 5.0
        assert 0.0 <= value.get("variance", 0.0) <= 3.5**2


def test_a_count_of_zero_or_less_gives_the_middle():
    mechanism = make(BoundedMean)
    assert mechanism._finish([Fraction(-1), Fraction(1)])["mean"] == 1.5
    assert mechanism._finish([Fraction(1), Fraction(-3)])["mean"] == 1.5
    assert make(BoundedVariance)._finish([Fraction(1), Fraction(-2), Fraction(1)]) == {
        "variance": 3.5**2 / 2,
        "mean": 1.5,
        "count": 0.0,
    }


def test_enough_records_give_the_truth():
    data = np.concatenate([np.full(200_000, 1.0), np.full(200_000, 3.0), [math.inf]])
    assert abs(make(BoundedSum).release(data).value - 800_005.0) < 200
    mean = make(BoundedMean).release(data).value
    assert abs(mean["mean"] - 2.0) < 1e-2
    assert abs(mean["count"] - 400_001) < 100
    assert abs(make(BoundedVariance).release(data).value["variance"] - 1.0) < 1e-2
    replaced = make(BoundedVariance, "replace", n=len(data)).release(data).value
    assert abs(replaced["variance"] - 1.0) < 1e-2
    assert replaced["count"] == len(data)


def test_values_survive_json_and_have_an_interval():
    release = make(BoundedMean).release(np.ones(1000))
    again = Release.from_json(release.to_json())
    assert again.value == release.value
    low, high = again.interval
    assert low < release.value["mean"] < high


COVERED = [
    (make(BoundedSum), np.array([1.0, 4.0]), lambda value: value - 5.0),
    (make(BoundedMean, bounds=(0, 10)), np.full(60, 9.0), lambda value: value["mean"] - 9.0),
    (make(BoundedMean, bounds=(0, 10)), np.repeat([4.0, 6.0], 20), lambda value: value["mean"] - 5.0),
    (make(BoundedMean, "replace", bounds=(0, 10), delta=1e-5), np.full(3, 2.0), lambda value: value["mean"] - 2.0),
    (make(BoundedVariance, bounds=(0, 10)), np.repeat([3.0, 7.0], 50), lambda value: value["variance"] - 4.0),
    (
        make(BoundedVariance, "replace", bounds=(0, 10), n=100),
        np.repeat([0.0, 10.0], 50),
        lambda value: value["variance"] - 25,
    ),
]


@pytest.mark.parametrize(
    ("mechanism", "data", "miss"), COVERED, ids=[f"{m.name}-{i}" for i, (m, *_) in enumerate(COVERED)]
)
def test_error_bars_cover(mechanism, data, miss):
    runs, source = 4_000, noise.Seeded(17)
    prepared = mechanism._prepare(data)
    values = mechanism.simulate(data, runs, source=source)
    inside = sum(abs(miss(value)) <= mechanism._error_given(value, prepared).radius for value in values)
    assert inside >= 0.95 * runs - 5.3 * math.sqrt(runs * 0.05 * 0.95)  # a false alarm has probability below 1e-6


SPREAD = np.linspace(0.0, 10.0, 1_001)
TIGHT = [
    (make(BoundedMean, bounds=(0, 10)), SPREAD, "mean", 1.05),
    (make(BoundedMean, bounds=(0, 10)), np.clip(SPREAD, 8.0, 9.5), "mean", 1.05),
    (BoundedMean.for_budget(rho=0.1, bounds=(0, 10)), SPREAD, "mean", 1.05),
    (make(BoundedVariance, bounds=(0, 10)), SPREAD, "variance", 1.15),
    (BoundedVariance.for_budget(rho=0.1, bounds=(0, 10)), SPREAD, "variance", 1.15),
    (make(BoundedVariance, "replace", bounds=(0, 10), n=1_001), SPREAD, "variance", 1.15),
    (make(BoundedVariance, bounds=(0, 10)), 10.0 * (SPREAD < 3.0), "variance", 1.4),
    (make(BoundedVariance, bounds=(0, 10)), np.clip(SPREAD, 8.0, 9.5), "variance", 1.6),
]


@pytest.mark.parametrize(("mechanism", "data", "of", "most"), TIGHT)
def test_bars_are_as_wide_as_the_noise_makes_them(mechanism, data, of, most):
    """At least 95% inside, and hardly wider than the radius that holds 95% of the errors."""
    runs, prepared = 2_000, mechanism._prepare(data)
    values = mechanism.simulate(data, runs, source=noise.Seeded(23))
    exact = float(np.mean(data) if of == "mean" else np.var(data))
    missed = np.array([abs(value[of] - exact) for value in values])
    bars = np.array([mechanism._error_given(value, prepared).radius for value in values])
    margin = 5.3 * math.sqrt(runs * 0.05 * 0.95)
    assert np.sum(missed <= bars) >= 0.95 * runs - margin
    assert np.sum(missed <= 0.6 * bars) < 0.95 * runs - margin  # a narrower bar would be seen
    assert np.median(bars) <= most * np.quantile(missed, 0.95)


@pytest.mark.parametrize(
    "weights", [(1.0,), (0.5, 0.5), (0.9, 0.1), (0.3, 0.7, 0.0), (2.0, 1.0, 0.999), (1.0, 1.0, 1.0)]
)
@pytest.mark.parametrize("tail", [0.05, 0.005])
def test_quantile_of_a_weighted_sum_of_laplace_noises(weights, tail):
    # the density of the sum by inverting its characteristic function, in a way of its own
    radius = laplace._sum_quantile(weights, tail)
    s = np.linspace(1e-6, 400.0, 2_000_001)
    transform = np.prod([1.0 / (1.0 + (w * s) ** 2) for w in weights], axis=0)
    inside = 2.0 / math.pi * np.trapezoid(transform * np.sin(radius * s) / s, s)
    assert tail * 0.97 <= 1.0 - inside <= tail * 1.003


def test_the_bar_of_the_mean_never_sees_the_true_number():
    mechanism = make(BoundedMean)
    assert mechanism.error() is None
    released = {"mean": 2.0, "count": 50.0}
    few, many = (mechanism._error_given(released, mechanism._prepare(np.ones(n))) for n in (1, 10_000))
    assert few == many
    assert mechanism._error_given({"mean": 1.5, "count": -3.0}, None).radius >= 7.0


def test_a_count_read_from_the_data_would_be_seen():
    # a mean over the true n under add/remove: its bar, or the answer itself, tells n
    def twin(data):
        return sum(data) / max(len(data), 1)

    declared = Sensitivity(Fraction(7, 1000), norm="l1")  # width / n for the usual n
    assert find_counterexample(twin, declared, domain=[-2, 5], max_rows=2) is not None


def test_counts():
    mechanism = Count.for_budget(epsilon=1.0)
    for data, exact in (([], 0), ([True, False, None, 2, 0.0, math.nan], 2), (np.ones(7, dtype=bool), 7)):
        assert mechanism._prepare(data) == exact
        assert isinstance(mechanism.release(data).value, int)
    rounded = Count(noise=Gaussian.for_budget(mu=2.0, sensitivity=1))
    values = rounded.simulate([True] * 40, 2_000, source=noise.Seeded(2))
    assert all(isinstance(value, int) for value in values)
    assert abs(np.mean(values) - 40) < 5.3 * math.sqrt((0.25 + 1 / 12) / 2_000)


def test_count_takes_the_smaller_noise():
    assert Count.for_budget(epsilon=1.0).noise.name == "discrete_laplace"
    assert Count.for_budget(rho=1e-3).noise.name == "gaussian"


@pytest.mark.parametrize("scale", [1e-12, 0.3, 7.0, 1e9, 1e30])
@pytest.mark.parametrize("exponent", [-40, -10, 0, 12])
def test_noisy_totals_add_nothing_but_noise(scale, exponent):
    class NoNoise(type(Laplace(scale=1.0, sensitivity=1))):
        def _noisy(self, center, scale, source):
            return np.floor(np.asarray(center, dtype=float) + 0.5).astype(np.int64)

    totals = [0, 1, -1, 2**70 + 12345, -(3**40)]
    (row,) = noisy_totals(NoNoise(scale=scale, sensitivity=1), totals, Grid(exponent))
    for total, found in zip(totals, row, strict=True):
        assert abs(found - total * Fraction(2) ** exponent) <= Fraction(scale) / 2**20


@pytest.mark.parametrize(
    "draw", [lambda r: r.random(2000), lambda r: r.normal(0.9, 0.02, 2000), lambda r: r.integers(0, 2, 2000)]
)
def test_three_sums_beat_the_moments_at_a_pure_epsilon(draw):
    """Squared error of the variance at pure epsilon: at most 0.75 of what the moments with l1 = 5/2 give."""
    data = np.clip(draw(np.random.default_rng(7)), 0.0, 1.0)
    sums = BoundedVariance.for_budget(epsilon=1.0, bounds=(0.0, 1.0))
    errors = np.array([value["variance"] for value in sums.simulate(data, 3_000)]) - data.var()
    z = 2.0 * data - 1.0
    scale = 2.5 * sums.noise.scale
    draws = np.random.default_rng(8).laplace(0.0, scale, (3_000, 3))
    number = len(data) + draws[:, 2]
    moment = ((z**2 - 0.5).sum() + draws[:, 1]) / number + 0.5
    other = (moment - ((z.sum() + draws[:, 0]) / number) ** 2) / 4.0 - data.var()
    assert np.mean(errors**2) < 0.75 * np.mean(other**2)
