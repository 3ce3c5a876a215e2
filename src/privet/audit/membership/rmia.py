"""The robust membership attack (RMIA): a record is compared with a population of others, on the model and on references."""

import numpy as np

from privet._numerics import Array
from privet._validate import above, fraction
from privet.audit.claim import Claim
from privet.audit.membership.attack import MembershipAttack, judged
from privet.audit.membership.shadows import Shadows
from privet.audit.membership.signals import Model, losses
from privet.audit.membership.suspects import Pair, Suspects, labelled, record_names
from privet.errors import InvalidData, InvalidParameter


def rmia(
    model: Model,
    suspects: Suspects,
    shadows: Shadows,
    *,
    population: Pair,
    gamma: float = 1.0,
    scale: float = 0.3,
    claim: Claim | None = None,
    alpha: float = 0.05,
) -> MembershipAttack:
    """Membership by the share of a population over which a record stands out.

    It stands out over another one if its probability under the model, divided by its average under reference models,
    is at least `gamma` times that of the other.

    `population` are records (x, y) that are no suspects and were not trained on. Works with few shadow models: where
    a record was in none, its average over both kinds is ((1 + scale) p + 1 - scale)/2, p being that of models without
    it. Records that stand out over equally many are ordered by how far they do.

    **Guarantee:** see `MembershipAttack`. **Reference:** Zarifzadeh, Liu & Shokri 2023.

    >>> import tempfile
    >>> from privet.audit.membership.shadows import shadow_models
    >>> x, y = np.arange(60.0), np.zeros(60)
    >>> train = lambda a, b: lambda c, d: np.where(np.isin(c, a), 0.1, 1.0)
    >>> who = Suspects.of(members=(x[:20], y[:20]), others=(x[20:40], y[20:40]), real=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = shadow_models(train, (x[:40], y[:40]), many=2, folder=folder)
    ...     rmia(train(x[:20], y[:20]), who, made, population=(x[40:], y[40:])).exact_area.auc.value
    1.0
    """
    factor, share = above("gamma", gamma, 0.0), fraction("scale", scale)
    x, y = labelled(population)
    if set(record_names(x, y)) & set(record_names(suspects.x, suspects.y)):
        raise InvalidData("the population must be other records than the suspects")
    ours = _stands_out(model, shadows, suspects.x, suspects.y, share)
    theirs = np.sort(_stands_out(model, shadows, x, y, share))
    over = np.searchsorted(theirs, ours - np.log(factor), "right")
    scores = (over + 0.5 + np.arctan(ours) / np.pi) / (len(theirs) + 1.0)
    return judged(
        "RMIA",
        scores,
        suspects,
        assumes=f"the attacker can train {len(shadows)} models as this one was, and has {len(y)} records of its population",
        model=model,
        claim=claim,
        alpha=alpha,
    )


def _stands_out(model: Model, shadows: Shadows, x: Array, y: Array, scale: float) -> Array:
    """The logarithm of a record's probability under the model over its average under the reference models."""
    inside = shadows.inside(x, y)
    if inside.all(axis=0).any():
        raise InvalidParameter("every record needs a shadow model that was not trained on it: train more")
    shares = np.stack([np.exp(-losses(each, x, y)) for each in shadows.models()])
    without = _mean(shares, ~inside)
    corrected = ((1.0 + scale) * without + (1.0 - scale)) / 2.0
    average = np.where(inside.any(axis=0), (_mean(shares, inside) + without) / 2.0, corrected)
    return -losses(model, x, y) - np.log(np.maximum(average, np.finfo(float).tiny))


def _mean(shares: Array, use: Array) -> Array:
    return np.asarray((shares * use).sum(axis=0) / np.maximum(use.sum(axis=0), 1))
