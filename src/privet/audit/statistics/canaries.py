"""From the scores of canaries to guesses about their coins."""

import hashlib

import numpy as np

from privet import noise
from privet._numerics import Array
from privet._validate import count
from privet.audit.coins import Coins
from privet.audit.counts import Guesses
from privet.errors import InvalidData, InvalidParameter


def guess(
    scores: Array,
    included: Coins | Array,
    *,
    top: int | None = None,
    bottom: int | None = None,
    source: noise.Source | None = None,
) -> Guesses:
    """Guess "in" for the `top` largest scores, "out" for the `bottom` smallest, abstain elsewhere, and count.

    `top` and `bottom` must be fixed before the scores are seen: name them when the coins are drawn, `Coins.draw(m, top=...,
    bottom=...)`, and they are committed to; coins take part in one choice only. Equal scores are put in random order
    first: whatever order the canaries came in, it cannot help.

    >>> guess(np.array([3.0, 1.0, 2.0, 0.0]), np.array([True, False, False, True]), top=1, bottom=1)
    Guesses(correct=1, made=2, canaries=4, commitment=None)
    """
    coins = _coins(included)
    values = np.asarray(scores)
    if values.shape != coins.shape or values.dtype.kind not in "biuf" or np.isnan(values).any():
        raise InvalidData("scores must be one number (not NaN) for each canary, in the order of the coins")
    upper, lower = _numbers(included, top, bottom)
    if not 1 <= upper + lower <= len(values):
        raise InvalidParameter(f"top + bottom must lie between 1 and the number of canaries, {len(values)}")
    shuffled = noise.permutation(len(values), source=source)
    ranked = shuffled[np.argsort(values[shuffled], kind="stable")]
    correct = int(coins[ranked[len(ranked) - upper :]].sum()) + int((~coins[ranked[:lower]]).sum())
    commitment = included.commitment if isinstance(included, Coins) else None
    return Guesses(correct=correct, made=upper + lower, canaries=len(values), commitment=commitment)


def pooled(*runs: Guesses) -> Guesses:
    """Several independent runs as one: each had coins of its own, so that their canaries simply add up.

    The runs together are one algorithm; a canary takes part in one of them, and every run obeys the claim.

    >>> pooled(Guesses(correct=9, made=10, canaries=20), Guesses(correct=8, made=10, canaries=20))
    Guesses(correct=17, made=20, canaries=40, commitment=None)
    """
    if not runs:
        raise InvalidParameter("pool at least one run")
    names = [run.commitment for run in runs if run.commitment is not None]
    if len(set(names)) < len(names):
        raise InvalidParameter("these runs share their coins; pooled runs need coins drawn anew for each of them")
    correct, made, canaries = (sum(getattr(run, name) for run in runs) for name in ("correct", "made", "canaries"))
    commitment = hashlib.sha256(" ".join(names).encode()).hexdigest() if len(names) == len(runs) > 1 else None
    return Guesses(correct, made, canaries, commitment=runs[0].commitment if len(runs) == 1 else commitment)


def _numbers(included: Coins | Array, top: int | None, bottom: int | None) -> tuple[int, int]:
    if isinstance(included, Coins):
        return included.guesses(top, bottom)
    if top is None or bottom is None:
        raise InvalidParameter(
            "say how many guesses to make at each end: top=... and bottom=..., before any score is seen"
        )
    return count("top", top), count("bottom", bottom)


def _coins(included: Coins | Array) -> Array:
    coins = np.asarray(included.included if isinstance(included, Coins) else included)
    if coins.ndim != 1 or coins.size == 0 or coins.dtype.kind not in "bui" or not np.isin(coins, (0, 1)).all():
        raise InvalidData("included must say for each canary whether it was in: Coins, or an array of False and True")
    return coins.astype(bool)
