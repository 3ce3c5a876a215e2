"""Laplace or Gaussian: whichever has the smaller error for the same budget."""

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any, Literal, Unpack, overload

from privet._calls import door
from privet.errors import NoGuarantee, Unreachable
from privet.mechanisms.discrete_laplace import DiscreteLaplace
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.laplace import Laplace
from privet.mechanisms.sensitivity import Sensitivity
from privet.privacy import Guarantee, Promise, Unit, spelt_out

Noise = Laplace | DiscreteLaplace | Gaussian
Length = float | Fraction | Sensitivity


@overload
def least_noise(
    *,
    l1: Length,
    l2: Length,
    unit: Unit | None = None,
    whole: Literal[False] = False,
    dimension: int = 1,
    confidence: float = 0.95,
    by: Callable[[Noise], float] | None = None,
    **promise: Unpack[Promise],
) -> Laplace | Gaussian: ...
@overload
def least_noise(
    *,
    l1: Length,
    l2: Length,
    unit: Unit | None = None,
    whole: Literal[True],
    dimension: int = 1,
    confidence: float = 0.95,
    by: Callable[[Noise], float] | None = None,
    **promise: Unpack[Promise],
) -> DiscreteLaplace | Gaussian: ...
@door
@spelt_out
def least_noise(
    *,
    l1: Length,
    l2: Length,
    unit: Unit | None = None,
    whole: bool = False,
    dimension: int = 1,
    confidence: float = 0.95,
    by: Callable[[Noise], float] | None = None,
    **promise: Unpack[Promise],
) -> Noise:
    """The mechanism whose error bar at `confidence`, jointly over `dimension` coordinates, is smaller.

    Laplace noise is measured against the l1, Gaussian against the l2 sensitivity of the same function; `whole=True`
    compares discrete Laplace noise, for whole numbers. `by` measures a mechanism otherwise, where what is made of the noise
    counts. Gaussian noise wins where many coordinates move a little each, Laplace where one moves or no delta is allowed.
    The choice looks at public numbers only.

    >>> least_noise(epsilon=1.0, delta=1e-6, l1=1, l2=1).name
    'laplace'
    >>> least_noise(epsilon=1.0, delta=1e-6, l1=100, l2=10, dimension=100).name
    'gaussian'
    """
    Guarantee(**promise)  # which says what is wrong
    laplace: Any = DiscreteLaplace if whole else Laplace
    made: list[Noise] = []
    with suppress(NoGuarantee, Unreachable):  # Laplace noise has no mu
        made.append(laplace.for_budget(sensitivity=l1, unit=unit, **promise))
    with suppress(NoGuarantee):  # Gaussian noise needs a delta
        made.append(Gaussian.for_budget(sensitivity=l2, unit=unit, **promise))
    if not made:
        raise Unreachable("neither Laplace nor Gaussian noise meets this budget; allow a larger one")
    return min(made, key=by or (lambda noise: noise.error(confidence, dimension=dimension).radius))
