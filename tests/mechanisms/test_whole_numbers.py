"""Arrays of whole numbers by a quick way: the same law, the exact sum rounded once, on both sides of each threshold."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privet import noise
from privet.mechanisms import Gaussian, Laplace
from privet.mechanisms.families import additive

HOSTILE = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, 2**63 - 1, -(2**63), 2047, 2048, -2048, 2**40 + 3]


class Scripted:
    """Noise that is known: the same whole numbers of steps for every draw of as many."""

    def __init__(self, steps):
        self.steps, self.asked = steps, []

    def __call__(self, mechanism, center, scale, source, *, size=None):
        self.asked.append(center)
        if isinstance(center, np.ndarray):
            drawn = np.resize(np.array(self.steps, dtype=np.int64), center.shape)
            return drawn + np.array([math.floor(Fraction(float(c)) + Fraction(1, 2)) for c in center.flat]).reshape(
                center.shape
            )
        return np.resize(np.array(self.steps, dtype=np.int64), size)


def rounded_once(value: int, steps: int, width: float) -> float:
    return float(value + Fraction(width) * steps)


@pytest.mark.parametrize(
    "scale", [1.0, 0.5, 2.0**-19, 2.0**-20, 2.0**-21, 3.73, 2.0**20, 2.0**21 - 1.0, 2.0**21, 2.0**30]
)
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.uint8, np.bool_])
def test_the_exact_sum_is_rounded_once(scale, dtype, monkeypatch):
    """Scales on both sides of those where the quick way begins and ends (2^21 and 2^-20)."""
    steps = [0, 1, -1, 2**20 + 1, -(2**21) - 1, 2**26 + 3, 12345, -7]
    scripted = Scripted(steps)
    monkeypatch.setattr(Gaussian, "_noisy", lambda *args, **kw: scripted(*args, **kw))
    mechanism = Gaussian(scale=scale, sensitivity=1.0)
    limits = (0, 1) if dtype is np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    values = [value for value in HOSTILE if limits[0] <= value <= limits[1]]
    if dtype is np.uint64:
        values += [2**64 - 1, 2**63 + 1]
    released = mechanism.release(np.array(values, dtype=dtype)).value
    width = mechanism.step
    if mechanism._grid.exponent <= 0:
        for value, drawn, out in zip(values, np.resize(steps, len(values)).tolist(), released.tolist(), strict=True):
            assert out == rounded_once(int(value), drawn, width)
    quick = additive._FINEST <= mechanism._grid.exponent <= 0
    assert (
        all((center == 0) is True for center in scripted.asked)
        if quick
        else scripted.asked[0].shape == (1, len(values))
    )


def test_the_thresholds_are_where_they_are_said_to_be():
    exponents = {
        scale: Gaussian(scale=scale, sensitivity=1.0)._grid.exponent
        for scale in (2.0**-20, 2.0**-21, 2.0**21, 2.0**21 - 1.0)
    }
    assert exponents == {2.0**-20: -40, 2.0**-21: -41, 2.0**21: 1, 2.0**21 - 1.0: 0}
    assert additive._FINEST == -40


@pytest.mark.parametrize("far", [2**52 - 1, 2**52, 2**53 + 1, 2**60 + 1, -(2**52), -(2**61) - 1])
def test_noise_beyond_doubles_is_not_rounded_by_itself(far, monkeypatch):
    monkeypatch.setattr(Gaussian, "_noisy", lambda *args, **kw: Scripted([far])(*args, **kw))
    mechanism = Gaussian(scale=1.0, sensitivity=1.0)
    for value in (1, 2**53 + 1, -(2**63)):
        (out,) = mechanism.release(np.array([value])).value
        assert out == rounded_once(value, far, mechanism.step)


@pytest.mark.parametrize("count", [1, 2, 2**13 - 1, 2**13, 2**13 + 1, 2**16 + 1])
def test_every_size_and_shape(count):
    values = np.arange(count)
    mechanism = Gaussian.for_budget(epsilon=1.0, delta=1e-5, sensitivity=1.0)
    released = mechanism.release(values).value
    assert released.shape == (count,)
    assert np.abs(released - values).max() < 10 * mechanism.scale
    assert mechanism.simulate(values[:1].reshape(1, 1), 5).shape == (5, 1, 1)
    assert mechanism.release(values[:0]).value.shape == (0,)


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_the_law_and_neither_half_nor_twice_of_it(kind):
    promise = {"epsilon": 1.0} | ({"delta": 1e-5} if kind is Gaussian else {})
    mechanism = kind.for_budget(**promise, sensitivity=1.0)
    law = stats.norm if kind is Gaussian else stats.laplace
    values = np.arange(60_000) % 7
    drawn = mechanism.release(values, source=noise.Seeded(4)).value - values
    edges = law.ppf(np.linspace(0.0, 1.0, 65))[1:-1]
    for factor, fits in ((1.0, True), (0.5, False), (2.0, False)):
        cells = np.bincount(np.searchsorted(edges, drawn / (factor * mechanism.scale)), minlength=64)
        p = stats.chisquare(cells).pvalue
        assert p > 1e-4 if fits else p < 1e-9
