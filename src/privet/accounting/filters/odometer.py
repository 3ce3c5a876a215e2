"""An odometer: a running epsilon that holds whenever somebody stops, for losses chosen adaptively and without a cap."""

import math
from dataclasses import dataclass, field, replace

from privet._validate import above, at_least, count as whole_number, open_fraction, set_frozen
from privet.accounting.bound import Bound
from privet.accounting.filters.amounts import to_amount, to_float
from privet.errors import BudgetExceeded, InvalidParameter, NoGuarantee
from privet.privacy import PrivacyLoss, Unit, same_unit


@dataclass(frozen=True)
class Odometer:
    """zCDP on a doubling grid: rung j = 1, 2, ... is made for sums of rho near rho_j = first_rho 2^(j-1) and may fail
    with probability delta_j = 6 delta / (pi^2 j^2); these add up to delta.

    **Guarantee:** for every pair of neighbours, however losses are chosen, whoever stops, on whatever grounds, has P(S) <=
    integral over S of e^epsilon dQ + delta + delta0, with epsilon as reported then. Where no part has a delta of its own
    (`delta0=0`), also a bound on the loss: with probability at least 1 - delta over the outputs the privacy loss is at most
    the reported epsilon at *all* times at once. With failures set aside it is not: little mass moves the loss of every
    outcome. Proof of the second: let L_t be the loss of the
    first t releases and A_t the sum of their rho, known before release t. For s > 0 a release has E[exp(s L)] <=
    exp(s (s + 1) rho), so exp(s L_t - s (s + 1) A_t) is a nonnegative supermartingale that starts at 1, and by Ville it
    ever reaches 1/delta_j with probability at most delta_j. Otherwise L_t < (s + 1) A_t + ln(1/delta_j) / s for all t.
    Rung j fixes s = sqrt(ln(1/delta_j) / rho_j), the best choice at A_t = rho_j, where its line passes through
    rho_j + 2 sqrt(rho_j ln(1/delta_j)). All rungs hold at once outside a probability of delta: report the lowest line.
    The first follows from it on the paths on which no part fails: docs/proofs/ledger/odometer.
    **Reference:** Rogers et al. 2016 (odometers); Whitehouse et al. 2023 (supermartingales).

    >>> from privet import privacy
    >>> state = Odometer(first_rho=0.01, delta=1e-6).start().charge(privacy.GaussianLoss(10.0), 3)
    >>> round(state.epsilon.upper, 4)
    0.9608
    """

    first_rho: float
    delta: float = field(kw_only=True)
    delta0: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        set_frozen(self, first_rho=above("first_rho", self.first_rho, 0.0))
        set_frozen(self, delta=open_fraction("delta", self.delta))
        set_frozen(self, delta0=at_least("delta0", self.delta0, 0.0))
        if self.delta + self.delta0 >= 1.0:
            raise InvalidParameter("delta + delta0 must stay below 1")

    def start(self, unit: Unit | None = None) -> "OdometerState":
        """The state with nothing spent. Without a unit the first charge decides about it."""
        return OdometerState(self, 0, 0, unit)

    def rho(self, rung: int) -> float:
        """The sum of rho that the rung is made for."""
        return math.ldexp(self.first_rho, rung - 1)

    def share(self, rung: int) -> float:
        """The rung's share of delta, rounded down."""
        return self.delta * 6.0 / (math.pi * rung) ** 2 * (1.0 - 1e-15)


@dataclass(frozen=True)
class OdometerState:
    """Sums of an odometer so far: an immutable value; `charge` returns the next one. Amounts in units of 10^-40.

    **Guarantee:** as of `Odometer`. For losses fixed in advance `accounting.epsilon` of their composition is smaller.

    >>> Odometer(first_rho=0.01, delta=1e-6).start().epsilon.upper
    0.0
    """

    odometer: Odometer
    rho: int
    failure: int
    unit: Unit | None = None

    def charge(self, loss: PrivacyLoss, count: int = 1) -> "OdometerState":
        """The state after `count` more releases; refuses a loss without zCDP, or more delta0 than was set aside."""
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameter(f"an odometer charges a loss, got {type(loss).__name__}")
        unit = loss.unit if self.unit is None else same_unit([self.unit, loss.unit])
        return replace(self.plus(self.price(loss, count)), unit=unit)

    def price(self, loss: PrivacyLoss, count: int = 1) -> tuple[int, int]:
        """The amounts that `count` releases with this loss add to rho and to the failures; refuses a loss
        without zCDP."""
        rho, failure = 0, 0
        for part, n in loss.parts():
            n *= whole_number("count", count)
            amounts = [to_amount(value, up=True) for value in part.zcdp()]
            if n and (amounts[0] is None or amounts[1] is None):
                raise NoGuarantee(f"the loss {part.kind!r} has no finite zCDP parameter; charge it through plan_point")
            rho, failure = rho + n * (amounts[0] or 0), failure + n * (amounts[1] or 0)
        return rho, failure

    def plus(self, requested: tuple[int, int]) -> "OdometerState":
        """The state after a price that is already known; refuses more delta0 than was set aside."""
        rho, failure = self.rho + requested[0], self.failure + requested[1]
        cap = to_amount(self.odometer.delta0, up=False) or 0
        if failure > cap:
            raise BudgetExceeded(
                f"the odometer set delta0 {to_float(cap):.9g} aside for failures of its parts: spent "
                f"{to_float(self.failure):.9g}, requested {to_float(requested[1]):.9g}, remaining "
                f"{to_float(cap - self.failure):.9g}; losses with delta = 0 still fit"
            )
        return OdometerState(self.odometer, rho, failure, self.unit)

    @property
    def epsilon(self) -> Bound:
        """The running figure: for whoever stops now it holds with `delta`; it bounds the loss at all times at once where
        no part has a delta.
        """
        rho = to_float(self.rho)
        if rho == 0.0:
            return Bound(0.0, 0.0, "zCDP odometer", self.unit or Unit())
        last = max(1, math.ceil(math.log2(rho / self.odometer.first_rho)) + 3)
        lowest = min(self._line(rung, rho) for rung in range(1, last + 1))
        return Bound(0.0, lowest * (1.0 + 1e-12), "zCDP odometer", self.unit or Unit())

    @property
    def delta(self) -> float:
        """The failure probability that goes with `epsilon`."""
        return self.odometer.delta + self.odometer.delta0

    def _line(self, rung: int, rho: float) -> float:
        log = -math.log(self.odometer.share(rung))
        slope = math.sqrt(log / self.odometer.rho(rung))
        return (slope + 1.0) * rho + log / slope
