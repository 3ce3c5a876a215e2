"""Calibration: the best parameter that meets a privacy target."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from privet._calls import door
from privet._validate import finite, items, open_fraction
from privet.accounting.accountant import Accountant
from privet.accounting.pld import PLD
from privet.accounting.rdp import Rdp
from privet.accounting.tightest import Tightest
from privet.accounting.tradeoff import tpr_at
from privet.errors import InvalidParameter, NoGuarantee, Unreachable
from privet.privacy import Guarantee, PrivacyLoss

# An answer whose measure is below the target by this share of it is close enough: half of the 0.01% that is documented,
# since what is compared is a certified upper end, which lies a little above the truth.
_CLOSE = 5e-5
_CLOSED_FORM = 1e-12  # the same where the measure is a formula: it costs nothing and is exact up to rounding
# The judge may know better than the quick measure, which looks at coarser grids, by up to this share: so near to the
# target it is asked at once. A smaller number would miss targets, a larger one costs time only.
_NEAR = 0.01
_LOG_OF_NOTHING = -745.0  # about the logarithm of the smallest double
_LONGEST_STEP = 2.0**16  # of the search for a bracket: a factor of s. Speed only

Make = Callable[[float], PrivacyLoss]
Measure = Callable[[PrivacyLoss], float]


@door
def calibrate(
    make: Make,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    advantage: float | None = None,
    tpr: float | None = None,
    fpr: float | None = None,
    rho: float | None = None,
    mu: float | None = None,
    bounds: tuple[float, float] = (1e-6, 1e9),
    integer: bool = False,
    accountant: Accountant | None = None,
) -> float:
    """The best scalar s whose loss `make(s)` meets the target: the smallest noise, the most steps, the largest q.

    Targets: a `Guarantee` (`epsilon` with or without `delta`, `rho`, `mu`), `advantage`, or `tpr` at `fpr`.
    Whether the cost falls or rises with s is found by trying. With `integer=True` s is a whole number.

    **Guarantee:** the certified upper bound of make(result), by the same accountant, is at most the target.
    **Error:** within 0.01% below the target, where a real parameter can come that close. The upper end of an interval may
    jump from one grid to the next: then within the width of the interval beyond the jump (`Bound.slack`).
    **Proof:** docs/proofs/accounting/calibrate.md.

    >>> from privet import privacy
    >>> s = calibrate(lambda z: privacy.GaussianLoss(noise_multiplier=z), epsilon=1.0, delta=1e-5)
    >>> round(s, 3)
    3.731
    """
    if not callable(make):
        raise InvalidParameter(
            "calibrate asks a function that turns a number into a price: lambda s: GaussianLoss(s), say"
        )
    name, value = Guarantee.named(epsilon=epsilon, rho=rho, mu=mu, advantage=advantage, tpr=tpr)
    if name in ("epsilon", "rho", "mu"):
        goal = _promised(Guarantee(epsilon, 0.0 if delta is None else delta, rho, mu), accountant)
    else:
        goal = _attacked(name, value, fpr, accountant)
    ends = items("bounds", bounds)
    if len(ends) != 2:
        raise InvalidParameter("bounds must be a pair (low, high)")
    low, high = finite("bounds[0]", ends[0]), finite("bounds[1]", ends[1])
    if not 0.0 < low < high:
        raise InvalidParameter(f"bounds must satisfy 0 < low < high, got {bounds}")
    if integer:
        low, high = max(1.0, math.ceil(low)), math.floor(high)
    answer = _Search(make, goal, low, high, integer=integer).run()
    return int(answer) if integer else answer


@dataclass(frozen=True)
class _Goal:
    """A target: a price is measured as one number, of which `value` is the most that it may be.

    It is measured in three ways: `rough` finds the place, `quick` comes close to the target, and `judge`, the accountant
    that was asked for, decides whether a point meets it.
    """

    name: str
    value: float
    rough: Measure
    quick: Measure
    judge: Measure
    close: float = _CLOSE  # how far below the target is close enough, in logarithms


def _methods(accountant: Accountant | None) -> tuple[Accountant, Accountant]:
    """A quick method and the judge: the one that was named, else the tightest of all, quicker without lower ends."""
    return (Tightest(two_sided=False), Tightest()) if accountant is None else (accountant, accountant)


def _promised(wanted: Guarantee, accountant: Accountant | None) -> _Goal:
    """A guarantee as a goal. rho and mu need no accountant: a loss says them itself."""
    if wanted.rho is not None:
        return _Goal("rho", wanted.rho, _rho_of, _rho_of, _rho_of, _CLOSED_FORM)
    if wanted.mu is not None:
        return _Goal("mu", wanted.mu, _mu_of, _mu_of, _mu_of, _CLOSED_FORM)
    assert wanted.epsilon is not None
    quick, judge = _methods(accountant)
    rough: Accountant = Rdp() if accountant is None and wanted.delta > 0.0 else quick
    close = _CLOSE if wanted.delta > 0.0 else _CLOSED_FORM
    return _Goal(
        "epsilon",
        wanted.epsilon,
        rough=_epsilon_of(rough, wanted.delta),
        quick=_epsilon_of(quick, wanted.delta),
        judge=_epsilon_of(judge, wanted.delta),
        close=close,
    )


def _attacked(name: str, value: float, fpr: float | None, accountant: Accountant | None) -> _Goal:
    """The most that an attack may reach, as a goal: an advantage, or a true-positive rate at a false-positive rate."""
    if name == "advantage":
        # the advantage is delta at epsilon = 0; a coarse grid finds the place
        rough, quick, judge = (_delta_of(method) for method in (PLD(1e-2), *_methods(accountant)))
        return _Goal(name, open_fraction(name, value), rough, quick, judge)
    if fpr is None:
        raise InvalidParameter("a target tpr needs the fpr at which it holds")
    rate = open_fraction("fpr", fpr)
    if not rate < open_fraction(name, value):
        raise InvalidParameter(f"every attack reaches tpr = fpr = {rate}; the target tpr must be larger")

    def tpr_of(loss: PrivacyLoss) -> float:
        return tpr_at(loss, rate)

    return _Goal(name, value, tpr_of, tpr_of, tpr_of)


def _rho_of(loss: PrivacyLoss) -> float:
    bound = loss.zcdp()
    return bound.rho if bound.delta0 == 0.0 else math.inf


def _mu_of(loss: PrivacyLoss) -> float:
    return loss.gdp()


def _epsilon_of(accountant: Accountant, delta: float) -> Measure:
    return lambda loss: accountant.epsilon(loss, delta).upper


def _delta_of(accountant: Accountant) -> Measure:
    return lambda loss: accountant.delta(loss, 0.0).upper


class _Search:
    """A search for the s at which the measure is the target, on ln s against ln measure.

    The rough measure brackets and narrows, secants of the quick one follow; the judge has the last word, and only a point
    that the judge accepts is returned. `falls` says whether the cost falls with s. A good point meets the target, a bad
    one does not.
    """

    def __init__(self, make: Make, goal: _Goal, low: float, high: float, *, integer: bool) -> None:
        self.make, self.goal, self.low, self.high, self.integer = make, goal, low, high, integer

    def run(self) -> float:
        start = self._snap(min(max(1.0, self.low), self.high))
        falls = self._falls(start)
        good, bad = self._bracket(start, falls)
        point, slope = self._rough_root(good, bad, falls)
        return self._shorter(self._polish(point, slope, falls), falls)

    def _shorter(self, good: float, falls: bool) -> float:
        """The shortest decimal a little beyond what was found, if it meets the target too: 1 rather than 1.00003."""
        if self.integer:
            return good
        # only towards a larger cost, nearer to the target: a shorter number on the other side would be a worse answer
        low, high = sorted((good, good * (1.0 + (-2.0 if falls else 2.0) * self.goal.close)))
        found = next((s for digits in range(1, 17) if low <= (s := float(f"{good:.{digits}g}")) <= high), good)
        if found == good or not self.low <= found <= self.high:
            return good
        try:
            met = self.goal.judge(self.make(found)) <= self.goal.value
        except NoGuarantee:
            return good
        return found if met else good

    def _snap(self, s: float) -> float:
        return float(round(s)) if self.integer else s

    def _log(self, measure: Measure, s: float) -> float:
        """ln of the certified upper end; +inf where nothing is proved."""
        try:
            value = measure(self.make(int(s) if self.integer else s))
        except NoGuarantee:
            return math.inf
        return math.log(value) if value > 0.0 else _LOG_OF_NOTHING

    def _falls(self, start: float) -> bool:
        """True if the cost falls with s (noise), False if it rises (steps, sampling rate)."""
        points = [start, *(self._snap(min(max(start * f, self.low), self.high)) for f in (0.25, 4.0, 16.0))]
        values = [(s, self._log(self.goal.rough, s)) for s in sorted(set(points))]
        finite_values = [value for value in values if math.isfinite(value[1])]
        if len(finite_values) < 2 or finite_values[0][1] == finite_values[-1][1]:  # nothing to be seen near the start
            ends = [self._log(self.goal.rough, s) for s in (self.low, self.high)]
            return ends[0] >= ends[1]
        return finite_values[0][1] > finite_values[-1][1]

    def _bracket(self, start: float, falls: bool) -> tuple[float, float]:
        """A good point under the rough measure, and a bad one next to it on a coarse grid.

        If all are good, the last one twice; if all are bad, NaN and the last one.
        """
        target = math.log(self.goal.value)
        meets = self._log(self.goal.rough, start) <= target
        # towards the target; squared each time, since bounds may be fifteen decades apart
        factor = 2.0 if falls != meets else 0.5
        s = start
        while True:
            following = self._snap(min(max(s * factor, self.low), self.high))
            if following == s:
                return (s, s) if meets else (math.nan, s)
            if (self._log(self.goal.rough, following) <= target) != meets:
                return (s, following) if meets else (following, s)
            s, factor = following, min(max(factor * factor, 1.0 / _LONGEST_STEP), _LONGEST_STEP)

    def _rough_root(self, good: float, bad: float, falls: bool) -> tuple[float, float]:
        """The s where the rough measure meets the target (to 2%), and the slope d ln(measure)/d ln(s) there."""
        default = -1.0 if falls else 1.0
        if math.isnan(good) or good == bad:
            return bad, default
        target = math.log(self.goal.value)
        for _ in range(60):
            if abs(math.log(good / bad)) < 0.02 or (self.integer and abs(good - bad) <= 1.0):
                break
            middle = self._snap(math.sqrt(good * bad))
            if self._log(self.goal.rough, middle) <= target:
                good = middle
            else:
                bad = middle
        values = self._log(self.goal.rough, good), self._log(self.goal.rough, bad)
        if not all(map(math.isfinite, values)) or values[0] == values[1]:
            return good, default
        slope = (values[1] - values[0]) / math.log(bad / good)
        return good, slope if (slope < 0.0) == falls else default

    def _polish(self, s: float, slope: float, falls: bool) -> float:
        """Secant steps until the judge accepts a point close below the target."""
        target = math.log(self.goal.value) - 1e-14  # logarithms are compared: leave room for their rounding
        aim = target - 0.3 * self.goal.close  # a little inside what is close enough, so that a near miss is a hit too
        good = bad = math.nan
        cheapest, costliest = (self.high, self.low) if falls else (self.low, self.high)
        previous: tuple[float, float] | None = None
        for iteration in range(80):
            value = self._log(self.goal.quick, s)
            if value <= target + _NEAR:
                value = self._log(self.goal.judge, s)
            if value <= target:
                good = s
                if target - value <= self.goal.close or s == costliest:
                    break
            else:
                bad = s
                if s == cheapest:
                    raise self._unreachable(s, value)
            if self._closed(good, bad):
                break
            if previous is not None and math.isfinite(value) and math.isfinite(previous[1]) and s != previous[0]:
                secant = (value - previous[1]) / math.log(s / previous[0])
                slope = secant if (secant < 0.0) == falls and secant != 0.0 else slope
            previous = (s, value)
            # secants may creep where the cost has a kink: every sixth step halves the bracket instead
            s = self._next(s, value - aim, slope, good, bad, bisect=iteration % 6 == 5 or not math.isfinite(value))
        if math.isnan(good):
            raise Unreachable(
                f"no value was found that reaches {self.goal.name} <= {self.goal.value:g}; widen the bounds"
            )
        return good

    def _unreachable(self, s: float, value: float) -> Unreachable:
        """The error of a target that even the cheapest s misses; `value` is the logarithm of the measure there."""
        reached = f"it is still {math.exp(value):.6g}" if math.isfinite(value) else "nothing finite is proved"
        return Unreachable(
            f"no value between {self.low:g} and {self.high:g} reaches {self.goal.name} <= "
            f"{self.goal.value:g}; at {s:g} {reached} (delta = 0 needs a pure loss)"
        )

    def _closed(self, good: float, bad: float) -> bool:
        """True if nothing is left between a point that meets the target and one that does not."""
        if math.isnan(good) or math.isnan(bad):
            return False
        return abs(good - bad) <= 1.0 if self.integer else abs(math.log(good / bad)) < 1e-12

    def _next(self, s: float, miss: float, slope: float, good: float, bad: float, *, bisect: bool) -> float:
        """The next point to look at: that of the secant, kept strictly inside the bracket as far as it is known.

        `miss` is how far ln measure at s lies above what is aimed at.
        """
        known = not (math.isnan(good) or math.isnan(bad))
        # in ln s; where nothing is proved at s there is no miss to go by: a factor of about 2 towards less cost
        step = -miss / slope if math.isfinite(miss) else (0.7 if slope < 0.0 else -0.7)
        guess = s * math.exp(min(max(step, -1.0), 1.0))
        if known and (bisect or not min(good, bad) < guess < max(good, bad)):
            guess = math.sqrt(good * bad)
        guess = self._snap(min(max(guess, self.low), self.high))
        if self.integer and guess in (s, good, bad):  # known already: the neighbour of s
            toward = bad if s == good else good
            direction = math.copysign(1.0, (toward if known else s * math.exp(step)) - s)
            guess = min(max(s + direction, self.low), self.high)
        return guess
