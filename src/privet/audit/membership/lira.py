"""The likelihood-ratio attack (LiRA): how sure models are of a record that were, or were not, trained on it."""

from collections.abc import Sequence

import numpy as np

from privet._calls import door
from privet._numerics import Array, log_ndtr
from privet.audit.claim import Claim
from privet.audit.membership.attack import MembershipAttack, judged
from privet.audit.membership.shadows import Shadows
from privet.audit.membership.signals import Augment, Model, augmented, sureness
from privet.audit.membership.suspects import Suspects
from privet.errors import InvalidParameter

OWN_VARIANCE = 64  # shadow models from which on each record has a variance of its own
_LEAST, _SHRINK = 1e-3, 0.05  # of a standard deviation, as a share of the overall one; of correlations, towards none


@door
def lira(
    model: Model,
    suspects: Suspects,
    shadows: Shadows,
    *,
    online: bool | None = None,
    augment: Sequence[Augment] = (),
    claim: Claim | None = None,
    alpha: float = 0.05,
) -> MembershipAttack:
    """Membership by the likelihood ratio of a record's log-odds, under normal laws fitted to shadow models.

    Online: the law of models that were trained on the record against that of models that were not, which needs two or
    more of each for every suspect, so that the suspects are in the pool. Offline: the tail under the latter alone. By
    default online where it can be. Below 64 shadow models all records share one variance a side. Functions of
    `augment` change records (mirror an image); log-odds on all versions are one normal vector.

    **Guarantee:** see `MembershipAttack`; that laws are normal costs power, not validity.
    **Reference:** Carlini et al. 2022.

    >>> import tempfile
    >>> from privet.audit.membership.shadows import shadow_models
    >>> x, y = np.arange(40.0), np.zeros(40)
    >>> train = lambda a, b: lambda c, d: np.where(np.isin(c, a), 0.1, 1.0)
    >>> who = Suspects.of(members=(x[:20], y[:20]), others=(x[20:], y[20:]), real=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lira(train(x[:20], y[:20]), who, shadow_models(train, (x, y), many=8, folder=folder)).exact_area.auc.value
    1.0
    """
    inside = shadows.inside(suspects.x, suspects.y)
    can = bool((inside.sum(axis=0) >= 2).all() and ((~inside).sum(axis=0) >= 2).all())
    if online and not can:
        raise InvalidParameter(
            "the online attack needs two models that were trained on each suspect, and two that were not: put the "
            "suspects into the pool of the shadow models, or say online=False"
        )
    both = can if online is None else online
    versions = augmented(suspects.x, augment)
    own = np.stack([sureness(model, each, suspects.y) for each in versions], axis=1)
    seen = np.stack(
        [np.stack([sureness(each, x, suspects.y) for x in versions], axis=1) for each in shadows.models()]
    )  # model, record, version
    out = _fitted(seen, ~inside)
    scores = _density(own, *_fitted(seen, inside)) - _density(own, *out) if both else -log_ndtr(-_standing(own, *out))
    known = "the suspects are in their pool" if both else "only those that were not trained on the suspect count"
    shared = "" if len(shadows) >= OWN_VARIANCE else "; all records share one variance"
    return judged(
        f"LiRA, {'online' if both else 'offline'}",
        scores,
        suspects,
        assumes=f"the attacker can train {len(shadows)} models as this one was, on halves of a pool; {known}{shared}",
        model=model,
        claim=claim,
        alpha=alpha,
    )


def _fitted(seen: Array, use: Array) -> tuple[Array, Array, Array]:
    """Mean and standard deviation of each record's log-odds over the models in use, and the correlation of versions."""
    weight = use[:, :, None].astype(float)
    many = use.sum(axis=0)
    if (many < 1).any() or many.sum() < len(many) + 1:
        raise InvalidParameter(
            "every suspect needs a shadow model that was not trained on it, and some need two: train more"
        )
    mean = (seen * weight).sum(axis=0) / many[:, None]
    left = (seen - mean) * weight
    squares = (left**2).sum(axis=0)
    shared = squares.sum(axis=0) / max(float((many - 1).sum()), 1.0)
    enough = (many >= 2)[:, None] & (len(seen) >= OWN_VARIANCE)
    variance = np.where(enough, squares / np.maximum(many - 1, 1)[:, None], shared)
    spread = np.sqrt(np.maximum(variance, _LEAST**2 * shared))
    spread = np.where(spread > 0.0, spread, 1.0)  # no model differs from another: any unit will do
    return mean, spread, _correlation((left / spread)[use])


def _correlation(left: Array) -> Array:
    versions = left.shape[1]
    moments = left.T @ left / max(len(left), 1)
    scale = np.sqrt(np.maximum(np.diag(moments), np.finfo(float).tiny))
    found = moments / np.outer(scale, scale)
    np.fill_diagonal(found, 1.0)
    return (1.0 - _SHRINK) * found + _SHRINK * np.eye(versions)


def _density(own: Array, mean: Array, spread: Array, correlation: Array) -> Array:
    """The logarithm of the normal density, up to a constant that both sides share."""
    left = (own - mean) / spread
    whitened = np.linalg.solve(np.linalg.cholesky(correlation), left.T)
    half = float(np.linalg.slogdet(correlation)[1]) / 2.0
    return -0.5 * (whitened**2).sum(axis=0) - np.log(spread).sum(axis=1) - half


def _standing(own: Array, mean: Array, spread: Array, correlation: Array) -> Array:
    """The distance of all versions together above their means, in standard deviations of their best average."""
    weights = np.linalg.solve(correlation, np.ones(len(correlation)))
    return ((own - mean) / spread) @ weights / np.sqrt(weights.sum())
