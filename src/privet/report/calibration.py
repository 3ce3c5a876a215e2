"""A calibrated parameter as it is printed: short, on the safe side, and priced once more on its own."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from privet import accounting
from privet.accounting import Accountant
from privet.errors import InternalError, InvalidParameter
from privet.privacy import Guarantee, PrivacyLoss
from privet.report.numbers import plain, round_down, round_up

_DIGITS = 6  # that are shown, rounded to the safe side
_NUDGE = 5e-5  # relative; the search decides on a finer grid than a plain price is computed on
_NUDGES = 20  # of the last digit that is shown, until what is shown keeps the promise

Make = Callable[[float], PrivacyLoss]


@dataclass(frozen=True)
class Calibration:
    """A parameter, the value found for it, the target and what the value achieves (an upper bound).

    >>> Calibration("noise_multiplier", 3.7307, "epsilon", 1.0, 0.99997).facts()[0]
    ('noise multiplier', '3.7307')
    """

    parameter: str
    value: float
    target: str
    limit: float
    achieved: float

    def facts(self) -> tuple[tuple[str, str], ...]:
        """The result as names and values for a table."""
        share = math.floor(1e4 * self.achieved / self.limit) / 100.0
        value = f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:.{_DIGITS}g}"
        return (
            (self.parameter.replace("_", " "), value),
            ("target", f"{self.target} at most {plain(self.limit)}"),
            ("checked", f"priced at {plain(round_up(self.achieved))}, {share:.2f}% of the target"),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return dict(vars(self))


def calibration(
    make: Make,
    *,
    parameter: str,
    delta: float,
    epsilon: float | None = None,
    advantage: float | None = None,
    tpr: float | None = None,
    fpr: float | None = None,
    more_is_cheaper: bool | None = None,
    bounds: tuple[float, float] | None = None,
    integer: bool = False,
    accountant: Accountant | None = None,
) -> Calibration:
    """The best value of a parameter for one target, rounded to six digits on the safe side and priced again.

    Whether more of the parameter costs less (noise) is found by trying, unless it is said.

    **Guarantee:** `achieved`, the certified upper bound of make(value), is at most the target. **Error:** about 0.03%
    of the target is left unused.

    >>> from privet import privacy
    >>> found = calibration(privacy.GaussianLoss, parameter="noise_multiplier", epsilon=1.0, delta=1e-5)
    >>> 3.7306 < found.value < 3.732 and 0.999 < found.achieved <= 1.0
    True
    """
    target, limit = Guarantee.named(epsilon=epsilon, advantage=advantage, tpr=tpr)
    if (fpr is None) != (tpr is None):
        raise InvalidParameter("a true-positive rate is a target at a false-positive rate: give tpr and fpr together")
    keywords: dict[str, Any] = {target: limit, "integer": integer, "accountant": accountant}
    if bounds is not None:
        keywords["bounds"] = bounds
    if target == "epsilon":
        keywords["delta"] = delta
    if target == "tpr":
        keywords["fpr"] = fpr
    exact = accounting.calibrate(make, **keywords)

    def achieved(value: float) -> float:
        loss = make(value)
        if target == "epsilon":
            return accounting.epsilon(loss, delta=delta, accountant=accountant).upper
        if target == "advantage":
            return accounting.delta(loss, epsilon=0.0, accountant=accountant).upper
        return 1.0 - accounting.tradeoff(loss, fpr or 0.0)

    if more_is_cheaper is None:  # the value just meets the target: with 1% less, noise does not
        more_is_cheaper = achieved(0.99 * exact) > limit
    value: float = int(exact) if integer else _safe(exact, more_is_cheaper)
    for _ in range(_NUDGES):
        if (price := achieved(value)) <= limit:
            return Calibration(parameter, value, target, limit, price)
        value = _cheaper(value, more_is_cheaper, integer)
    raise InternalError(f"calibration of {parameter} ended at a value that misses the target; please report this")


def _safe(value: float, up: bool) -> float:
    return round_up(value, _DIGITS) if up else round_down(value, _DIGITS)


def _cheaper(value: float, up: bool, integer: bool) -> float:
    """A little more noise, or a little less of what costs."""
    if integer:
        step = max(1, round(value * _NUDGE))
        return int(value) + (step if up else -step)
    return _safe(value * (1.0 + _NUDGE if up else 1.0 - _NUDGE), up)
