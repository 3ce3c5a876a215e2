"""The meaning of an (epsilon, delta) price: what anyone can find out about one person, in numbers."""

import math
from dataclasses import dataclass

from privet._calls import door
from privet._numerics import LARGEST_EXPONENT
from privet._validate import at_least, fraction, open_fraction
from privet.accounting import advantage, tradeoff
from privet.errors import NoGuarantee
from privet.privacy import PrivacyLoss


def posterior(epsilon: float, *, prior: float = 0.5) -> float:
    """The largest belief that odds of `prior` can grow to when they are multiplied by e^epsilon.

    odds p/(1 - p) become e^epsilon p/(1 - p); as a probability that is p / (p + (1 - p) e^-epsilon).

    >>> round(posterior(math.log(3.0)), 10), posterior(0.0, prior=0.2), round(posterior(1.0, prior=0.01), 6)
    (0.75, 0.2, 0.026724)
    """
    start = fraction("prior", prior)
    if start == 0.0:
        return 0.0
    return start / (start + (1.0 - start) * math.exp(-at_least("epsilon", epsilon, 0.0)))


@dataclass(frozen=True)
class Meaning:
    """The attacker's side of a price. Every figure is an upper bound on the best attack there can be.

    - `odds_factor`: e^epsilon (infinity when it leaves the range of floats);
    - `posterior`: what even odds can grow to, outside the event of probability delta;
    - `advantage`: true-positive minus false-positive rate; `accuracy`: share of right guesses at even odds;
    - `tpr`: true-positive rate of an attack whose false-positive rate is `fpr`.

    **Guarantee:** for the two data sets that `PrivacyLoss.unit` calls neighbours, (epsilon, delta)-DP makes the result
    a garbling of an experiment that reveals everything with probability delta and otherwise moves the odds by a factor
    of at most e^epsilon. It does *not* say that the odds after seeing the result itself stay within e^epsilon with
    probability 1 - delta. **Reference:** Kairouz, Oh & Viswanath 2015, theorem 2.

    >>> from privet import privacy
    >>> what_it_means(privacy.PureLoss(math.log(3.0)), epsilon=math.log(3.0), delta=0.0).accuracy <= 0.7500001
    True
    """

    epsilon: float
    delta: float
    odds_factor: float
    posterior: float
    advantage: float
    fpr: float
    tpr: float

    @property
    def accuracy(self) -> float:
        """Share of right answers of the best attack that starts at even odds: (1 + advantage)/2."""
        return (1.0 + self.advantage) / 2.0


@door(prices=("loss",))
def what_it_means(loss: PrivacyLoss, *, epsilon: float, delta: float, fpr: float = 0.01) -> Meaning:
    """The meaning of a price whose (epsilon, delta) is known; advantage and tpr come from the whole trade-off curve.

    >>> from privet import privacy
    >>> meaning = what_it_means(privacy.GaussianLoss(1.0), epsilon=4.3772, delta=1e-5)
    >>> round(meaning.advantage, 4), round(meaning.tpr, 4)
    (0.3829, 0.0924)
    """
    at_least("epsilon", epsilon, 0.0), fraction("delta", delta), open_fraction("fpr", fpr)
    best_advantage, best_tpr = _of_one_point(epsilon, delta, fpr)
    try:  # the curve is tighter than its one point, where there is a curve
        best_advantage = min(best_advantage, advantage(loss).upper)
        best_tpr = min(best_tpr, 1.0 - tradeoff(loss, fpr))
    except NoGuarantee:
        pass
    factor = math.exp(epsilon) if epsilon < LARGEST_EXPONENT else math.inf
    return Meaning(epsilon, delta, factor, posterior(epsilon), best_advantage, fpr, best_tpr)


def _of_one_point(epsilon: float, delta: float, fpr: float) -> tuple[float, float]:
    """Advantage and tpr that (epsilon, delta) alone allows: the corner and the two lines of its trade-off region."""
    shrink = math.exp(-epsilon)
    corner = (1.0 - shrink + 2.0 * delta * shrink) / (1.0 + shrink)
    steep = math.exp(epsilon) * fpr + delta if epsilon < LARGEST_EXPONENT else 1.0
    return min(1.0, corner), min(1.0, steep, 1.0 - shrink * max(0.0, 1.0 - delta - fpr))
