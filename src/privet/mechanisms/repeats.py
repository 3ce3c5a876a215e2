"""The epsilon of one release repeated many times, in a fraction of a millisecond: what calibration asks again and again."""

import math

import numpy as np

from privet._numerics import Array

_SPARE = 1e-4  # of delta: the part that may be spent on rare sums which are left out
_ROUNDING = (
    1e-9  # of the largest loss: sums of positive numbers keep their digits, and this is far above what they lose
)
_LARGEST = 600.0  # of the sum of all losses, beyond which exponentials might overflow


def epsilon_of_repeats(
    widest: float, times: int, delta: float, *, at_ends: float, cells: int, beside: float = 0.0
) -> float:
    """An upper bound on the epsilon, at `delta`, of `times` adaptive releases with losses between -widest and widest.

    The pair of one release has P = exp(s/2) m(ds) and Q = exp(-s/2) m(ds), where m is uniform on [-widest, widest] but for
    atoms at both ends that weigh as much as an interval of length `at_ends`: 2 is Laplace noise, 0 the envelope of the
    exponential mechanism. `beside` is the pure epsilon of one more release. `cells` on each side of zero decide how close
    the bound is, not whether it holds: see the proof note `docs/proofs/mechanisms/repeats.md`.

    >>> from privet import accounting, privacy
    >>> ours = epsilon_of_repeats(0.1, 50, 1e-6, at_ends=2.0, cells=4)
    >>> theirs = accounting.epsilon(privacy.Repeated(privacy.LaplaceLoss(10.0), 50), delta=1e-6).upper
    >>> 0.999 < ours / theirs < 1.001
    True
    """
    most = times * widest + beside
    if most > _LARGEST:
        return most
    step = widest / cells
    weights = np.full(2 * cells + 1, 4.0 * math.tanh(step / 4.0))
    weights[[0, -1]] = at_ends + 2.0 * math.tanh(step / 4.0)
    one = weights * np.exp(np.arange(-cells, cells + 1) * (step / 2.0))
    masses, first, lost = _power(one / one.sum(), times, _SPARE * delta / (4.0 * times))
    losses = step * (first - cells * times + np.arange(len(masses)))
    if beside > 0.0:
        more = 1.0 / (1.0 + math.exp(-beside))
        losses = np.concatenate((losses + beside, losses - beside))
        masses = np.concatenate((more * masses, (1.0 - more) * masses))
        order = np.argsort(losses)
        losses, masses = losses[order], masses[order]
    # delta(e) = max_j sum_{i >= j} P_i (1 - exp(e - l_i)), so that the least e is a maximum over j too
    upper = np.cumsum(masses[::-1]) - (delta - lost)
    lower = np.cumsum((masses * np.exp(-losses))[::-1])
    some = upper > 0.0
    if not np.any(some):
        return 0.0
    found = float(np.log(np.max(upper[some] / lower[some])))
    return min(most, max(0.0, found) + _ROUNDING * most)


def _power(one: Array, times: int, spare: float) -> tuple[Array, int, float]:
    """The law of the sum of `times` independent draws from `one`: masses, the place of the first of them, and the
    probability that was left out. Only positive numbers are added and multiplied.
    """
    total, first, lost = np.ones(1), 0, 0.0
    square, start, gone = one, 0, 0.0
    while True:
        if times & 1:
            total, cut, off = _trimmed(np.convolve(total, square), spare)
            first, lost = first + start + cut, lost + gone + off
        times >>= 1
        if not times:
            return total, first, lost
        square, cut, off = _trimmed(np.convolve(square, square), spare)
        start, gone = 2 * start + cut, 2.0 * gone + off


def _trimmed(masses: Array, spare: float) -> tuple[Array, int, float]:
    """Without the ends that hold at most `spare` together; where the rest starts; what was cut off."""
    low = int(np.searchsorted(np.cumsum(masses), spare / 2.0))
    high = len(masses) - int(np.searchsorted(np.cumsum(masses[::-1]), spare / 2.0))
    return masses[low:high], low, spare
