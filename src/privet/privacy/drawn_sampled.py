"""Amplification by drawing records with replacement."""

import math
from dataclasses import dataclass
from functools import cached_property

from privet._validate import count, set_frozen
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy.binary import binary_variable
from privet.privacy.curve import variable_of_envelope
from privet.privacy.families.flagged import FlaggedVariable
from privet.privacy.families.mixture import binomial_mixture
from privet.privacy.families.sampling import after_sampling
from privet.privacy.fixed_sampled import SplicedVariable
from privet.privacy.grouped import Grouped
from privet.privacy.loss import Approximate, PrivacyLoss, ZcdpBound
from privet.privacy.serial import register
from privet.privacy.variable import Direction, LossVariable

_LEFT_OUT = 1e-280  # probability of drawing a record more often than is looked at; a chain of groups is dearer
_LEFT_OUT_OF_A_CHAIN = 1e-40


@register
@dataclass(frozen=True, eq=False)
class WithReplacementSampled(PrivacyLoss):
    """A release on m records drawn one by one, uniformly and with replacement, from n; relation replace.

    A record may be drawn several times, and then counts as often: the base is asked about groups of every size.

    **Guarantee:** sum over j >= 1 of Pr[Binomial(m, 1/n) = j] delta_j(ln(1 + (e^e - 1)/p)) for e >= 0, where
    p = 1 - (1 - 1/n)^m and delta_j is the base's curve for j replaced records; the mirror image below 0: one legal curve.
    **Sensitivity:** under replace; n is public there. **Reference:** Balle, Barthe & Gaboardi 2018, theorem 10.

    >>> from privet import privacy
    >>> base = privacy.GaussianLoss(noise_multiplier=4.0, unit=privacy.Unit("replace"))
    >>> drawn, kept = WithReplacementSampled(base, m=10, n=1000), privacy.FixedSampled(base, m=10, n=1000)
    >>> bool(0.99 < drawn.profile(0.0) / kept.profile(0.0) < 1.01)
    True
    """

    kind = "with_replacement_sampled"

    of: PrivacyLoss
    m: int
    n: int

    def _words(self) -> str:
        return f"{self.of._as_a_whole()} on {self.m:,} draws with replacement from {self.n:,} records"

    def __post_init__(self) -> None:
        if not isinstance(self.of, PrivacyLoss):
            raise InvalidParameter(f"WithReplacementSampled takes a loss, got {type(self.of).__name__}")
        if self.of.unit.relation != "replace" or self.of.unit.group_size != 1:
            raise MixedUnits(
                "drawing with replacement is priced for replacing one record; build the base loss with "
                'unit=privacy.Unit("replace") and the sensitivity of a replacement'
            )
        set_frozen(self, of=self.of.simplest(), m=count("m", self.m), n=count("n", self.n, 1), unit=self.of.unit)

    @property
    def p(self) -> float:
        """Probability that a given record is drawn at all."""
        return -math.expm1(self.m * math.log1p(-1.0 / self.n)) if self.n > 1 else float(self.m > 0)

    def parts(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        return () if self.m == 0 or not self.of.parts() else ((self, 1),)

    @cached_property
    def _most(self) -> PrivacyLoss:
        """Every draw is the changed record."""
        return Grouped(self.of, max(self.m, 1))

    def pure(self) -> float:
        return float(after_sampling(self._most.pure(), self.p)) if self.m else 0.0

    def approximate(self) -> Approximate:
        epsilon, delta = self._most.approximate()
        if self.m == 0 or epsilon == 0.0:
            return Approximate(0.0, self.p * delta if self.m else 0.0)
        return Approximate(float(after_sampling(epsilon, self.p)), self.p * delta)

    def zcdp(self) -> ZcdpBound:
        return self._most.zcdp() if self.m else ZcdpBound(0.0, 0.0)

    def gdp(self) -> float:
        return self._most.gdp() if self.m else 0.0

    def gaussian(self) -> float | None:
        return None if self.parts() else 0.0

    def variable(self, direction: Direction) -> LossVariable:
        if self.m == 0:
            return binary_variable(0.0)
        return self._spliced

    @cached_property
    def _spliced(self) -> LossVariable:
        """How often the record was drawn is told, given that it was."""
        closed = self.of.grouped(2) is not None
        times, weights = binomial_mixture(self.m, 1.0 / self.n, 1.0)
        drawn = [(round(j), w / self.p) for j, w in zip(times, weights, strict=True) if j > 0.0]
        cases: list[tuple[float, LossVariable]] = []
        lost = 0.0
        for j, weight in reversed(drawn):
            if not cases and lost + weight <= (_LEFT_OUT if closed else _LEFT_OUT_OF_A_CHAIN) and j > 1:
                lost += weight
                continue
            cases.append((weight, _both_ways(Grouped(self.of, j))))
        return SplicedVariable(FlaggedVariable(tuple(cases), lost), self.p)


def _both_ways(loss: PrivacyLoss) -> LossVariable:
    """A pair that dominates the loss in both directions."""
    forward = loss.variable("remove")
    return forward if forward.symmetric else variable_of_envelope([forward, loss.variable("add")])
