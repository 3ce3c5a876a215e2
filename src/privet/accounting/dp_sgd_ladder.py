"""The lectures' analyses of one DP-SGD run, from naive to the moments accountant, beside those of today.

Formulas are evaluated as they stand on the slides, also where a condition of their theorem is violated; the sound value
beside them is what may be promised. Printed figures are attached only to the parameters they were printed for.
"""

import math
from dataclasses import dataclass

import numpy as np

from privet._validate import above, at_least, count, fraction, open_fraction
from privet.accounting.advanced import advanced_epsilon
from privet.accounting.bound import Bound
from privet.accounting.rdp import Rdp
from privet.accounting.tightest import Tightest
from privet.privacy import Approximate, GaussianLoss, PoissonSampled, PrivacyLoss, Repeated

_SLIDES = (4.0, 0.01, 10_000, 1e-5)  # the setting whose figures are printed in the lecture
_PRINTED = {"per step": 1.2, "naive": 12_000.0, "advanced": 360.0, "amplified": 10.0, "moments": 1.25}
_LAST_ORDER = 4096  # where the search for a better Rényi order ends: tightness alone, every order is a bound


@dataclass(frozen=True)
class Rung:
    """One analysis of a run: as printed, as its formula evaluates, and what is sound.

    **Guarantee:** the run is (sound.upper, delta)-DP. `as_formula` promises nothing; it is None where the slides have
    no formula, and `claimed` is None where they print no figure.

    >>> rung = dp_sgd_ladder()[1]
    >>> rung.name, rung.claimed, round(rung.as_formula, 1), round(rung.delta, 6)
    ('naive', 12000.0, 11996.3, 0.1)
    """

    name: str
    claimed: float | None
    as_formula: float | None
    sound: Bound
    delta: float
    note: str


def amplify(epsilon: float, delta: float, q: float) -> Approximate:
    """The simple rule of amplification by sampling: (ln(1 + q (e^epsilon - 1)), q delta).

    The slides' (2 q epsilon, q delta) follows from it for epsilon <= 1.2564 only.

    **Guarantee:** Poisson sampling under add/remove, or sampling without replacement under replace.
    **Reference:** Balle, Barthe & Gaboardi 2018, theorems 8 and 9.

    >>> round(amplify(1.2, 1e-5, 0.01).epsilon, 6)
    0.022936
    """
    epsilon, delta, q = at_least("epsilon", epsilon, 0.0), fraction("delta", delta), fraction("q", q)
    if q == 0.0:
        return Approximate(0.0, 0.0)
    if epsilon > 600.0:  # e^epsilon would overflow; ln(1 + q e^epsilon) is an upper bound
        return Approximate(epsilon + math.log(q) + math.log1p(math.exp(-epsilon) / q), q * delta)
    return Approximate(math.log1p(q * math.expm1(epsilon)), q * delta)


def dp_sgd_ladder(
    noise_multiplier: float = 4.0, *, q: float = 0.01, steps: int = 10_000, delta: float = 1e-5
) -> tuple[Rung, ...]:
    """Five analyses of one DP-SGD run as lectured, and two of today, from the loosest to the tightest.

    **Guarantee:** `Rung.sound`, each at its own `Rung.delta`. **Reference:** lecture "Security and Privacy of ML:
    differential privacy (cont.)"; Abadi et al. 2016.

    >>> [(rung.name, float(f"{rung.sound.upper:.3g}")) for rung in dp_sgd_ladder()[-3:]]
    [('moments', 1.26), ('RDP today', 1.04), ('tight', 0.947)]
    """
    noise_multiplier, q = above("noise_multiplier", noise_multiplier, 0.0), fraction("q", q)
    steps, delta = count("steps", steps, 1), open_fraction("delta", delta)
    printed = _PRINTED if (noise_multiplier, q, steps, delta) == _SLIDES else {}
    gaussian = GaussianLoss(noise_multiplier)
    run = Repeated(PoissonSampled(gaussian, q=q), steps)
    exact = Tightest().epsilon(gaussian, delta)
    step = math.sqrt(2.0 * math.log(1.0 / delta)) / noise_multiplier
    safe = max(step, exact.upper)  # the slides' formula lacks a 1.25 and fails for small noise
    sampled = amplify(safe, delta, q)
    root = math.sqrt(steps * math.log(1.0 / delta))

    def rung(name: str, formula: float | None, sound: Bound, at: float, note: str) -> Rung:
        return Rung(name, printed.get(name), formula, sound, min(1.0, at), note)

    def theorem(epsilon: float, *, sharp: bool) -> Bound:
        method = "advanced composition, " + ("sharp drift" if sharp else "as taught")
        return Bound(0.0, advanced_epsilon(epsilon, steps, delta, sharp=sharp), method, run.unit)

    naive = Bound(0.0, steps * safe, "basic composition", run.unit)
    whole, part = (steps + 1) * delta, steps * sampled.delta + delta
    tanh = "drift epsilon tanh(epsilon/2) instead of epsilon (e^epsilon - 1)"
    amplified = f"2 q epsilon sqrt(T ln(1/delta)); the theorem's step is {sampled.epsilon:.6g}"
    return (
        rung("per step", step, exact, delta, "one Gaussian release, not sampled: sqrt(2 ln(1/delta)) / sigma"),
        rung("naive", steps * step, naive, steps * delta, "T epsilon, T delta"),
        rung("advanced", step * root, theorem(safe, sharp=False), whole, _advanced_note(step, steps)),
        rung("advanced, sharp drift", None, theorem(safe, sharp=True), whole, tanh),
        rung("amplified", 2.0 * q * step * root, theorem(sampled.epsilon, sharp=False), part, amplified),
        rung("amplified, sharp drift", None, theorem(sampled.epsilon, sharp=True), part, tanh),
        rung("moments", 2.0 * q * step * math.sqrt(steps), _moments(run, delta), delta, "2 q epsilon sqrt(T), no log"),
        rung("RDP today", None, Rdp().epsilon(run, delta), delta, "real orders and the tight conversion"),
        rung("tight", None, Tightest().epsilon(run, delta), delta, "a certified interval"),
    )


def _advanced_note(step: float, steps: int) -> str:
    valid = steps < step**-2.0
    return "epsilon sqrt(T ln(1/delta)) " + ("holds up to a constant" if valid else "needs T < 1/epsilon^2, violated")


def _moments(run: PrivacyLoss, delta: float) -> Bound:
    """The moments accountant of 2016: whole orders, and R + ln(1/delta)/(a - 1) as conversion."""
    last, best, value = 1, 1, math.inf
    while best == last and last < _LAST_ORDER:  # the best order at the edge: widen
        orders = np.arange(last + 1.0, 4.0 * last + 61.0)
        converted = run.rdp(orders).values + math.log(1.0 / delta) / (orders - 1.0)
        last, index = int(orders[-1]), int(np.argmin(converted))
        if converted[index] < value:
            best, value = int(orders[index]), float(converted[index])
    return Bound(0.0, value, f"moments accountant, order {best}", run.unit)
