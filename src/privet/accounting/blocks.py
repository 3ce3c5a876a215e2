"""Compositions with parallel blocks: whoever picks the block of the changed record may do so step by step."""

import math
from dataclasses import dataclass

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, Array
from privet.accounting.accountant import Accountant
from privet.accounting.bound import Bound
from privet.errors import NoGuarantee
from privet.privacy import Direction, PrivacyLoss
from privet.privacy.families.sums import LatticeLaw, deviation, lattice_law

_MOST_STEPS = 1000  # beyond, refused: it would take too long
_NODES = 3000  # at most, of one law: tightness and speed, the bound holds with any number
_FINE = 8.0  # steps of the grid in the standard deviation of one loss
_LONGEST = 16384  # nodes of the law of everything beside the blocks


@dataclass(frozen=True)
class Blocks(Accountant):
    """The curve of a composition in which one `Parallel` price occurs, by going through its steps one by one.

    Before each step the worst block is taken for every state of the composition so far. That is what a partition chosen
    after seeing earlier outputs can do, and no more; composing the envelope of the blocks allows more than that.

    **Guarantee:** an upper end for every mechanism with this loss, whatever the partitions. **Error:** of the grid; no
    lower end. **Reference:** Zhu, Dong & Wang 2022 for one step; docs/proofs/accounting/blocks.md.
    **Proof:** docs/proofs/accounting/blocks.md.

    >>> from privet import privacy
    >>> blocks = privacy.Parallel((privacy.GaussianLoss(20.0), privacy.LaplaceLoss(20.0)))
    >>> bound = Blocks().epsilon(privacy.Repeated(blocks, 20), 1e-5)
    >>> 0.82 < bound.upper < 0.83
    True
    """

    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        top = _rough(loss, delta)
        found = []
        for direction in _directions(loss):
            nodes, curve = _curve(loss, direction, top)
            below = np.flatnonzero(curve <= delta)
            if len(below) == 0:
                raise NoGuarantee("the grid of this composition is too coarse for so small a delta")
            found.append(_crossing(nodes, curve, int(below[0]), delta))
        return Bound(0.0, max(0.0, *found), "PLD, block by block", loss.unit)

    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        found, top = [], max(1.2 * epsilon + 0.1, _rough(loss, 1e-6))
        for direction in _directions(loss):
            nodes, curve = _curve(loss, direction, top)
            found.append(float(np.interp(math.exp(epsilon), np.exp(nodes), curve)))
        return Bound(0.0, max(found), "PLD, block by block", loss.unit)


def _rough(loss: PrivacyLoss, delta: float) -> float:
    """An epsilon that is large enough, from the Rényi curve: where the window ends."""
    orders = 1.0 + np.geomspace(1e-2, 1e4, 60)
    values, delta0 = loss.rdp(orders)
    top = float(np.min(values + math.log(1.0 / delta) / (orders - 1.0)))
    if delta0 > 0.0 or not math.isfinite(top):
        raise NoGuarantee("this method needs a finite Rényi curve to place its grid")
    return top


def _split(loss: PrivacyLoss) -> tuple[PrivacyLoss, int, list[tuple[PrivacyLoss, int]]]:
    """The parallel part, how often it occurs, and the other parts."""
    parts = [(part, n) for part, n in loss.parts() if part.pure() > 0.0]
    several = [(part, n) for part, n in parts if len(part.alternatives()) > 1]
    if len(several) != 1 or several[0][1] > _MOST_STEPS:
        raise NoGuarantee(f"this method takes one kind of parallel blocks, up to {_MOST_STEPS} times")
    return *several[0], [(part, n) for part, n in parts if len(part.alternatives()) == 1]


def _directions(loss: PrivacyLoss) -> tuple[Direction, ...]:
    blocks, _, rest = _split(loss)
    every = [*blocks.alternatives(), *(part for part, _ in rest)]
    return ("remove",) if all(part.variable("remove").symmetric for part in every) else ("remove", "add")


def _curve(loss: PrivacyLoss, direction: Direction, top: float) -> tuple[Array, Array]:
    """Upper bounds on delta at evenly spaced epsilons from -top to top."""
    blocks, times, rest = _split(loss)
    variables = [block.variable(direction) for block in blocks.alternatives()]
    others = [(part.variable(direction), n) for part, n in rest]
    scales = [s for s in map(deviation, [*variables, *(v for v, _ in others)]) if s > 0.0]
    low = -max(top, 1.0)
    step = max(min(scales, default=1.0) / _FINE, (top - low) / _NODES)
    nodes = step * np.arange(math.floor(low / step), math.ceil(top / step) + 1)
    laws = [_cut(lattice_law(variable, step), len(nodes)) for variable in variables]
    curve = np.maximum(-np.expm1(nodes), 0.0)
    curve = _Steps(laws, len(nodes), step).repeated(curve, times)
    for variable, n in others:
        law = lattice_law(variable, step).times(n)
        if len(law.mass) > _LONGEST:
            raise NoGuarantee("the losses beside the blocks are too wide for the grid of this method")
        curve = _Steps([_cut(law, len(nodes))], len(nodes), step).repeated(curve, 1)
    return nodes, curve


def _cut(law: LatticeLaw, most: int) -> LatticeLaw:
    """Losses beyond the whole window: upwards they count as infinite, downwards they move up to its end."""
    first, last = max(law.start, -most), min(law.start + len(law.mass) - 1, most)
    if first > last:
        raise NoGuarantee("one step of this composition is wider than the window of this method")
    inside = law.mass[first - law.start : last - law.start + 1].copy()
    inside[0] += law.mass[: first - law.start].sum()
    lost = float(law.mass[last - law.start + 1 :].sum())
    return LatticeLaw(first, inside, law.infinite + lost, law.error)


class _Steps:
    """h -> the largest over several laws of E[h(epsilon - L)] + mass at infinity, from above.

    Above the window h is taken as its last value; below it as the chord to h = 1 at exp(epsilon) = 0, since h is convex.
    """

    def __init__(self, laws: list[LatticeLaw], count: int, step: float) -> None:
        self.laws, self.count = laws, count
        self.before = max(0, *(law.start + len(law.mass) - 1 for law in laws))
        self.after = max(0, *(-law.start for law in laws))
        self.fading = np.exp(-step * np.arange(self.before, 0, -1)) * (1.0 - 1e-12)
        self.size = 1 << math.ceil(math.log2(count + self.before + self.after + max(len(law.mass) for law in laws)))
        self.spectra = [np.fft.rfft(law.mass, self.size) for law in laws]
        # a transform errs by at most 8 u log2(size) of the 2-norm; there are three of them
        unit = 24.0 * UNIT_ROUNDOFF * math.log2(self.size)
        self.errors = [unit * float(np.linalg.norm(law.mass)) for law in laws]

    def repeated(self, curve: Array, times: int) -> Array:
        """The curve of `times` such steps."""
        for _ in range(times):
            padded = np.concatenate((1.0 - self.fading * (1.0 - curve[0]), curve, np.full(self.after, curve[-1])))
            spectrum, norm = np.fft.rfft(padded, self.size), float(np.linalg.norm(padded))
            rows = zip(self.laws, self.spectra, self.errors, strict=True)
            curve = np.max([self._one(spectrum * own, law, error * norm) for law, own, error in rows], axis=0)
        return curve

    def _one(self, product: Array, law: LatticeLaw, error: float) -> Array:
        start = self.before - law.start
        found = np.fft.irfft(product, self.size)[start : start + self.count]
        return np.clip(found * (1.0 + law.error) + error + law.infinite, 0.0, 1.0)


def _crossing(nodes: Array, curve: Array, index: int, delta: float) -> float:
    """The epsilon where the chord between two upper values reaches delta; the true curve is convex in e^epsilon."""
    if index == 0:
        return float(nodes[0])
    (a, b), (high, low) = np.exp(nodes[index - 1 : index + 1]), curve[index - 1 : index + 1]
    share = (high - delta) / (high - low) if high > low else 1.0
    return min(float(nodes[index]), math.log(a + share * (b - a)) + 1e-12)
