"""Answering a question about oneself with deniability: what binary and k-ary randomized response share.

The probability that runs is a fraction, and the price is computed from that fraction. Both are rounded towards privacy.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet import noise
from privet._numerics import Array, exact, ndtri
from privet._validate import count, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.odds import chance_for, epsilon_of_odds, odds_of
from privet.mechanisms.families.values import admit_value, read_value
from privet.mechanisms.mechanism import Mechanism, Source
from privet.mechanisms.target import smallest_scale
from privet.privacy import Guarantee, PrivacyLoss, Unit

_ENOUGH = 25.0  # variance of a count from which the normal law is a good approximation


@dataclass(frozen=True, kw_only=True)
class ResponseMechanism(Mechanism[Any, Any]):
    """Base of the mechanisms in which each person reports the own value with probability `truth`, else another one.

    An array holds one value per person, and each person's report is protected at the full price: `loss` is what one
    person spends. A number is rounded and clamped to 0, ..., k - 1, and what is no number counts as 0: by itself, so
    that no value is ever refused.
    """

    truth: Fraction
    unit: Unit = field(default=Unit("replace"))
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        truth = exact("truth", self.truth)
        if not Fraction(1, self._k) <= truth < 1:
            raise InvalidParameter(
                f"truth must lie between 1/{self._k} (says nothing) and 1 (hides nothing), 1 excluded"
            )
        set_frozen(self, truth=truth)
        if not isinstance(self.unit, Unit) or self.unit.relation != "replace" or self.unit.group_size != 1:
            raise InvalidParameter("a report protects a person's value: the unit must be Unit('replace')")

    @property
    @abstractmethod
    def _k(self) -> int:
        """The number of possible values."""

    @property
    def lie(self) -> Fraction:
        """The probability of each single other value."""
        return (1 - self.truth) / (self._k - 1)

    def _admit(self, value: object) -> None:
        admit_value(value)

    def _prepare(self, value: object) -> Array:
        """Whole numbers, half up, clamped to 0, ..., k - 1: each value by itself, and none is refused."""
        return codes_of(value, self._k)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        true, size = prepared.astype(np.int64, copy=False), (runs, *prepared.shape)
        honest = noise.bernoulli(p=self.truth, size=size, source=source)
        report = np.asarray(noise.uniform_int(bound=self._k - 1, size=size, source=source))
        report += report >= true  # a lie is never the true value by accident
        np.copyto(report, true, where=honest)
        return report.astype(prepared.dtype, copy=False)

    def error(self, confidence: float = 0.95, *, people: int = 1) -> ErrorBar:
        """The distance that the estimated shares of `people` reports may have from the true ones.

        **Error:** noise of the reports alone. The normal approximation with a correction for whole counts; where few
        lies are expected, Bernstein's and Hoeffding's inequalities. For k > 2, all shares at once (union bound).
        """
        n, p, q = count("people", people, 1), self.truth, self.lie
        if self.truth == self.lie:
            raise InvalidParameter("reports that do not depend on the value allow no estimate; raise the budget")
        tail = (1.0 - open_fraction("confidence", confidence)) / (1 if self._k == 2 else self._k)
        least, most = sorted((float(p * (1 - p)), float(q * (1 - q))))
        radius = _count_radius(n, most, least, tail)
        of = "estimated share" if self._k == 2 else f"each of {self._k} estimated shares"
        return ErrorBar(radius / float(n * (p - q)), confidence, of, around=False)

    def _error_of(self, prepared: Array) -> ErrorBar | None:
        return self.error(people=max(1, prepared.size)) if self.truth > self.lie else None

    def _shares(self, reports: object, confidence: float) -> tuple[Array, ErrorBar, Array]:
        """Unbiased shares of all k values, how far they may be off, and the variance of each (noise alone)."""
        self._admit(reports)
        array = self._prepare(reports).ravel()
        if not array.size or self.truth == self.lie:
            raise InvalidData("an estimate needs at least one report, and reports that depend on the value")
        seen = np.bincount(array.astype(np.int64), minlength=self._k) / array.size
        shares = (seen - float(self.lie)) / float(self.truth - self.lie)
        p, q, at = float(self.truth), float(self.lie), np.clip(shares, 0.0, 1.0)
        variance = (at * p * (1.0 - p) + (1.0 - at) * q * (1.0 - q)) / (array.size * (p - q) ** 2)
        return shares, replace(self.error(confidence, people=array.size), around=True), variance


def _count_radius(n: int, variance: float, least: float, tail: float) -> float:
    """The distance by which a sum of n independent indicators leaves its mean with probability `tail`."""
    if n * least >= _ENOUGH:
        return -ndtri(tail / 2.0) * math.sqrt(n * variance) + 0.5
    log = math.log(2.0 / tail)
    bernstein = log / 3.0 + math.sqrt(log * log / 9.0 + 2.0 * n * variance * log)
    return min(bernstein, math.sqrt(n * log / 2.0))


def codes_of(value: object, k: int) -> Array:
    """Whole numbers, half up, clamped to 0, ..., k - 1: each value by itself, and none is refused. A yes or no out of two
    comes back as a yes or no.

    >>> codes_of([2.5, -1, None, 9], 4).tolist()
    [3, 0, 0, 3]
    """
    numbers = read_value(value)
    if numbers.array is not None:
        array = numbers.array
        if array.dtype.kind == "b" and k == 2:
            return array
        if array.dtype.kind == "f":
            array = np.floor(np.where(np.isnan(array), 0.0, np.clip(array, -1.0, float(k))) + 0.5)
        return np.clip(array, 0, k - 1).astype(np.int64, copy=False)
    assert numbers.ratios is not None
    wholes = ((2 * top + bottom) // (2 * bottom) for top, bottom in numbers.ratios)
    codes = np.array([min(max(whole, 0), k - 1) for whole in wholes], dtype=np.int64)
    kind = np.bool_ if k == 2 and isinstance(value, bool | np.bool_) else np.int64
    return codes.reshape(numbers.shape).astype(kind)


def largest_epsilon(make_loss: Callable[[float], PrivacyLoss], target: Guarantee) -> float:
    """The largest pure epsilon whose price the target covers.

    >>> from privet.privacy import PureLoss
    >>> largest_epsilon(PureLoss, Guarantee(epsilon=0.1))
    0.1
    """
    if target.epsilon is not None and target.delta == 0.0:
        return target.epsilon
    return 1.0 / smallest_scale(lambda scale: make_loss(1.0 / scale), target)


def truth_for(epsilon: float, k: int) -> Fraction:
    """A fraction just below e^epsilon/(e^epsilon + k - 1): the lie is rounded up.

    >>> truth_for(math.log(3.0), 2)
    Fraction(3, 4)
    """
    return chance_for(epsilon, k - 1)


def epsilon_of_truth(truth: Fraction, k: int) -> float:
    """ln(truth/lie) of the fraction that runs, rounded up to a double.

    >>> epsilon_of_truth(Fraction(3, 4), 2)
    1.0986122886681098
    """
    return epsilon_of_odds(odds_of(truth, k - 1))
