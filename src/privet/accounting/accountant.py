"""The contract of accountants: a pure function of a price."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privet._calls import price_of
from privet._validate import at_least, fraction
from privet.accounting.bound import Bound
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import PrivacyLoss

_LEAST_DELTA = 1e-290  # below, products of probabilities leave the doubles
_LEAST_PROVED = 1e-300  # in place of an upper end that is too small for a double and not 0


class Accountant(ABC):
    """Turns a loss into numbers. Accountants are frozen values without state; a new one writes `_epsilon` and `_delta`.

    **Guarantee:** every `Bound` holds for every mechanism with this loss; `NoGuarantee` is raised instead of infinity.

    >>> from privet import accounting, privacy
    >>> float(accounting.Basic().epsilon(privacy.PureLoss(0.5), 0.0))
    0.5
    """

    def epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        """Smallest epsilon that this method proves at delta; delta = 0 asks for pure DP."""
        loss = _loss(loss)
        target = fraction("delta", delta)
        if target == 1.0:
            raise NoGuarantee("delta = 1 promises nothing; expected delta < 1")
        if 0.0 < target < _LEAST_DELTA:
            raise InvalidParameter(f"delta must be 0 or at least {_LEAST_DELTA:g}, got {target}")
        if target == 0.0 or loss.pure() == 0.0:  # what costs nothing costs nothing at any delta
            return _guarded(lambda: self._pure(loss))
        return _guarded(lambda: self._epsilon(loss, target))

    def delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        """Smallest delta that this method proves at epsilon >= 0."""
        loss = _loss(loss)
        target = at_least("epsilon", epsilon, 0.0)
        if loss.pure() == 0.0:
            return Bound(0.0, 0.0, "pure DP", loss.unit)
        bound = _guarded(lambda: self._delta(loss, target))
        if bound.upper == 0.0 and loss.pure() > target:  # not zero: too small for a float
            return replace(bound, upper=_LEAST_PROVED)
        return bound

    @abstractmethod
    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        """The bound on epsilon for 0 < delta < 1."""

    @abstractmethod
    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        """The bound on delta for a finite epsilon >= 0."""

    def _pure(self, loss: PrivacyLoss) -> Bound:
        """epsilon at delta = 0."""
        if not math.isfinite(loss.pure()):
            raise NoGuarantee(f"the loss {loss.kind!r} is not known to be pure; ask for a delta above 0")
        return Bound(0.0, loss.pure(), "pure DP", loss.unit)


def _loss(priced: object) -> PrivacyLoss:
    """A loss, or that of what has one: a mechanism, a release."""
    loss = price_of(priced)
    if not isinstance(loss, PrivacyLoss):
        raise InvalidParameter(f"loss must be a PrivacyLoss, got {type(loss).__name__}")
    return loss


def _guarded(ask: Callable[[], Bound]) -> Bound:
    """Numbers beyond the range of floats end in a refusal; infinities and NaN never pass `Bound`.

    Only an overflow is turned into a refusal. A shape that does not fit, a logarithm of zero or a lack of memory is a
    mistake in the library, not a property of the loss: it must not become a looser bound of some other method.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return ask()
    except OverflowError:
        raise NoGuarantee("the parameters of this loss are too extreme for the range of floats") from None
