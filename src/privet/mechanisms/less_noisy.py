"""Laplace or Gaussian: whichever has the smaller error for the same budget."""

from contextlib import suppress
from fractions import Fraction
from typing import Unpack

from privet._calls import called_by_name
from privet.errors import NoGuarantee, Unreachable
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.laplace import Laplace
from privet.mechanisms.sensitivity import Sensitivity
from privet.privacy import Guarantee, Promise, Unit, spelt_out


@called_by_name
@spelt_out
def less_noisy(
    *,
    l1: float | Fraction | Sensitivity,
    l2: float | Fraction | Sensitivity,
    unit: Unit | None = None,
    dimension: int = 1,
    confidence: float = 0.95,
    **promise: Unpack[Promise],
) -> Laplace | Gaussian:
    """The mechanism whose error bar at `confidence`, jointly over `dimension` coordinates, is smaller.

    Laplace noise is measured against the l1, Gaussian against the l2 sensitivity of the same function. Gaussian noise
    wins where many coordinates move a little each, Laplace where one moves or no delta is allowed. The choice looks at
    public numbers only.

    >>> less_noisy(epsilon=1.0, delta=1e-6, l1=1, l2=1).name
    'laplace'
    >>> less_noisy(epsilon=1.0, delta=1e-6, l1=100, l2=10, dimension=100).name
    'gaussian'
    """
    Guarantee(**promise)
    found: list[Laplace | Gaussian] = []
    with suppress(Unreachable):
        found.append(Laplace.for_budget(**promise, sensitivity=l1, unit=unit))
    with suppress(NoGuarantee):  # Gaussian noise needs a delta
        found.append(Gaussian.for_budget(**promise, sensitivity=l2, unit=unit))
    if not found:
        raise Unreachable("neither Laplace nor Gaussian noise meets this budget; allow a larger one")
    return min(found, key=lambda mechanism: mechanism.error(confidence, dimension=dimension).radius)
