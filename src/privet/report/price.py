"""A price in one line."""

from privet._calls import door
from privet.privacy import PrivacyLoss


@door(prices=("loss",))
def describe(loss: PrivacyLoss) -> str:
    """A loss in one line: what it says of itself.

    >>> from privet import privacy
    >>> describe(privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 10_000))
    '10,000 × gaussian (noise multiplier 4) on a Poisson sample of 1%'
    """
    return loss.describe()
