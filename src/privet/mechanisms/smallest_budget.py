"""The smallest budget that reaches a wanted error."""

import math
from collections.abc import Callable
from typing import Any

from privet._calls import door
from privet._numerics import bisect, bracket
from privet._validate import above, instance, open_fraction
from privet.errors import InvalidParameter, Unreachable
from privet.mechanisms.mechanism import Mechanism

_LARGEST = 1e6  # a budget beyond promises nothing
_LEAST = 1e-9  # where the search for a smaller one ends
_USUAL = 1.0  # where it begins: a mechanism that this budget cannot make is asked for in a wrong way


@door
def smallest_budget(
    make: Callable[[float], Mechanism[Any, Any]], *, within: float, confidence: float = 0.95, **options: object
) -> float:
    """The smallest budget at which the error bar of `make(budget)` is at most `within`, to one part in a million.

    `make` turns a budget (an epsilon, a rho or a mu) into a mechanism; `options` go to its `error`, for instance
    `dimension=` or `candidates=`. No data is needed: the error bar follows from public parameters.

    **Error:** the bar at the budget that is returned is at most `within`, so it is a little on the safe side.

    >>> from privet.mechanisms import Count, Laplace
    >>> epsilon = smallest_budget(lambda e: Laplace.for_budget(epsilon=e, sensitivity=1.0), within=50.0)
    >>> round(epsilon, 4)
    0.0599
    >>> Count.for_budget(epsilon=smallest_budget(lambda e: Count.for_budget(epsilon=e), within=10)).error().radius
    10.0
    """
    goal, share = above("within", within, 0.0), open_fraction("confidence", confidence)

    def reaches(budget: float) -> bool:
        try:
            bar = instance("what make returns", make(budget), Mechanism).error(share, **options)
        except (Unreachable, InvalidParameter):
            if budget >= _USUAL:
                raise
            return False  # so small a budget that no noise of this kind can be drawn
        if bar is None:
            raise InvalidParameter("this mechanism has no error bar, so no budget can be found for one")
        return bar.radius <= goal

    low, high = bracket(reaches, _USUAL, least=_LEAST, most=_LARGEST)
    if math.isinf(high):
        raise Unreachable("no budget up to 1e6 brings the error bar down to that; ask for a larger error")
    least_is_enough = low == 0.0
    return high if least_is_enough else bisect(reaches, low, high, within=1e-6)
