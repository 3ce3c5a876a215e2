"""What runs once in 10^12 draws, run every time: exact coins in place of float ones, places in cells on their edges."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from privet import noise, testing
from privet.noise.families.refined import Refined
from tests.noise.helpers import ALPHA, LAWS, Scripted, module

gaussian, laplace = module("rounded_gaussian"), module("rounded_laplace")


def exact_accept(stream, x, exact):
    return np.array([Refined(stream).below(exact(i)) for i in range(len(x))], dtype=bool)


def exact_accept_one(stream, x, exact):
    return Refined(stream).below(exact)


def exact_compare(stream, chance, margin, exact):
    return exact_accept(stream, chance, exact)


def exact_compare_one(stream, chance, margin, exact):
    return Refined(stream).below(exact)


@pytest.fixture
def exact_coins(monkeypatch):
    """Every float coin of the samplers is replaced by its exact twin."""
    for name in ("geometric", "discrete_gaussian", "rounded_gaussian", "rounded_laplace"):
        for coin in (exact_accept, exact_accept_one, exact_compare, exact_compare_one):
            monkeypatch.setattr(module(name), coin.__name__.removeprefix("exact_"), coin, raising=False)
    monkeypatch.setattr(gaussian, "EDGE_MARGIN", 0.6)
    monkeypatch.setattr("privet.noise.table.TableCache.WORTH", 1)


@pytest.mark.usefixtures("exact_coins")
@pytest.mark.parametrize("center", [0.0, 0.3])
@pytest.mark.parametrize(("name", "scale"), [(n, s) for n in LAWS for s in (1.5, 100.0) if not n.startswith("cks")])
def test_exact_coins_give_the_same_law(name, scale, center):
    sampler, pmf, parameter = LAWS[name]
    more = {"center": center} if name.startswith("rounded") else {}
    many = sampler(**{parameter: scale}, **more, size=5_000)
    one = [sampler(**{parameter: scale}, **more) for _ in range(300)]
    testing.check_samples(np.concatenate([many, one]), lambda k: pmf(k, **{parameter: scale}, **more), alpha=ALPHA)


def places(words, cells, leading, shift):
    """Places whose words are these; all coins show heads."""
    made = gaussian._Places(Scripted([*words, *[0] * len(words)]), np.array(cells), leading, shift)
    made._words = np.array(words, dtype=np.uint64)
    made._refined.clear()
    return made


def test_the_density_in_a_cell_is_enclosed():
    cells, leading = [0, 3, 200], Fraction(77, 2)
    made = places([2**63, 1, 2**64 - 1], cells, leading, 10)
    with mp.workprec(400):
        for place, cell in enumerate(cells):
            lo, hi = made._density(place)(100)
            v = mp.mpf(made._at(place).value) / mp.mpf(2) ** made._at(place).length
            truth = mp.exp(-((cell + v) ** 2 - cell**2) / (2 * mp.mpf(77) ** 2 / 4))
            assert lo <= mp.ldexp(truth, 100) <= hi
            assert hi - lo <= 4


@pytest.mark.parametrize("rest", [Fraction(0), Fraction(1, 4), Fraction(-1, 2), Fraction(1, 3)])
@pytest.mark.parametrize("sign", [1, -1])
def test_places_on_an_edge_are_refined(rest, sign):
    """The fraction agrees with its edge to the last bit of the word; whatever the next bits are, the floor is right."""
    shift = 4
    edge = (5 + Fraction(1, 2) - sign * rest) / 2**shift  # |N| = 2^shift (cell + V), rounded at V = edge
    word = int(edge * 2**64)
    for nearby in {max(word - 1, 0), word, word + 1}:
        made = places([nearby], [7], Fraction(40), shift)
        found = int(made.round(np.array([sign < 0]), rest)[0])
        u = made._at(0)
        magnitude = 2**shift * (7 + Fraction(u.value, 2**u.length))
        middle = magnitude + Fraction(2**shift, 2 ** (u.length + 1))  # of the cell in which |N| lies
        assert math.floor(sign * middle + rest + Fraction(1, 2)) == found


@pytest.mark.parametrize("error", [2.0**-46, -(2.0**-46)])
@pytest.mark.parametrize("t", [0.01, 1.0, 1000.0, 2.0**40])
@pytest.mark.parametrize("tau", [0.0, 1e-12, 0.3, 0.5, 0.999])
def test_the_fraction_of_a_laplace_number(t, tau, error):
    """The float chance, off by 64 ulp in both exponentials, stays within its margin of the enclosed one."""
    lo, hi = laplace._chance(Fraction(tau), Fraction(t))(200)
    assert hi - lo <= 4
    chance, margin = laplace._fraction_below(np.float64(tau), np.float64(t), np.expm1)
    assert abs(Fraction(float(chance) * (1 + error)) - Fraction(lo, 2**200)) <= Fraction(float(margin)) / 2


def test_a_million_draws_with_a_perturbed_library(monkeypatch):
    """Samples from one seed, with logarithm and quantile off by 64 ulp, are the same samples."""
    geometric = module("geometric")

    def draws():
        source = noise.Seeded(5)
        monkeypatch.setattr("privet.noise.table.TableCache.get", lambda *_: None)
        return [
            noise.geometric(scale=1000.0, size=10**6, source=source),
            noise.rounded_gaussian(sigma=30.0, size=10**6, source=source),
        ]

    plain = draws()
    position, quantile = geometric._position, gaussian._quantile
    monkeypatch.setattr(geometric, "_position", lambda *a: position(*a) * (1 + 2.0**-47))
    monkeypatch.setattr(gaussian, "_quantile", lambda *a: quantile(*a) * (1 - 2.0**-47))
    for one, two in zip(plain, draws(), strict=True):
        assert np.array_equal(one, two)
