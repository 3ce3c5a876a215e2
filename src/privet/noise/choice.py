"""One index with probability proportional to exp(log weight)."""

from privet.noise.choice_exp import choice_exp
from privet.noise.draw import Draws
from privet.noise.entropy import Source
from privet.noise.parameters import Size


def choice_log(log_weights: object, *, size: Size = None, source: Source | None = None) -> Draws:
    """An index i with probability exp(log_weights[i]) / sum_j exp(log_weights[j]); -inf is never chosen.

    **Guarantee:** exact law, each double taken as the rational it is. The same law as `argmax_gumbel` of the weights.
    **Reference:** McSherry & Talwar 2007; proof note noise/choice_exp.

    >>> choice_log([0.0, -float("inf")]), choice_log([-1000.0, 0.0], size=2).tolist()
    (0, [1, 1])
    """
    return choice_exp(log_weights, scale=1, size=size, source=source)
