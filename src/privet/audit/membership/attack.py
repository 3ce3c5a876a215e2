"""The outcome of a membership attack: few figures, their intervals, and the ceiling of the model's price."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._private import Private
from privet._validate import open_fraction
from privet.accounting import tradeoff
from privet.audit.claim import as_claim
from privet.audit.membership.suspects import Suspects
from privet.audit.result import CurveTest, Verdict
from privet.audit.statistics.canaries import guess
from privet.audit.statistics.one_run_fdp import one_run_curve
from privet.audit.statistics.roc import FEW, Area, RateAt, area, rate_at
from privet.privacy import PrivacyLoss

REAL = (
    "These figures are computed from records of real people, without protection: they are for the custodian, and not "
    "releasable."
)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class MembershipAttack:
    """The outcome of an attack on a model: that records leak, or that this attack did not see it, and nothing kinder.

    `exact_rates` are the shares of members found at 0.1%, 1% and 10% of false positives, `exact_area` is the area
    under the curve, each with an interval at `alpha`; `scores` holds those of members and of others, larger for
    members. `claim` is the price that the model has, and `ceiling` what it allows. Only where coins decided who is a
    member is there a `test` of the claim: records that were split by hand are no independent trials of it, and
    nothing is refuted by them.

    **Guarantee:** each interval misses its figure with probability at most `alpha` over the choice of the records; a
    true claim is called `violated` with probability at most `alpha`.
    """

    name: str
    assumes: str
    exact_rates: tuple[RateAt, ...]
    exact_area: Area
    alpha: float
    real: bool
    scores: Private[tuple[Array, Array]] = field(repr=False)
    claim: PrivacyLoss | None = None
    test: CurveTest | None = None
    commitment: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """`violated` where coins were drawn and the claim is refuted by them, else `not refuted`."""
        return "not refuted" if self.test is None else self.test.verdict

    def ceiling(self, fpr: float) -> float | None:
        """The largest share of members that any attack can find at this rate of false positives; None without a price."""
        return None if self.claim is None else 1.0 - float(tradeoff(self.claim, open_fraction("fpr", fpr)))

    @property
    def above_ceiling(self) -> tuple[RateAt, ...]:
        """The rates whose whole interval lies above what the price allows: a reason to look, a proof with coins only."""
        tops = [(rate, self.ceiling(rate.fpr)) for rate in self.exact_rates]
        return tuple(rate for rate, top in tops if top is not None and rate.tpr.low > top)

    def explain(self) -> str:
        """Words on what was found, what the attack assumes, and what it cannot show."""
        sure, who = f"{100.0 * (1.0 - self.alpha):g}%", self.exact_area
        lines = [
            f"{self.name}: {who.members:,} members and {who.others:,} others.",
            f"Assumes: {self.assumes}.",
            f"Area under the curve {who.auc} ({sure} interval; 0.5 is chance).",
        ]
        lines += [self._at(rate) for rate in self.exact_rates]
        if self.test is not None:
            lines.append(f"The claim is {self.verdict} at level {self.alpha:g} (p-value {self.test.p_value:.3g}).")
        elif self.claim is not None:
            over = "lies above" if self.above_ceiling else "does not lie above"
            lines.append(
                f"The attack {over} the ceiling of the price. Members were not chosen by audit.Coins, so that "
                "this is no test of the claim."
            )
        lines += self.notes
        lines.append("Not seen: other attacks, other records, other models. An attack that fails proves nothing.")
        return "\n".join([*lines, REAL] if self.real else lines)

    def _at(self, rate: RateAt) -> str:
        top = self.ceiling(rate.fpr)
        allowed = "" if top is None else f"; the price allows {top:.4g}"
        few = "" if rate.reachable else "; too few others to say more from below"
        return f"At {100.0 * rate.fpr:g}% of false positives it finds {rate.tpr} of the members{allowed}{few}."

    def __str__(self) -> str:
        return f"{self.name}: area under the curve {self.exact_area.auc}; explain() says more"


def judged(
    name: str,
    scores: Array,
    suspects: Suspects,
    *,
    assumes: str,
    model: object,
    claim: object,
    alpha: float,
    notes: Iterable[str] = (),
) -> MembershipAttack:
    """The outcome of an attack, from one score for each of the suspects."""
    level = open_fraction("alpha", alpha)
    price = price_of(model, claim)
    inside, outside = scores[suspects.included], scores[~suspects.included]
    notes, coins = [*notes], suspects.coins
    if len(np.unique(scores)) == 1:
        notes.append("All scores are equal: the attack saw nothing to tell records apart by.")
    test = None
    if coins is not None and price is not None:
        if price.unit.relation == "replace" or price.unit.group_size > 1:
            notes.append(
                "The claim is about records that are replaced, and coins put them in or leave them out: no test."
            )
        else:
            each = max(1, len(coins) // 10)
            top, bottom = (each, each) if coins.top is None else (coins.top, coins.bottom)
            test = one_run_curve(guess(scores, coins, top=top, bottom=bottom), claim=price, alpha=level)
    return MembershipAttack(
        name=name,
        assumes=assumes,
        exact_rates=tuple(rate_at(few, inside, outside, alpha=level) for few in FEW),
        exact_area=area(inside, outside, alpha=level),
        alpha=level,
        real=suspects.real,
        scores=Private((inside, outside)),
        claim=price,
        test=test,
        commitment=None if coins is None else coins.commitment,
        notes=tuple(notes),
    )


def price_of(model: object, claim: object) -> PrivacyLoss | None:
    """The claim, or the price that the model itself says it has, or none."""
    if claim is not None:
        return as_claim(claim)
    own: Any = getattr(getattr(model, "privacy_", None), "loss", None)
    return own if isinstance(own, PrivacyLoss) else None
