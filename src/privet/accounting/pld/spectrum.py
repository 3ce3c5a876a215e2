"""The transform of a sum of many unlike losses: its factors, their product, and groups of factors that share one.

The laws of single releases are short beside the window of their sum, which a transform of each would have to be as long
as. So a few of them are summed first, by transforms that are just long enough for the group: the masses of the group are
then transformed once. What the short transforms get wrong is charged to the factor of the group.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from privet._cache import remember
from privet._numerics import UNIT_ROUNDOFF, Array
from privet.accounting.pld.rounding import GridLaw

NEGLIGIBLE = -100.0  # a factor exp(-100) of the spectrum is dropped and charged
_SMALL = math.exp(NEGLIGIBLE)
_LEFT = 0.75  # share of the frequencies from which on those that are negligible are left out: speed alone
_BOUNDS = 1.001  # for the roundings of the bounds themselves
_WORTH_IT = 4  # parts, from which on groups are looked for: speed alone

Laws = list[tuple[GridLaw, int]]
Factor = tuple[NDArray[np.complex128], float, int]  # a transform, a bound on its error, and its power


def smooth_length(length: int) -> int:
    """The smallest number m * 2^k >= length with m = 4, 5 or 6: fast to transform, and few enough to share transforms.

    >>> smooth_length(1001), smooth_length(1025)
    (1024, 1280)
    """
    power = max(0, (length - 1).bit_length() - 3)
    return next(m << power for m in (4, 5, 6, 8) if m << power >= length)


def grouped(laws: Laws, length: int) -> list[Laws]:
    """The laws in groups whose sums are short beside a window of `length` nodes; one of its own for a law that is not.

    With P laws whose sum reaches over S nodes, G groups take P transforms of S/G nodes and G of `length`: the least work
    is at G = sqrt(P S / length).
    """
    if len(laws) < _WORTH_IT:
        return [[part] for part in laws]
    reach = [n * (law.stop - law.start) for law, n in laws]
    most = max(1, math.ceil(sum(reach) / max(1.0, math.sqrt(len(laws) * sum(reach) / length))))
    found: list[Laws] = []
    current: Laws = []
    held = 0
    for part, nodes in sorted(zip(laws, reach, strict=True), key=lambda pair: pair[1]):
        if current and held + nodes > most:
            found.append(current)
            current, held = [], 0
        current.append(part)
        held += nodes
    return [*found, current]


def factor_of(group: Laws, t: float, length: int) -> Factor:
    """The factor of a group in the transform of the sum."""
    if len(group) == 1:
        law, n = group[0]
        return (*transform_of(law, t, length), n)
    return (*transform_of_group(group, t, length), 1)


def transform_of_group(group: Laws, t: float, length: int) -> tuple[NDArray[np.complex128], float]:
    """The transform of the sum of a group, and a bound on its error.

    The group's own transforms are longer than its sum, so nothing is folded. Each bin of its masses is off by what
    `product` bounds and by the rounding of the inverse; all bins together move an entry of the long transform by no more
    than their sum.
    """
    nodes = 1 + sum(n * (law.stop - law.start) for law, n in group)
    short = smooth_length(nodes)
    spectrum, noise = product(
        ((*_transform(_tilted(law, t), law.places - law.start, short, 0.0), n) for law, n in group), short
    )
    weight = np.fft.irfft(spectrum, short)[:nodes]
    size = float(np.abs(spectrum).sum())
    each = noise + 16.0 * UNIT_ROUNDOFF * math.log2(short) / short * size + 2.0 * math.exp(NEGLIGIBLE)
    return _transform(weight, np.arange(nodes), length, nodes * each)


@remember(16_000_000)
def transform_of(law: GridLaw, t: float, length: int) -> tuple[NDArray[np.complex128], float]:
    """The transform of the tilted law, and a bound on its error.

    Every output of a fast transform is a sum of its inputs, each of which passed log2(N) stages of one complex product
    and one or a few sums; so |error of F_k| <= 8 u log2(N) ||w||_1 (8 u a stage covers radix 5), and ||w||_1 = 1 here.
    """
    return _transform(_tilted(law, t), law.places - law.start, length, 0.0)


def _tilted(law: GridLaw, t: float) -> Array:
    tilted: Array = law.mass * np.exp(law.losses() * t - law.log_moment(t))
    return tilted


def _transform(weight: Array, places: Array, length: int, off: float) -> tuple[NDArray[np.complex128], float]:
    """The transform of weights at places, folded; `off` is by how much they may be off in all."""
    folded = np.bincount(places % length, weights=weight, minlength=length)
    error = 8.0 * UNIT_ROUNDOFF * (math.log2(length) + 1.0) * float(np.abs(weight).sum()) + off
    return np.fft.rfft(folded, length), error


def product(factors: Iterable[Factor], length: int) -> tuple[NDArray[np.complex128], float]:
    """Product of the powers of transforms, and a bound on the error of one bin of its inverse.

    Each factor comes with a bound on its error and its power. Frequencies at which what is multiplied so far is negligible
    are left: no factor is larger than 1 by more than roundings. A product adds sqrt(5) u to the error, a power n taken
    through the complex logarithm 8 u n. Products of numbers of modulus at most M = |F_k| + error then differ by at most the
    sum over the parts of n (error + 8 u) times the product of the M with one factor of that part left out. The sum of p
    terms n ln F rounds p times at a size of at most 100 + pi T.
    """
    powers, steps, half = 0, 0, 0
    left, found, power, size, log_size, share = _nothing_yet(0)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        for transform, error, n in factors:
            if not half:  # all are as long as the first: a band has few of the frequencies
                half = len(transform)
                left, found, power, size, log_size, share = _nothing_yet(half)
            part = transform if len(left) == half else transform[left]
            modulus = np.abs(part) + error
            if n == 1:
                found *= part
                size *= modulus
            else:
                power += n * np.log(part)
                log_size += n * np.log(modulus)
                powers += 1
            share += n * (error + 8.0 * UNIT_ROUNDOFF) / modulus
            steps += n
            large = (size > _SMALL) & (log_size > NEGLIGIBLE)
            if np.count_nonzero(large) < _LEFT * len(large):
                left, found, power, size, log_size, share = (
                    each[large] for each in (left, found, power, size, log_size, share)
                )
        log_size += np.log(size)
        if powers:
            found = found * np.exp(power)
    large = log_size > NEGLIGIBLE
    result = np.zeros(half, dtype=complex)
    result[left[large]] = np.where(np.isfinite(found[large]), found[large], 0.0)
    sums = UNIT_ROUNDOFF * max(0, powers - 1) * (100.0 + math.pi * steps)
    noise = _BOUNDS * float((np.exp(np.minimum(log_size[large], 50.0)) * (share[large] + sums)).sum())
    return result, 2.0 / length * noise + 4.0 * steps * math.exp(NEGLIGIBLE)  # elsewhere no factor is off by its size


def _nothing_yet(half: int) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The empty product at so many frequencies: which they are, its value, the logarithm of what powers add to it, a bound
    on its size, the logarithm of the one for powers, and the share of its error."""
    return (
        np.arange(half),
        np.ones(half, dtype=complex),
        np.zeros(half, dtype=complex),
        np.ones(half),
        np.zeros(half),
        np.zeros(half),
    )
