"""Tiny and huge scales, the ends of the integers, memory, time."""

import math
import time
import tracemalloc
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

from privet import noise, testing
from privet.noise.families.rounded import SATURATION, draw_rounded
from tests.noise.helpers import ALPHA, LAWS, Scripted, module, without_tables
from tests.oracles import cks

CONTINUOUS = {
    "discrete_laplace": stats.laplace,
    "rounded_laplace": stats.laplace,
    "discrete_gaussian": stats.norm,
    "rounded_gaussian": stats.norm,
    "geometric": stats.expon,
    "rounded_cauchy": stats.cauchy,
}


@pytest.mark.parametrize("tables", [True, False])
@pytest.mark.parametrize("scale", [2.0**20 + 0.5, 2.0**33 / 3, 2.0**40])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_huge_scales_look_continuous(name, scale, tables, monkeypatch):
    """Kolmogorov-Smirnov on X / scale; the grain 1/scale is far below what it can see."""
    if not tables:
        without_tables(monkeypatch)
    parameter = "sigma" if name.endswith("gaussian") else "scale"
    count = 2_000 if name == "rounded_cauchy" else 20_000
    draws = getattr(noise, name)(**{parameter: scale}, size=count)
    law = CONTINUOUS[name]
    assert stats.kstest(draws / scale, law.cdf).pvalue > ALPHA
    assert stats.kstest(draws / scale / 1.8, law.cdf).pvalue < ALPHA
    # The low bits carry no trace of how the number was put together.
    for low in (1, 4):
        testing.check_samples(draws % 2**low, lambda k, n=2**low: np.where((k >= 0) & (k < n), 1 / n, 0.0), alpha=ALPHA)


@pytest.mark.parametrize(
    "name", ["discrete_laplace", "discrete_gaussian", "geometric", "rounded_gaussian", "rounded_laplace"]
)
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-20, 0.001, 0.01])
def test_tiny_scales_give_nothing_but_zero(name, scale, monkeypatch):
    """The next value has a probability below exp(-49)."""
    sampler, _, parameter = LAWS[name]
    for _ in range(2):
        assert not np.any(sampler(**{parameter: scale}, size=20_000))
        assert sampler(**{parameter: scale}) == 0
        without_tables(monkeypatch)
    assert sampler(**{parameter: Fraction(1, 10**400)}) == 0


@pytest.mark.parametrize("name", ["discrete_laplace", "geometric", "rounded_laplace"])
def test_small_scale(name):
    """At 0.05 one draw in 10^4 (rounded) or in 10^8 is not zero; the rounded one is seen."""
    sampler, pmf, _ = LAWS[name]
    testing.check_samples(sampler(scale=0.05, size=200_000), lambda k: pmf(k, scale=0.05), alpha=ALPHA)
    testing.check_samples(sampler(scale=0.15, size=200_000), lambda k: pmf(k, scale=0.15), alpha=ALPHA)


def test_cks_squares_leave_64_bits_without_harm():
    """(|y| t - sigma^2)^2 at sigma = 10^4 needs more than 63 bits once |y| > 31.4 t; here, for the rare proposal."""
    y = np.array([40 * 10_001, -35 * 10_001], dtype=np.int64)
    b, t, a = 1, 10_001, 10**8
    assert (int(abs(y).max()) * b * t + a) ** 2 > 2**63
    exact = cks._exp_coins_any(
        noise.Secure().stream(), (np.abs(y).astype(object) * (b * t) - a) ** 2, 2 * a * b * t * t
    )
    assert not exact.any()  # exp(-700)
    with np.errstate(over="ignore"):
        assert ((np.abs(y) * t - a) ** 2 < 0).any()  # what 64-bit arithmetic would have made of it


def test_the_end_of_the_integers():
    """|INT64_MIN| does not exist; noise stays far from it, and saturation happens to the sum."""
    assert SATURATION + 2**53 < 2**63
    far = noise.rounded_cauchy(scale=2**52, center=2**51, size=3_000)
    assert far.min() >= -SATURATION
    assert far.max() <= SATURATION
    assert np.abs(far).max() > 2**55
    cauchy = module("rounded_cauchy")
    for word, end in ((0, -SATURATION), (2**64 - 1, SATURATION)):
        stream = Scripted([word, word, word])
        assert (
            noise.families.rounded.draw_rounded(
                lambda s, rest: cauchy._one(s, Fraction(2**40), rest), None, 5, None, FromStream(stream), saturate=True
            )
            == end
        )


class FromStream(noise.Source):
    insecure = True

    def __init__(self, stream):
        self._stream = stream

    def stream(self):
        return self._stream


def test_saturation_does_not_show_the_centre():
    """Whatever the centre, an overflowing sum gives the same output; saturating the noise alone would give end + centre."""
    cauchy = module("rounded_cauchy")
    outcomes = set()
    for center in (0, 1, -5, 1000):
        stream = FromStream(Scripted([2**64 - 1] * 6))
        outcomes.add(
            draw_rounded(
                lambda *a: None,
                lambda s, n, rest: cauchy._sample(s, n, Fraction(2**40), rest),
                center,
                2,
                stream,
                saturate=True,
            )[0]
        )
    assert outcomes == {SATURATION}


def test_memory_is_the_result_and_a_few_mebibytes():
    noise.discrete_gaussian(sigma=10, size=100_000)
    for draw in (
        lambda n: noise.discrete_gaussian(sigma=10, size=n),
        lambda n: noise.rounded_gaussian(sigma=2**24, size=n),
    ):
        draw(100_000)
        tracemalloc.start()
        draw(2_000_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16_000_000 + 8 * 2**20


def spearman(times, magnitudes):
    return stats.spearmanr(times, magnitudes).statistic


def test_time_does_not_tell_the_magnitude():
    """Batches of 64: the rank correlation of time and mean magnitude, over 400 batches, has a deviation of 0.05.

    A twin whose loop runs longer for larger numbers, as samplers that count successes do, is caught.
    """

    def batches(draw):
        times, magnitudes = [], []
        for _ in range(400):
            start = time.thread_time_ns()
            x = draw()
            times.append(time.thread_time_ns() - start)
            magnitudes.append(np.abs(x).mean())
        return abs(spearman(times, magnitudes))

    def leaky():
        x = noise.discrete_laplace(scale=10, size=64)
        for _ in range(8 * int(np.abs(x).sum())):
            math.sqrt(2.0)
        return x

    for law, parameter in (
        (noise.discrete_laplace, "scale"),
        (noise.discrete_gaussian, "sigma"),
        (noise.rounded_gaussian, "sigma"),
    ):
        for scale in (10, 2**20):
            draw = partial(law, **{parameter: scale}, size=64)
            # 6 deviations, thrice: the time of this thread, whatever else the machine does
            assert min(batches(draw) for _ in range(3)) < 0.3
    assert max(batches(leaky) for _ in range(3)) > 0.3
