"""One answer to a question with two classes, by the noisy votes of teachers."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, Array, log_ndtr, product_up, ratio_up, square_up
from privet._validate import above, count, set_frozen
from privet.errors import InvalidParameter
from privet.privacy.binary import binary_variable
from privet.privacy.loss import PrivacyLoss, RdpCurve, ZcdpBound, orders_of
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import AtomicVariable, Direction, LossVariable

VoteNoise = Literal["gaussian", "laplace", "gumbel"]

_MOST_TEACHERS = 1_000_000  # a price looks at every number of votes
_ROOT_TWO = 1.4142135623730951  # the double just above the root of two
_ROUNDED = 16.0 * UNIT_ROUNDOFF  # relative error of a logarithm of a chance
_BLURRED = 1e-6  # cells with fewer digits than that are not listed: the largest loss stands for them
_LEAST = 1e-290  # a smaller mass would vanish among doubles: what stands against it counts as if nothing did
_SMALL = 30.0  # below this exponent expm1 keeps the digits of small divergences


@register
@dataclass(frozen=True, eq=False)
class BinaryVoteLoss(PrivacyLoss):
    """The class of two that has more of the votes of `teachers` teachers, with noise of `scale` on both counts.

    One person changes one teacher, who moves a vote. How the votes stand is one whole number from 0 to `teachers`, so that
    the price is the largest over all of them: it depends on no vote, and holds for questions that are chosen by earlier
    answers. `noise` is "gaussian" (deviation `scale`), "laplace" or "gumbel"; `moved` teachers change at once.

    **Guarantee:** delta(e) is the largest over all splits of the votes, in both directions; so is the Rényi divergence at
    each order. Never more than mu = sqrt(2)/scale for normal noise, and pure 2/scale for the others.
    **Reference:** Papernot et al. 2017, 2018, whose bounds are larger. **Proof:** docs/proofs/privacy/binary_vote.md.

    >>> round(BinaryVoteLoss(100, 20.0, "laplace").pure(), 4), round(BinaryVoteLoss(4, 1.0).gdp(), 4)
    (0.0856, 1.4142)
    """

    kind = "binary_vote"

    teachers: int
    scale: float
    noise: VoteNoise = "gaussian"
    moved: int = 1
    unit: Unit = field(default=Unit(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        teachers = count("teachers", self.teachers, 1)
        if teachers > _MOST_TEACHERS:
            raise InvalidParameter(f"teachers must be at most {_MOST_TEACHERS:,}")
        if self.noise not in _LOGS:
            raise InvalidParameter(f"noise must be one of {', '.join(_LOGS)}")
        if count("moved", self.moved, 1) > teachers:
            raise InvalidParameter("moved must be at most teachers")
        set_frozen(self, teachers=teachers, scale=above("scale", self.scale, 0.0), moved=int(self.moved))

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Only where all teachers change is one split the worst at every epsilon."""
        return self.moved == self.teachers

    @property
    def _splits(self) -> "_Splits":
        return _splits(self.teachers, self.scale, self.noise, self.moved)

    def pure(self) -> float:
        known = math.inf if self.noise == "gaussian" else ratio_up(2 * self.moved, self.scale)
        return min(self._splits.largest, known)

    def zcdp(self) -> ZcdpBound:
        """The least of three: a largest loss, losses of both classes within an interval, normal noise."""
        found = [square_up(self.pure()) / 2.0, square_up(self._splits.range) / 8.0]
        if self.noise == "gaussian":
            found.append(square_up(self._mu) / 2.0)
        return ZcdpBound(min(found), 0.0)

    @property
    def _mu(self) -> float:
        return ratio_up(product_up(_ROOT_TWO, self.moved), self.scale)

    def gdp(self) -> float:
        known = super().gdp()
        return min(known, self._mu) if self.noise == "gaussian" else known

    def rdp(self, alphas: Array) -> RdpCurve:
        """The largest over all splits, at each order for itself."""
        orders = orders_of(alphas)
        worst = np.array([self._splits.divergence(float(order)) for order in orders.ravel()]).reshape(orders.shape)
        line = orders * (self.zcdp().rho * (1.0 + 4.0 * UNIT_ROUNDOFF))
        return RdpCurve(np.minimum(np.minimum(worst, line), self.pure()), 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        return self._splits.pair or binary_variable(self.pure())

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(5, 2.0)
        yield cls(20, 10.0, "laplace")
        yield cls(7, 3.0, "gumbel", unit=Unit("replace"))
        yield cls(6, 3.0, "laplace", 2, unit=Unit("zero_out"))
        yield cls(1, 2.0)
        yield cls(60, 1.0)  # chances that no double holds


class _Splits(NamedTuple):
    """All splits at once: the largest loss, the longest interval of losses, logarithms of chances, the pair."""

    largest: float
    range: float
    before: Array  # the logarithms of the chance of a class, and of the other one, when it has n votes
    other_before: Array
    after: Array  # and when it has `moved` more
    other_after: Array
    pair: AtomicVariable | None

    def divergence(self, order: float) -> float:
        """The Rényi divergence of the worst split, rounded up."""
        u = order - 1.0
        gains, losses = u * (self.after - self.before), u * (self.other_after - self.other_before)
        with np.errstate(over="ignore", under="ignore"):
            grown, lost = np.expm1(np.minimum(gains, _SMALL)), np.expm1(losses)
            won, rest = np.exp(self.after), np.exp(self.other_after)
            # chances sum to 1, so that E exp(u L) - 1 keeps its digits; each term is charged what its logarithms lose
            off = _ROUNDED * (2.0 + u * (2.0 + np.abs(self.before)))
            near = np.log1p(won * grown + rest * lost + off * (won * (grown + 1.0) + rest))
            far = np.logaddexp(self.after + gains, self.other_after + losses) + off
        return max(float(np.max(np.where(gains < _SMALL, near, far))) / u * (1.0 + 8.0 * UNIT_ROUNDOFF), 0.0)


@lru_cache(maxsize=64)
def _splits(teachers: int, scale: float, noise: VoteNoise, moved: int) -> _Splits:
    logs = _LOGS[noise](np.arange(-teachers, teachers + 1, 2, dtype=float) / scale)  # of a class with 0, 1, ... votes
    before, after = logs[:-moved], logs[moved:]
    gains, slack = after - before, 2.0 * _ROUNDED * (1.0 + np.abs(before))
    # the class that loses the votes is read from the other end of the same lists
    widest = float(np.max(gains + gains[::-1] + slack + slack[::-1]))
    largest = float(np.max(gains + slack))
    return _Splits(largest, widest, before, after[::-1], after, before[::-1], _pair(logs, moved))


def _pair(logs: Array, moved: int) -> AtomicVariable | None:
    """The pair whose curve is the largest of all splits: noise on a line, rounded to places a vote apart, and the same
    noise `moved` places further. None where the places are so close that doubles do not tell them apart.
    """
    teachers = len(logs) - 1
    lower = np.arange(1, (teachers + 1) // 2 + 1)  # cells of the lower half: the upper ones mirror them
    narrow = -np.expm1(logs[lower - 1] - logs[lower])
    error = float(np.max(_ROUNDED * (2.0 + np.abs(logs[lower - 1])) / np.maximum(narrow, 1e-300), initial=_ROUNDED))
    if not error <= _BLURRED:
        return None
    half = logs[lower] + np.log(narrow)
    cells = np.concatenate((half, half[::-1][teachers % 2 :]))
    log_q = np.concatenate((logs[:1], cells[: teachers - moved], logs[moved : moved + 1]))
    log_p = log_q[::-1]
    with np.errstate(under="ignore"):
        p, q = np.exp(log_p), np.exp(log_q)
    seen, only = (p >= _LEAST) & (q >= _LEAST), float(p[q < _LEAST].sum())
    # Laplace noise has many places with the same loss, which rounding would tell apart
    blur = max(4.0 * error, 1e-14)
    places, where = np.unique(np.round((log_p - log_q)[seen] / blur), return_inverse=True)
    p, q = (np.bincount(where, weights=side[seen], minlength=len(places)) for side in (p, q))
    return AtomicVariable(np.log(p) - np.log(q), p, q, only, only, blur=2.0 * blur, stated_error=error, mirrors=True)


def _normal_logs(gaps: Array) -> Array:
    return np.asarray(log_ndtr(gaps / math.sqrt(2.0)))


def _laplace_logs(gaps: Array) -> Array:
    """Of the difference of two Laplace variables: its tail at x is (2 + x)/4 exp(-x)."""
    far = np.abs(gaps)
    tail = np.log((2.0 + far) / 4.0) - far
    return np.where(gaps < 0.0, tail, np.log1p(-np.exp(tail)))


def _logistic_logs(gaps: Array) -> Array:
    return -np.logaddexp(0.0, -gaps)


_LOGS: dict[str, Callable[[Array], Array]] = {
    "gaussian": _normal_logs,
    "laplace": _laplace_logs,
    "gumbel": _logistic_logs,
}
