"""The default accountant: the best valid bound of all methods."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from privet._calls import door
from privet.accounting.accountant import Accountant
from privet.accounting.basic import Basic
from privet.accounting.blocks import Blocks
from privet.accounting.bound import Bound
from privet.accounting.gdp import Gdp
from privet.accounting.optimal import Optimal
from privet.accounting.pld.accountant import PLD
from privet.accounting.rdp import Rdp
from privet.accounting.zcdp import Zcdp
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import DIRECTIONS, Composed, PrivacyLoss, Repeated

_NARROW = 0.02  # slack, as a share of the upper end, with which no further accountant is asked: tightness for time
_FINE_STEPS = 10_000_000  # up to here the grid is as fine as its tolerance asks
_FEW_STEPS = 100_000  # up to here the closed sum of optimal composition is quicker than a transform


@dataclass(frozen=True)
class Tightest(Accountant):
    """Closed forms where they are exact, otherwise the smallest upper and the largest lower end of all methods.

    **Guarantee:** every candidate is valid on its own, so the best is; the winner is named in `Bound.method`. Where the
    numerical method could do better and its grid did not, `method` says so and `coarse` is true.
    **Error:** width about `tol` (absolute below 1, relative above) where the worst pair is attained; `two_sided=False`
    leaves the lower end out, for speed, and then trusts the grid of the numerical method where that one applies.

    >>> from privet import privacy
    >>> Tightest().epsilon(privacy.GaussianLoss(1.0), 1e-5).method
    'GDP (exact)'
    """

    tol: float = 1e-4
    two_sided: bool = True

    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        return self._best(loss, lambda accountant, part: accountant.epsilon(part, delta))

    def _pure(self, loss: PrivacyLoss) -> Bound:
        return replace(super()._pure(loss), lower=_largest_loss(loss))

    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        return self._best(loss, lambda accountant, part: accountant.delta(part, epsilon))

    def _best(self, loss: PrivacyLoss, ask: Callable[[Accountant, PrivacyLoss], Bound]) -> Bound:
        worst: Bound | None = None
        for alternative in loss.alternatives():
            bound = _combine([*self._candidates(alternative, ask)], alternative)
            if worst is None or bound.upper > worst.upper:
                lower = max(bound.lower, worst.lower if worst else 0.0)
                worst = Bound(lower, bound.upper, bound.method, loss.unit, bound.coarse)
        assert worst is not None
        return worst

    def _candidates(self, loss: PrivacyLoss, ask: Callable[[Accountant, PrivacyLoss], Bound]) -> list[Bound]:
        if loss.gaussian() is not None:
            return _try([Gdp()], loss, ask)
        parts = loss.parts()
        if len(parts) == 1 and parts[0][0].known_only_as() is not None and parts[0][1] <= _FEW_STEPS:
            return _try([Optimal(), Basic()], loss, ask)
        simple = _try([Basic()], loss, ask)
        if simple and simple[0].upper == 0.0:
            return simple
        numerical = _try([PLD(self.tol, self.two_sided)], loss, ask)
        if numerical and all(part.exact for part, _ in parts) and self._settles(numerical[0], sum(n for _, n in parts)):
            return [*numerical, *simple]  # every other method bounds the same curve from further above
        numerical = [replace(bound, lower=max(bound.lower, self._shown(loss, ask))) for bound in numerical]
        closed = _try([Rdp(), Zcdp(), Gdp()], loss, ask)
        if all(part.exact for part, _ in parts):  # the numerical method is the tightest, but for its grid
            simple, closed = ([_instead(bound) for bound in others] for others in (simple, closed))
        if all(len(part.alternatives()) == 1 for part, _ in parts):
            return [*numerical, *simple, *closed]
        found = [*_try([Blocks()], loss, ask), *numerical, *simple, *closed]
        floor = self._at_least(loss, ask) if self.two_sided else 0.0
        return [replace(bound, lower=max(bound.lower, min(floor, bound.upper))) for bound in found]

    def _shown(self, loss: PrivacyLoss, ask: Callable[[Accountant, PrivacyLoss], Bound]) -> float:
        """The epsilon that mechanisms with these prices are known to show, where the pairs themselves are only
        bounds."""
        parts = [(part, part.attained(), n) for part, n in loss.parts()]
        if not self.two_sided or all(part.exact for part, _, _ in parts):
            return 0.0
        shown = [Repeated(known, n) for _, known, n in parts if known is not None]
        if len(shown) < len(parts):
            return 0.0
        found = _try([PLD(self.tol)], Composed(shown, unit=loss.unit), ask)
        return found[0].lower if found else 0.0

    def _at_least(self, loss: PrivacyLoss, ask: Callable[[Accountant, PrivacyLoss], Bound]) -> float:
        """The price of a record that lies in the same block at every step: one of the partitions that this price
        allows."""
        parts = loss.parts()
        floors = [0.0]
        for choice in range(max(len(part.alternatives()) for part, _ in parts)):
            fixed = [
                Repeated(part.alternatives()[min(choice, len(part.alternatives()) - 1)], times) for part, times in parts
            ]
            found = self._candidates(Composed(fixed, unit=loss.unit), ask)
            floors += [bound.lower for bound in found]
        return max(floors)

    def _settles(self, found: Bound, steps: int) -> bool:
        """Is the numerical answer known to be narrow, or (one-sided) sure to have got the grid it asked for?"""
        if found.slack <= _NARROW * found.upper:
            return True
        return not self.two_sided and steps <= _FINE_STEPS and math.isfinite(found.upper)


def _instead(bound: Bound) -> Bound:
    """The bound of another method, which says that the numerical one, able to do better, did not."""
    return replace(bound, method=f"{bound.method}, as the numerical method proved less here", coarse=True)


def _largest_loss(loss: PrivacyLoss) -> float:
    """The largest loss that the composed pair attains, in the worse direction: nothing smaller can be pure."""
    if not all(part.exact for part, _ in loss.parts()):
        return 0.0
    tops = []
    for direction in DIRECTIONS:
        atoms = [(part.variable(direction).atoms().losses, n) for part, n in loss.parts()]
        tops.append(sum(n * float(losses[-1]) for losses, n in atoms) if all(len(a) for a, _ in atoms) else 0.0)
    return max(0.0, *tops) * (1.0 - 1e-12)


def _try(
    accountants: list[Accountant], loss: PrivacyLoss, ask: Callable[[Accountant, PrivacyLoss], Bound]
) -> list[Bound]:
    found = []
    for accountant in accountants:
        try:
            found.append(ask(accountant, loss))
        except NoGuarantee:
            continue
    return found


def _combine(found: list[Bound], loss: PrivacyLoss) -> Bound:
    if not found:
        raise NoGuarantee(
            f"no accountant proves a finite bound for this loss ({loss.kind}); with delta = 0 only pure DP does, and a "
            "target below the failure probability that the parts set aside cannot be met"
        )
    best = min(found, key=lambda bound: bound.upper)
    lower = max(bound.lower for bound in found)
    lower = min(lower, best.upper) if lower <= best.upper * (1.0 + 1e-9) else lower
    return Bound(lower, best.upper, best.method, loss.unit, best.coarse)


@door(prices=("loss",))
def epsilon(loss: PrivacyLoss, *, delta: float, accountant: Accountant | None = None) -> Bound:
    """The price in epsilon at a given delta.

    Choose delta well below one over the number of people: it is the probability that the promise may fail entirely.

    **Guarantee:** every mechanism with this loss is (upper, delta)-DP. **Error:** `Bound.slack`.

    >>> from privet import privacy
    >>> loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=4.0), q=0.01), 10_000)
    >>> round(epsilon(loss, delta=1e-5).upper, 3)
    0.947
    """
    return _chosen(accountant).epsilon(loss, delta)


@door(prices=("loss",))
def delta(loss: PrivacyLoss, *, epsilon: float, accountant: Accountant | None = None) -> Bound:
    """The price in delta at a given epsilon >= 0.

    **Guarantee:** every mechanism with this loss is (epsilon, upper)-DP. **Error:** `Bound.slack`.

    >>> from privet import privacy
    >>> round(delta(privacy.GaussianLoss(1.0), epsilon=1.0).upper, 8)
    0.12693674
    """
    return _chosen(accountant).delta(loss, epsilon)


def _chosen(accountant: Accountant | None) -> Accountant:
    if accountant is None:
        return Tightest()
    if not isinstance(accountant, Accountant):
        raise InvalidParameter(f"accountant must be an accountant such as PLD(), got {accountant!r:.60}")
    return accountant
