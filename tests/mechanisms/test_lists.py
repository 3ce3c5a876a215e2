"""Long lists: the same numbers and the same law as one by one, whichever of them are doubles."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privet import noise
from privet.mechanisms import Gaussian, Laplace, Staircase, registered_mechanisms
from privet.mechanisms.families import values
from privet.mechanisms.families.additive import AdditiveMechanism

ALPHA = 1e-6  # false-alarm probability of a statistical test here
ODD = [
    2**60 + 1,
    -(2**53) - 1,
    10**400,
    Fraction(1, 3),
    Decimal("0.1"),
    2**53,
    2**60,
    None,
    "x",
    True,
    float("inf"),
    0.1,
]


@pytest.mark.parametrize("length", [12, 63, 64, 65, 1000])
def test_a_list_is_the_same_numbers_whichever_way_it_is_read(length):
    """Both sides of the length from which lists are read as doubles; NaN counts as 0."""
    items = (ODD + [float("nan")] + [0.5, 3] * length)[:length]
    quick, slow = values.read_doubles(items), values.read_value(items)
    assert (quick.array is not None) == (length >= values._QUICK)
    assert quick == slow
    assert values.read_doubles([items, items]).fractions() == 2 * slow.fractions()
    if quick.apart is not None:
        assert {items[place] for place in quick.apart} == {*ODD[:5], ODD[6]}


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
@pytest.mark.parametrize("length", [63, 64, 200])
def test_every_number_of_a_list_has_noise_of_its_own_width(kind, length):
    """Numbers that are doubles, and those that are not, at places in between."""
    items = [(Fraction(10**6, 3), 2.5, Decimal("100.1"), 7)[place % 4] for place in range(length)]
    mechanism = kind(scale=4.0, sensitivity=1.0)
    drawn = mechanism.simulate(items, 20_000 // length, source=noise.Seeded(8))
    noises = (drawn - np.array([float(item) for item in items])) / mechanism.scale
    law = stats.norm if kind is Gaussian else stats.laplace
    for kept in range(4):
        one = noises[:, kept::4].ravel()
        assert stats.kstest(one, law.cdf).pvalue > ALPHA
        assert stats.kstest(one * 0.75, law.cdf).pvalue < ALPHA
    assert len(np.unique(noises[0, 0::4])) == len(noises[0, 0::4])


def test_as_many_draws_whether_or_not_a_number_is_no_double():
    """The calls for noise, and how much each is asked for, but for what is apart."""
    plain, odd = [0.5] * 100, [0.5] * 99 + [Fraction(1, 3)]
    counts = []
    for items in (plain, odd):
        asked = []
        mechanism = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
        real = Laplace._noisy

        def watched(self, center, *args, asked=asked, real=real, **keywords):
            asked.append(np.size(center))
            return real(self, center, *args, **keywords)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Laplace, "_noisy", watched)
            mechanism.release(items)
        counts.append(asked)
    assert counts == [[100, 1], [100, 2]]


# the staircase is for one number
ADDITIVE = [
    each for each in registered_mechanisms().values() if issubclass(each, AdditiveMechanism) and each is not Staircase
]


@pytest.mark.parametrize("kind", ADDITIVE, ids=lambda kind: kind.name)
@pytest.mark.parametrize("length", [63, 64, 200])
def test_every_mechanism_that_adds_noise_reads_all_numbers_of_a_list(kind, length):
    """What is no double was 0 to a mechanism that draws in its own way: a hair moved a number by all of it."""
    items = [Fraction(10**6 * (1 + place), 3) if place % 2 else float(10**6 * place) for place in range(length)]
    made = kind.for_budget(epsilon=1.0, **({"delta": 1e-6} if kind is Gaussian else {}), sensitivity=1e-3)
    found = np.asarray(made.release(items).value)
    assert np.abs(found - np.array([float(each) for each in items])).max() < 10.0
