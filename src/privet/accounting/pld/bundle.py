"""Many different discrete prices: parts with few outcomes are summed exactly, before anything is rounded to a grid.

A law of two atoms between the nodes of a grid can only be rounded by a share of the step; the sum of ten such laws has a
thousand atoms, dense enough to be merged with their neighbours, which costs a share of the step squared.
"""

import math
from dataclasses import dataclass

from privet._cache import kept_property
from privet.accounting.pld.plan import Parts, Priced
from privet.privacy import Direction, LossVariable, PrivacyLoss
from privet.privacy.atoms import sum_of_atoms

_MOST_OUTCOMES = 2048  # of a bundle that is written out: memory and speed, larger ones are split
_MOST_ATOMS = 48  # of one part: speed only
_MOST_COPIES = 400  # in one bundle: speed alone


@dataclass(frozen=True)
class Bundle:
    """The sum of several discrete parts, outcome by outcome.

    >>> from privet import privacy
    >>> bundle = Bundle(((privacy.PureLoss(0.1), 2), (privacy.PureLoss(0.25), 1)))
    >>> len(bundle.variable("remove").atoms().losses)
    6
    """

    parts: tuple[tuple[PrivacyLoss, int], ...]
    kind = "bundle"

    @kept_property
    def _variables(self) -> dict[Direction, LossVariable]:
        return {}

    def variable(self, direction: Direction) -> LossVariable:
        """The loss variable of the sum."""
        known = self._variables.get("remove")
        if direction == "add" and known is not None and known.symmetric:
            return known
        if direction not in self._variables:
            found = sum_of_atoms([(loss.variable(direction), n) for loss, n in self.parts], _MOST_OUTCOMES)
            assert found is not None  # few outcomes, by the way that bundles are made
            self._variables[direction] = found
        return self._variables[direction]


def gathered(parts: list[tuple[PrivacyLoss, int]]) -> Parts:
    """The parts, with discrete ones bundled where they do not share a lattice.

    Parts of similar size go into different bundles: sums of unlike losses have atoms that lie closer together.
    """
    short = [_is_short(loss) for loss, _ in parts]
    discrete = [part for part, is_short in zip(parts, short, strict=True) if is_short]
    spacings = {loss.variable("remove").lattice for loss, _ in discrete}
    if len(discrete) < 2 or (len({spacing[1] for spacing in spacings if spacing}) < 2 and None not in spacings):
        return list(parts)
    pieces = [piece for loss, n in discrete for piece in _pieces(loss, n)]
    single = [(loss, n, size) for loss, n, times, size in pieces if times == 1]
    single.sort(key=lambda piece: (piece[0].pure(), piece[0].key))
    found: list[tuple[Priced, int]] = [part for part, is_short in zip(parts, short, strict=True) if not is_short]
    found += [(Bundle(((loss, n),)), times) for loss, n, times, _ in pieces if times > 1]
    return found + _packed(single)


def _is_short(loss: PrivacyLoss) -> bool:
    """Is this a discrete part with few atoms?"""
    variables = loss.variable("remove"), loss.variable("add")
    return all(v.discrete and 0 < len(v.atoms().losses) <= _MOST_ATOMS for v in variables)


def _pieces(loss: PrivacyLoss, n: int) -> list[tuple[PrivacyLoss, int, int, int]]:
    """Copies of one part, in equal groups with few outcomes each and a rest: the loss, copies, groups, outcomes."""
    atoms = max(len(loss.variable("remove").atoms().losses), 2)
    copies = n
    while copies > 1 and (copies > _MOST_COPIES or math.comb(copies + atoms - 1, copies) > _MOST_OUTCOMES // 2):
        copies = (copies + 1) // 2
    groups, rest = divmod(n, copies)
    return [
        (loss, size, times, math.comb(size + atoms - 1, size)) for size, times in ((copies, groups), (rest, 1)) if size
    ]


def _packed(pieces: list[tuple[PrivacyLoss, int, int]]) -> list[tuple[Priced, int]]:
    """Bundles of pieces, dealt out like cards so that each has large and small ones."""
    if not pieces:
        return []
    logs = [math.log(size) for _, _, size in pieces]
    count = max(1, math.ceil(math.fsum(logs) / math.log(_MOST_OUTCOMES)))
    while True:
        hands = [pieces[start::count] for start in range(count)]
        if all(math.prod(size for _, _, size in hand) <= _MOST_OUTCOMES for hand in hands):
            return [(_bundle(hand), 1) for hand in hands if hand]
        count += max(1, count // 8)


def _bundle(hand: list[tuple[PrivacyLoss, int, int]]) -> Priced:
    return Bundle(tuple((loss, n) for loss, n, _ in hand))
