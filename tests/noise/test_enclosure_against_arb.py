"""Our integer enclosures beside ball arithmetic (Arb, through python-flint), which shares no code with them.

Arb proves an interval of its own, at a much higher precision: ours must contain it, and must be narrow.
"""

from fractions import Fraction

import pytest

from privet.noise.families import enclosure

flint = pytest.importorskip("flint", reason="python-flint is not installed")

BITS = (8, 53, 64, 200)
ARGUMENTS = (
    Fraction(1, 10**12),
    Fraction(1, 3),
    Fraction(1, 2),
    Fraction(7, 5),
    Fraction(2**60 + 1, 2**60),
    Fraction(5),
    Fraction(1234567, 54321),
    Fraction(100),
)


def ball(value: Fraction) -> "flint.arb":
    return flint.arb(value.numerator) / value.denominator


def truth(name: str, x: Fraction) -> "flint.arb":
    """The function that the enclosure of this name stands for."""
    if name == "exp_neg":
        return (-ball(x)).exp()
    if name == "normal_above":
        return (ball(x) / flint.arb(2).sqrt()).erfc() / 2
    return flint.arb(1) / 2 - ball(x).atan() / flint.arb.pi()


def contains(ends: tuple[int, int], value: "flint.arb", bits: int) -> bool:
    """Whether all of Arb's interval lies between the ends."""
    scaled = value * flint.arb(2) ** bits
    return bool(scaled >= ends[0]) and bool(scaled <= ends[1])


@pytest.fixture(autouse=True)
def precision():
    before = flint.ctx.prec
    flint.ctx.prec = 2000
    yield
    flint.ctx.prec = before


@pytest.mark.parametrize("name", ["exp_neg", "normal_above", "cauchy_above"])
@pytest.mark.parametrize("bits", BITS)
def test_the_truth_lies_between_the_ends(name, bits):
    for x in ARGUMENTS:
        ends = getattr(enclosure, name)(x.numerator, x.denominator, bits)
        assert contains(ends, truth(name, x), bits), (name, x)
        assert ends[1] - ends[0] <= 2, (name, x)


@pytest.mark.parametrize("bits", BITS)
def test_logarithms_lie_between_the_ends(bits):
    for prefix, length in ((1, 1), (1, 64), (3, 2), (2**63 + 1, 64), (2**64 - 1, 64), (12345, 20)):
        ends = enclosure.neg_log(prefix, length, bits)
        assert contains(ends, -(ball(Fraction(prefix, 2**length)).log()), bits), (prefix, length)
        assert ends[1] - ends[0] <= 2


def test_an_end_that_is_off_by_two_units_is_noticed():
    x, bits = Fraction(7, 5), 64
    low, high = enclosure.exp_neg(x.numerator, x.denominator, bits)
    assert not contains((low + 2, high + 2), truth("exp_neg", x), bits)
    assert not contains((low - 2, high - 2), truth("exp_neg", x), bits)
    # The wrong function is noticed as well: one that lacks the factor 1/2.
    wrong = tuple(2 * end for end in enclosure.normal_above(1, 1, bits))
    assert not contains(wrong, truth("normal_above", Fraction(1)), bits)
