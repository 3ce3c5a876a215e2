"""Questions about heavy-tailed sums: plan for jumps, answer, and plan again at the answer until it is narrow enough."""

import math
from collections.abc import Callable
from dataclasses import replace

from privet._numerics import TINY
from privet.accounting.pld.heavy import Guess, HeavyPlan, heavy_plan, outline_of
from privet.accounting.pld.interval import Interval, intersected
from privet.accounting.pld.law import LOWER, UPPER, Layers
from privet.accounting.pld.levels import compose_levels
from privet.accounting.pld.plan import Parts
from privet.accounting.pld.rounding import lower_law, upper_law
from privet.privacy import Direction

_PASSES = 7  # with a finer grid or a better plan each: tightness and time, the ends of every one hold
# Passes without a lower end: then one cell holds nearly every step, and takes its balance from the jumps, of which none are
# left. Its width follows. (With many steps the rounding of masses weighs more the finer the grid: no leap before.)
_PATIENT = 2
_FAIR = 1e-3  # a share of the value, for epsilon, that is narrow enough in any case: width and time
_POOR = 8e-3  # a share of the value from which on a finer grid than usual is worth its price
_FIRST = 16.0  # a first look may be this much less accurate
_OFF = 0.08  # a plan made for a loss this far from the answer is made again
_TINY = -40.0  # the logarithm of a delta for which a rough grid shows nothing
_LEAST = 1e-285  # a delta that the accountant would still take up


class JumpSearch:
    """One direction of a heavy-tailed sum, asked for epsilon at a delta or for delta at an epsilon."""

    def __init__(self, parts: Parts, direction: Direction, *, delta: float, epsilon: float | None = None) -> None:
        self.parts, self.direction, self.asked = parts, direction, epsilon
        self.outline, self.tail = outline_of(parts, direction, delta)
        self.guess = Guess(self.outline)
        self.log_delta = math.log(delta)
        self.capped = False  # was a grid coarser than the one that was wanted?
        self.nothing = math.inf if epsilon is None else 1.0  # an upper end that says nothing
        self.fair = _FAIR if epsilon is None else 2.0 * _FAIR  # a share of the value that is narrow enough in any case
        if epsilon is None:
            self.epsilon = self.guess.epsilon(self.log_delta)
            self.target = delta
        else:
            self.epsilon = epsilon
            for _ in range(4):  # the smaller the delta, the further out the laws may be cut
                self.log_delta = self.guess.log_delta(epsilon)
                if self.log_delta >= math.log(delta):
                    break
                delta = max(math.exp(self.log_delta - 7.0), _LEAST)
                self.outline, self.tail = outline_of(parts, direction, delta)
                self.guess = Guess(self.outline)

    def _plan(self) -> HeavyPlan:
        slope = self.guess.slope(max(self.epsilon, 1e-6 * self.outline.top))
        return heavy_plan(self.outline, self.tail, self.log_delta, self.epsilon, slope)

    def _ends(self, plan: HeavyPlan, step: float, *, two_sided: bool) -> Interval:
        ends = []
        for side, rounded in ((LOWER, lower_law), (UPPER, upper_law)):
            if side is LOWER and not two_sided:
                ends.append(0.0)
                continue
            laws = [
                (rounded(loss, self.direction, step, plan.tail, plan.order, plan.fine), n) for loss, n in self.parts
            ]
            profile = Layers(compose_levels(laws, step, plan), side, 0.0, self.epsilon)
            ends.append(profile.delta(self.asked) if self.asked is not None else max(0.0, profile.epsilon(self.target)))
        return Interval(ends[0], ends[1])

    def _is_off(self, found: Interval) -> bool:
        """Was the plan made for another place than the answer? Then the next one is made for that."""
        if self.asked is not None:
            if found.upper >= 1.0:
                return False
            ends = [math.log(max(end, TINY)) for end in (found.lower, found.upper)]
            before, self.log_delta = self.log_delta, min(max(self.log_delta, ends[0]), ends[1])
            return abs(before - self.log_delta) > 2.0
        before, least = self.epsilon, 1e-9 * self.outline.top
        self.epsilon = min(max(self.epsilon, found.lower), found.upper)
        return abs(before - self.epsilon) > _OFF * max(min(before, self.epsilon), least)

    def _unit(self, plan: HeavyPlan, allowed: Callable[[Interval], float]) -> float:
        """The width of epsilon that is aimed at; a change of delta is one of epsilon through the slope."""
        if self.asked is None:
            return allowed(Interval(0.0, max(self.epsilon, 1e-12)))
        about = math.exp(min(self.log_delta, 0.0))
        return allowed(Interval(0.0, about)) / max(plan.slope * about, TINY)  # at 1e60 the slope is next to nothing

    def interval(
        self, allowed: Callable[[Interval], float], start: Interval, *, two_sided: bool, ignored: float = -math.inf
    ) -> Interval:
        """The answer, refined until it is as narrow as allowed, or cannot be made narrower at a fair price.

        An upper end of at most `ignored` is narrow enough.
        """
        best, plan, before = start, self._plan(), math.inf
        share = _FIRST if self.log_delta > _TINY else 2.0
        step = plan.step_for(share * self._unit(plan, allowed))
        for number in range(_PASSES):
            if not plan.known:
                self.capped = True
                break
            least = plan.least_step(poor=two_sided and number > 0 and not best.is_within(_POOR * best.upper))
            self.capped |= step < least
            step = max(step, least)
            found = self._ends(plan, step, two_sided=two_sided)
            best = intersected(best, found)
            width = found.upper - found.lower
            if best.upper <= ignored:
                break
            if two_sided and best.is_within(max(allowed(best), self.fair * best.upper)):
                break
            off = number < _PASSES - 2 and self._is_off(found)
            if off:
                plan = self._plan()
            elif step <= plan.least_step(poor=two_sided and not best.is_within(_POOR * best.upper)):
                self.capped = True
                break
            elif two_sided and found.settled and width > 0.9 * before:
                break
            if not two_sided:
                if not off and share <= 1.0 and found.upper < self.nothing:
                    break
                finer = 1.0 if off or share > 1.0 else 0.4
                share = share if off else 1.0
                step = min(finer * step, plan.step_for(share * self._unit(plan, allowed)))
                continue
            before = width if found.settled and not off else math.inf
            finer = math.sqrt(0.6 * allowed(best) / width) if found.settled and width > 0.0 else 0.4
            step *= min(1.0 if off else 0.7, max(0.15, finer))
            if not found.settled and number >= _PATIENT:
                step = min(step, self.outline.narrowest)
        return replace(best, coarse=best.coarse or self.capped)
