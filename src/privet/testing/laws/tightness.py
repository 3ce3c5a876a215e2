"""Laws of tightness over the region where training lives: narrow intervals, matching questions, monotony.

`region` is a grid of sampled Gaussians with small rates, moderate noise and up to ten epochs; other regions are as good.
"""

import itertools
import math
from collections.abc import Sequence

from privet import privacy
from privet.accounting import Accountant, Tightest
from privet.privacy import PrivacyLoss
from privet.testing.law import law_of

Point = tuple[float, float, int, float]

# The region: sampling rates, noise multipliers, epochs and deltas as in training.
_RATES = (1e-5, 3e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 3e-3)
_NOISE = (0.6, 0.8, 1.0, 1.3, 2.0)
_EPOCHS = (0.3, 1.0, 3.0, 10.0)
_DELTAS = (1e-6, 1e-8, 1e-10)
_FAIR = 0.01  # a delta beyond heavy tails is known to a percent: its own answer at epsilon may lie above it by as much


def sampled_gaussian(q: float, z: float, steps: int) -> PrivacyLoss:
    """The price of `steps` steps of noisy gradient descent.

    >>> sampled_gaussian(0.01, 1.0, 3).parts()[0][1]
    3
    """
    return privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=z), q=q), steps)


def region() -> list[Point]:
    """The grid: (q, noise multiplier, steps, delta), 420 points.

    >>> len(region())
    420
    """
    grid = itertools.product(_RATES, _NOISE, _EPOCHS, _DELTAS)
    return [(q, z, max(1, round(epochs / q)), delta) for q, z, epochs, delta in grid]


@law_of("losses")
def check_narrow(
    loss: PrivacyLoss, delta: float, accountant: Accountant | None = None, *, relative: float = 0.01
) -> None:
    """The certified interval for epsilon is at most 1% wide.

    >>> check_narrow(sampled_gaussian(5e-4, 1.0, 6000), 1e-6)
    """
    bound = (accountant or Tightest()).epsilon(loss, delta)
    wide = f"epsilon at delta = {delta:g} is [{bound.lower}, {bound.upper}], wider than {relative:.0%}: {loss!r}"
    assert bound.slack <= relative * bound.upper, wide


@law_of("losses")
def check_inverse(loss: PrivacyLoss, delta: float, accountant: Accountant | None = None, *, share: float = 0.9) -> None:
    """The two questions agree: delta at the upper epsilon lies in [0.9 delta, delta], delta at the lower one is no less.

    The certificate at the upper epsilon E says that the true delta(E) is at most delta, so the *lower* end of the answer
    about E must be, without any tolerance; the same at the other end. The upper end of that answer comes from a grid of
    its own and may lie above delta by as much as it is wide, which is held to what the question promises.

    >>> check_inverse(sampled_gaussian(5e-4, 1.0, 6000), 1e-6)
    """
    judge = accountant or Tightest()
    found = judge.epsilon(loss, delta)
    if found.upper == 0.0:
        return
    back = judge.delta(loss, found.upper)
    text = f"delta({found.upper}) is [{back.lower}, {back.upper}], asked was epsilon at {delta}: {loss!r}"
    assert back.lower <= delta, f"the promise is broken: {text}"
    width = max(_FAIR, 2.0 * getattr(judge, "tol", 1e-4) * (1.0 - math.log(delta)))
    assert share * delta <= back.upper <= delta * (1.0 + width), f"the two questions disagree: {text}"
    if found.lower > 0.0:
        most = judge.delta(loss, found.lower).upper
        assert most >= delta, (
            f"the lower end is no lower end: delta({found.lower}) is at most {most}, {delta}: {loss!r}"
        )


@law_of("losses")
def check_monotone(
    losses: Sequence[PrivacyLoss], delta: float, accountant: Accountant | None = None, *, relative: float = 0.01
) -> None:
    """Along losses that cost more and more, no upper end falls by more than a bound may be wide; the last is costlier.

    >>> check_monotone([sampled_gaussian(2.5e-4, 1.2, steps) for steps in (1000, 3000, 4000)], 1e-8)
    """
    judge = accountant or Tightest()
    uppers = [judge.epsilon(loss, delta).upper for loss in losses]
    for (cheap, costly), (before, after) in zip(itertools.pairwise(losses), itertools.pairwise(uppers), strict=True):
        assert before <= after * (1.0 + relative), f"{cheap!r} costs {before}, the costlier {costly!r} only {after}"
    grown = uppers[-1] > uppers[0] * (1.0 + relative) or uppers[-1] == 0.0
    assert grown, f"{losses[0]!r} costs {uppers[0]}, the much costlier {losses[-1]!r} only {uppers[-1]}"
