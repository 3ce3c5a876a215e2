"""Calibration: the best parameter that meets a privacy target."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from privet._validate import above, finite, fraction, open_fraction
from privet.accounting.base import Accountant
from privet.accounting.tightest import Tightest
from privet.accounting.tradeoff import tpr_at
from privet.errors import InvalidParameter, NoGuarantee, Unreachable
from privet.privacy import PrivacyLoss

__all__ = ["calibrate"]

_COARSE = 1e-3  # relative width while searching
_FINE = 3e-5  # relative width of the deciding bound
_CLOSE = 2e-4  # the answer lands within this share below the target

Make = Callable[[float], PrivacyLoss]


@dataclass(frozen=True)
class _Target:
    """What is measured, and what it may be at most."""

    name: str
    value: float
    measure: Callable[[PrivacyLoss, float], float]  # (loss, tolerance) -> certified upper end


def calibrate(
    make: Make,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    advantage: float | None = None,
    tpr: float | None = None,
    fpr: float | None = None,
    mu: float | None = None,
    bounds: tuple[float, float] = (1e-6, 1e9),
    integer: bool = False,
    accountant: Accountant | None = None,
) -> float:
    """The best scalar s whose loss `make(s)` meets the target: the smallest noise, the most steps, the largest q.

    Targets: `epsilon` with `delta` (either may be 0 only for pure losses), `advantage`, `tpr` at `fpr`, or `mu` (GDP). The
    direction (does the cost fall or rise with s?) is found by trying. The returned value is the end of the bracket that
    satisfies the target with the *upper* bound; integer parameters are rounded to the safe side.

    **Guarantee:** the certified upper bound of make(result) is at most the target. **Error:** within 0.02% of the target.

    >>> from privet import privacy
    >>> s = calibrate(lambda z: privacy.GaussianLoss(noise_multiplier=z), epsilon=1.0, delta=1e-5)
    >>> round(s, 3)
    3.731
    """
    target = _target(epsilon, delta, advantage, tpr, fpr, mu, accountant)
    low, high = finite("bounds[0]", bounds[0]), finite("bounds[1]", bounds[1])
    if not 0.0 < low < high:
        raise InvalidParameter(f"bounds must satisfy 0 < low < high, got {bounds}")
    if integer:
        return _whole(make, target, math.ceil(low), math.floor(high))
    search = _Search(make, target, low, high)
    return search.run()


def _target(
    epsilon: float | None,
    delta: float | None,
    advantage: float | None,
    tpr: float | None,
    fpr: float | None,
    mu: float | None,
    accountant: Accountant | None,
) -> _Target:
    def tuned(tolerance: float) -> Accountant:
        if accountant is None:
            return Tightest(tolerance)
        return replace(accountant, tol=tolerance) if hasattr(accountant, "tol") else accountant  # type: ignore[type-var]

    given = [name for name, v in (("epsilon", epsilon), ("advantage", advantage), ("tpr", tpr), ("mu", mu)) if v is not None]
    if len(given) != 1:
        raise InvalidParameter("give exactly one target: epsilon (with delta), advantage, tpr (with fpr) or mu")
    if epsilon is not None:
        at = fraction("delta", delta if delta is not None else 0.0)
        return _Target("epsilon", above("epsilon", epsilon, 0.0), lambda s, tol: tuned(tol).epsilon(s, at).upper)
    if advantage is not None:
        return _Target("advantage", open_fraction("advantage", advantage), lambda s, tol: tuned(tol).delta(s, 0.0).upper)
    if mu is not None:
        return _Target("mu", above("mu", mu, 0.0), lambda s, _: s.gdp())
    if fpr is None:
        raise InvalidParameter("a target tpr needs the fpr at which it holds")
    rate = open_fraction("fpr", fpr)
    assert tpr is not None
    if not rate < open_fraction("tpr", tpr):
        raise InvalidParameter(f"every attack reaches tpr = fpr = {rate}; the target tpr must be larger")
    return _Target("tpr", tpr, lambda s, _: tpr_at(s, rate))


class _Search:
    """Root finding on ln s against ln measure, with a coarse grid first and the fine one to decide."""

    def __init__(self, make: Make, target: _Target, low: float, high: float) -> None:
        self.make, self.target, self.low, self.high = make, target, low, high

    def measure(self, s: float, tolerance: float) -> float:
        """The certified upper end, infinity where nothing is proved."""
        try:
            return self.target.measure(self.make(s), tolerance)
        except NoGuarantee:
            return math.inf

    def run(self) -> float:
        start = min(max(1.0, self.low), self.high)
        sign = self._direction(start)
        good, bad = self._bracket(start, sign)
        good, bad = self._narrow(good, bad, _COARSE, 3e-4)
        return self._finish(good, bad, sign)

    def _direction(self, start: float) -> float:
        """+1 when the cost falls with s (noise), -1 when it rises (steps, sampling rate)."""
        probes = [min(self.high, start * f) for f in (1.0, 4.0, 16.0)]
        values = [self.measure(s, 0.05) for s in probes]
        if all(math.isinf(v) for v in values):
            return 1.0
        falls = values[0] >= values[1] >= values[2]
        rises = values[0] <= values[1] <= values[2]
        if falls == rises:  # flat, or neither: look at the ends of the allowed range
            return 1.0 if self.measure(self.low, 0.05) >= self.measure(self.high, 0.05) else -1.0
        return 1.0 if falls else -1.0

    def _bracket(self, start: float, sign: float) -> tuple[float, float]:
        """A point that meets the target and a neighbour that does not."""
        factor = 2.0**sign
        s = start
        if self.measure(s, _COARSE) <= self.target.value:
            factor = 1.0 / factor
        meets = self.measure(s, _COARSE) <= self.target.value
        while True:
            following = min(max(s * factor, self.low), self.high)
            if following == s:
                if meets:
                    return s, s
                raise Unreachable(
                    f"no value between {self.low:g} and {self.high:g} reaches {self.target.name} <= {self.target.value:g}; "
                    f"at {s:g} it is still {self.measure(s, _COARSE):.6g}"
                )
            if (self.measure(following, _COARSE) <= self.target.value) != meets:
                return (s, following) if meets else (following, s)
            s, factor = following, factor * factor if abs(math.log(factor)) < 4.0 else factor

    def _narrow(self, good: float, bad: float, tolerance: float, close: float) -> tuple[float, float]:
        """Shrink the bracket by secant steps in log-log scale, safeguarded by bisection."""
        goal = math.log(self.target.value)
        x_good, x_bad = math.log(good), math.log(bad)
        y_good, y_bad = self._log(good, tolerance), self._log(bad, tolerance)
        for iteration in range(60):
            if abs(x_good - x_bad) < 1e-13 or goal - y_good < close:
                break
            share = (goal - y_good) / (y_bad - y_good) if math.isfinite(y_bad) and y_bad > y_good else 0.5
            share = min(max(share, 0.02), 0.98) if iteration % 4 != 3 else 0.5
            x = x_good + share * (x_bad - x_good)
            y = self._log(math.exp(x), tolerance)
            if y <= goal:
                x_good, y_good = x, y
            else:
                x_bad, y_bad = x, y
        return math.exp(x_good), math.exp(x_bad)

    def _log(self, s: float, tolerance: float) -> float:
        value = self.measure(s, tolerance)
        return math.log(value) if value > 0.0 else -745.0

    def _finish(self, good: float, bad: float, sign: float) -> float:
        """Decide with the fine grid: the coarse answer is only a guess (its upper end is a little too high)."""
        if good == bad:
            return good
        value = self.target.value
        if self.measure(good, _FINE) > value:  # cannot happen for a finer grid, but never trust it
            return self._narrow(bad if sign < 0 else self.high, good, _FINE, _CLOSE)[0]
        edge = good
        for _ in range(40):  # walk towards the costly side until the fine bound exceeds the target
            edge = edge * (1.0 - 1e-3 * sign)
            if not self.low <= edge <= self.high or self.measure(edge, _FINE) > value:
                break
            good = edge
        edge = min(max(edge, self.low), self.high)
        return good if edge == good else self._narrow(good, edge, _FINE, _CLOSE)[0]


def _whole(make: Make, target: _Target, low: int, high: int) -> float:
    """Integer parameters (steps, sizes): bisection on whole numbers, always ending on one that meets the target."""
    search = _Search(make, target, float(low), float(high))
    falls = search.measure(float(low), 0.05) >= search.measure(float(min(high, 4 * low + 4)), 0.05)
    good, bad = (high, low - 1) if falls else (low, high + 1)
    # doubling first: the far end may be astronomically large
    step = 1
    while not falls and low + step < high and search.measure(low + step, _FINE) <= target.value:
        good, step = low + step, 2 * step
    if not falls:
        bad = min(bad, low + step)
    if search.measure(good, _FINE) > target.value:
        raise Unreachable(f"no whole number from {low} to {high} reaches {target.name} <= {target.value:g}")
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        if search.measure(middle, _FINE) <= target.value:
            good = middle
        else:
            bad = middle
    return good
