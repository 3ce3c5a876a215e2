"""Divergences of finite distributions, and what a channel does to them.

Probabilities are floats or exact: `Fraction`, int, or text such as "1/3". When everything that enters a hockey stick is
exact the answer is a `Fraction` with no rounding at all, so that a test of a discrete mechanism can be a proof.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational
from typing import TypeAlias, cast

import numpy as np

from privet._numerics import Array, exp_capped, round_down
from privet._validate import above, finite, fraction, items
from privet.errors import InvalidParameter

Number: TypeAlias = float | Fraction | str
Distribution: TypeAlias = Sequence[Number] | Array
Channel: TypeAlias = Sequence[Distribution] | Array

_SUM_TOLERANCE = 1e-9  # of floats; exact probabilities must sum to exactly one


def hockey_stick(p: Distribution, q: Distribution, gamma: Number) -> float | Fraction:
    """E_gamma(P||Q) = sum (p - gamma q)+ = max over events S of P(S) - gamma Q(S), for any gamma >= 0.

    **Guarantee:** P(S) <= e^epsilon Q(S) + delta for every S iff E_{e^epsilon}(P||Q) <= delta. Below gamma = 1 it is at
    least 1 - gamma; the other direction is E_gamma(Q||P) = 1 - gamma + gamma E_{1/gamma}(P||Q).
    **Reference:** Sason & Verdú 2016; Balle, Barthe & Gaboardi 2018.

    >>> hockey_stick(("1/2", "1/2"), ("1/3", "2/3"), 1)
    Fraction(1, 6)
    >>> hockey_stick((0.5, 0.5), (0.25, 0.75), 1.5)
    0.125
    """
    first, second = _pair(p, q)
    return _excess(first, second, _gamma(gamma, 0.0))


def total_variation(p: Distribution, q: Distribution) -> float | Fraction:
    """TV(P, Q) = max over events of |P(S) - Q(S)| = E_1(P||Q): the best advantage of an adversary with even odds.

    **Reference:** Wasserman & Zhou 2010 for the test behind it; Kulynych et al. 2024 for the reading as a risk.

    >>> total_variation(("1/2", "1/2"), ("1/3", "2/3"))
    Fraction(1, 6)
    """
    first, second = _pair(p, q)
    if _exact(first, second):
        return sum((abs(Fraction(a) - Fraction(b)) for a, b in zip(first, second, strict=True)), Fraction(0)) / 2
    return math.fsum(abs(float(a) - float(b)) for a, b in zip(first, second, strict=True)) / 2.0


def renyi(p: Distribution, q: Distribution, alpha: float) -> float:
    """Rényi divergence ln(sum p^alpha q^(1-alpha))/(alpha - 1); KL at alpha = 1, max ln(p/q) at alpha = infinity.

    Infinity is a value here: for alpha >= 1 when P can show what Q never shows, for alpha < 1 when nothing is shared.

    **Error:** a float in any case; near alpha = 1 it joins KL smoothly.
    **Reference:** Rényi 1961; van Erven & Harremoës 2014; Mironov 2017 for the use as a price.

    >>> round(renyi((0.75, 0.25), (0.25, 0.75), 2.0), 12) == round(math.log(7 / 3), 12)
    True
    >>> renyi((0.5, 0.5), (1.0, 0.0), 1.0), renyi((1, 0), ("1/4", "3/4"), math.inf) == math.log(4)
    (inf, True)
    """
    order = math.inf if alpha == math.inf else above("alpha", alpha, 0.0)
    first, second = _pair(p, q)
    # The losses ln(p/q) where both can show an outcome; `alone` is what P shows and Q never does. It is no test of whether
    # there is any: a Fraction may be too small for a float.
    shared = [(a, _log_ratio(a, b)) for a, b in zip(first, second, strict=True) if a > 0 and b > 0]
    alone = sum(float(a) for a, b in zip(first, second, strict=True) if a > 0 and b == 0)
    if not shared or (order >= 1.0 and any(a > 0 and b == 0 for a, b in zip(first, second, strict=True))):
        return math.inf
    if order == math.inf:
        return max(0.0, *(loss for _, loss in shared))
    if order == 1.0:
        return max(0.0, math.fsum(float(a) * loss for a, loss in shared))
    # The sum of p^alpha q^(1-alpha) is the mean of exp(x) under P for x = (alpha - 1) ln(p/q).
    exponents = [(order - 1.0) * loss for _, loss in shared]
    if max(map(abs, exponents)) < 1.0 and alone < 0.5:  # it is near one: keep the digits of mean - 1 = excess - alone
        excess = math.fsum(float(a) * math.expm1(x) for (a, _), x in zip(shared, exponents, strict=True))
        log_mean = math.log1p(excess - alone)
    else:
        logs = [_log(a) + x for (a, _), x in zip(shared, exponents, strict=True)]
        peak = max(logs)
        log_mean = peak + math.log(math.fsum(math.exp(x - peak) for x in logs))
    return max(0.0, log_mean / (order - 1.0))


def contraction(channel: Channel, gamma: Number) -> float | Fraction:
    """eta_gamma(K) = max over two rows of E_gamma(K_x||K_x'), gamma >= 1; row x is the law of the output on input x.

    **Guarantee:** E_gamma(PK||QK) <= eta_gamma(K) E_gamma(P||Q) for all P, Q, and no smaller factor will do; so K is
    (epsilon, delta)-LDP iff eta_{e^epsilon}(K) <= delta. Below gamma = 1 there is no contraction (take P = Q), and such
    a gamma is refused. **Error:** none when all is exact; float rows are ranked in numpy, the winner is summed by fsum.
    **Reference:** Dobrushin 1956 for gamma = 1; Asoodeh, Diaz & Calmon 2020.

    >>> coin = (("3/4", "1/4"), ("1/4", "3/4"))  # randomized response with a fair coin: e^epsilon = 3
    >>> contraction(coin, 3), contraction(coin, "29/10"), contraction(coin, 1)
    (Fraction(0, 1), Fraction(1, 40), Fraction(1, 2))
    """
    every, factor = _rows(channel), _gamma(gamma, 1.0)
    rows = list(dict.fromkeys(every))  # each once; `_exact` asks all, since 1/2 and 0.5 are the same key
    if _exact(*every) and isinstance(factor, Fraction):
        return max(_excess(a, b, factor) for a in rows for b in rows)
    table = np.array([[float(item) for item in row] for row in rows])
    best = 0.0
    for row in rows:
        against = np.maximum(np.array([float(item) for item in row]) - float(factor) * table, 0.0).sum(axis=1)
        best = max(best, float(_excess(row, rows[int(against.argmax())], float(factor))))
    return best


def push_forward(p: Distribution, channel: Channel) -> tuple[float | Fraction, ...]:
    """PK: the law of the channel's output when its input has the law P. Post-processing, written out.

    **Reference:** Dwork & Roth 2014, proposition 2.1 (post-processing).

    >>> push_forward(("1/2", "1/2"), ((1, 0), ("1/3", "2/3")))
    (Fraction(2, 3), Fraction(1, 3))
    """
    weights, rows = _distribution("p", p), _rows(channel)
    if len(weights) != len(rows):
        raise InvalidParameter(f"the channel needs one row per outcome of p, got {len(rows)} rows for {len(weights)}")
    columns = zip(*rows, strict=True)
    if _exact(weights, *rows):
        return tuple(
            sum((Fraction(w) * Fraction(k) for w, k in zip(weights, c, strict=True)), Fraction(0)) for c in columns
        )
    return tuple(min(1.0, math.fsum(float(w) * float(k) for w, k in zip(weights, c, strict=True))) for c in columns)


def is_approximate_dp(p: Distribution, q: Distribution, epsilon: float, delta: Number) -> bool:
    """True if P(S) <= e^epsilon Q(S) + delta and Q(S) <= e^epsilon P(S) + delta for every event S.

    A statement about events, not about outcomes one by one.

    **Guarantee:** yes is certain. The sums are exact (a float stands for the rational that it is) and e^epsilon is
    rounded down, so a claim within 1e-15 of the truth may be answered by no.
    **Reference:** Dwork & Roth 2014, definition 2.4.

    >>> is_approximate_dp(("1/2", "1/2"), ("1/3", "2/3"), 0, "1/6")
    True
    >>> is_approximate_dp(("3/4", "1/4"), ("1/4", "3/4"), 1.0986, 0)  # ln 3 = 1.09861...
    False
    """
    first, second = ([Fraction(item) for item in row] for row in _pair(p, q))
    exponent, allowed = _not_negative("epsilon", epsilon), Fraction(_probability("delta", delta))
    power = Fraction(max(1.0, round_down(exp_capped(exponent))))
    return all(_excess(a, b, power) <= allowed for a, b in ((first, second), (second, first)))


# --- reading the input -----------------------------------------------------------------------------------------------


def _probability(name: str, value: object) -> float | Fraction:
    """A number in [0, 1], exact where it was given so."""
    number = _number(name, value)
    if not isinstance(number, Fraction):
        return fraction(name, number)
    if not 0 <= number <= 1:
        raise InvalidParameter(f"{name} must hold probabilities in [0, 1], got {number}")
    return number


def _number(name: str, value: object) -> object:
    """Exact values as a Fraction, anything else as it came (the caller checks it)."""
    if isinstance(value, str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise InvalidParameter(f"{name} holds {value!r}, which is not a number such as '1/3'") from None
    if isinstance(value, bool) or not isinstance(value, Rational):
        return value
    return Fraction(int(value.numerator), int(value.denominator))


def _gamma(value: object, low: float) -> float | Fraction:
    """A number of at least `low`, exact where it was given so."""
    number = _number("gamma", value)
    if not isinstance(number, Fraction):
        return _not_negative("gamma", number, low)
    if number < low:
        raise InvalidParameter(f"gamma must be at least {low:g}, got {number}")
    return number


def _distribution(name: str, values: object) -> tuple[float | Fraction, ...]:
    held = tuple(_probability(name, value) for value in items(name, values))
    total = sum(held, Fraction(0)) if _exact(held) else math.fsum(held)
    if not held or (total != 1 if _exact(held) else abs(total - 1.0) > _SUM_TOLERANCE):
        raise InvalidParameter(f"{name} must sum to 1, got {float(total)}")
    return held


def _pair(p: object, q: object) -> tuple[tuple[float | Fraction, ...], tuple[float | Fraction, ...]]:
    first, second = _distribution("p", p), _distribution("q", q)
    if len(first) != len(second):
        raise InvalidParameter(f"p and q must list the same outcomes, got {len(first)} and {len(second)} probabilities")
    return first, second


def _rows(channel: object) -> list[tuple[float | Fraction, ...]]:
    rows = [_distribution("each row of the channel", row) for row in items("channel", channel)]
    if not rows or len({len(row) for row in rows}) > 1:
        raise InvalidParameter("channel must have at least one row, and all rows must list the same outcomes")
    return rows


def _exact(*rows: Sequence[float | Fraction]) -> bool:
    """True if no float is among them: only then is arithmetic without rounding."""
    return all(isinstance(item, Fraction) for row in rows for item in row)


# --- arithmetic on clean input ---------------------------------------------------------------------------------------


def _excess(p: Sequence[float | Fraction], q: Sequence[float | Fraction], gamma: float | Fraction) -> float | Fraction:
    """The hockey stick sum (p - gamma q)+, exact where all three are."""
    if isinstance(gamma, Fraction) and _exact(p, q):
        return sum((max(cast(Fraction, a - gamma * b), Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
    return math.fsum(max(float(a) - float(gamma) * float(b), 0.0) for a, b in zip(p, q, strict=True))


def _log(x: float | Fraction) -> float:
    """ln x for x > 0; a Fraction may be smaller than any float."""
    return math.log(x.numerator) - math.log(x.denominator) if isinstance(x, Fraction) else math.log(x)


def _log_ratio(a: float | Fraction, b: float | Fraction) -> float:
    """ln(a/b) for positive a and b; near one from the difference, which is exact."""
    if b <= 2 * a and a <= 2 * b:
        return math.log1p(float((a - b) / b))
    return _log(a) - _log(b)


def _not_negative(name: str, value: object, low: float = 0.0) -> float:
    number = finite(name, value)
    if number < low:
        raise InvalidParameter(f"{name} must be at least {low:g}, got {number}")
    return number
