"""The two questions that are put to a composition: epsilon at a delta, and delta at an epsilon."""

import math
from typing import final

from privet._numerics import TINY
from privet.accounting.pld.far import far_delta, far_epsilon
from privet.accounting.pld.interval import Interval
from privet.accounting.pld.jumps import JumpSearch
from privet.accounting.pld.law import Profile
from privet.accounting.pld.plan import Parts, Plan, make_plan
from privet.privacy import Direction

_SMALL = 0.004  # share of a small epsilon; an interval twice as wide, still below 1%, is taken without a second try
_BUNDLED, _MIXED = 0.14, 0.01  # measured: what a first grid may aim at where atoms lie between its nodes


@final
class EpsilonAt:
    """The smallest epsilon >= 0 at a delta: what to plan for, how to read the answer, and how narrow it shall be."""

    floor = 0.0  # the lowest epsilon that is asked about
    unknown = Interval(0.0, math.inf)

    def __init__(self, parts: Parts, tol: float, delta: float) -> None:
        self.parts, self.tol, self.delta = parts, tol, delta

    def plan(self, direction: Direction) -> tuple[Plan, float]:
        """The plan for one direction, with the size of delta that its tails are made for."""
        return make_plan(self.parts, direction, delta=self.delta), self.delta

    def jumps(self, direction: Direction) -> JumpSearch:
        """The search that tells paths by their largest step."""
        return JumpSearch(self.parts, direction, delta=self.delta)

    def read(self, profile: Profile) -> float:
        """The answer, off a profile."""
        return max(0.0, profile.epsilon(self.delta))

    def is_settled_by(self, most: float, upper: float) -> bool:
        """Can a direction whose losses add up to at most `most` not raise this upper end?"""
        return most <= upper

    def far(self) -> Interval | None:
        """The answer by a normal law, which very many steps of some kinds are close to."""
        return far_epsilon(self.parts, self.delta)

    def allowed(self, found: Interval) -> float:
        """The width of the interval that is aimed at."""
        return _width(found.upper, self.tol)

    def least_width(self, found: Interval) -> float:
        """A width below which no grid gets."""
        return _least_width(self.parts)

    def share(self, plan: Plan) -> float:
        """The relative width that a first grid aims at."""
        guess = max(0.05, plan.target)
        return _width(guess, self.tol) / guess * _harder(self.parts)

    def point(self, found: Interval) -> tuple[float, float]:
        """The (epsilon, delta) that an upper end claims."""
        return found.upper, self.delta


@final
class DeltaAt:
    """delta at an epsilon, in the same words.

    The relative width aimed at is tol (1 + ln(1/delta)): what moving epsilon by about tol does to delta.
    """

    unknown = Interval(0.0, 1.0)

    def __init__(self, parts: Parts, tol: float, epsilon: float) -> None:
        self.parts, self.tol = parts, tol
        self.epsilon = self.floor = epsilon

    def plan(self, direction: Direction) -> tuple[Plan, float]:
        return _plan_at(self.parts, direction, self.epsilon)

    def jumps(self, direction: Direction) -> JumpSearch:
        return JumpSearch(self.parts, direction, delta=1e-12, epsilon=self.epsilon)

    def read(self, profile: Profile) -> float:
        return profile.delta(self.epsilon)

    def is_settled_by(self, most: float, upper: float) -> bool:
        return most <= self.epsilon or self.epsilon == 0.0  # total variation is the same in both directions

    def far(self) -> Interval | None:
        return far_delta(self.parts, self.epsilon)

    def allowed(self, found: Interval) -> float:
        return self.tol * found.upper * (1.0 - math.log(max(found.upper, TINY)))

    def least_width(self, found: Interval) -> float:
        steepness = max(1.0, -math.log(max(found.upper, TINY)) / max(self.epsilon, 1e-3))  # about that of ln delta
        return steepness * _least_width(self.parts) * found.upper

    def share(self, plan: Plan) -> float:
        return self.tol / 4.0

    def point(self, found: Interval) -> tuple[float, float]:
        return self.epsilon, found.upper


Question = EpsilonAt | DeltaAt


def _width(epsilon: float, tol: float) -> float:
    """The width aimed at: tol, absolute below 1 and relative above, but never more than 0.4% of a small epsilon."""
    return max(min(tol * max(epsilon, 1.0), _SMALL * epsilon), 1e-9)


def _least_width(parts: Parts) -> float:
    """The least width that a grid is charged for its masses alone, at both ends: no interval of epsilon from it is
    narrower."""
    return 4.0 * math.fsum(n * loss.variable("remove").mass_error for loss, n in parts)


def _harder(parts: Parts) -> float:
    """By how much a first grid should aim lower where atoms lie between its nodes: the lower law loses more there."""
    variables = [loss.variable("remove") for loss, _ in parts]
    spacings = {v.lattice[1] for v in variables if v.lattice is not None}
    if len(parts) < 2 or (len(spacings) < 2 and all(v.lattice is not None or not v.discrete for v in variables)):
        return 1.0
    return _BUNDLED if all(v.discrete for v in variables) else _MIXED


def _plan_at(parts: Parts, direction: Direction, epsilon: float) -> tuple[Plan, float]:
    """A plan for delta(epsilon), with the size of delta that its tails are made for: found by repeating the plan."""
    guess = 1e-12
    for _ in range(12):
        plan = make_plan(parts, direction, delta=guess, epsilon=epsilon)
        expected = max(math.exp(max(plan.log_delta - 4.0, -640.0)), 1e-280)
        if expected >= guess:
            break
        guess = expected
    return plan, guess
