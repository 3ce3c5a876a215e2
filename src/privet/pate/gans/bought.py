"""The number of noisy answers that a promise buys."""

from collections.abc import Callable

from privet import accounting
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import Guarantee, PrivacyLoss

_MOST = 10**9  # steps that a promise may buy: beyond, nobody trains, and the search would go on without end


def kept(promise: Guarantee, loss: PrivacyLoss) -> bool:
    """True if a price is within a promise, by the accountant that says least.

    >>> from privet.privacy import GaussianLoss
    >>> kept(Guarantee(1.0, 1e-5), GaussianLoss(4.0)), kept(Guarantee(1.0, 1e-5), GaussianLoss(3.0))
    (True, False)
    """
    if promise.epsilon is None or promise.delta == 0.0:
        return promise.covers(loss)
    return accounting.epsilon(loss, delta=promise.delta).upper <= promise.epsilon


def most_bought(price: Callable[[int], PrivacyLoss], promise: Guarantee, what: str) -> int:
    """The largest number whose price is within a promise.

    >>> from privet.privacy import GaussianLoss, Repeated
    >>> most_bought(lambda n: Repeated(GaussianLoss(40.0 / 2**0.5), n), Guarantee(1.0, 1e-5), "label")
    57
    """
    if not kept(promise, price(1)):
        raise NoGuarantee(f"the promise does not buy a single {what}: take more noise or a larger budget")
    low, high = 1, 2
    while kept(promise, price(high)):
        low, high = high, 2 * high
        if high > _MOST:
            raise InvalidParameter(f"the promise buys more than {_MOST:,} of a {what}: take less noise")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if kept(promise, price(middle)) else (low, middle)
    return low


def refuse_pure(promise: Guarantee) -> Guarantee:
    """Refuse a promise without a delta, rho or mu: votes have normal noise."""
    if promise.epsilon is not None and promise.delta == 0.0:
        raise InvalidParameter("votes have normal noise: give a delta (or rho, or mu) beside epsilon")
    return promise
