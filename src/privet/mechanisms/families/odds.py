"""The fractions that run, and the price of them: both rounded towards privacy."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

from privet._numerics import up
from privet.errors import InvalidParameter

_DENOMINATOR = 31  # bits of a probability, unless that is too coarse
_FINE = 24  # bits of relative precision of epsilon
MOST = 4000.0  # epsilon; its fractions have 6,000 bits
_WHOLE = 2**20  # e^epsilon up to which a whole number is recognised


def chance_for(epsilon: float, others: Fraction | int = 1) -> Fraction:
    """A fraction p just below e/(e + others), e = e^epsilon: then p/(1 - p) * others is at most e.

    Where epsilon is the logarithm of a whole number, rounded up, p is e/(e + others) itself.

    >>> chance_for(math.nextafter(math.log(4), 2), 2), chance_for(math.log(3.0))
    (Fraction(2, 3), Fraction(3, 4))
    """
    if epsilon > MOST:
        raise InvalidParameter(
            f"epsilon must be at most {MOST:g}: beyond, a lie is so rare that the report is the truth"
        )
    c = Fraction(others)
    whole = round(math.exp(epsilon)) if epsilon < math.log(_WHOLE) else 0
    if whole > 1 and epsilon_of_odds(Fraction(whole)) == epsilon:
        return whole / (whole + c)
    log_c, small = math.log2(c), epsilon / math.log(2.0)
    most = math.log2(1.0 + 2.0 ** min(log_c - small, 1000.0))  # of 1 + c e^-epsilon
    above_chance = log_c + math.log2(-math.expm1(-epsilon)) - most - math.log2(1 + c)
    below_one = log_c - small - most
    bits = max(_DENOMINATOR, _FINE + 1 - math.floor(min(above_chance, below_one)))
    with localcontext() as context:
        context.prec = 40 + bits // 3
        odds = Decimal(c.numerator) / Decimal(c.denominator) * (-Decimal(epsilon)).exp()
        lie = math.ceil(Fraction(odds / (1 + odds)) * 2**bits)
    while lie < 2**bits and epsilon_of_odds(odds_of(1 - Fraction(lie, 2**bits), c)) > epsilon:
        lie += 1  # the 40 spare digits make this a formality
    return 1 - Fraction(lie, 2**bits)


def odds_of(chance: Fraction, others: Fraction | int = 1) -> Fraction:
    """e^epsilon of p = chance: p/(1 - p) * others.

    >>> odds_of(Fraction(2, 3), 2)
    Fraction(4, 1)
    """
    return chance / (1 - chance) * others


def epsilon_of_odds(odds: Fraction) -> float:
    """ln(odds) rounded up to a double.

    >>> epsilon_of_odds(Fraction(3)), epsilon_of_odds(Fraction(1))
    (1.0986122886681098, 0.0)
    """
    if odds == 1:
        return 0.0
    with localcontext() as context:
        context.prec = 80 + odds.denominator.bit_length() // 3  # as close to 1 as the denominator allows
        log = (Decimal(odds.numerator) / Decimal(odds.denominator)).ln() * (1 + Decimal("1e-70"))
        return up(log)
