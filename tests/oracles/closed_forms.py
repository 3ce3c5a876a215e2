"""Prices with a closed form, in mpmath, written from the definitions rather than from any engine.

`H_gamma(P||Q) = sup_S P(S) - gamma Q(S)` and `delta(epsilon) = H_{e^epsilon}`. Scales are in units of the
sensitivity. Every function works at the ambient `mp.dps`; the results are `mpf`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mpmath import mp, mpf

Number = float | int | str | mpf
Curve = Callable[[mpf], mpf]


# --- Gaussian -----------------------------------------------------------------------------------------


def gaussian_delta(epsilon: Number, mu: Number) -> mpf:
    """delta(epsilon) of N(mu, 1) against N(0, 1)."""
    e, m = mpf(epsilon), mpf(mu)
    return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


def gaussian_epsilon(delta: Number, mu: Number) -> mpf:
    """The epsilon >= 0 at which the Gaussian curve meets delta (0 if the curve starts below it)."""
    target, m = mpf(delta), mpf(mu)
    if gaussian_delta(0, m) <= target:
        return mpf(0)
    high = m * m / 2 + m * mp.sqrt(2 * mp.log(1 / target)) + 1
    return bisect(lambda e: gaussian_delta(e, m) - target, mpf(0), high)


def gaussian_sigma(epsilon: Number, delta: Number) -> mpf:
    """The smallest noise over sensitivity that gives (epsilon, delta): the analytic Gaussian mechanism."""
    return bisect(lambda z: gaussian_delta(epsilon, 1 / z) - mpf(delta), mpf("1e-3"), mpf("1e6"))


def gaussian_tradeoff(fpr: Number, mu: Number) -> mpf:
    """Least false-negative rate at a given false-positive rate: Phi(Phi^-1(1-a) - mu)."""
    return mp.ncdf(normal_quantile(1 - mpf(fpr)) - mpf(mu))


def normal_quantile(p: mpf) -> mpf:
    """Inverse of the normal distribution function."""
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


def bisect(function: Curve, low: mpf, high: mpf) -> mpf:
    """Root of a function that is positive at `low` and negative at `high`, to the ambient precision."""
    if not function(low) > 0 > function(high):
        raise ValueError("the bracket does not hold a sign change from positive to negative")
    for _ in range(int(mp.prec) + 40):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return high


# --- Laplace, discrete Laplace, discrete Gaussian -----------------------------------------------------


def laplace_delta(epsilon: Number, scale: Number) -> mpf:
    """delta(epsilon) of Laplace noise, sensitivity 1, any real epsilon."""
    e, top = mpf(epsilon), 1 / mpf(scale)
    if e >= top:
        return mpf(0)
    return 1 - mp.exp(e) if e <= -top else 1 - mp.exp((e - top) / 2)


def laplace_renyi(alpha: Number, scale: Number) -> mpf:
    """Renyi divergence by integrating the three pieces x<0, 0<x<1, x>1."""
    a, b = mpf(alpha), mpf(scale)
    left = mp.exp((a - 1) / b) / 2
    right = mp.exp(-a / b) / 2
    middle = (mp.exp((a - 1) / b) - mp.exp(-a / b)) / (2 * (2 * a - 1))
    return mp.log(left + middle + right) / (a - 1)


def integer_noise_delta(pmf: Curve, shift: int, epsilon: Number, reach: int) -> mpf:
    """delta(epsilon) of integer noise: sum over |x| <= reach of (p(x) - e^epsilon p(x - shift))_+."""
    factor = mp.exp(mpf(epsilon))
    terms = (pmf(mpf(x)) - factor * pmf(mpf(x - shift)) for x in range(-reach, reach + 1))
    return mp.fsum(t for t in terms if t > 0)


def discrete_laplace_pmf(scale: Number) -> Curve:
    """p(x) proportional to exp(-|x| / scale) on the integers."""
    r = mp.exp(-1 / mpf(scale))
    return lambda x: (1 - r) / (1 + r) * r ** abs(x)


def discrete_laplace_delta(epsilon: Number, scale: Number, sensitivity: int = 1) -> mpf:
    """delta(epsilon), summed until the tail is below the ambient precision."""
    reach = int(mpf(scale) * mp.prec) + abs(sensitivity) + 1
    return integer_noise_delta(discrete_laplace_pmf(scale), -sensitivity, epsilon, reach)


def discrete_gaussian_pmf(sigma: Number) -> Curve:
    """p(x) proportional to exp(-x^2 / (2 sigma^2)) on the integers."""
    s = mpf(sigma)
    reach = int(s * mp.sqrt(2 * mp.prec)) + 2
    norm = mp.fsum(mp.exp(-(mpf(x) ** 2) / (2 * s * s)) for x in range(-reach, reach + 1))
    return lambda x: mp.exp(-(x**2) / (2 * s * s)) / norm


def discrete_gaussian_delta(epsilon: Number, sigma: Number, sensitivity: int = 1) -> mpf:
    """delta(epsilon) of the discrete Gaussian with an integer shift."""
    reach = int(mpf(sigma) * mp.sqrt(2 * mp.prec)) + abs(sensitivity) + 2
    return integer_noise_delta(discrete_gaussian_pmf(sigma), -sensitivity, epsilon, reach)


# --- pure, bounded range, randomized response ---------------------------------------------------------


def pure_delta(at: Number, epsilon: Number) -> mpf:
    """Worst curve of an epsilon-DP mechanism: binary randomized response."""
    e, bound = mpf(at), mpf(epsilon)
    if e <= -bound:
        return 1 - mp.exp(e)
    return max(mpf(0), (mp.exp(bound) - mp.exp(e)) / (1 + mp.exp(bound)))


def pure_renyi(alpha: Number, epsilon: Number) -> mpf:
    """Renyi divergence of binary randomized response."""
    a, e = mpf(alpha), mpf(epsilon)
    return mp.log((mp.exp(a * e) + mp.exp((1 - a) * e)) / (1 + mp.exp(e))) / (a - 1)


def exponential_delta(at: Number, epsilon: Number) -> mpf:
    """Envelope over all mechanisms whose loss lies in some [t - epsilon, t], by maximising over t.

    For fixed t the pair is binary with ratios e^t and e^(t-epsilon), so delta = q1 (e^t - e^at) with
    q1 = (1 - e^(t-epsilon)) / (e^t - e^(t-epsilon)); the best t is searched, not taken from a formula.
    """
    e, bound = mpf(at), mpf(epsilon)

    def value(t: mpf) -> mpf:
        upper, lower = mp.exp(t), mp.exp(t - bound)
        return (1 - lower) / (upper - lower) * (upper - mp.exp(e))

    return max(mpf(0), value(golden_maximum(value, max(e, mpf(0)), bound)))


def golden_maximum(function: Curve, low: mpf, high: mpf) -> mpf:
    """Where a function with one peak on [low, high] is largest, to half the ambient digits."""
    ratio = (mp.sqrt(5) - 1) / 2
    for _ in range(int(mp.prec)):
        span = ratio * (high - low)
        left, right = high - span, low + span
        if function(left) < function(right):
            low = left
        else:
            high = right
    return (low + high) / 2


def bounded_range_renyi(alpha: Number, epsilon: Number) -> mpf:
    """Worst Renyi divergence over the same binary pairs."""
    a, bound = mpf(alpha), mpf(epsilon)

    def value(t: mpf) -> mpf:
        upper, lower = mp.exp(t), mp.exp(t - bound)
        weight = (1 - lower) / (upper - lower)
        return mp.log(weight * upper**a + (1 - weight) * lower**a) / (a - 1)

    return value(golden_maximum(value, mpf("1e-12") * bound, bound * (1 - mpf("1e-12"))))


# --- conversions --------------------------------------------------------------------------------------


def renyi_epsilon(curve: Curve, delta: Number, *, low: Number = "1.0001", high: Number = "1e4") -> mpf:
    """min over real alpha > 1 of R + ln(1 - 1/alpha) - ln(alpha delta)/(alpha - 1)."""
    d = mpf(delta)

    def value(t: mpf) -> mpf:
        a = 1 + mp.exp(t)
        return -(curve(a) + mp.log(1 - 1 / a) - mp.log(a * d) / (a - 1))

    return -value(golden_maximum(value, mp.log(mpf(low) - 1), mp.log(mpf(high) - 1)))


def renyi_delta(curve: Curve, epsilon: Number, *, low: Number = "1.0001", high: Number = "1e4") -> mpf:
    """min over real alpha of exp((alpha-1)(R - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1), capped at 1."""
    e = mpf(epsilon)

    def value(t: mpf) -> mpf:
        a = 1 + mp.exp(t)
        return -((a - 1) * (curve(a) - e) + a * mp.log(1 - 1 / a) - mp.log(a - 1))

    return min(mpf(1), mp.exp(-value(golden_maximum(value, mp.log(mpf(low) - 1), mp.log(mpf(high) - 1)))))


def zcdp_epsilon(rho: Number, delta: Number) -> mpf:
    """Epsilon of rho-zCDP through the line R(alpha) = rho alpha."""
    return renyi_epsilon(lambda a: mpf(rho) * a, delta)


# --- groups and composition ---------------------------------------------------------------------------


def group(epsilon: Number, delta: Number, size: int) -> tuple[mpf, mpf]:
    """(k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1))."""
    e = mpf(epsilon)
    return size * e, mpf(delta) * mp.expm1(size * e) / mp.expm1(e)


def advanced(epsilon: Number, count: int, slack: Number) -> mpf:
    """epsilon sqrt(2 T ln(1/delta')) + T epsilon (e^epsilon - 1)."""
    e = mpf(epsilon)
    return e * mp.sqrt(2 * count * mp.log(1 / mpf(slack))) + count * e * mp.expm1(e)


def advanced_tanh(epsilon: Number, count: int, slack: Number) -> mpf:
    """The same with the exact mean of randomized response, epsilon tanh(epsilon/2), as drift."""
    e = mpf(epsilon)
    return e * mp.sqrt(2 * count * mp.log(1 / mpf(slack))) + count * e * mp.tanh(e / 2)


def advanced_corollary(target: Number, count: int, slack: Number) -> mpf:
    """Per-step epsilon of the lecture's corollary: epsilon' / sqrt(8 T ln(1/delta'))."""
    return mpf(target) / mp.sqrt(8 * count * mp.log(1 / mpf(slack)))


def advanced_inverse(target: Number, count: int, slack: Number) -> mpf:
    """Per-step epsilon at which `advanced` meets the target."""
    return bisect(lambda e: mpf(target) - advanced(e, count, slack), mpf("1e-12"), mpf(target))


# --- sums of Laplace losses, by residues --------------------------------------------------------------


def laplace_composed_delta(epsilon: Number, scale: Number, count: int) -> mpf:
    """delta(epsilon) of `count` Laplace releases, exactly.

    M(s) is rational times exponentials: ((s+1) e^(s/b) + s e^(-(s+1)/b)) / (2s+1). Expand the power; each term
    of the Bromwich integral of M^n e^(-epsilon s) / (s (s+1)) closes to the left when its exponent is
    positive and vanishes otherwise; the poles are s = 0, s = -1 and s = -1/2 (order n). Needs mp.dps > count.
    """
    e, b = mpf(epsilon), mpf(scale)
    total = mpf(0)
    for k in range(count + 1):
        exponent = (2 * k - count) / b - e
        if exponent > 0:
            weight = mp.binomial(count, k) * mp.exp(-(count - k) / b)
            total += weight * _laplace_residues(k, count, exponent)
    return total


def _laplace_residues(k: int, count: int, exponent: mpf) -> mpf:
    """Sum of residues of (s+1)^(k-1) s^(count-k-1) e^(exponent s) / (2s+1)^count."""
    at_zero = mpf(1) if k == count else mpf(0)
    at_minus_one = (-1) ** (count - 1) * mp.exp(-exponent) / (-1) ** count if k == 0 else mpf(0)
    left = _binomial_series(mpf(1) / 2, k - 1, count)
    right = _binomial_series(-mpf(1) / 2, count - k - 1, count)
    grown = [exponent**j / mp.factorial(j) for j in range(count)]
    coefficient = _product_coefficient(_product(left, right), grown, count - 1)
    return at_zero + at_minus_one + coefficient * mp.exp(-exponent / 2) / mpf(2) ** count


def _binomial_series(base: mpf, power: int, length: int) -> list[mpf]:
    """Taylor coefficients of (base + u)^power."""
    return [mp.binomial(power, j) * base ** (power - j) for j in range(length)]


def _product(a: Sequence[mpf], b: Sequence[mpf]) -> list[mpf]:
    return [_product_coefficient(a, b, j) for j in range(len(a))]


def _product_coefficient(a: Sequence[mpf], b: Sequence[mpf], j: int) -> mpf:
    return mp.fsum(a[i] * b[j - i] for i in range(j + 1))


def laplace_composed_epsilon(delta: Number, scale: Number, count: int) -> mpf:
    """The epsilon at which `laplace_composed_delta` meets delta."""
    return bisect(lambda e: laplace_composed_delta(e, scale, count) - mpf(delta), mpf(0), count / mpf(scale))


# --- repeat and select --------------------------------------------------------------------------------


def selected_epsilon(curve: Curve, *, mean: Number, eta: int, delta: Number) -> mpf:
    """Papernot-Steinke, truncated negative binomial (eta = 0 logarithmic, 1 geometric), continuous orders."""
    gamma = selection_gamma(mpf(mean), eta)
    extra = selection_extra(curve, gamma, eta)
    return renyi_epsilon(lambda a: curve(a) + extra + mp.log(mpf(mean)) / (a - 1), delta)


def selection_extra(curve: Curve, gamma: mpf, eta: int) -> mpf:
    """(1+eta) min over alpha-hat of (1 - 1/alpha-hat) R(alpha-hat) + ln(1/gamma)/alpha-hat."""

    def value(t: mpf) -> mpf:
        a = 1 + mp.exp(t)
        return -((1 - 1 / a) * curve(a) + mp.log(1 / gamma) / a)

    return -(1 + eta) * value(golden_maximum(value, mpf(-8), mpf(10)))


def selection_gamma(mean: mpf, eta: int) -> mpf:
    """gamma with E[K] = mean: 1/gamma (geometric), (1/gamma - 1)/ln(1/gamma) (logarithmic)."""
    if eta == 1:
        return 1 / mean
    return bisect(lambda g: (1 / g - 1) / mp.log(1 / g) - mean, mpf("1e-9"), mpf("0.999999"))


def poisson_selected_epsilon(curve: Curve, base_delta: Curve, *, mean: Number, delta: Number) -> mpf:
    """Papernot-Steinke with K ~ Poisson(mean): R + mean * delta-hat + ln(mean)/(alpha - 1)."""
    m = mpf(mean)
    price: Curve = lambda a: curve(a) + m * base_delta(mp.log1p(1 / (a - 1))) + mp.log(m) / (a - 1)  # noqa: E731
    return renyi_epsilon(price, delta)
