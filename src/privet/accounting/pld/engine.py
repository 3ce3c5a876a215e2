"""The two-sided engine: plan, round, compose, answer; refine the grid until the interval is narrow enough."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from privet._cache import forget
from privet._numerics import TINY, Array
from privet.accounting.pld.answer import BandProfile, Profile, profile_of
from privet.accounting.pld.compose import ComposedLaw, compose
from privet.accounting.pld.far import far_delta, far_epsilon
from privet.accounting.pld.interval import Interval, intersected, larger_of
from privet.accounting.pld.jumps import JumpSearch
from privet.accounting.pld.plan import Parts, Plan, Priced, make_plan, step_tail
from privet.accounting.pld.rounding import lower_law, upper_law
from privet.accounting.pld.single import single_delta, single_epsilon
from privet.errors import InternalError
from privet.privacy import Direction, LossVariable
from privet.privacy.variable import DIRECTIONS

_MOST_NODES = 1 << 22  # of one window: 64 MB a transform
_MOST_WORK = 1 << 26  # nodes of all parts together
_WIDTH_LAW = 0.3  # measured: relative width of the interval is 0.1 to 0.3 (h / std of one loss)^2
_PASSES = 5
_DEAR = 1_200_000  # nodes
_OFF = 1.3  # a target this much above the loss that decides shows a heavy tail
_ABOVE = 3.0  # the same for the logarithm of delta
_OFTEN = 2.0
_LONG = 300.0  # standard deviations of the sum in a window
_MANY = 100_000  # steps whose sum has few frequencies left
_FAR = 20_000_000  # steps from which on a normal law is asked first; below, where the grid leaves much open
_FORBIDDING = 4_000_000  # nodes that are never used for a second try
_FAIR = 0.005  # share of the value
_BUNDLED, _MIXED = 0.2, 0.015  # measured: what a first grid may aim at where atoms lie between its nodes
_POOR = 2.0  # an interval this much wider than asked for is worth a second try
_ROUGHER = 16.0  # a first look may be this much less accurate
_CURVE_FLOOR = 1e-9  # the whole curve is computed without tilt, to about this absolute accuracy

Mode = Literal["two-sided", "upper", "quick"]


_UNKNOWN = Interval(0.0, math.inf)


def _directions(parts: Parts) -> tuple[Direction, ...]:
    """One direction is enough when every pair is its own mirror image."""
    return ("remove",) if all(loss.variable("remove").symmetric for loss, _ in parts) else ("remove", "add")


def _wanted_step(plan: Plan, tol: float) -> float:
    """The step for the wanted relative width."""
    return plan.step_scale * math.sqrt(tol / _WIDTH_LAW)


def _coarsest(parts: Parts, plan: Plan) -> float:
    """No step is finer than this: so many nodes fit into memory, and so many nodes of all parts into a few seconds."""
    return max(plan.high - plan.low, plan.part_width) / min(_MOST_NODES, _MOST_WORK / len(parts))


def _grid_step(parts: Parts, plan: Plan, tol: float) -> float:
    """A step for the wanted relative width: on the lattice of the atoms if there is one, else a power of sqrt(2)."""
    if plan.part_width == 0.0:
        return 1.0  # every loss is zero
    wanted = max(_wanted_step(plan, tol), _coarsest(parts, plan), TINY)
    variables = [(loss.variable("remove"), n) for loss, n in parts]
    lattices = {v.lattice[1]: n for v, n in variables if v.lattice is not None and math.isfinite(v.lattice[1])}
    if lattices:
        spacing = max(lattices, key=lambda s: lattices[s])
        discrete = all(v.discrete for v, _ in variables)
        aligned = discrete and len(lattices) == 1 and all(v.lattice is not None for v, _ in variables)
        if aligned and (plan.high - plan.low) / spacing < _MOST_NODES:
            return spacing  # every atom lies on the grid: nothing is rounded
        if spacing >= wanted:
            return spacing / math.ceil(spacing / wanted - 1e-9)
    return float(2.0 ** (math.floor(2.0 * math.log2(wanted)) / 2.0))


def _profiles(
    parts: Parts, direction: Direction, plan: Plan, step: float, delta: float, *, two_sided: bool, floor: float = 0.0
) -> tuple[Profile | BandProfile, Profile | BandProfile | None]:
    """Upper and lower profile of the composition in one direction, from `floor` upwards."""
    tail = step_tail(delta, sum(n for _, n in parts))
    upper = compose([(upper_law(loss, direction, step, tail, plan.order), n) for loss, n in parts], step, plan)
    if not two_sided:
        return profile_of(upper, "upper", floor), None
    lower = compose([(lower_law(loss, direction, step, tail, plan.order), n) for loss, n in parts], step, plan)
    return profile_of(upper, "upper", floor), profile_of(lower, "lower", floor)


class _Question:
    """One question put to both directions: how to plan for it, and how to read the answer off a profile."""

    def __init__(
        self, parts: Parts, plan: Callable[[Direction], tuple[Plan, float]], read: Callable[[Any], float], floor: float
    ) -> None:
        self.parts, self.make, self.read, self.floor = parts, plan, read, floor
        self.first, *self.others = _directions(parts)
        self.plans: dict[Direction, tuple[Plan, float]] = {}
        self.rough: dict[Direction, float] = {}
        self.capped = False  # was a grid coarser than the one that was wanted?

    def plan(self, direction: Direction) -> tuple[Plan, float]:
        """The plan for one direction, with the size of delta that its tails are made for."""
        if direction not in self.plans:
            self.plans[direction] = self.make(direction)
        return self.plans[direction]

    def ends(
        self, direction: Direction, share: float, planned: Direction, *, two_sided: bool, look: bool = False
    ) -> tuple[float, float]:
        """Both ends in one direction; the plan may be that of the other one. A mere look may be as coarse as it likes."""
        plan, delta = self.plan(planned)
        step = _grid_step(self.parts, plan, share)
        self.capped |= not look and _wanted_step(plan, share) < _coarsest(self.parts, plan)
        profiles = _profiles(self.parts, direction, plan, step, delta, two_sided=two_sided, floor=self.floor)
        return self.read(profiles[1]) if profiles[1] else 0.0, self.read(profiles[0])

    def larger(self, share: float, *, two_sided: bool) -> Interval:
        """The larger of both directions, each end for itself.

        The second direction is looked at first with the plan of the other one, from above only and coarsely: most often
        that is enough to see that the first one decides.
        """
        lower, upper = self.ends(self.first, share, self.first, two_sided=two_sided)
        for direction in self.others:
            if direction not in self.rough:
                coarse = _ROUGHER * share if two_sided else share
                self.rough[direction] = self.ends(direction, coarse, self.first, two_sided=False, look=True)[1]
            if not self.rough[direction] <= upper:
                own = self.ends(direction, share, direction, two_sided=two_sided)
                lower, upper = max(lower, own[0]), max(upper, own[1])
        return Interval(lower, upper)

    def nodes(self, share: float) -> float:
        """How long a window the plain way would use."""
        plan = self.plan(self.first)[0]
        return (plan.high - plan.low) / _grid_step(self.parts, plan, share)

    def judged(self, found: Interval, allowed: Callable[[Interval], float], mode: Mode) -> Interval:
        """The answer, which says so where the limit on nodes left it wider than asked for."""
        wide = mode != "two-sided" or found.upper - found.lower > allowed(found)
        return replace(found, coarse=(self.capped or found.coarse) and wide)

    def looks_heavy(self, share: float, jumps: Callable[[Direction], JumpSearch]) -> bool:
        """Does the plan look far beyond the loss that decides? (Asked only where the plain way would be costly.)"""
        if self.nodes(share) <= _DEAR:
            return False
        plan = self.plan(self.first)[0]
        if plan.target > _OFTEN * plan.part_width:
            return False  # it takes several of the largest steps: a few cannot decide
        spread = plan.step_scale * math.sqrt(sum(n for _, n in self.parts))
        steps = sum(n for _, n in self.parts)
        if plan.high - plan.low > _LONG * spread or (self.nodes(share) > 2.0 * _DEAR and steps < _MANY):
            return True
        search = jumps(self.first)
        expected = plan.log_delta - (plan.target - plan.guess) * plan.order  # of a normal law
        return plan.target > _OFF * search.epsilon or expected > search.log_delta + _ABOVE

    def by_jumps(
        self,
        share: float,
        allowed: Callable[[Interval], float],
        jumps: Callable[[Direction], JumpSearch],
        start: Interval,
        *,
        mode: Mode,
    ) -> Interval:
        """The larger of both directions; the second is asked plainly first, as its tail is most often light."""
        two_sided = mode == "two-sided"
        found = jumps(self.first).interval(allowed, start, two_sided=two_sided)
        for direction in self.others:
            if self.ends(direction, _ROUGHER * share, direction, two_sided=False, look=True)[1] <= found.upper:
                continue
            search = jumps(direction)
            rough = search.interval(allowed, start, two_sided=False, ignored=found.upper)
            if rough.upper <= found.upper:
                continue

            def once(part: float, one: Direction = direction) -> Interval:
                return Interval(*self.ends(one, part, one, two_sided=two_sided))

            own = intersected(rough, _refine(once, share, allowed, mode=mode, start=start))
            if own.upper > found.upper and own.upper - own.lower > allowed(own):
                own = intersected(own, search.interval(allowed, start, two_sided=two_sided))
            found = larger_of(found, own)
        return found


def _both(loss: Priced) -> list[LossVariable]:
    return [loss.variable(direction) for direction in DIRECTIONS]


def _is_single(parts: Parts) -> bool:
    return len(parts) == 1 and parts[0][1] == 1


def _confirm(parts: Parts, epsilon: float, delta: float) -> None:
    """One release alone never costs more than the whole: a check that shares no code with the composition."""
    if not math.isfinite(epsilon):
        return
    for direction in _directions(parts):
        for loss, _ in parts:
            alone = loss.variable(direction).enclose(epsilon)[0]
            if alone > delta * (1.0 + 1e-6):
                raise InternalError(
                    f"one {loss.kind} release alone has delta {alone:.3g} at epsilon {epsilon:.6g}, more than the "
                    f"{delta:.3g} computed for the composition; please report this"
                )


def epsilon_interval(parts: Parts, delta: float, tol: float, *, mode: Mode = "two-sided") -> Interval:
    """Enclose the smallest epsilon >= 0 for this delta."""
    alone = single_epsilon(parts[0][0], delta) if _is_single(parts) else None
    if alone is not None:
        return Interval(alone[0] if mode != "upper" else 0.0, alone[1])
    if math.fsum(n * max(v.enclose(0.0)[1] for v in _both(loss)) for loss, n in parts) <= delta:
        return Interval(0.0, 0.0)  # total variation adds up at most

    def allowed(found: Interval) -> float:
        return _width(found.upper, tol)

    first = sum(n for _, n in parts) >= _FAR
    start = (far_epsilon(parts, delta) if first else None) or _UNKNOWN
    if first and _is_narrow(start, lambda found: max(allowed(found), _least_width(parts))):
        _confirm(parts, start.upper, delta)
        return start
    question = _Question(
        parts,
        lambda direction: (make_plan(parts, direction, delta=delta), delta),
        lambda profile: max(0.0, profile.epsilon(delta)),
        0.0,
    )

    guess = max(0.05, question.plan(question.first)[0].target)
    share = _width(guess, tol) / guess * _harder(parts)

    def jumps(direction: Direction) -> JumpSearch:
        return JumpSearch(parts, direction, delta=delta)

    result = _answer(question, share, allowed, jumps, mode=mode, start=start)
    # Where the lower end is only looked at roughly, width says nothing about the upper one.
    wide = mode == "two-sided" and not _is_narrow(
        result, lambda found: max(_POOR * allowed(found), _FAIR * found.upper)
    )
    if wide and not first:
        result = intersected(result, far_epsilon(parts, delta) or _UNKNOWN)
    result = question.judged(result, allowed, mode)
    _confirm(parts, result.upper, delta)
    return result


def _is_narrow(found: Interval, allowed: Callable[[Interval], float]) -> bool:
    return math.isfinite(found.upper) and found.upper - found.lower <= allowed(found)


def _least_width(parts: Parts) -> float:
    """What a grid is charged for its masses alone, at both ends: no interval of epsilon from it is narrower."""
    return 4.0 * math.fsum(n * loss.variable("remove").mass_error for loss, n in parts)


def _harder(parts: Parts) -> float:
    """By how much a first grid should aim lower where atoms lie between its nodes: the lower law loses more there."""
    variables = [loss.variable("remove") for loss, _ in parts]
    spacings = {v.lattice[1] for v in variables if v.lattice is not None}
    if len(parts) < 2 or (len(spacings) < 2 and all(v.lattice is not None or not v.discrete for v in variables)):
        return 1.0
    return _BUNDLED if all(v.discrete for v in variables) else _MIXED


def _answer(
    question: _Question,
    share: float,
    allowed: Callable[[Interval], float],
    jumps: Callable[[Direction], JumpSearch],
    *,
    mode: Mode,
    start: Interval,
) -> Interval:
    """The plain way, or the one that tells paths by their largest step: first the one that promises to be quick.

    Where the first leaves the interval wide, the other one is tried too.
    """
    two_sided = mode == "two-sided"

    def plainly() -> Interval:
        return _refine(lambda part: question.larger(part, two_sided=two_sided), share, allowed, mode=mode, start=start)

    def by_jumps() -> Interval:
        return question.by_jumps(share, allowed, jumps, start, mode=mode)

    heavy = question.looks_heavy(share, jumps)
    result = by_jumps() if heavy else plainly()
    width = result.upper - result.lower
    poor = math.isinf(width) or (two_sided and width > max(_POOR * allowed(result), _FAIR * result.upper))
    if poor and not (heavy and question.nodes(share) > _FORBIDDING):
        result = intersected(result, plainly() if heavy else by_jumps())
    return result


def _width(epsilon: float, tol: float) -> float:
    """The width aimed at: tol, absolute below 1 and relative above, but never more than 1% of a small epsilon."""
    return max(min(tol * max(epsilon, 1.0), 0.01 * epsilon), 1e-9)


def delta_interval(parts: Parts, epsilon: float, tol: float, *, mode: Mode = "two-sided") -> Interval:
    """Enclose delta(epsilon), the larger of both directions; the relative width aimed at is tol (1 + ln(1/delta)).

    That is what moving epsilon by about tol does to delta.
    """
    alone = single_delta(parts[0][0], epsilon) if _is_single(parts) else None
    if alone is not None:
        return Interval(alone[0] if mode != "upper" else 0.0, alone[1])

    def allowed(found: Interval) -> float:
        return tol * found.upper * (1.0 - math.log(max(found.upper, TINY)))

    first = sum(n for _, n in parts) >= _FAR
    start = (far_delta(parts, epsilon) if first else None) or Interval(0.0, 1.0)
    steepness = max(1.0, -math.log(max(start.upper, TINY)) / max(epsilon, 1e-3))  # about that of ln delta
    if first and _is_narrow(start, lambda found: max(allowed(found), steepness * _least_width(parts) * found.upper)):
        _confirm(parts, epsilon, start.upper)
        return start
    question = _Question(
        parts,
        lambda direction: _plan_at(parts, direction, epsilon),
        lambda profile: profile.delta(epsilon),
        epsilon,
    )

    def jumps(direction: Direction) -> JumpSearch:
        return JumpSearch(parts, direction, delta=1e-12, epsilon=epsilon)

    result = _answer(question, tol / 4.0, allowed, jumps, mode=mode, start=start)
    # Where the lower end is only looked at roughly, width says nothing about the upper one.
    wide = mode == "two-sided" and not _is_narrow(
        result, lambda found: max(_POOR * allowed(found), _FAIR * found.upper)
    )
    if wide and not first:
        result = intersected(result, far_delta(parts, epsilon) or Interval(0.0, 1.0))
    result = question.judged(result, allowed, mode)
    _confirm(parts, epsilon, result.upper)
    return result


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


def _refine(
    once: Callable[[float], Interval],
    tol: float,
    allowed: Callable[[Interval], float],
    *,
    mode: Mode,
    start: Interval = _UNKNOWN,
) -> Interval:
    """Repeat with a finer grid until the interval is narrow enough, or refining no longer helps.

    Without a lower end ("upper") the width is judged by what the last refinement gained; "quick" trusts the first grid.
    """
    best, share, before = start, tol if mode != "quick" else 2.0 * tol, math.inf  # half the width is the upper gap
    for _ in range(_PASSES):
        previous, best = best, intersected(best, once(share))
        if math.isinf(best.lower) or (mode == "quick" and math.isfinite(best.upper)):
            break
        width = best.upper - best.lower if mode == "two-sided" else previous.upper - best.upper
        if width <= allowed(best):
            break
        if math.isfinite(width) and width > 0.8 * before:
            break
        before = width
        share *= min(0.5, max(1e-2, 0.8 * allowed(best) / width)) if math.isfinite(width) else 0.25
    return best


def profile_curves(parts: Parts, tol: float) -> list[tuple[Array, Array]]:
    """(epsilon nodes, certified upper deltas) of the whole curve, one entry per direction; for trade-off questions."""
    curves = []
    for direction in _directions(parts):
        plan = make_plan(parts, direction, delta=_CURVE_FLOOR, untilted=True)
        step = _grid_step(parts, plan, tol)
        tail = step_tail(_CURVE_FLOOR, sum(n for _, n in parts))
        law = compose([(upper_law(loss, direction, step, tail, plan.order), n) for loss, n in parts], step, plan)
        assert isinstance(law, ComposedLaw)  # without a tilt every node is wanted
        profile = Profile(law, "upper")
        curves.append((profile.losses + law.shift, profile.upper_deltas()))
    return curves


def clear_caches() -> None:
    """Forget every grid law and transform: for honest timings and for memory.

    >>> clear_caches()
    """
    forget()
