"""Sums of many unlike losses by groups: the same transform within the error that is said, whichever way it is made."""

import math

import numpy as np
import pytest

from privet import accounting, privacy
from privet.accounting.pld import compose, rounding, spectrum
from privet.accounting.pld.rounding import GridLaw, lower_law, upper_law


def laws(count, rng, n=1):
    """Short random laws on one lattice, with gaps."""
    found = []
    for _ in range(count):
        places = np.sort(rng.choice(np.arange(-9, 40), size=rng.integers(1, 12), replace=False))
        mass = rng.dirichlet(np.ones(len(places)))
        found.append((GridLaw(0.001, 0.01, places, mass, 0.0, 0.0, 0.0), n))
    return found


def exact_sum(group, t, length):
    """The folded law of the tilted sum, by direct convolution in long doubles, and its transform."""
    total = np.ones(1, dtype=np.longdouble)
    for law, n in group:
        tilted = law.mass.astype(np.longdouble) * np.exp(
            law.losses().astype(np.longdouble) * t - np.longdouble(law.log_moment(t))
        )
        dense = np.zeros(law.stop - law.start + 1, dtype=np.longdouble)
        dense[law.places - law.start] = tilted
        for _ in range(n):
            total = np.convolve(total, dense)
    folded = np.zeros(length, dtype=np.longdouble)
    np.add.at(folded, np.arange(len(total)) % length, total)
    angles = 2 * np.pi * (np.multiply.outer(np.arange(length // 2 + 1), np.arange(length)) % length) / length
    return folded, (folded * np.exp(-1j * angles.astype(np.longdouble))).sum(axis=1)


@pytest.mark.parametrize("count", [2, 3, 4, 12])
@pytest.mark.parametrize(("length", "n"), [(1024, 1), (160, 1), (160, 3)])
def test_the_transform_of_a_group_is_off_by_no_more_than_it_says(count, length, n):
    """Windows longer than the sum, and shorter ones into which it is folded."""
    group = laws(count, np.random.default_rng(count), n)
    found, error = spectrum.transform_of_group(group, 0.7, length)
    off = float(np.abs(found - exact_sum(group, 0.7, length)[1]).max())
    assert off <= error < 1e-10


def test_a_group_with_a_wrong_mass_would_be_seen(monkeypatch):
    group = laws(5, np.random.default_rng(1))
    real = spectrum._tilted
    monkeypatch.setattr(
        spectrum, "_tilted", lambda law, t: real(law, t) * (1.0 + 1e-9 * (np.arange(len(law.mass)) == 0))
    )
    found, error = spectrum.transform_of_group(group, 0.7, 1024)
    assert float(np.abs(found - exact_sum(group, 0.7, 1024)[1]).max()) > error


@pytest.mark.parametrize("count", [1, 3, 4, 5, 60])
def test_every_law_is_in_one_group(count):
    """Both sides of the number of laws from which on groups are made."""
    parts = laws(count, np.random.default_rng(count), 2)
    groups = spectrum.grouped(parts, 4096)
    assert sorted(id(law) for group in groups for law, _ in group) == sorted(id(law) for law, _ in parts)
    assert all(n == 2 for group in groups for _, n in group)
    assert (max(len(group) for group in groups) > 1) == (count >= spectrum._WORTH_IT)


@pytest.mark.parametrize("count", [3, 4, 40])
def test_the_product_is_that_of_single_laws_within_both_bounds(count):
    parts, length = laws(count, np.random.default_rng(7), 2), 2048
    alone, noise = spectrum.product(((*spectrum.transform_of(law, 0.3, length), n) for law, n in parts), length)
    together, other = compose._spectrum(parts, 0.3, length)
    bins = np.fft.irfft(alone, length) - np.fft.irfft(together, length)
    slack = 1e-15  # of the two transforms back
    assert np.abs(bins).max() <= noise + other + slack
    assert noise + other < 1e-11


def test_powers_and_single_factors_are_one_product():
    """A part written as one of power 3, as three of power 1, and frequencies that are left on the way."""
    rng = np.random.default_rng(3)
    law = laws(1, rng)[0][0]
    wide = GridLaw(0.0, 0.01, np.arange(200), np.full(200, 1 / 200), 0.0, 0.0, 0.0)
    length = 4096
    for each in (law, wide):
        factor = spectrum.transform_of(each, 0.2, length)
        for n in (3, 40):
            power, first = spectrum.product([(*factor, n)], length)
            single, second = spectrum.product([(*factor, 1)] * n, length)
            bins = np.fft.irfft(power, length) - np.fft.irfft(single, length)
            assert np.abs(bins).max() <= first + second + 1e-15


@pytest.mark.parametrize(
    "make",
    [
        lambda: [privacy.GaussianLoss(float(s)) for s in np.linspace(20.0, 60.0, 60)],
        lambda: [privacy.GaussianLoss(float(s)) for s in np.linspace(4.0, 9.0, 5)],
    ],
    ids=["sixty", "five"],
)
def test_both_ends_enclose_what_is_known_exactly(make):
    """Many unlike normal laws are one: its epsilon lies between the ends, which are close."""
    parts = make()
    mu = math.sqrt(math.fsum(1.0 / part.noise_multiplier**2 for part in parts))
    truth = accounting.epsilon(privacy.GaussianLoss(1.0 / mu), delta=1e-6)
    found = accounting.epsilon(privacy.Composed(tuple(parts)), delta=1e-6, accountant=accounting.PLD())
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.upper - found.lower <= 3e-4 * max(1.0, found.upper)


def test_upper_and_lower_laws_of_many_discrete_parts_keep_their_order():
    """Settling one by one: the upper curve never lies below the lower one, and both enclose the exact one."""
    loss = privacy.DiscreteGaussianLoss(7.3)
    for step in (0.0013, 0.004):
        above, below = (make(loss, "remove", step, 1e-20) for make in (upper_law, lower_law))
        variable = loss.variable("remove")
        for epsilon in (0.0, 0.05, 0.31):
            ends = []
            for law, sign in ((below, -1.0), (above, 1.0)):
                losses = law.losses() + sign * law.shift
                ends.append(float((law.mass * np.maximum(-np.expm1(epsilon - losses), 0.0)).sum()) + law.infinite)
            exact = variable.enclose(epsilon)
            assert ends[0] <= exact[1] * (1 + 1e-11)
            assert ends[1] >= exact[0] * (1 - 1e-11)


@pytest.mark.parametrize("move", [1, -1])
def test_a_few_cells_balance_as_many_do(move):
    rng = np.random.default_rng(5)
    met = set()
    for _ in range(400):
        p, q = rng.exponential(size=(2, rng.integers(1, 33))) * (rng.random(2)[:, None] + 0.01)
        p[1:], q[1:] = p[1:] * (rng.random(len(p) - 1) < 0.4), q[1:] * (p[1:] > 0.0)
        quick, plain = (way(p, q, 1.0, move) for way in (rounding._enough_near, rounding._enough))
        assert (quick is None) == (plain is None)
        if quick is not None:
            assert quick[0] == plain[0]
            assert quick[1:] == pytest.approx(plain[1:], rel=1e-12)
        met.add(quick is None)
    assert met == {True, False}
