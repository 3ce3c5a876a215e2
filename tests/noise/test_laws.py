"""Every sampler, on every path, against its exact law; and the same test against laws that are slightly wrong."""

import math

import numpy as np
import pytest

from privet import noise, testing
from privet._numerics import exact
from privet.noise.table import TableCache
from tests.noise.helpers import ALPHA, LAWS, module, without_tables

CACHED = ("geometric", "discrete_laplace", "discrete_gaussian", "rounded_gaussian")
SCALES = (0.3, 1.0, 2.5, 10.0, 100.0, 3000.0)
N = 200_000


def check_law(name, scale, samples, **more):
    _, pmf, parameter = LAWS[name]
    testing.check_samples(samples, lambda k: pmf(k, **{parameter: scale}, **more), alpha=ALPHA)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", [name for name in LAWS if not name.startswith("cks")])
def test_table_path(name, scale):
    sampler, _, parameter = LAWS[name]
    check_law(name, scale, sampler(**{parameter: scale}, size=N))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", list(LAWS))
def test_general_path(name, scale, monkeypatch):
    without_tables(monkeypatch)
    sampler, _, parameter = LAWS[name]
    check_law(name, scale, sampler(**{parameter: scale}, size=N // 4))


@pytest.mark.parametrize("name", [name for name in LAWS if not name.startswith("cks")])
def test_one_at_a_time(name):
    sampler, _, parameter = LAWS[name]
    draws = [sampler(**{parameter: 2.5}) for _ in range(8_000)]
    assert {type(value) for value in draws} == {int}
    check_law(name, 2.5, np.array(draws))


@pytest.mark.parametrize("center", [0.3, -0.5, 7.5, -1e-30, 123456.789, 2.0**51 + 0.25])
@pytest.mark.parametrize("scale", [0.3, 10.0, 700.0])
@pytest.mark.parametrize("name", ["rounded_gaussian", "rounded_laplace"])
def test_any_centre(name, scale, center):
    sampler, _, parameter = LAWS[name]
    whole = round(center)
    many = sampler(**{parameter: scale}, center=np.full(50_000, center)) - whole
    shared = sampler(**{parameter: scale}, center=center, size=50_000) - whole
    check_law(name, scale, np.concatenate([many, shared]), center=center - whole)


def test_a_centre_may_differ_from_draw_to_draw():
    centers = np.tile([0.25, -0.25, 1000.5], 50_000)
    draws = noise.rounded_laplace(scale=3, center=centers).reshape(-1, 3)
    for column, center in enumerate(centers[:3]):
        check_law("rounded_laplace", 3.0, draws[:, column], center=center)


@pytest.mark.parametrize("center", [0, 0.3])
def test_cauchy(center):
    """Tails too heavy for integer by integer: cells at the law's own quantiles."""
    draws = noise.rounded_cauchy(scale=5.0, center=center, size=N)
    edges = np.unique(np.rint(np.tan(np.pi * (np.linspace(0.001, 0.999, 200) - 0.5)) * 5.0))
    below = 0.5 + np.arctan((edges - 0.5 - center) / 5.0) / math.pi
    chances = np.diff(np.concatenate([[0.0], below, [1.0]]))
    cell = np.searchsorted(edges, draws, side="right")
    testing.check_samples(
        cell, lambda k: np.where((k >= 0) & (k < len(chances)), chances[np.clip(k, 0, len(chances) - 1)], 0)
    )


@pytest.mark.parametrize("factor", [2 / 3, 3 / 2])
@pytest.mark.parametrize("scale", [0.5, 1.0, 10.0, 3000.0])
@pytest.mark.parametrize("name", list(LAWS))
def test_wrong_scales_are_rejected(name, scale, factor):
    sampler, _, parameter = LAWS[name]
    samples = sampler(**{parameter: scale * factor}, size=100_000 if name[:3] != "cks" else 20_000)
    with pytest.raises(AssertionError, match="do not follow the law"):
        check_law(name, scale, samples)


@pytest.mark.parametrize(("name", "variance"), [("discrete_laplace", 199.83341663360945), ("discrete_gaussian", 100.0)])
def test_moments_within_five_standard_errors(name, variance):
    sampler, _, parameter = LAWS[name]
    x = sampler(**{parameter: 10.0}, size=10**6).astype(float)
    assert abs(x.mean()) <= 5 * math.sqrt(variance / len(x))
    kurtosis = 6.0 if name == "discrete_laplace" else 3.0
    assert abs(x.var() / variance - 1.0) <= 5 * math.sqrt((kurtosis - 1.0) / len(x))


def test_a_table_is_built_on_demand_and_few_are_kept():
    cache = TableCache(lambda parameter: parameter)
    assert cache.get(exact("t", 1), TableCache.WORTH - 1) is None
    assert cache.get(exact("t", 1), 1) is not None
    for t in range(2, 40):
        cache.get(exact("t", t), TableCache.WORTH)
    assert len(cache._tables) == TableCache.MOST
    caches = [value for name in CACHED for value in vars(module(name)).values() if isinstance(value, TableCache)]
    assert len(caches) * TableCache.MOST <= 32
