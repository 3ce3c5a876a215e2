"""A composed law of which only a few frequencies are kept, and its profile."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from privet._numerics import ROOMY_EXPONENT, TINY, UNIT_ROUNDOFF
from privet.accounting.pld.law import UPPER, ComposedLaw, Profile, Side

_NEWTON = 1e-7  # a step this small (as a share) ends the search


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class BandLaw(ComposedLaw):
    """The few frequencies of the tilted law that are not negligible.

    The mass at node j, counted from the lowest possible sum, is Re sum_k c_k F_k e^{-2 pi i k j/N} / N with c_0 = 1 and all
    other c_k = 2; the window starts at node `first`.
    """

    lowest: float  # the loss of node 0
    first: int
    nodes: int  # N
    spectrum: NDArray[np.complex128]
    guess: float  # where epsilon may be looked for

    @property
    def length(self) -> int:
        return self.nodes

    @property
    def bottom(self) -> float:
        return self.lowest + self.first * self.step

    @property
    def top(self) -> float:
        return self.lowest + (self.first + self.nodes - 1) * self.step

    def profile(self, side: Side, floor: float = -math.inf) -> "BandProfile":
        return BandProfile(self, side, floor)


@final
class BandProfile(Profile):
    """The profile of a law of a few frequencies.

    The sum over all nodes above e of e^{-t(x - e)} times a wave is a geometric series, and so is the one with t + 1; thus
    delta is a short sum over the frequencies, at any e.
    """

    def __init__(self, law: BandLaw, side: Side, floor: float) -> None:
        self.law, self.side = law, side
        self.factor, self.constant = side.factor(law.mass_error), side.constant(law)
        self.bottom = law.bottom
        self.top = self.bottom + (law.nodes - 1) * law.step
        self.floor = max(floor - law.shift - 2.0 * law.step, self.bottom)
        self.frequency = np.arange(len(law.spectrum))
        twice = np.where(self.frequency > 0, 2.0, 1.0) * law.spectrum / law.nodes
        turn = 2.0j * np.pi / law.nodes * self.frequency
        self.rates = max(law.tilt, TINY) * law.step, (law.tilt + 1.0) * law.step
        series = np.array([twice / -np.expm1(-(rate + turn)) for rate in self.rates])
        self.real, self.imag = np.ascontiguousarray(series.real), np.ascontiguousarray(series.imag)
        self.ends = self._series(law.first)
        # every term is off by at most 64 u, the sums over the terms by their number; here and at the end of the window
        terms = 2.0 * (128.0 + len(twice)) * UNIT_ROUNDOFF
        self.error = law.error_weight + terms * float(np.abs(series).sum())

    def _series(self, node: int) -> list[float]:
        """The geometric series from a node on (never ending), for P and for Q."""
        nodes = self.law.nodes
        angle = (self.frequency * (node % nodes)) % nodes * (2.0 * np.pi / nodes)
        sums: list[float] = (self.real @ np.cos(angle) + self.imag @ np.sin(angle)).tolist()  # a few hundred terms
        return sums

    def _at(self, loss: float) -> tuple[float, float]:
        """delta on the safe side, and minus its slope (roughly), at a loss inside the window."""
        law = self.law
        exponent = law.log_scale - law.tilt * loss
        if exponent > ROOMY_EXPONENT:
            return self.side.unknown(self.constant), 0.0
        node = min(max(law.first, math.floor((loss - law.lowest) / law.step) + 1), law.first + law.nodes - 1)
        gap, left = law.lowest + node * law.step - loss, law.first + law.nodes - node
        scale = math.exp(exponent)
        p, q = (
            scale * math.exp(-(law.tilt + i) * gap) * (whole - math.exp(-rate * left) * end)
            for i, (whole, rate, end) in enumerate(zip(self._series(node), self.rates, self.ends, strict=True))
        )
        charge = scale * self.error
        value = self.side.charged((p - q) * self.factor, charge)
        fall = charge * law.tilt if self.side is UPPER else 0.0
        return min(1.0, self.constant + value), max(q, 0.0) * self.factor + fall

    def delta(self, epsilon: float) -> float:
        at = epsilon - self.side.sign * self.law.shift
        if at < self.bottom and not self.law.complete_below:
            return self.side.unknown(self.constant)
        if at >= self.top:
            return self._at(self.top)[0] if self.side is UPPER else self.constant
        return self._at(at)[0]

    def epsilon(self, delta: float) -> float:
        """Newton steps on ln delta. That curve is not concave for sampled losses (heavy right tails), so the bracket is
        halved wherever a step would leave it or does not shrink; the point returned has been tried."""
        if self.constant >= delta:
            return math.inf
        law = self.law
        bad, good = self.floor, self.top  # ends of the search; neither is tried unless the search comes there
        at, before = min(max(law.guess, bad), good), math.inf
        for _ in range(200):
            value, slope = self._at(at)
            if value > delta:
                bad = max(bad, at)
            else:
                good = min(good, at)
            if at == self.floor and value <= delta:
                return self.side.end(-math.inf, self.floor + law.shift)
            excess = value - self.constant
            known = slope > 0.0 and excess > 0.0
            move = excess / slope * math.log(excess / (delta - self.constant)) if known else math.inf
            if abs(move) <= _NEWTON * (1.0 + abs(at)):  # the next one would be about its square
                at = min(max(at + move, bad), good)
                break
            if good - bad <= 1e-12 * (1.0 + abs(at)):
                break
            following = at + move
            if not bad < following < good or abs(move) > 0.5 * before:
                following = 0.5 * (bad + good)
            at, before = following, abs(following - at)
        return self._tried(at, delta)

    def _tried(self, at: float, delta: float) -> float:
        """A point close to `at`, on the safe side, at which the claim has been checked."""
        sign, margin = self.side.sign, 1e-13 * (1.0 + abs(at))
        while self.floor <= at <= self.top:
            if self.side.proves(self._at(at)[0], delta):
                return at + sign * self.law.shift
            at, margin = at + sign * margin, 4.0 * margin
        return self.side.no_epsilon
