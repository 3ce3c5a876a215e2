"""The loss attack: whoever is known by heart has a small loss."""

from privet._calls import door
from privet.audit.claim import Claim
from privet.audit.membership.attack import MembershipAttack, judged
from privet.audit.membership.signals import Model, losses
from privet.audit.membership.suspects import Suspects


@door
def loss_attack(
    model: Model, suspects: Suspects, *, claim: Claim | None = None, alpha: float = 0.05
) -> MembershipAttack:
    """Membership by a threshold on the loss: one threshold for all records, no further model is trained.

    `model` has `predict_proba` or `predict`, is a torch module that gives logits, or a function of (x, y) that gives
    losses. `claim` is its price; without one `model.privacy_.loss` is taken where there is such.

    **Guarantee:** see `MembershipAttack`. **Error:** it cannot tell an easy record from one that was learned, and
    finds next to nothing at few false positives; a good attack compares records with themselves (`audit.lira`,
    `audit.rmia`). **Reference:** Yeom, Giacomelli, Fredrikson & Jha 2018.

    >>> import numpy as np
    >>> who = Suspects.of(members=(np.zeros(50), np.zeros(50)), others=(np.ones(50), np.zeros(50)), real=False)
    >>> loss_attack(lambda x, y: x, who).exact_area.auc.value
    1.0
    """
    return judged(
        "loss threshold",
        -losses(model, suspects.x, suspects.y),
        suspects,
        assumes="the attacker sees the loss of each record, and nothing else",
        model=model,
        claim=claim,
        alpha=alpha,
    )
