"""The lectures' analyses as formulas, beside what is true of the same run today.

Formulas are evaluated as they stand on the slides, also where a condition of their theorem is violated; the sound value
beside them is what may be promised. Printed figures are attached only to the parameters they were printed for.
"""

import math
from dataclasses import dataclass

import numpy as np

from privet._validate import above, at_least, count, fraction, open_fraction
from privet.accounting import PLD, Bound, Rdp, Tightest, advanced_epsilon
from privet.privacy import Approximate, FixedSampled, GaussianLoss, PoissonSampled, PrivacyLoss, Repeated, Unit

_SLIDES = (4.0, 0.01, 10_000, 1e-5)
_PRINTED = {"per step": 1.2, "naive": 12_000.0, "advanced": 360.0, "amplified": 10.0, "moments": 1.25}
_LAST_ORDER = 4096
_REPLACE = Unit("replace")


@dataclass(frozen=True)
class Rung:
    """One analysis of a run: as printed, as its formula evaluates, and what is sound.

    **Guarantee:** the run is (sound.upper, delta)-DP. `as_formula` promises nothing; it is None where the slides have
    no formula, and `claimed` is None where they print no figure.

    >>> rung = ladder()[1]
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


def ladder(
    noise_multiplier: float = 4.0, *, q: float = 0.01, steps: int = 10_000, delta: float = 1e-5
) -> tuple[Rung, ...]:
    """Five analyses of one DP-SGD run as lectured, and two of today, from the loosest to the tightest.

    **Guarantee:** `Rung.sound`, each at its own `Rung.delta`. **Reference:** lecture "Security and Privacy of ML:
    differential privacy (cont.)"; Abadi et al. 2016.

    >>> [(rung.name, float(f"{rung.sound.upper:.3g}")) for rung in ladder()[-3:]]
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


@dataclass(frozen=True)
class PnSgdPrices:
    """The price of a run of PN-SGD, three ways. `lecture` is the lecture's own arithmetic; the bounds are certified.

    **Guarantee:** `rdp.upper` and `pld.upper` at the delta asked for, for replacing one record.

    >>> pn_sgd_prices(100, 2_000.0, lipschitz=1.0, delta=1e-5).noise_multiplier
    10.0
    """

    noise_multiplier: float
    lecture: float
    rdp: Bound
    pld: Bound


def pn_sgd_sigma(n: int, *, lipschitz: float, epsilon: float, delta: float) -> float:
    """The lecture's noise for PN-SGD with T = n^2 steps: sigma^2 = 64 n^2 L^2 ln(2n/delta) ln(2/delta) / epsilon^2.

    **Sensitivity:** 2 n L, of n times one gradient, for replacing a record. **Reference:** lecture "Private projected
    SGD"; `pn_sgd_prices` says what this noise really costs (far less).

    >>> round(pn_sgd_sigma(1000, lipschitz=1.0, epsilon=1.0, delta=1e-5), 1)
    122194.5
    """
    n, lipschitz = count("n", n, 1), above("lipschitz", lipschitz, 0.0)
    epsilon, delta = above("epsilon", epsilon, 0.0), open_fraction("delta", delta)
    return 8.0 * n * lipschitz / epsilon * math.sqrt(math.log(2.0 * n / delta) * math.log(2.0 / delta))


def pn_sgd_prices(n: int, sigma: float, *, lipschitz: float, delta: float, steps: int | None = None) -> PnSgdPrices:
    """PN-SGD (one of n records a step, noise sigma on n times its gradient) by the lecture, by RDP and by PLD.

    The lecture: each step costs 2/n times the Gaussian's epsilon at delta_0 = delta n / (2 T), composed by a factor
    sqrt(2 T ln(2/delta)) without the drift. T = n^2 unless `steps` says otherwise.

    **Guarantee:** as of `PnSgdPrices`; the price of sampling is that of one record without replacement.

    >>> prices = pn_sgd_prices(1000, 122194.5, lipschitz=1.0, delta=1e-5)
    >>> round(prices.lecture, 4), prices.pld.lower < 0.04734 < prices.pld.upper < prices.rdp.upper
    (1.0, True)
    """
    n, sigma = count("n", n, 1), above("sigma", sigma, 0.0)
    lipschitz, delta = above("lipschitz", lipschitz, 0.0), open_fraction("delta", delta)
    times = n * n if steps is None else count("steps", steps, 1)
    noise_multiplier = sigma / (2.0 * n * lipschitz)
    share = min(0.5, delta * n / (2.0 * times))
    gaussian = math.sqrt(2.0 * math.log(1.0 / share)) / noise_multiplier
    lecture = 2.0 / n * gaussian * math.sqrt(2.0 * times * math.log(2.0 / delta))
    run = Repeated(FixedSampled(GaussianLoss(noise_multiplier, unit=_REPLACE), m=1, n=n), times)
    return PnSgdPrices(noise_multiplier, lecture, Rdp().epsilon(run, delta), PLD().epsilon(run, delta))


def noisy_gd_sigma(sensitivity: float, *, steps: int, n: int, epsilon: float, delta: float) -> float:
    """The noise of DP-SGD as lectured, sigma^2 = 8 Delta^2 T ln(1/delta) / (n^2 epsilon^2), on the mean gradient.

    For DP-CD take steps = T K and, per coordinate j, the sensitivity Delta_j of that partial derivative.

    **Sensitivity:** `sensitivity` is that of one example's gradient; the mean over n has a share of 1/n of it.
    **Reference:** lecture on coordinate descent under differential privacy; Mangold et al. 2022.

    >>> round(noisy_gd_sigma(1.0, steps=100, n=1000, epsilon=1.0, delta=1e-6), 6)
    0.10513
    """
    sensitivity, epsilon = above("sensitivity", sensitivity, 0.0), above("epsilon", epsilon, 0.0)
    steps, n, delta = count("steps", steps, 1), count("n", n, 1), open_fraction("delta", delta)
    return sensitivity * math.sqrt(8.0 * steps * math.log(1.0 / delta)) / (n * epsilon)


def noisy_gd_price(sigma: float, *, sensitivity: float, steps: int, n: int, delta: float) -> Bound:
    """The price of that noise on full batches: exactly a Gaussian with mu = sqrt(T) Delta / (n sigma).

    **Guarantee:** two-sided, for replacing one record. **Reference:** Dong, Roth & Su 2019.

    >>> sigma = noisy_gd_sigma(1.0, steps=100, n=1000, epsilon=1.0, delta=1e-6)
    >>> round(noisy_gd_price(sigma, sensitivity=1.0, steps=100, n=1000, delta=1e-6).upper, 6)
    0.376187
    """
    sensitivity, sigma = above("sensitivity", sensitivity, 0.0), above("sigma", sigma, 0.0)
    step = GaussianLoss(sigma * count("n", n, 1) / sensitivity, unit=_REPLACE)
    return Tightest().epsilon(Repeated(step, count("steps", steps, 1)), open_fraction("delta", delta))
