"""From the scores of canaries to guesses about their coins."""

import numpy as np

from privet import noise
from privet._numerics import Array
from privet._validate import count
from privet.audit.base import Coins, Guesses
from privet.errors import InvalidData, InvalidParameter

__all__ = ["guess"]


def guess(
    scores: Array, included: Coins | Array, *, top: int, bottom: int, source: noise.Source | None = None
) -> Guesses:
    """Guess "in" for the `top` largest scores, "out" for the `bottom` smallest, abstain elsewhere, and count.

    `top` and `bottom` must be fixed before the scores are seen. Equal scores are put in random order first: whatever
    order the canaries came in, it cannot help.

    >>> guess(np.array([3.0, 1.0, 2.0, 0.0]), np.array([True, False, False, True]), top=1, bottom=1)
    Guesses(correct=1, made=2, canaries=4, commitment=None)
    """
    coins = _coins(included)
    values = np.asarray(scores)
    if values.shape != coins.shape or values.dtype.kind not in "biuf" or np.isnan(values).any():
        raise InvalidData("scores must be one number (not NaN) for each canary, in the order of the coins")
    upper, lower = count("top", top), count("bottom", bottom)
    if not 1 <= upper + lower <= len(values):
        raise InvalidParameter(f"top + bottom must lie between 1 and the number of canaries, {len(values)}")
    shuffled = noise.permutation(len(values), source=source)
    ranked = shuffled[np.argsort(values[shuffled], kind="stable")]
    correct = int(coins[ranked[len(ranked) - upper :]].sum()) + int((~coins[ranked[:lower]]).sum())
    commitment = included.commitment if isinstance(included, Coins) else None
    return Guesses(correct=correct, made=upper + lower, canaries=len(values), commitment=commitment)


def _coins(included: Coins | Array) -> Array:
    coins = np.asarray(included.included if isinstance(included, Coins) else included)
    if coins.ndim != 1 or coins.size == 0 or coins.dtype.kind not in "bui" or not np.isin(coins, (0, 1)).all():
        raise InvalidData("included must say for each canary whether it was in: Coins, or an array of False and True")
    return coins.astype(bool)
