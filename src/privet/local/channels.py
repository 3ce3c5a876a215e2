"""Channels, finite tables of report laws: the exact epsilon and delta of one, and how large it may be."""

import math
from fractions import Fraction

from privet._numerics import exp_capped, round_down, up
from privet._validate import at_least
from privet.errors import InvalidParameter
from privet.mechanisms import epsilon_of_odds
from privet.privacy.divergences import Channel, contraction

_ENTRIES = 2**22  # of a table that is listed: a few tens of megabytes


def epsilon_of(channel: Channel) -> float:
    """The smallest epsilon for which the channel is epsilon-LDP: the largest log-ratio of two rows, in any outcome.

    For rows of `Fraction` (or texts such as "1/3") it is the logarithm of the exact ratio, rounded up; infinite where one
    value shows what another never shows. Row x is the law of the report on the value x.

    **Guarantee:** the channel is epsilon-LDP iff its contraction at e^epsilon is 0. **Reference:** Asoodeh & Zhang 2022.

    >>> epsilon_of((("3/4", "1/4"), ("1/4", "3/4")))
    1.0986122886681098
    >>> epsilon_of(((0.5, 0.5), (1.0, 0.0)))
    inf
    """
    contraction(channel, 1)  # reads and checks it
    rows = [[Fraction(item) for item in row] for row in channel]
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        if min(column) == 0 < max(column):
            return math.inf
        if max(column) > 0:
            worst = max(worst, max(column) / min(column))
    return epsilon_of_odds(worst)


def delta_of(channel: Channel, epsilon: float) -> float:
    """The smallest delta for which the channel is (epsilon, delta)-LDP: its contraction at e^epsilon, rounded up.

    A sum over sets of outcomes, never over single ones, taken both ways round.

    **Guarantee:** never below the truth for exact rows (e^epsilon is rounded down, the sum is exact).
    **Reference:** Asoodeh & Zhang 2022; lecture notes, the definition of local privacy by E_gamma.

    >>> delta_of((("1/2", "1/2"), ("1/3", "2/3")), 0.0)
    0.16666666666666669
    >>> delta_of((("3/4", "1/4"), ("1/4", "3/4")), 1.1)
    0.0
    """
    number = at_least("epsilon", epsilon, 0.0)
    contraction(channel, 1)  # reads and checks it
    gamma = Fraction(max(1.0, round_down(exp_capped(number), 4.0)))
    return up(contraction([[Fraction(item) for item in row] for row in channel], gamma))


def listed(rows: int, columns: int) -> None:
    """A check that a channel with so many rows and columns has few enough entries to be listed.

    >>> listed(1000, 1000)
    """
    if rows * columns > _ENTRIES:
        raise InvalidParameter(
            "a channel of more than 2^22 entries is not listed: take fewer values; the price needs none"
        )
