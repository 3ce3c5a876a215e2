"""Laplace noise rounded to the integers."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.noise.draw import Draws
from privet.noise.entropy import Source, Stream
from privet.noise.families.coins import compare, compare_one, fair_bits
from privet.noise.families.enclosure import Enclosure, complement, exp_neg
from privet.noise.families.rounded import Rest, draw_rounded, exact_rest, oriented, signed
from privet.noise.geometric import one_geometric, sample_geometric
from privet.noise.parameters import Center, Size, positive

_TINY = 2.0**-9  # below, exp(1/(2 scale)) could overflow, and the exact path decides


def rounded_laplace(
    *, scale: int | float | Fraction, center: Center = 0, size: Size = None, source: Source | None = None
) -> Draws:
    """floor(center + noise + 1/2) for continuous Laplace noise of this scale and any centre below 2^52.

    **Guarantee:** exact law: a post-processing of the Laplace mechanism at the exact centre, so its price is that of
    the continuous mechanism with the sensitivity of the centres, not enlarged. Pass the value as `center`.
    **Error:** variance 2 scale^2, plus 1/12 for the rounding, nearly. **Reference:** proof note noise/rounded_laplace.

    >>> rounded_laplace(scale=10, center=0.5, size=3).dtype
    dtype('int64')
    """
    return draw_rounded(_one, _sample, center, size, source, given=(positive("scale", scale),))


def _sample(stream: Stream, count: int, t: Fraction, rest: Rest) -> NDArray[np.int64]:
    """The magnitude is a geometric number plus an independent fraction F; only whether F < tau matters."""
    magnitude = sample_geometric(stream, count, t).astype(np.int64, copy=False)
    minus = fair_bits(stream, count)
    shared = isinstance(rest, Fraction)  # then there are two edges only, one for each sign
    signs = np.array([False, True]) if shared else minus
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # at absurd scales: undecided, hence exact
        chance, margin = _fraction_below(
            0.5 + np.broadcast_to(oriented(rest, signs), signs.shape), np.float64(t), np.expm1
        )
    if shared:
        chance, margin = chance[minus.view(np.int8)], margin[minus.view(np.int8)]
    inside = compare(stream, chance, margin, lambda place: _chance(_edge(exact_rest(rest, place), minus[place]), t))
    return signed(magnitude, minus, inside)


def _one(stream: Stream, t: Fraction, rest: Fraction) -> int:
    magnitude, minus = one_geometric(stream, t), bool(stream.word() & 1)
    scale, shift = t.numerator / t.denominator, rest.numerator / rest.denominator
    edge = 0.5 + (shift if minus else -shift)
    if scale < _TINY:  # an exponential could overflow: leave it to the exact path
        chance, margin = 0.5, 1.0
    else:
        chance, margin = _fraction_below(edge, scale, math.expm1)
    up = magnitude + (not compare_one(stream, chance, margin, lambda bits: _chance(_edge(rest, minus), t)(bits)))
    return -up if minus else up


def _edge(rest: Fraction, minus: bool) -> Fraction:
    return Fraction(1, 2) + (rest if minus else -rest)


def _fraction_below(tau: Any, t: Any, expm1: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Pr[F < tau] = (1 - exp(-tau/t)) / (1 - exp(-1/t)), and a margin that covers an error of 2^-50 in tau."""
    inverse = 1.0 / t
    falling, whole = expm1(-tau * inverse), -expm1(-inverse)
    return -falling / whole, 2.0**-44 + 2.0**-50 * (1.0 + falling) * (inverse / whole)


def _chance(tau: Fraction, t: Fraction) -> Enclosure:
    def enclosure(bits: int) -> tuple[int, int]:
        one, part = 1 / t, tau / t
        guard = bits + 32 + t.numerator.bit_length()  # both differences are as small as 1/t
        top = complement(exp_neg(part.numerator, part.denominator, guard), guard)
        below = complement(exp_neg(one.numerator, one.denominator, guard), guard)
        return (top[0] << bits) // below[1], -(-(top[1] << bits) // below[0])

    return enclosure
