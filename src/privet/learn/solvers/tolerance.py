"""The distance from a minimum that a computed one may have: what noise and numbers of records allow, from public facts
alone."""

import math

from privet.errors import InvalidParameter
from privet.learn.losses import Loss
from privet.learn.solvers.exact_gradient import scale_of
from privet.noise import Grid

USUAL = 1e-7  # far below the noise of any budget that people have
_LEAST = 2.0**-28  # of a slope: what 2^40 records can lose to rounding is far less (docs/proofs/learn/objective_fit.md)
_WIDEST = 38  # bits: noise is drawn in at most 2^40 steps of its grid
_SHARE = 4.0  # rounding a linear term takes no more than one in so many of the tolerance


def linear_grid(tolerance: float, spread: float, size: int) -> Grid:
    """The grid of a linear term of `size` numbers, each with noise of about `spread`: so fine that rounding it is a
    thousandth of the tolerance, unless the noise is too large for so fine a grid.

    >>> linear_grid(1e-7, 1.0, 4), linear_grid(1.0, 1e12, 4)
    (Grid(exponent=-35), Grid(exponent=1))
    """
    fine = Grid.finer_than(tolerance / math.sqrt(size), 10)
    return Grid(max(fine.exponent, _coarse(spread).exponent))


def _coarse(spread: float) -> Grid:
    return Grid.finer_than(spread, _WIDEST)


def least_tolerance(loss: Loss, spread: float = 0.0, size: int = 1) -> float:
    """The least tolerance that a minimum is certain to be found to, for up to 2^40 records; with a linear term, that its
    grid allows for.

    >>> from privet.learn.losses import Logistic
    >>> least_tolerance(Logistic()), least_tolerance(Logistic(), 1e12, 4)
    (3.725290298461914e-09, 16.0)
    """
    grid = _SHARE * math.sqrt(size) * _coarse(spread).width if spread > 0.0 else 0.0
    return max(_LEAST * scale_of(loss), grid)


def chosen_tolerance(given: float | None, least: float) -> float:
    """The tolerance as given, which must not be below the least one; else the usual one, or what is needed.

    >>> chosen_tolerance(None, 1e-9), chosen_tolerance(None, 1e-3)
    (1e-07, 0.001)
    """
    if given is not None and given < least:
        raise InvalidParameter(
            f"tolerance must be at least {least:.3g} here: whether the minimum is found to it must not depend on the data"
        )
    return max(USUAL, least) if given is None else given
