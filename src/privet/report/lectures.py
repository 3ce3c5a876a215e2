"""The lectures' analyses as formulas, beside what is true of the same run today.

Formulas are evaluated as they stand on the slides, also where a condition of their theorem is violated; the sound value
beside them is what may be promised. Printed figures are attached only to the parameters they were printed for.
"""

import math
from dataclasses import dataclass

from privet._validate import above, count, open_fraction
from privet.accounting import PLD, Bound, Rdp, Rung as Rung, Tightest, amplify as amplify, dp_sgd_ladder
from privet.privacy import FixedSampled, GaussianLoss, Repeated, Unit

_REPLACE = Unit("replace")
ladder = dp_sgd_ladder


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
