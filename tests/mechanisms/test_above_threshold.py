"""AboveThreshold: log-ratios by quadrature, the best split, the stream's manners, and published mistakes as twins."""

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest

from privet import accounting, noise, privacy, testing
from privet.errors import BudgetExceeded, InvalidParameter
from privet.mechanisms import AboveThreshold, above_threshold
from privet.privacy import Unit
from tests.mechanisms.goodness import fits

CLASSIC = {"threshold": 0.0, "threshold_scale": 2.0, "query_scale": 4.0, "sensitivity": 1}
NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)


def cdf(x, scale):
    return np.where(x < 0, np.exp(-np.abs(x) / scale) / 2, 1 - np.exp(-np.abs(x) / scale) / 2)


def log_probability(belows, above, threshold_scale, query_scale, k=1):
    """ln Pr[k queries at `belows` answer no, then one at `above` answers yes], threshold 0, by quadrature."""
    edges = np.unique([-400.0, -60.0, -20.0, -5.0, -1.0, 0.0, 1.0, 5.0, 20.0, 60.0, 400.0, belows, above])
    total = 0.0
    for a, b in pairwise(edges):
        t = (a + b) / 2 + (b - a) / 2 * NODES
        noise_density = np.exp(-np.abs(t) / threshold_scale) / (2 * threshold_scale)
        value = noise_density * cdf(t - belows, query_scale) ** k * cdf(above - t, query_scale)
        total += (b - a) / 2 * (WEIGHTS @ value)
    return math.log(total)


def log_ratio(left, right, scales, k):
    return abs(log_probability(*left, *scales, k) - log_probability(*right, *scales, k))


@pytest.mark.parametrize(
    ("left", "right", "scales", "golden"),
    [
        ((1, 0), (0, 1), (2, 4), (0.39581534, 0.99401017, 1.000)),
        ((1, 0), (0, 0), (2, 2), (0.40617517, 0.99916151, 1.000)),  # all queries move the same way
        ((1, 0), (0, 1), (2, 2), (0.7367, 1.4960, 1.5)),  # broken: the monotonic scales on general queries
    ],
)
def test_log_ratios(left, right, scales, golden):
    found = [log_ratio(left, right, scales, k) for k in (1, 10, 100)]
    assert found == pytest.approx(golden, abs=6e-5)


def test_general_queries_are_never_run_with_the_monotonic_scales():
    mechanism = AboveThreshold(**CLASSIC)
    assert mechanism.loss == privacy.AboveThresholdLoss(1.0)
    assert replace(mechanism, query_scale=2.0).loss == privacy.AboveThresholdLoss(1.5)  # what the twin really costs
    assert replace(mechanism, query_scale=2.0, monotonic=True).loss == privacy.AboveThresholdLoss(1.0)
    for unit in (Unit("replace"), Unit(group_size=2)):
        with pytest.raises(InvalidParameter, match="monotonic"):
            AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=0, monotonic=True, unit=unit)


@pytest.mark.parametrize("k", [1, 10, 100])
@pytest.mark.parametrize("monotonic", [False, True])
def test_worst_ratio_stays_within_the_price(monotonic, k):
    mechanism = AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=0.0, monotonic=monotonic)
    scales = mechanism.threshold_scale, mechanism.query_scale
    moves = [(1, 0), (1, 1)] if monotonic else [(1, 0), (1, -1), (1, 1)]
    ratios = [
        log_ratio((b, a), (b - down, a - up), scales, k)
        for b in (-8, -2, 0, 3)
        for a in (-8, -2, 0, 3)
        for down, up in moves
    ]
    assert 0.3 < max(ratios) <= 1.0 + 1e-9


@pytest.mark.parametrize(("c", "share"), [(1, 0.38648821), (5, 0.17725503), (25, 0.06862434)])
def test_best_split(c, share):
    mechanism = AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=0.0, positives=c)
    first = 1.0 / mechanism.threshold_scale
    assert first == pytest.approx(share, abs=6e-9)
    assert 2 * c / mechanism.query_scale == pytest.approx(1.0 - share)
    variances = [  # of the compared difference, over other splits
        2 * (1 / e) ** 2 + 2 * (2 * c / (1 - e)) ** 2 for e in np.linspace(0.01, 0.99, 99)
    ]
    ours = 2 * mechanism.threshold_scale**2 + 2 * mechanism.query_scale**2
    assert ours <= min(variances) * (1 + 1e-12)
    monotonic = AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=0.0, positives=c, monotonic=True)
    assert 1.0 / monotonic.threshold_scale == pytest.approx(1 / (1 + c ** (2 / 3)))


@pytest.mark.parametrize("sensitivity", [1, Fraction(1, 3), 0.1, 1e-9, 12345.678])
def test_price_counts_the_grid(sensitivity):
    mechanism = AboveThreshold.for_budget(epsilon=0.7, sensitivity=sensitivity, threshold=0.0, positives=3)
    steps = math.ceil(Fraction(sensitivity) / Fraction(mechanism.step))
    exact = (
        steps
        * Fraction(mechanism.step)
        * (1 / Fraction(mechanism.threshold_scale) + 6 / Fraction(mechanism.query_scale))
    )
    assert exact <= Fraction(mechanism.loss.pure()) <= Fraction(0.7)
    assert mechanism.loss.pure() > 0.7 * (1 - 1e-12)


def test_values_that_are_neighbours_stay_neighbours_on_the_grid():
    mechanism = AboveThreshold.for_budget(epsilon=1.0, sensitivity=0.3, threshold=0.0)
    values = np.random.default_rng(0).normal(0, 100, 10_000)
    moved = mechanism._rounded(values + 0.3) - mechanism._rounded(values)
    assert np.abs(moved).max() <= math.ceil(Fraction(0.3) / Fraction(mechanism.step)) + 1  # the float sum may round up
    halves = (np.arange(-10, 10) + 0.5) * mechanism.step
    assert np.all(np.diff(mechanism._rounded(halves)) == 1)  # half up: equal distances stay equal


def test_whole_streams_have_the_law_of_the_quadrature():
    mechanism = AboveThreshold(**CLASSIC)
    draws = mechanism.simulate([1.0, 1.0, 0.0], 100_000)
    event = np.all(draws == [0, 0, 1], axis=1)
    probability = math.exp(log_probability(1.0, 0.0, 2.0, 4.0, k=2))
    assert fits(event, [1 - probability, probability])
    broken = math.exp(log_probability(1.0, 0.0, 2.0, 2.0, k=2))
    assert not fits(event, [1 - broken, broken])


def test_first_answer_has_the_law_of_two_laplace_variables():
    mechanism = AboveThreshold(**CLASSIC)
    for value in (-3.0, 0.0, 2.0):
        yes = math.exp(log_probability(0.0, value, 2.0, 4.0, k=0))
        draws = mechanism.simulate([value], 50_000)[:, 0]
        assert fits(draws, [1 - yes, yes])
        assert not fits(draws, [0.9 * (1 - yes), 1 - 0.9 * (1 - yes)])
        assert fits([mechanism.start().ask(value) for _ in range(500)], [1 - yes, yes])


def test_threshold_noise_is_drawn_once():
    """Two equal queries agree more often than with a fresh threshold each (which would be another mechanism)."""
    mechanism = AboveThreshold(threshold=0.0, threshold_scale=20.0, query_scale=1.0, sensitivity=1, positives=2)
    pairs = mechanism.simulate([0.0, 0.0], 1_000)
    assert (pairs[:, 0] == pairs[:, 1]).mean() > 0.9


def run_twin(value_lists, threshold_noise, query_noise, seed):
    rng = np.random.default_rng(seed)
    threshold = rng.laplace(0.0, threshold_noise, size=(len(value_lists), 1))
    return value_lists + rng.laplace(0.0, query_noise, size=value_lists.shape) >= threshold


def test_twin_with_fresh_threshold_noise_is_caught():
    """With a threshold drawn for each query the k negative answers cost anew each time: k log-ratios add up."""
    no = [math.log(1 - math.exp(log_probability(0.0, value, 2.0, 4.0, k=0))) for value in (0.0, 1.0)]
    assert 40 * (no[0] - no[1]) > 1.0  # at a claimed epsilon of 1
    kept = [log_probability(value, 0.0, 2.0, 4.0, k=40) for value in (0.0, 1.0)]
    assert kept[0] - kept[1] < 1.0


def test_twin_that_goes_on_after_a_positive_answer_is_caught():
    """100 queries at 0 and 100 at 1, or the other way round: where more signs are positive is no secret any more."""
    low, high = np.zeros((20_000, 100)), np.ones((20_000, 100))
    more = []
    for seed, values in enumerate((np.hstack([low, high]), np.hstack([high, low]))):
        answers = run_twin(values, 2.0, 4.0, seed)
        more.append(((answers[:, 100:].sum(axis=1) - answers[:, :100].sum(axis=1)) >= 8).mean())
    assert math.log(more[0] / more[1]) > 3.0  # at a claimed epsilon of 1
    exact = AboveThreshold(**CLASSIC)
    assert (exact.simulate([0.0] * 40, 1_000) == 1).sum(axis=1).max() == 1


def test_twin_that_noises_the_threshold_only_is_caught():
    """Without query noise the order of two queries is shown exactly."""
    values = np.tile([0.0, 1.0], (1_000, 1))
    answers = run_twin(values, 2.0, 1e-12, 3)
    swapped = run_twin(values[:, ::-1], 2.0, 1e-12, 4)
    assert not np.any(answers[:, 0] & ~answers[:, 1])  # impossible here ...
    assert np.any(swapped[:, 0] & ~swapped[:, 1])  # ... and common for the neighbour
    ours = AboveThreshold(**CLASSIC, positives=2)
    draws = ours.simulate([0.0, 1.0], 500)
    assert np.any((draws[:, 0] == 1) & (draws[:, 1] == 0))


def test_twin_that_shows_the_compared_value_is_caught():
    """The noisy value that crossed is known to exceed the noisy threshold; a fresh one may lie anywhere."""
    mechanism = AboveThreshold.for_budget(epsilon=2.0, sensitivity=1, threshold=10.0, answer_share=0.5)
    shown = np.array([numbers[0] for answers, numbers in mechanism.simulate([0.0], 20_000) if answers[0] == 1])
    assert len(shown) > 100
    assert (shown < 5.0).mean() > 0.5  # centred at the true value 0, not above the threshold
    rng = np.random.default_rng(0)
    compared = rng.laplace(0.0, 4.0, 50_000)
    crossed = compared[compared >= 10.0 + rng.laplace(0.0, 2.0, 50_000)]
    assert (crossed < 5.0).mean() < 0.5  # what the twin would show


def test_numbers_are_paid_for():
    mechanism = AboveThreshold.for_budget(epsilon=2.0, sensitivity=0.5, threshold=0, positives=4, answer_share=0.25)
    assert 2.0 * (1 - 1e-9) < mechanism.loss.pure() <= 2.0
    signs, numbers = mechanism.loss.parts()
    assert {signs[1], numbers[1]} == {1, 4}
    stream = mechanism.start()
    assert abs(stream.ask_number(1e6) - 1e6) < 1e3
    assert stream.ask_number(-1e6) is None
    answers, values = mechanism.release([1e6, -1e6, 1e6]).value
    assert answers.tolist() == [1, 0, 1]
    assert np.isnan(values).tolist() == [False, True, False]
    with pytest.raises(InvalidParameter, match="answer_share"):
        AboveThreshold(**CLASSIC).start().ask_number(1.0)


def test_stream_stops_for_good():
    stream = AboveThreshold(**CLASSIC, positives=2).start()
    assert [stream.ask(x) for x in (1e6, -1e6, 1e6)] == [True, False, True]
    assert stream.remaining == 0
    for value in (0.0, -1e6, 1e6):
        with pytest.raises(BudgetExceeded, match="new stream"):
            stream.ask(value)


def test_list_is_the_stream():
    mechanism = AboveThreshold(**CLASSIC, positives=2)
    assert mechanism.release([-1e6, 1e6, -1e6, 1e6, 1e6, -1e6]).value.tolist() == [0, 1, 0, 1, -1, -1]
    assert mechanism.release([-1e6] * 3).value.tolist() == [0, 0, 0]


def test_stream_cannot_be_doubled():
    stream = AboveThreshold(**CLASSIC).start()
    for double in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InvalidParameter, match="copied"):
            double(stream)
    with patch("os.getpid", return_value=-1), pytest.raises(InvalidParameter, match="fork"):  # as seen by a child
        stream.ask(0.0)
    assert not stream.insecure
    assert AboveThreshold(**CLASSIC).start(source=noise.Seeded(1)).insecure


def test_threads_get_no_extra_positive():
    stream = AboveThreshold(**CLASSIC, positives=10).start()

    def ask(_):
        try:
            return stream.ask(1e6)
        except BudgetExceeded:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(100))) == 10


def test_error_bar():
    mechanism = AboveThreshold(**CLASSIC)
    for k, beta in ((1, 0.05), (100, 0.1)):
        radius = mechanism.error(1 - beta, queries=k).radius
        assert radius <= 8 * (math.log(k) + math.log(2 / beta))  # the textbook's
        assert radius == pytest.approx(2 * math.log(2 / beta) + 4 * math.log(2 * k / beta), rel=1e-5)
    bar = mechanism.error(0.9, queries=20).radius
    wrong = np.any(mechanism.simulate([-bar] * 20, 20_000) != 0, axis=1).mean()
    assert 0.001 < wrong <= 0.1


@pytest.mark.parametrize("bad", ["x", None, [1e9], np.array([1e9]), {}])
def test_what_is_no_number_counts_as_zero(bad):
    """In a list as well: the type of one element is data."""
    stream = AboveThreshold(**{**CLASSIC, "threshold": 1e6}).start()
    assert stream.ask(bad) is False


@pytest.mark.parametrize(
    "query", [math.nan, math.inf, -math.inf, 10**400, Fraction(-(10**400), 3), True, np.float32(2)]
)
def test_no_query_is_refused_because_of_its_value(query):
    stream = AboveThreshold(**CLASSIC).start()
    assert stream.ask(query) == (1 - stream.remaining)


def test_a_threshold_beyond_its_grid_is_refused_when_the_mechanism_is_made():
    """A query far below it and one far above it would saturate alike."""
    AboveThreshold.for_budget(epsilon=1.0, sensitivity=1e-9, threshold=500.0)
    with pytest.raises(InvalidParameter, match="threshold"):
        AboveThreshold.for_budget(epsilon=1.0, sensitivity=1e-9, threshold=10_000.0)
    large = AboveThreshold.for_budget(epsilon=1.0, sensitivity=1e20, threshold=0)  # a step above 1
    assert large.release([-1e25, 1e25]).value.tolist() == [0, 1]


def test_answers_of_a_seeded_stream_are_stamped():
    stream = AboveThreshold(**CLASSIC).start(source=noise.Seeded(1))
    answer = stream.ask(-1e6)
    assert answer.insecure
    assert not answer
    assert "INSECURE" in repr(answer)
    numbers = AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=0, answer_share=0.5)
    number = numbers.start(source=noise.Seeded(1)).ask_number(1e6)
    assert number.insecure
    assert abs(number - 1e6) < 1e3
    secure = AboveThreshold(**CLASSIC).start()
    assert type(secure.ask(-1e6)) is bool


def test_bad_parameters():
    for field, value in (("threshold_scale", 0.0), ("query_scale", -1.0), ("threshold", math.nan), ("positives", 0)):
        with pytest.raises(InvalidParameter):
            AboveThreshold(**{**CLASSIC, field: value})
    for share in (1.0, -0.1, math.nan):
        with pytest.raises(InvalidParameter):
            AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=0, answer_share=share)
    with pytest.raises(InvalidParameter, match="grid steps"):
        AboveThreshold.for_budget(epsilon=1e-15, sensitivity=1, threshold=0)


# --- gaps ------------------------------------------------------------------------------------------------------


def law_with_gap(first, second, b1, b2, *, below=1, compared=False):
    """Pr[`below` queries lie below, the next above with this gap], threshold 0, noise in whole steps; or with the value
    that was compared."""
    noise = np.arange(-60, 61)
    rho, nu = (testing.pmf_discrete_laplace(noise, scale=b) for b in (b1, b2))
    out = {}
    for gap in range(-6 if compared else 0, 7):
        total = 0.0
        for t, mass in zip(noise, rho, strict=True):
            lower = nu[first + noise < t].sum() ** below
            place = gap - second if compared else gap + t - second
            if abs(place) <= 60 and (not compared or gap >= t):
                total += mass * lower * nu[place + 60]
        out[gap] = total
    return out


def worst_ratio(left, right, b1, b2, **how):
    p, q = law_with_gap(*left, b1, b2, **how), law_with_gap(*right, b1, b2, **how)
    return max(abs(np.log(p[gap] / q[gap])) for gap in p)


@pytest.mark.parametrize(("left", "right"), [((0, 0), (1, -1)), ((0, 0), (-1, 1)), ((0, 0), (1, 1)), ((3, 0), (2, 1))])
def test_gaps_cost_nothing(left, right):
    b1, b2 = 2.0, 4.0
    for below in (1, 8):
        assert worst_ratio(left, right, b1, b2, below=below) <= 1 / b1 + 2 / b2 + 1e-9
        if left[0] <= right[0] and left[1] <= right[1]:
            assert worst_ratio(left, right, b1, b2, below=below) <= 1 / b1 + 1 / b2 + 1e-9


def test_the_compared_value_is_not_free():
    """The twin that shows the noisy query instead of its lead: the threshold's noise no longer hides the others."""
    pair = (0, 0), (1, -1)
    assert worst_ratio(*pair, 2.0, 4.0, below=30, compared=True) > 1 / 2.0 + 2 / 4.0 + 0.1
    assert worst_ratio(*pair, 2.0, 4.0, below=30) <= 1 / 2.0 + 2 / 4.0 + 1e-9


def test_stream_and_list_give_the_same_gaps():
    made = AboveThreshold.for_budget(epsilon=4.0, sensitivity=1, threshold=0.0, gaps=True)
    answers, gaps = zip(*made.simulate([-50.0, 30.0], 3_000), strict=True)
    assert {tuple(row.tolist()) for row in answers} == {(0, 1)}
    listed = np.array([row[1] for row in gaps])
    assert np.isnan(np.array([row[0] for row in gaps])).all()
    asked = np.array([made.start().ask_gap(30.0) for _ in range(1_000)])
    assert abs(listed.mean() - 30.0) < 6 * listed.std() / np.sqrt(len(listed))
    assert abs(asked.mean() - listed.mean()) < 6 * listed.std() / np.sqrt(len(asked))
    assert abs(np.log(asked.std() / listed.std())) < 0.3
    assert made.start().ask_gap(-50.0) is None


def test_gaps_are_refused_where_they_were_not_asked_for():
    with pytest.raises(InvalidParameter, match="gaps=True"):
        AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=0).start().ask_gap(3)
    with pytest.raises(InvalidParameter, match="not both"):
        AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=0, gaps=True, answer_share=0.5)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-3), (1.0, 1e-6), (3.0, 1e-9)])
@pytest.mark.parametrize(("positives", "share"), [(1, 0.3), (8, 0.7), (25, 0.5)])
def test_numbers_at_a_delta_use_the_budget(epsilon, delta, positives, share):
    mechanism = AboveThreshold.for_budget(
        epsilon=epsilon, delta=delta, sensitivity=1, threshold=0, positives=positives, answer_share=share
    )
    assert 0.99 * epsilon <= accounting.epsilon(mechanism.loss, delta=delta).upper <= epsilon
    assert mechanism.loss.pure() >= epsilon * (1 - 1e-12)


@pytest.mark.parametrize(("epsilon", "positives"), [(0.3, 1), (1.0, 3), (3.0, 8)])
def test_a_delta_that_buys_nothing_costs_no_search(epsilon, positives, monkeypatch):
    def no_search(*args, **options):
        raise AssertionError("nothing can be gained here")

    monkeypatch.setattr(above_threshold, "epsilon_of_repeats", no_search)
    options = {"sensitivity": 1, "threshold": 0, "positives": positives, "answer_share": 0.3}
    cheap = AboveThreshold.for_budget(epsilon=epsilon, delta=1e-7, **options)
    assert cheap.answer_scale == AboveThreshold.for_budget(epsilon=epsilon, **options).answer_scale


@pytest.mark.parametrize(("threshold", "above"), [(-1000.0, True), (1000.0, False)])
def test_a_query_that_is_no_number_is_answered_as_nought_would_be(threshold: float, above: bool):
    """And in a list as the lowest of the others; which ones are must not depend on the data."""
    watch = AboveThreshold.for_budget(epsilon=10.0, sensitivity=1, threshold=threshold, positives=3)
    assert watch.start().ask(math.nan) is above
    assert watch.start().ask(0.0) is above
    among = watch.release([2 * threshold, math.nan, 2 * threshold]).value
    assert len(set(np.asarray(among).tolist())) == 1
    assert "must not depend on the data" in " ".join(AboveThreshold.__doc__.split())
