"""A pair whose observer is told which of several cases happened, each with its own pair."""

from dataclasses import dataclass

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, Array
from privet.privacy.variable import Atoms, Enclosure, LossVariable


@dataclass(frozen=True, eq=False)
class FlaggedVariable(LossVariable):
    """Case i happens with probability w_i in both worlds and is seen; then the outcome is that of its pair.

    By joint convexity it dominates the pair whose observer is not told. Curves, masses and enclosures add up.

    >>> from privet import privacy
    >>> one, two = (privacy.PureLoss(e).variable("remove") for e in (0.0, 1.0))
    >>> both = FlaggedVariable(((0.75, one), (0.25, two)))
    >>> round(float(both.delta(0.0)) / float(two.delta(0.0)), 12)
    0.25
    """

    cases: tuple[tuple[float, LossVariable], ...]
    lost: float = 0.0  # probability of cases that are left out: they are taken to give everything away

    @property
    def p_only(self) -> float:
        return self.lost + sum(w * v.p_only for w, v in self.cases)

    @property
    def q_only(self) -> float:
        return self.lost + sum(w * v.q_only for w, v in self.cases)

    @property
    def discrete(self) -> bool:
        return all(v.discrete for _, v in self.cases)

    @property
    def symmetric(self) -> bool:
        return all(v.symmetric for _, v in self.cases)

    def reversed(self) -> LossVariable:
        return self if self.symmetric else super().reversed()

    def atoms(self) -> Atoms:
        rows = [(w, v.atoms()) for w, v in self.cases]
        losses, where = np.unique(np.concatenate([a.losses for _, a in rows]), return_inverse=True)
        p, q = (
            np.bincount(where, weights=np.concatenate([w * a[side] for w, a in rows]), minlength=len(losses))
            for side in (1, 2)
        )
        return Atoms(losses, p, q)

    def cells(self, nodes: Array) -> tuple[Array, Array]:
        p, q = np.zeros(len(nodes) + 1), np.zeros(len(nodes) + 1)
        for w, v in self.cases:
            if not v.discrete:
                p_one, q_one = v.cells(nodes)
                p += w * p_one
                q += w * q_one
        return p, q

    def span(self, tail: float) -> tuple[float, float]:
        share = tail / len(self.cases)
        ends = [v.span(min(0.25, share / w)) for w, v in self.cases if w > share and not v.discrete]
        return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (0.0, 0.0)

    def points(self, count: int, tail: float) -> Array:
        share = tail / len(self.cases)
        seen = [(w, v) for w, v in self.cases if w > share and not v.discrete]
        if not seen:
            return np.array([0.0])
        each = max(count // len(seen), 16)
        return np.unique(np.concatenate([v.points(each, min(0.25, share / w)) for w, v in seen]))

    @property
    def mass_error(self) -> float:
        return max(v.mass_error for _, v in self.cases) + 2.0 * len(self.cases) * UNIT_ROUNDOFF

    def enclose(self, epsilon: float) -> Enclosure:
        return self._added([(w, v.enclose(epsilon)) for w, v in self.cases])

    def enclose_mirrored(self, epsilon: float) -> Enclosure:
        return self._added([(w, v.enclose_mirrored(epsilon)) for w, v in self.cases])

    def _added(self, rows: list[tuple[float, Enclosure]]) -> Enclosure:
        margin = 4.0 * len(rows) * UNIT_ROUNDOFF
        low, high = (sum(w * ends[side] for w, ends in rows) for side in (0, 1))
        return low * (1.0 - margin), min(1.0, high * (1.0 + margin) + self.lost)

    @property
    def least(self) -> float:
        return max(v.least for _, v in self.cases)
