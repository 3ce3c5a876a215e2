"""The numerical accountant: a certified interval from privacy-loss distributions."""

import math
from dataclasses import dataclass

import numpy as np

from privet._cache import remember
from privet._numerics import UNIT_ROUNDOFF, Array, sum_up
from privet._validate import open_fraction
from privet.accounting.accountant import Accountant
from privet.accounting.bound import Bound
from privet.accounting.pld.bundle import gathered
from privet.accounting.pld.engine import Mode, delta_interval, epsilon_interval, profile_curves
from privet.accounting.pld.interval import Interval
from privet.accounting.pld.plan import Parts
from privet.accounting.pld.single import Pair, pair_delta, pair_epsilon, without_grid
from privet.errors import NoGuarantee
from privet.privacy import DIRECTIONS, PrivacyLoss
from privet.privacy.atoms import any_failure

_A_LITTLE_MORE = 1.0 + 1e-9  # a lower end at a larger delta is one here too: it costs tightness, never validity


@dataclass(frozen=True)
class PLD(Accountant):
    """Composes the worst pairs numerically, in both directions separately, from above and from below.

    Rounding, truncation, aliasing and the transform are charged, so both ends are certified. `tol` is the relative width
    aimed at; a grid too coarse for it is refined by itself, as far as memory and a few seconds go (`Bound.coarse` says
    where that was not far enough). `two_sided=False` skips the lower end (twice as quick, and the grid is then trusted to
    be fine enough: the upper end stays certified, its tightness is not).

    **Guarantee:** upper end for every mechanism with this loss; lower end for the composed worst pair (0 when a part's
    pair is only a bound). **Error:** about tol times the value.
    **Reference:** Koskela et al. 2020; Gopi, Lee & Wutschitz 2021; Doroshenko et al. 2022; tilting and the lower law are
    described in docs/proofs/accounting.

    >>> from privet import privacy
    >>> loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 10_000)
    >>> bound = PLD().epsilon(loss, 1e-5)
    >>> bound.lower < 0.946868 < bound.upper < 0.9470
    True
    """

    tol: float = 1e-4
    two_sided: bool = True

    def __post_init__(self) -> None:
        open_fraction("tol", self.tol)

    def _mode(self, parts: list[tuple[PrivacyLoss, int]]) -> Mode:
        if not all(part.exact for part, _ in parts):
            return "upper"
        return "two-sided" if self.two_sided else "quick"

    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        parts = _costly(loss)
        if _all_delta_is_lost(parts, delta):
            upper = _largest_finite_loss(parts)
            lower = self._epsilon(loss, delta * _A_LITTLE_MORE).lower  # what a larger delta needs is needed here too
            return Bound(min(lower, upper), upper, "PLD", loss.unit)
        pair, packed = _listed(parts)
        ends = None if pair is None else pair_epsilon(pair, delta)
        if ends is not None:
            return self._bound(loss, Interval(*ends), _largest_loss(parts))
        found = epsilon_interval(packed, delta, self.tol, mode=self._mode(parts))
        return self._bound(loss, found, _largest_loss(parts))

    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        if loss.pure() <= epsilon:
            return Bound(0.0, 0.0, "PLD", loss.unit)
        parts = _costly(loss)
        pair, packed = _listed(parts)
        ends = None if pair is None else pair_delta(pair, epsilon)
        if ends is not None:
            return self._bound(loss, Interval(*ends), 1.0)
        return self._bound(loss, delta_interval(packed, epsilon, self.tol, mode=self._mode(parts)), 1.0)

    def _bound(self, loss: PrivacyLoss, found: Interval, most: float) -> Bound:
        """The interval without its lower end where a pair is only a bound, and never above what is known anyway."""
        lower = found.lower if all(part.exact for part, _ in loss.parts()) else 0.0
        upper = min(found.upper, most)
        return Bound(min(lower, upper), upper, "PLD", loss.unit, found.coarse)


def profile_nodes(loss: PrivacyLoss, tol: float = 1e-4) -> tuple[tuple[Array, Array], ...]:
    """Certified upper bounds on the whole profile (epsilon nodes, deltas), one pair of arrays per direction.

    >>> from privet import privacy
    >>> nodes, deltas = profile_nodes(privacy.LaplaceLoss(2.0))[0]
    >>> bool((deltas >= privacy.LaplaceLoss(2.0).profile(nodes) - 1e-12).all())
    True
    """
    found: tuple[tuple[Array, Array], ...] = _nodes(loss, tol)
    return found


@remember(2**25)  # who tests a claim asks for its curve many times
def _nodes(loss: PrivacyLoss, tol: float) -> tuple[tuple[Array, Array], ...]:
    parts = _costly(loss)
    curves = profile_curves(gathered(parts), tol) if parts else [(np.zeros(1), np.zeros(1))]
    for curve in curves:
        for array in curve:
            array.flags.writeable = False  # it is handed out again
    return tuple(curves)


def _listed(parts: list[tuple[PrivacyLoss, int]]) -> tuple[Pair | None, Parts]:
    """The whole composition as one pair, where its outcomes are few; and the parts for a grid, bundled where that helps."""
    pair = without_grid(parts)
    if pair is not None:
        return pair, parts
    packed = gathered(parts)
    return (without_grid(packed) if len(packed) == 1 and packed[0][1] == 1 else None), packed


def _all_delta_is_lost(parts: list[tuple[PrivacyLoss, int]], delta: float) -> bool:
    """Do outcomes that give a world away use up all of delta? No epsilon covers them, so more than that is refused."""
    lost = max(any_failure((part.variable(direction).p_only, n) for part, n in parts) for direction in DIRECTIONS)
    if lost < delta:
        return False
    if lost > delta or math.isinf(_largest_finite_loss(parts)):
        raise NoGuarantee(
            f"with probability {lost:.3g} (rounded up) these releases fail outright (loss +inf), which no epsilon covers; "
            f"expected less than delta = {delta:.3g}: ask for a larger delta, or give the parts smaller ones"
        )
    return True


def _largest_finite_loss(parts: list[tuple[PrivacyLoss, int]]) -> float:
    """The largest loss of outcomes that both worlds show, rounded up; infinite where a part has no list of them."""
    tops = []
    for direction in DIRECTIONS:
        variables = [(part.variable(direction), n) for part, n in parts]
        if not all(variable.discrete for variable, _ in variables):
            return math.inf
        ends = [float(variable.atoms().losses.max(initial=0.0)) for variable, _ in variables]
        stated = [part.known_only_as() for part, _ in parts]  # whose losses are no computed numbers
        exact = [
            end if known is not None and end == known.epsilon else end + 32.0 * UNIT_ROUNDOFF * (1.0 + end)
            for end, known in zip(ends, stated, strict=True)
        ]
        tops.append(sum_up((end, n) for end, (_, n) in zip(exact, parts, strict=True)))
    return max(tops)


def _largest_loss(parts: list[tuple[PrivacyLoss, int]]) -> float:
    """The epsilon of pure DP, rounded up: every loss is a float, off by a few units in the last place."""
    pures = [(part.pure(), n) for part, n in parts]
    return math.fsum(n * pure + 32.0 * UNIT_ROUNDOFF * n * (1.0 + pure) for pure, n in pures)


def _costly(loss: PrivacyLoss) -> list[tuple[PrivacyLoss, int]]:
    """The parts that cost anything."""
    return [(part, n) for part, n in loss.parts() if part.pure() > 0.0]
