"""Exact checks: where the output is finite, every outcome is listed and the claim is compared without sampling."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from privet._calls import door
from privet._markup import Shown
from privet._numerics import LARGEST_EXPONENT
from privet.audit.claim import Claim, as_claim
from privet.audit.result import Verdict
from privet.errors import InvalidParameter
from privet.privacy import PrivacyLoss

_DIGITS = 60  # of decimals: losses of probabilities down to 1e-30 keep thirty of them
_GRID = 129  # epsilons at which a curve is compared besides its own corners
_ROUNDING = 1e-12  # of a profile computed in floats; the pure part is compared with 60 digits
Distribution = Mapping[Hashable, Fraction | float | int]


@dataclass(frozen=True, kw_only=True)
class ExactCheck(Shown):
    """The exact privacy of one pair of finite distributions beside a claim.

    `epsilon` is the largest log-ratio (infinite when an outcome is possible on one side only); `slack` is the smallest
    distance between the claimed and the exact delta over all epsilon, negative where the claim is broken; `at` is the
    epsilon where that happens and `outcome` the worst outcome.

    **Guarantee:** `violated` is a proof; `not refuted` is a proof for this pair of inputs only.
    """

    claim: PrivacyLoss
    epsilon: float
    slack: float
    at: float
    outcome: Any
    verdict: Verdict
    laws: tuple[Distribution, Distribution] | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return (
            f"{self.verdict}: the largest log-ratio is {self.epsilon:.12g} (outcome {self.outcome!r}); "
            f"claimed minus exact delta is at least {self.slack:.3g}, at epsilon {self.at:.6g}"
        )


@door
def exact_pair(left: Distribution, right: Distribution, *, claim: Claim) -> ExactCheck:
    """Hold the exact output distributions of two neighbours against a claim, both ways round.

    Probabilities may be fractions (then sums are checked to be exactly 1) or floats.

    >>> from privet.privacy import PureLoss, RandomizedResponseLoss
    >>> truth, lie = Fraction(3, 4), Fraction(1, 4)
    >>> check = exact_pair({0: truth, 1: lie}, {0: lie, 1: truth}, claim=RandomizedResponseLoss(math.log(3.0)))
    >>> check.verdict, round(check.epsilon, 12) == round(math.log(3.0), 12)
    ('not refuted', True)
    >>> exact_pair({0: truth, 1: lie}, {0: lie, 1: truth}, claim=PureLoss(1.0)).verdict
    'violated'
    """
    p, q = _checked("left", left), _checked("right", right)
    outcomes = sorted(set(p) | set(q), key=repr)
    epsilon, worst = _largest_ratio(p, q, outcomes)
    price = as_claim(claim)
    slack, at = _least_slack(p, q, outcomes, price)
    broken = slack < -_ROUNDING or _exceeds(epsilon, price.pure())
    return ExactCheck(
        claim=price,
        epsilon=float(epsilon),
        slack=slack,
        at=at,
        outcome=worst,
        verdict="violated" if broken else "not refuted",
        laws=(dict(left), dict(right)),
    )


def _checked(name: str, distribution: Distribution) -> dict[Hashable, Fraction]:
    exact = {outcome: Fraction(mass) for outcome, mass in distribution.items()}
    total = sum(exact.values(), Fraction(0))
    rational = all(isinstance(mass, Fraction | int) for mass in distribution.values())
    if min(exact.values(), default=Fraction(-1)) < 0 or (
        total != 1 if rational else abs(total - 1) > Fraction(1, 10**9)
    ):
        raise InvalidParameter(f"the {name} distribution must have probabilities that are not negative and add up to 1")
    return exact


def _largest_ratio(
    p: dict[Hashable, Fraction], q: dict[Hashable, Fraction], outcomes: list[Hashable]
) -> tuple[Decimal, Hashable]:
    with localcontext() as context:
        context.prec = _DIGITS
        best, worst = Decimal(0), outcomes[0]
        for outcome in outcomes:
            a, b = p.get(outcome, Fraction(0)), q.get(outcome, Fraction(0))
            if a == 0 or b == 0:
                if a != b:
                    return Decimal("Infinity"), outcome
                continue
            loss = abs(_ln(a) - _ln(b))
            if loss > best:
                best, worst = loss, outcome
        return best, worst


def _ln(number: Fraction) -> Decimal:
    return Decimal(number.numerator).ln() - Decimal(number.denominator).ln()


def _exceeds(epsilon: Decimal, claimed: float) -> bool:
    """True if the exact log-ratio lies above a pure claim by more than the claim's own float rounding."""
    if not math.isfinite(claimed):
        return False
    return epsilon > Decimal(claimed) * (1 + Decimal(2) ** -50) + Decimal(2) ** -60


def _least_slack(
    p: dict[Hashable, Fraction], q: dict[Hashable, Fraction], outcomes: list[Hashable], claim: PrivacyLoss
) -> tuple[float, float]:
    """Smallest claimed minus exact delta: where the exact profile bends, between those places, and far beyond."""
    a = np.array([float(p.get(outcome, Fraction(0))) for outcome in outcomes])
    b = np.array([float(q.get(outcome, Fraction(0))) for outcome in outcomes])
    with np.errstate(divide="ignore"):
        losses = np.abs(np.log(a[(a > 0) & (b > 0)]) - np.log(b[(a > 0) & (b > 0)]))
    top = 1.0 + losses.max(initial=0.0)
    grid = np.unique(np.concatenate((losses, np.linspace(0.0, top, _GRID), np.geomspace(top, 100.0 * top, _GRID))))
    grid = grid[grid < LARGEST_EXPONENT]  # beyond, e^epsilon is no double
    exact = np.array([max(_delta(a, b, e), _delta(b, a, e)) for e in grid])
    slack = np.array([float(claim.profile(float(e))) for e in grid]) - exact
    place = int(np.argmin(slack))
    return float(slack[place]), float(grid[place])


def _delta(p: np.ndarray[Any, Any], q: np.ndarray[Any, Any], epsilon: float) -> float:
    return float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))
