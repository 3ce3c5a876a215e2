"""The question to an audit: which claim, which kinds of events, which pairs of inputs."""

import pickle
from collections.abc import Collection
from itertools import islice
from typing import Any

import numpy as np

from privet import noise
from privet.accounting import tradeoff
from privet.audit.claim import Claim, as_claim
from privet.audit.neighbours import Neighbours, Numbers, Pairs, doubt_of, pairs_for, stratum_of
from privet.audit.search import CUT, KINDS, Marks, Strain, read, reusable
from privet.errors import InvalidParameter
from privet.mechanisms import AdditiveMechanism, Mechanism
from privet.privacy import PrivacyLoss

_MOST_PAIRS, _PAIRS_READ = 64, 4_096  # pairs that are tried, and read of a family that has more: time against reach


def claim_of(
    mechanism: object, claim: Claim | None, epsilon: float | None = None, delta: float | None = None
) -> PrivacyLoss:
    """The price to be refuted: the one given, an epsilon with its delta, or the mechanism's own.

    >>> from privet.privacy import PureLoss
    >>> claim_of(abs, PureLoss(1.0)), claim_of(abs, 1.0), claim_of(abs, None, epsilon=1.0, delta=1e-5)
    (PureLoss(epsilon=1.0), PureLoss(epsilon=1.0), ApproxLoss(epsilon=1.0, delta=1e-05))
    """
    if epsilon is not None:
        if claim is not None:
            raise InvalidParameter("give either claim= or epsilon= (with or without delta=), not both")
        claim = epsilon
    price = getattr(mechanism, "loss", None) if claim is None else claim
    return as_claim(price, delta or 0.0)


def kinds_of(look_at: Collection[str]) -> frozenset[str]:
    """The kinds of events to be looked at.

    >>> sorted(kinds_of(["form", "atom"]))
    ['atom', 'form']
    """
    kinds = frozenset(look_at)
    if not kinds or isinstance(look_at, str) or not kinds <= frozenset(KINDS):
        raise InvalidParameter(f"look_at must name some of: {', '.join(KINDS)}")
    return kinds


def pairs_of(mechanism: object, claim: PrivacyLoss, neighbours: Any, notes: list[str]) -> list[tuple[Any, Any]]:
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
    if isinstance(family, Pairs):
        pairs = _different(pairs, notes)
        if family.relation is None and not isinstance(mechanism, Mechanism):  # ours know what their inputs are
            notes.extend(dict.fromkeys(note for pair in pairs if (note := doubt_of(*pair, claim.unit)) is not None))
    if len(pairs) > _MOST_PAIRS:
        notes.append(f"{_MOST_PAIRS} of {_many(len(pairs))} pairs of neighbours, drawn at random, were tried")
        pairs = drawn_by_strata(pairs, _MOST_PAIRS)
    return pairs


def _different(pairs: list[tuple[Any, Any]], notes: list[str]) -> list[tuple[Any, Any]]:
    """The pairs whose inputs differ: of two equal inputs nothing can be told apart."""
    kept = [pair for pair in pairs if not same_input(*pair)]
    if not kept:
        raise InvalidParameter(
            "the two inputs of every pair are equal, so that no mechanism could tell them apart: give neighbours that "
            "differ, such as ([1, 1], [1, 1, 1])"
        )
    if len(kept) < len(pairs):
        notes.append(f"{len(pairs) - len(kept)} of {len(pairs)} pairs have two equal inputs and were left out")
    return kept


def same_input(left: object, right: object) -> bool:
    """True if two inputs are equal in everything that can be read of them, types and bits of numbers included.

    >>> same_input([1, 2], [1, 2]), same_input([1, 2], [1, 2.0]), same_input(0.0, -0.0)
    (True, False, False)
    """
    if type(left) is not type(right):
        return False
    try:
        if left is right or pickle.dumps(left) == pickle.dumps(right):
            return True
    except Exception:  # what cannot be pickled may still be read
        pass
    marks = Marks(b"equal inputs")
    one, other = (read(value, marks, wants_rows=False) for value in (left, right))
    if one.opaque or other.opaque or CUT in one.form or one.form != other.form:
        return False
    if one.numbers.keys() != other.numbers.keys() or one.marks != other.marks:
        return False
    bits = [{place: array.tobytes() for place, array in each.numbers.items()} for each in (one, other)]
    single = [{place: float(number).hex() for place, number in each.single.items()} for each in (one, other)]
    return bits[0] == bits[1] and single[0] == single[1]


def drawn_by_strata(pairs: list[tuple[Any, Any]], most: int) -> list[tuple[Any, Any]]:
    """So many of the pairs, at random, as evenly as can be from each stratum: most tables of a family have rows that all
    differ, and many a fault shows in an empty table, in one of equal rows, or beside one odd row.

    >>> tables = [([], [1]), *(([k], [k, 1]) for k in range(9)), *(([k, k + 1], [k, k + 1, 1]) for k in range(90))]
    >>> ([], [1]) in drawn_by_strata(tables, 12)
    True
    """
    strata: dict[str, list[int]] = {}
    for i in np.asarray(noise.permutation(len(pairs))).tolist():
        strata.setdefault(stratum_of(*pairs[i]), []).append(i)
    drawn: list[int] = []
    while len(drawn) < most:
        for waiting in strata.values():
            drawn += [waiting.pop()] if waiting else []
    return [pairs[i] for i in sorted(drawn[:most])]


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
