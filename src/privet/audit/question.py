"""What an audit is asked: which claim, which kinds of events, which pairs of inputs."""

from collections.abc import Collection
from itertools import islice
from typing import Any

import numpy as np

from privet import noise
from privet.accounting.tradeoff import tradeoff
from privet.audit.neighbours import Neighbours, Numbers, Pairs, pairs_for
from privet.audit.search import KINDS, Strain, reusable
from privet.errors import InvalidParameter
from privet.mechanisms import AdditiveMechanism
from privet.privacy import PrivacyLoss

_MOST_PAIRS, _PAIRS_READ = 64, 4_096


def claim_of(mechanism: Any, claim: PrivacyLoss | None) -> PrivacyLoss:
    """The price to be refuted: the one given, or the mechanism's own.

    >>> from privet.privacy import PureLoss
    >>> claim_of(abs, PureLoss(1.0))
    PureLoss(epsilon=1.0)
    """
    price = getattr(mechanism, "loss", None) if claim is None else claim
    if not isinstance(price, PrivacyLoss):
        raise InvalidParameter("an audit needs a claim: pass claim=..., a loss out of privet.privacy")
    return price


def kinds_of(look_at: Collection[str]) -> frozenset[str]:
    """The kinds of events to be looked at.

    >>> sorted(kinds_of(["form", "atom"]))
    ['atom', 'form']
    """
    kinds = frozenset(look_at)
    if not kinds or isinstance(look_at, str) or not kinds <= frozenset(KINDS):
        raise InvalidParameter(f"look_at must name some of: {', '.join(KINDS)}")
    return kinds


def pairs_of(mechanism: Any, claim: PrivacyLoss, neighbours: Any, notes: list[str]) -> list[tuple[Any, Any]]:
    """The pairs of inputs to be tried: at most 64, drawn at random where there are more.

    >>> from privet.privacy import PureLoss
    >>> pairs_of(abs, PureLoss(1.0), [(0, 1)], [])
    [(0, 1)]
    """
    if neighbours is None:
        if not isinstance(mechanism, AdditiveMechanism):
            raise InvalidParameter(
                "tell the audit which inputs are neighbours: neighbours=[(left, right), ...] or audit.Tables(records)"
            )
        neighbours = Numbers(float(mechanism.sensitivity))
    family = neighbours if isinstance(neighbours, Neighbours) else Pairs(list(neighbours))
    found = islice(pairs_for(family, claim.unit), _PAIRS_READ)
    pairs = [(reusable(left), reusable(right)) for left, right in found]
    if not pairs:
        raise InvalidParameter("the family of neighbours is empty for the claim's relation")
    if len(pairs) > _MOST_PAIRS:
        notes.append(f"{_MOST_PAIRS} of {_many(len(pairs))} pairs of neighbours, drawn at random, were tried")
        drawn = noise.permutation(len(pairs))[:_MOST_PAIRS]
        pairs = [pairs[int(i)] for i in np.sort(drawn)]
    return pairs


def _many(number: int) -> str:
    return f"{number:,}" if number < _PAIRS_READ else f"the first {number:,}"


def strain_of(claim: PrivacyLoss) -> Strain:
    """The claim's curve on a grid, for choosing events.

    >>> from privet.privacy import PureLoss
    >>> bool(strain_of(PureLoss(1.0)).fnr[-1] == 0.0)
    True
    """
    small = np.sin(np.linspace(0.0, np.pi / 4, 500)) ** 2
    fpr = np.unique(np.concatenate((np.geomspace(1e-9, 1e-3, 100), small, 1.0 - small)))
    fnr = np.asarray(tradeoff(claim, fpr))
    grid = np.concatenate((fpr, fnr)), np.concatenate((fnr, fpr))  # steep parts are dense in the other direction
    order = np.lexsort((-grid[1], grid[0]))
    return Strain(grid[0][order], np.minimum.accumulate(grid[1][order]))
