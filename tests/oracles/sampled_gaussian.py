"""Poisson-sampled Gaussian in high precision: one and two releases, and Renyi divergences.

Removing a record compares P = (1-q) N(0, z^2) + q N(1, z^2) with Q = N(0, z^2); adding one compares Q with P.
Everything is derived from the likelihood ratio w(x) = 1 - q + q exp((2x-1)/(2 z^2)), increasing in x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from mpmath import mp, mpf

Number = float | int | str | mpf
Direction = Literal["remove", "add"]


def ratio(x: mpf, q: Number, z: Number) -> mpf:
    """w = dP/dQ at x."""
    return 1 - mpf(q) + mpf(q) * mp.exp((2 * x - 1) / (2 * mpf(z) ** 2))


def where_ratio_is(value: mpf, q: Number, z: Number) -> mpf:
    """The x at which w(x) = value; needs value > 1 - q."""
    return mpf(1) / 2 + mpf(z) ** 2 * mp.log((value - 1 + mpf(q)) / mpf(q))


def delta_one(epsilon: Number, *, q: Number, z: Number, direction: Direction) -> mpf:
    """delta(epsilon) of one release: the worst set is a half line, so two normal tails give it exactly."""
    gamma = mp.exp(mpf(epsilon))
    return hockey_stick(gamma, q=q, z=z, direction=direction)


def hockey_stick(gamma: mpf, *, q: Number, z: Number, direction: Direction) -> mpf:
    """H_gamma for any gamma > 0."""
    q, z = mpf(q), mpf(z)
    if direction == "remove":  # the set is {w > gamma}
        if gamma <= 1 - q:
            return 1 - gamma
        x = where_ratio_is(gamma, q, z)
        return (1 - q) * mp.ncdf(-x / z) + q * mp.ncdf((1 - x) / z) - gamma * mp.ncdf(-x / z)
    if 1 / gamma <= 1 - q:  # the set is {w < 1/gamma}, empty here
        return mpf(0)
    x = where_ratio_is(1 / gamma, q, z)
    return mp.ncdf(x / z) - gamma * ((1 - q) * mp.ncdf(x / z) + q * mp.ncdf((x - 1) / z))


def density(x: mpf, *, q: Number, z: Number, direction: Direction) -> mpf:
    """Density of the first member of the pair."""
    base = mp.npdf(x, 0, mpf(z))
    return base * ratio(x, q, z) if direction == "remove" else base


def delta_two(epsilon: Number, *, q: Number, z: Number, direction: Direction) -> mpf:
    """delta(epsilon) of two releases: integral of p(x) H_{gamma q(x)/p(x)} over the first output x.

    The inner curve is not smooth where its own branch changes; the integral is split there.
    """
    gamma, z = mp.exp(mpf(epsilon)), mpf(z)

    def integrand(x: mpf) -> mpf:
        w = ratio(x, q, z)
        rest = gamma / w if direction == "remove" else gamma * w
        return density(x, q=q, z=z, direction=direction) * hockey_stick(rest, q=q, z=z, direction=direction)

    # remove: gamma/w = 1-q ; add: gamma w = 1/(1-q)
    level = gamma / (1 - mpf(q)) if direction == "remove" else 1 / (gamma * (1 - mpf(q)))
    kink = [where_ratio_is(level, q, z)] if level > 1 - mpf(q) else []
    return integrate(integrand, z, kink)


def integrate(function: Callable[[mpf], mpf], z: mpf, kinks: list[mpf], top: Number = 1) -> mpf:
    """Quadrature over the window where a normal of width z around [0, top] has any mass at this precision."""
    reach = z * mp.sqrt(2 * mp.prec)
    low, high = -reach, mpf(top) + reach
    count = int(mp.ceil((high - low) / (3 * z)))
    points = [low + (high - low) * i / count for i in range(count + 1)]
    return mp.quad(function, sorted(points + [k for k in kinks if low < k < high]))


def renyi(alpha: Number, *, q: Number, z: Number, direction: Direction) -> mpf:
    """Renyi divergence of real order: E_Q[w^alpha] (remove) or E_Q[w^(1-alpha)] (add)."""
    a = mpf(alpha)
    power = a if direction == "remove" else 1 - a

    def integrand(x: mpf) -> mpf:
        return mp.npdf(x, 0, mpf(z)) * ratio(x, q, z) ** power

    return mp.log(integrate(integrand, mpf(z), [], top=max(a, mpf(1)))) / (a - 1)


def renyi_integer(alpha: int, *, q: Number, z: Number) -> mpf:
    """The binomial sum for integer orders, remove direction."""
    q, z = mpf(q), mpf(z)
    terms = (
        mp.binomial(alpha, k) * (1 - q) ** (alpha - k) * q**k * mp.exp(mpf(k * (k - 1)) / (2 * z * z))
        for k in range(alpha + 1)
    )
    return mp.log(mp.fsum(terms)) / (alpha - 1)
