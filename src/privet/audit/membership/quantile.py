"""The quantile attack: a record is accused that the model knows better than nearly all non-members that look like it."""

import math

import numpy as np

from privet._numerics import Array
from privet._validate import open_fraction
from privet.audit.claim import Claim
from privet.audit.membership.attack import MembershipAttack, judged
from privet.audit.membership.signals import Model, sureness
from privet.audit.membership.suspects import Pair, Suspects, labelled, record_names
from privet.errors import InvalidData, InvalidParameter


def quantile_attack(
    model: Model,
    suspects: Suspects,
    *,
    strangers: Pair,
    fpr: float = 0.01,
    claim: Claim | None = None,
    alpha: float = 0.05,
) -> MembershipAttack:
    """Membership by a threshold of each record's own: a quantile of the model's sureness, learned on `strangers`.

    Strangers are records (x, y) that were not trained on and are no suspects. One half of them learns which sureness
    a record with such columns has at the quantile 1 - `fpr`; the other half shifts all thresholds together, so that a
    further stranger is accused with probability at most `fpr`. A score is the distance from the record's threshold:
    positive ones are accused. Members and others must be people of one kind: the attack looks at columns, and would find
    members who have other columns than the rest, whatever the model knows.

    **Guarantee:** a stranger is accused with probability at most `fpr`, on average over strangers and not for each
    kind of them. **Reference:** Bertran et al. 2023; conformal correction: Romano, Patterson & Candès 2019.

    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(400, 1)), np.zeros(400)
    >>> who = Suspects.of(members=(x[:100], y[:100]), others=(x[100:200], y[100:200]), real=False)
    >>> found = quantile_attack(lambda x, y: np.abs(x[:, 0]) + 0.1, who, strangers=(x[200:], y[200:]))
    >>> 0.5 in found.exact_area.auc
    True
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    rate = open_fraction("fpr", fpr)
    x, y = labelled(strangers)
    if set(record_names(x, y)) & set(record_names(suspects.x, suspects.y)):
        raise InvalidData("strangers must be other records than the suspects")
    order = np.random.default_rng(0).permutation(len(y))  # they may come in an order that means something
    x, y, half = x[order], y[order], len(y) // 2
    if half + 1 < 1.0 / rate:
        raise InvalidParameter(
            f"{len(y)} strangers are too few for a rate of {rate:g}: at least {2 * math.ceil(1.0 / rate)} are needed"
        )
    learner = HistGradientBoostingRegressor(loss="quantile", quantile=1.0 - rate, random_state=0)
    learner.fit(_columns(x[:half]), sureness(model, x[:half], y[:half]))
    left = np.sort(sureness(model, x[half:], y[half:]) - learner.predict(_columns(x[half:])))
    rank = math.ceil((1.0 - rate) * (len(left) + 1))  # of the new one among these and itself
    shift = float(left[min(rank, len(left)) - 1])
    scores = sureness(model, suspects.x, suspects.y) - learner.predict(_columns(suspects.x)) - shift
    accused = scores > 0.0
    hits, wrong = int(accused[suspects.included].sum()), int(accused[~suspects.included].sum())
    return judged(
        "conformal quantile",
        scores,
        suspects,
        assumes="the attacker sees the probabilities of each record, and has strangers of one kind with members and others",
        model=model,
        claim=claim,
        alpha=alpha,
        notes=(
            f"At its own threshold, for {100.0 * rate:g}% of false positives on average, it accuses {hits:,} members and "
            f"{wrong:,} others.",
        ),
    )


def _columns(x: Array) -> Array:
    try:
        return x.reshape(len(x), -1).astype(float)
    except (TypeError, ValueError, OverflowError):  # its text quotes a record
        raise InvalidData("the quantile attack looks at columns of numbers: turn words into numbers first") from None
