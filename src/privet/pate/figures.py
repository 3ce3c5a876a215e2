"""Data-dependent figures: what answers cost by the votes that were cast, for the custodian's eyes."""

from collections.abc import Callable

import numpy as np

from privet import accounting
from privet._numerics import Array
from privet._private import Private
from privet._validate import open_fraction
from privet.errors import InvalidParameter
from privet.pate.vote_law import Law, worst_of
from privet.pate.vote_theorems import epsilon_of
from privet.pate.votes import Votes
from privet.privacy import PrivacyLoss

# Every order gives a bound: where none of these is the best one, figures come out a little higher.
ORDERS = np.concatenate([np.linspace(1.05, 10.0, 90), np.arange(10.5, 64.0, 1.0), np.arange(64.0, 513.0, 8.0)])
_APART = 9  # of these, where the best order is looked for


def check_figure(votes: Votes, delta: float, changed: int) -> None:
    """Refuse what has no data-dependent figure."""
    open_fraction("delta", delta)
    if votes.adaptive:
        raise InvalidParameter(
            "queries that may follow from earlier answers have no data-dependent figure; vote(adaptive=False) says that "
            "all were fixed before"
        )
    if changed != 1:
        raise InvalidParameter("data-dependent figures are about one teacher: take add_remove, or fixed_ids")


def exact_epsilon(law: Law, votes: Votes, delta: float, loss: PrivacyLoss) -> Private[float]:
    """The epsilon of all queries by the exact law of each answer, never above that of the price."""
    rows, many = np.unique(np.sort(votes.exact_counts, axis=1), axis=0, return_counts=True)
    laws = [(law.log_chances(row), law.around(row)) for row in rows.astype(np.int64)]

    def told(orders: Array) -> Array:
        total = sum(n * worst_of(*pair, orders) for pair, n in zip(laws, many, strict=True))
        return np.array([epsilon_of(each, order, delta) for each, order in zip(total, orders, strict=True)])

    # every order gives a bound: a few of them say where the best is, and those around it are tried
    coarse = np.append(np.arange(0, len(ORDERS), _APART), len(ORDERS) - 1)
    best = int(np.argmin(told(ORDERS[coarse])))
    around = ORDERS[coarse[max(best - 1, 0)] : coarse[min(best + 1, len(coarse) - 1)] + 1]
    ceiling = float(accounting.epsilon(loss, delta=delta).upper)
    return Private(min(max(float(told(around).min()), 0.0), ceiling))


def published_epsilon(
    bound: Callable[[Array, Array], Array], votes: Votes, delta: float, *, classic: bool
) -> Private[float]:
    """The epsilon of all queries by a published bound on each, of rows and orders."""
    total = bound(votes.exact_counts.astype(np.int64), ORDERS).sum(axis=0)
    return Private(max(epsilon_of(total, ORDERS, delta, classic=classic), 0.0))
