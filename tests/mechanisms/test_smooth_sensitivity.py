"""The smooth median: S against brute force, the curve of its noise against integration, and what must not leak."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from privet import noise
from privet.errors import InvalidParameter
from privet.mechanisms import SmoothMedian, smooth_sensitivity as module
from privet.privacy import Unit

STEPS = 2**40


def smooth(data, bounds, beta):
    mechanism = replace(SmoothMedian.for_budget(epsilon=1.0, bounds=bounds), beta=beta, share=1e-3, epsilon=10.0)
    return mechanism._prepare(data)[1] * (bounds[1] - bounds[0]) / STEPS


def lower_median(data):
    return sorted(data)[(len(data) + 1) // 2 - 1]


def test_golden_values():
    data = [100 * i / 101 for i in range(1, 102)]
    assert abs(smooth(data, (0, 100), 1 / (2 * math.log(2e6))) - 10.939766029) < 1e-8
    assert abs(smooth(data, (0, 100), 1 / 6) - 2.581771536) < 1e-8
    assert abs(smooth([1, 2, 2, 3, 7], (0, 10), 0.3) - 4.390493089) < 1e-8


def brute_smooth(data, domain, beta):
    """max over data sets y of the local sensitivity of y times exp(-beta d(x, y)), on a finite domain."""
    best = 0.0
    for y in itertools.product(domain, repeat=len(data)):
        moved = max(
            abs(lower_median(y) - lower_median((*y[:i], v, *y[i + 1 :]))) for i in range(len(y)) for v in domain
        )
        changed = sum(a != b for a, b in zip(data, y, strict=True))
        best = max(best, moved * math.exp(-beta * changed))
    return best


@pytest.mark.parametrize("data", [(1, 2, 2, 3, 7), (0, 0, 0, 10), (10, 0, 3), (7,), (2, 2, 2, 2)], ids=repr)
@pytest.mark.parametrize("beta", [0.05, 0.3, 2.0])
def test_smooth_sensitivity_is_the_true_one(data, beta):
    domain = sorted({0, 10, *data})
    assert abs(smooth(data, (0, 10), beta) - brute_smooth(data, domain, beta)) < 1e-9


@pytest.mark.parametrize("beta", [0.3, 0.02, 1e-3])
def test_divide_and_conquer_finds_the_maximum(beta):
    source = noise.Seeded(9)
    for n in (1, 2, 31, 32, 33, 64, 150, 301):
        inner = np.sort((noise.uniform_int(bound=STEPS, size=n, source=source) / STEPS) ** 3 * STEPS).astype(np.int64)
        padded = np.concatenate(([0], inner, [STEPS]))
        middle = (n + 1) // 2
        left, right = np.arange(middle + 1)[:, None], np.arange(middle, n + 2)
        everything = (padded[right] - padded[left]) * np.exp(-beta * (right - left - 1))
        assert module._smooth_sensitivity(padded, middle, beta) == pytest.approx(everything.max(), rel=1e-12)


def test_neighbours_have_similar_smooth_sensitivities():
    beta, grid = 0.3, (0, 1, 3, 10)
    for data in itertools.combinations_with_replacement(grid, 4):
        here = smooth(data, (0, 10), beta)
        others = [smooth((*data[:i], v, *data[i + 1 :]), (0, 10), beta) for i in range(4) for v in grid]
        moves = [abs(lower_median(data) - lower_median((*data[:i], v, *data[i + 1 :]))) for i in range(4) for v in grid]
        assert max(others) <= here * math.exp(beta) * (1 + 1e-9)
        assert max(moves) <= here * (1 + 1e-9)


# --- the noise -------------------------------------------------------------------------------------------------------


def cauchy_ratios(shift, dilation):
    z = np.concatenate([-np.logspace(7, -7, 4001), np.logspace(-7, 7, 4001)])[:, None, None]
    return np.log((dilation**2 + (z - shift) ** 2) / (dilation * (1 + z**2)))


@pytest.mark.parametrize(("share", "beta"), [(0.5, 0.5), (0.9, 0.1), (0.1, 0.9), (3.0, 0.2), (1e-3, 1e-3)])
def test_the_price_of_cauchy_noise_is_its_largest_log_ratio(share, beta):
    ratios = cauchy_ratios(*np.meshgrid(np.linspace(-share, share, 21), np.exp(np.linspace(0, beta, 21))))
    assert np.abs(ratios).max() == pytest.approx(module._cauchy_epsilon(share, beta), rel=1e-5)
    assert module._cauchy_epsilon(share, beta) < share + beta
    # a shift of the larger smooth sensitivity is more than can happen, and still below the textbook's sum
    more = cauchy_ratios(
        *np.meshgrid(np.linspace(-1, 1, 21) * share * math.exp(beta), np.exp(np.linspace(0, beta, 21)))
    )
    assert np.abs(more).max() <= share + beta + 1e-12
    if share == beta == 0.5:
        assert np.abs(more).max() == pytest.approx(0.80, abs=0.01)


def test_a_split_that_forgets_the_dilation_would_be_seen():
    with pytest.raises(InvalidParameter, match="too large"):
        SmoothMedian(bounds=(0, 1), epsilon=1.0, share=0.9, beta=2.0)
    assert np.abs(cauchy_ratios(np.zeros((1, 1)), np.full((1, 1), math.exp(2.0)))).max() > 1.9


def hockey_stick(epsilon, p, q, x):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (x[1] - x[0]))


@pytest.mark.parametrize("dilation", [1.0001, 1.05, 1.5, 3.0])
@pytest.mark.parametrize("shift", [0.0, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_closed_forms_of_the_laplace_curves(dilation, shift, epsilon):
    x = np.arange(-120, 120, 2e-4) + 1e-4
    narrow, wide = np.exp(-np.abs(x)) / 2, np.exp(-np.abs(x - shift) / dilation) / (2 * dilation)
    at = np.array([dilation])
    assert module._wide_over_narrow(epsilon, shift, at)[0] == pytest.approx(
        hockey_stick(epsilon, wide, narrow, x), abs=1e-7
    )
    assert module._narrow_over_wide(epsilon, shift, at)[0] == pytest.approx(
        hockey_stick(epsilon, narrow, wide, x), abs=1e-7
    )


@pytest.mark.parametrize(("epsilon", "delta", "true"), [(1.0, 1e-3, 7.746e-6), (0.5, 1e-5, 2.134e-8)])
def test_the_textbook_wastes_its_delta(epsilon, delta, true):
    beta = epsilon / (2 * math.log(2 / delta))
    exact = module._wide_over_narrow(epsilon, epsilon / 2, np.array([math.exp(beta)]))[0]
    assert exact == pytest.approx(true, rel=1e-3)
    bound = module._laplace_delta(epsilon, epsilon / 2, beta)
    assert exact <= bound <= 1.03 * exact


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.5, 1e-5), (0.1, 1e-9), (5.0, 1e-6), (700.0, 1e-6)])
def test_laplace_calibration_meets_its_delta_at_every_shift_and_dilation(epsilon, delta):
    mechanism = SmoothMedian.for_budget(epsilon=epsilon, delta=delta, bounds=(0, 1))
    assert mechanism.share <= epsilon
    wide = np.exp(np.linspace(0, mechanism.beta, 400))
    worst = max(
        np.max(
            [
                module._wide_over_narrow(min(epsilon, 600), s, wide[1:]),
                module._narrow_over_wide(min(epsilon, 600), s, wide[1:]),
            ]
        )
        for s in np.linspace(0, mechanism.share, 50)
    )
    assert worst <= delta
    if epsilon < 100:
        assert worst >= 0.9 * delta
        textbook = module._spread(epsilon / (2 * math.log(2 / delta))) * 2 / epsilon
        assert module._spread(mechanism.beta) / mechanism.share < textbook


def test_laplace_noise_is_never_priced_as_pure():
    with pytest.raises(InvalidParameter, match="too large"):
        SmoothMedian(bounds=(0, 1), epsilon=1.0, delta=1e-9, share=0.4, beta=0.4)
    assert SmoothMedian(bounds=(0, 1), epsilon=1.0, share=0.4, beta=0.4).loss.pure() == 1.0  # Cauchy


def test_the_best_cauchy_split_beats_the_textbook():
    mechanism = SmoothMedian.for_budget(epsilon=1.0, bounds=(0, 1))
    assert 0.999 < module._cauchy_epsilon(mechanism.share, mechanism.beta) <= 1.0
    noise_now, any_split, textbook = (
        module._spread(beta) / share for share, beta in ((mechanism.share, mechanism.beta), (0.6, 0.4), (1 / 6, 1 / 6))
    )
    assert noise_now < any_split / 2
    assert any_split < textbook / 2


# --- releases --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_released_law(delta):
    mechanism = SmoothMedian.for_budget(epsilon=1.0, delta=delta, bounds=(0, 10))
    data = [1.0, 2.0, 2.0, 3.0, 7.0]
    median, spread = mechanism._prepare(data)
    scale = spread / mechanism.share * 10 / STEPS
    assert median * 10 / STEPS == pytest.approx(2.0)
    values = np.array(mechanism.simulate(data, 4_000, source=noise.Seeded(21)))
    assert values.min() >= 0.0
    assert values.max() <= 10.0
    for point in (1.0, 2.0, 3.0, 6.0):
        z = (point - 2.0) / scale
        law = 0.5 + math.atan(z) / math.pi if delta == 0 else (math.exp(z) / 2 if z < 0 else 1 - math.exp(-z) / 2)
        assert abs(np.mean(values <= point) - law) < 5.3 * math.sqrt(law * (1 - law) / 4_000)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_nothing_but_the_value_depends_on_the_data(delta):
    mechanism = SmoothMedian.for_budget(epsilon=1.0, delta=delta, bounds=(0, 10))
    datasets = [[], [5.0] * 1001, [0.0, 10.0], [math.nan] * 7, np.linspace(0, 10, 999)]
    releases = [mechanism.release(data) for data in datasets]
    assert {type(release.value) for release in releases} == {float}
    assert {(release.error, release.loss, release.provenance) for release in releases} == {
        (None, mechanism.loss, ("smooth_median", "missing records counted as 5; the bar covers noise alone"))
    }
    assert mechanism.error(0.99) is None
    text = str(mechanism.to_dict()) + repr(mechanism)
    assert all(str(mechanism._prepare(data)[1]) not in text for data in datasets)
    # the grid is public: every value is a multiple of it, whatever S is
    assert all((release.value / 10 * STEPS / 2.0**mechanism._coarser).is_integer() for release in releases)


def test_the_smooth_sensitivity_never_vanishes():
    mechanism = SmoothMedian.for_budget(epsilon=1.0, bounds=(0, 10))
    assert mechanism._prepare([5.0] * 100_001)[1] == 2.0**8


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 50.0, 700.0])
def test_every_epsilon_releases(epsilon):
    mechanism = SmoothMedian.for_budget(epsilon=epsilon, bounds=(-1e9, 1e9))
    assert mechanism.loss.pure() == epsilon
    assert -1e9 <= mechanism.release([3.0, 4.0]).value <= 1e9


def test_rho_and_mu():
    assert SmoothMedian.for_budget(rho=0.5, bounds=(0, 1)).loss.zcdp().rho == pytest.approx(0.5)
    assert SmoothMedian.for_budget(mu=0.5, bounds=(0, 1)).loss.gdp() == pytest.approx(0.5)


@pytest.mark.parametrize("unit", [Unit(), Unit("zero_out"), Unit("replace", group_size=2)], ids=repr)
def test_replacements_of_one_record_only(unit):
    with pytest.raises(InvalidParameter, match="replace"):
        SmoothMedian.for_budget(epsilon=1.0, bounds=(0, 1), unit=unit)
