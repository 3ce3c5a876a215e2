"""Amplification by Poisson sampling with a largest batch."""

import math
from dataclasses import dataclass, field

import numpy as np

from privet._cache import kept_property
from privet._numerics import LARGEST_EXPONENT, TINY, Array, round_up, special
from privet._validate import count, fraction, set_frozen
from privet.privacy.binary import binary_variable
from privet.privacy.curve import variable_of_envelope
from privet.privacy.families.flagged import FlaggedVariable
from privet.privacy.families.sampling import OF_COIN, Coin, epsilon_after_sampling, of_one_record
from privet.privacy.fixed_sampled import SplicedVariable, spliced_gaussian_rdp
from privet.privacy.grouped import to_replace
from privet.privacy.loss import Approximate, PrivacyLoss, RdpCurve, ZcdpBound, orders_of
from privet.privacy.poisson_sampled import PoissonSampled, SampledVariable, sampled_gaussian_rdp
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import Direction, LossVariable

_FEW = 16  # numbers of records with full batches that are told apart; of more, a record gets in at rate q at most


@register
@dataclass(frozen=True, eq=False)
class TruncatedPoissonSampled(PrivacyLoss):
    """Poisson sampling at rate q whose batches hold at most `batch` records: of a larger sample, a random subset is kept.

    `n` is a public cap on the number of records: batches overflow most often when the data are largest.

    **Guarantee:** of m records, with probability 1 - tau, tau = Pr[Binomial(m - 1, q) >= batch], the pair of Poisson
    sampling; else a record that enters pushes another one out, which is priced as a replacement of the base, sampled at the
    rate at which a record gets into a full batch. The curve is the largest of those for all m up to n where these are few
    (n up to batch + 16), else that of n with the rate q.
    **Sensitivity:** relation add_remove or zero_out. A null record counts for `batch` where the subset is chosen; inside
    the batch it must act as an absent one: a release that shows, or divides by, the size of its batch is not covered. With
    `coin="person"` (a price about persons) `batch` and `n` count persons.
    **Reference:** Chua et al. 2024; Ganesh 2025; own proof in the note.
    **Proof:** docs/proofs/privacy/truncated_sampled.md.

    >>> from privet import privacy
    >>> base = privacy.GaussianLoss(noise_multiplier=1.0)
    >>> cut = TruncatedPoissonSampled(base, q=0.01, batch=150, n=10_000)
    >>> whole = privacy.PoissonSampled(base, q=0.01)
    >>> bool(whole.profile(0.5) < cut.profile(0.5) < 1.01 * whole.profile(0.5))
    True
    """

    kind = "truncated_poisson_sampled"

    of: PrivacyLoss
    q: float
    batch: int
    n: int
    coin: Coin = field(default="record", kw_only=True, metadata=OF_COIN)
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the parts

    def _words(self) -> str:
        sample = f"a Poisson sample of {100.0 * self.q:.4g}% of {self.n:,} records, at most {self.batch:,}"
        return f"{self.of._as_a_whole()} on {sample}"

    def __post_init__(self) -> None:
        inner = of_one_record(self.of, relation="add_remove", name="truncated Poisson sampling", coin=self.coin)
        PoissonSampled(self.of, fraction("q", self.q), coin=self.coin)  # the same limits
        set_frozen(self, of=inner, q=fraction("q", self.q), unit=self._about(inner.unit))
        set_frozen(self, batch=count("batch", self.batch, 1), n=count("n", self.n, 1))

    @kept_property
    def overflow(self) -> float:
        """Probability that the other records fill the batch, rounded up."""
        if self.batch > self.n - 1 or self.q == 0.0:
            return 0.0
        return float(min(1.0, special().betainc(self.batch, self.n - self.batch, self.q) * (1.0 + 1e-9) + TINY))

    @kept_property
    def _plain(self) -> PoissonSampled:
        return PoissonSampled(self.of, self.q, coin=self.coin)

    @kept_property
    def _swap(self) -> PrivacyLoss:
        """The price when one record of the batch is another one."""
        return to_replace(self.of)

    def attained(self) -> PrivacyLoss | None:
        """Plain Poisson sampling: where few records are there no batch is full, and `n` is only a cap."""
        return self._plain.attained()

    def parts(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        return self._plain.parts() if self.overflow == 0.0 else ((self, 1),)

    def pure(self) -> float:
        return epsilon_after_sampling(self._swap.pure(), self.q) if self.q > 0.0 else 0.0

    def approximate(self) -> Approximate:
        if self.q == 0.0:
            return Approximate(0.0, 0.0)
        epsilon, delta = self._swap.approximate()
        return Approximate(epsilon_after_sampling(epsilon, self.q), min(delta, round_up(self.q * delta, 2.0)))

    def zcdp(self) -> ZcdpBound:
        return self._swap.zcdp()

    def gdp(self) -> float:
        return self._swap.gdp()

    def rdp(self, alphas: Array) -> RdpCurve:
        orders = orders_of(alphas)
        plain, delta0 = self._plain.rdp(orders)
        swap, swap_delta0 = self._swap.rdp(orders)
        if delta0 > 0.0 or swap_delta0 > 0.0:
            return RdpCurve(np.full(orders.shape, math.inf), 0.0)
        mu = self._swap.gaussian()
        if mu is not None and self.q > 0.0:
            one = sampled_gaussian_rdp if self.unit.relation == "add_remove" else spliced_gaussian_rdp
            sampled = np.reshape([one(self.q, mu, float(a)) for a in orders.ravel()], orders.shape)
            swap = np.minimum(swap, sampled)
        # the moments of the two cases add up with their probabilities
        with np.errstate(over="ignore", invalid="ignore"):
            rest = self.overflow * np.expm1(np.minimum((orders - 1.0) * (swap - plain), LARGEST_EXPONENT))
            values = plain + np.log1p(np.maximum(rest, 0.0)) / (orders - 1.0)
        far = (orders - 1.0) * (swap - plain) >= LARGEST_EXPONENT
        return RdpCurve(np.where(far | ~np.isfinite(values), swap, np.minimum(values, swap)), 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        if self.q == 0.0 or not self.of.parts():
            return binary_variable(0.0)
        if self.overflow == 0.0:
            return self._plain.variable(direction)
        forward = self._forward if direction == "remove" else self._backward
        return forward if direction == "remove" else forward.reversed()

    @kept_property
    def _forward(self) -> LossVariable:
        return self._told(self.of.variable("remove"))

    @kept_property
    def _backward(self) -> LossVariable:
        return self._told(self.of.variable("add").reversed())

    def _told(self, base: LossVariable) -> LossVariable:
        """The observer is told whether the batch was full: of n records, or of the worst of all numbers up to n."""
        swap = self._swap.variable("remove")
        if not swap.symmetric:
            swap = variable_of_envelope([swap, swap.reversed()])
        plain = SampledVariable(base, self.q)
        if self.n - self.batch > _FEW:
            return self._of_crowd(self.overflow, self.q, plain, swap)
        crowds = [self._full(records) for records in range(self.batch + 1, self.n + 1)]
        return variable_of_envelope([plain, *(self._of_crowd(chance, rate, plain, swap) for chance, rate in crowds)])

    def _of_crowd(self, chance: float, rate: float, plain: LossVariable, swap: LossVariable) -> LossVariable:
        full = SampledVariable(swap, rate) if self.unit.relation == "add_remove" else SplicedVariable(swap, rate)
        return FlaggedVariable(((1.0 - chance, plain), (chance, full)))

    def _full(self, records: int) -> tuple[float, float]:
        """Of so many records: the probability that all but one fill the batch, and the rate of that one if they do, rounded
        up. It is the mean of q batch/(others that joined + 1), which is Pr[Binomial(records, q) > batch] batch/records over
        that probability.
        """
        betainc, batch = special().betainc, self.batch
        chance = float(min(1.0, betainc(batch, records - batch, self.q) * (1.0 + 1e-9) + TINY))
        more = float(betainc(batch + 1, records - batch, self.q)) * (1.0 + 1e-9) * (batch / records)
        return chance, min(self.q, more / chance * (1.0 + 1e-8)) if chance > 1e-280 else self.q
