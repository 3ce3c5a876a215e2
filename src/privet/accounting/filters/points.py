"""A loss as one (epsilon, delta) pair at a delta that is fixed before its release."""

import math
from functools import lru_cache

from privet._validate import open_fraction
from privet.accounting.tightest import epsilon as fixed_epsilon
from privet.errors import NoGuarantee
from privet.privacy import ApproxLoss, PrivacyLoss


def point_at(loss: PrivacyLoss, at: float) -> ApproxLoss | None:
    """The tight (epsilon, at) of a loss, as a loss; None where no finite epsilon is known.

    **Guarantee:** `at` is public and named before the release, so the release *is* an (epsilon, at)-DP mechanism, and
    every filter for such mechanisms may charge that pair, whatever the loss is otherwise.

    >>> from privet import privacy
    >>> round(point_at(privacy.GaussianLoss(100.0), 1e-9).epsilon, 4)
    0.0489
    """
    return _point(loss, open_fraction("at", at))


@lru_cache(maxsize=4096)
def _point(loss: PrivacyLoss, at: float) -> ApproxLoss | None:
    try:
        epsilon = fixed_epsilon(loss, delta=at).upper
    except NoGuarantee:
        return None
    return ApproxLoss(epsilon, at, unit=loss.unit) if math.isfinite(epsilon) else None
