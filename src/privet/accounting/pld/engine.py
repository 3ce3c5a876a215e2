"""The two-sided engine: plan, round, compose, answer; refine the grid until the interval is narrow enough."""

import math
from dataclasses import replace
from typing import Literal

from privet._cache import forget
from privet._numerics import TINY, Array, round_up
from privet.accounting.pld.compose import compose, support_of
from privet.accounting.pld.interval import Interval, intersected, larger_of
from privet.accounting.pld.law import LOWER, UPPER
from privet.accounting.pld.nodes import NodeLaw
from privet.accounting.pld.plan import Parts, Plan, make_plan, step_tail
from privet.accounting.pld.question import DeltaAt, EpsilonAt, Question
from privet.accounting.pld.rounding import lower_law, upper_law
from privet.errors import InternalError
from privet.privacy import Direction

# These choose between ways to the same interval, and how much each may cost: they change speed and width, never that both
# ends are certified.
_MOST_NODES = 1 << 22  # of one window: 64 MB a transform
_MOST_WORK = 1 << 27  # nodes of all parts together
_WIDTH_LAW = 0.3  # measured: relative width of the interval is 0.1 to 0.3 (h / std of one loss)^2
_PASSES = 5  # plans that are made for one question: each knows the last answer
_DEAR = 1_200_000  # nodes of the plain way, from which on other ways are worth a look
_OFF = 1.3  # a target this much above the loss that decides shows a heavy tail
_ABOVE = 3.0  # the same for the logarithm of delta
_OFTEN = 2.0  # a target above so many widths of a part is reached by several of its large losses
_LONG = 300.0  # standard deviations of the sum in a window
_MANY = 100_000  # steps whose sum has few frequencies left
_FAR = 20_000_000  # steps from which on a normal law is asked first; below, where the grid leaves much open
_FORBIDDING = 4_000_000  # nodes that are never used for a second try
_FAIR = 0.005  # share of the value
_POOR = 2.0  # an interval this much wider than asked for is worth a second try
_ROUGHER = 16.0  # a first look may be this much less accurate
_CURVE_FLOOR = 1e-9  # the whole curve is computed without tilt, to about this absolute accuracy
_LOST = 1e-7  # mass outside its window from which on the window becomes all that a sum can be

Mode = Literal["two-sided", "upper", "quick"]


def _directions(parts: Parts) -> tuple[Direction, ...]:
    """One direction is enough when every pair is its own mirror image."""
    return ("remove",) if all(loss.variable("remove").symmetric for loss, _ in parts) else ("remove", "add")


def _most(parts: Parts, direction: Direction) -> float:
    """A loss that the whole does not exceed in one direction; infinite where none is known."""
    return round_up(math.fsum(n * loss.variable(direction).ends[1] for loss, n in parts), 4.0)


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


def epsilon_interval(parts: Parts, delta: float, tol: float, *, mode: Mode = "two-sided") -> Interval:
    """Encloses the smallest epsilon >= 0 for this delta."""
    apart = math.fsum(n * loss.variable("remove").enclose(0.0)[1] for loss, n in parts)
    if apart <= delta:
        return Interval(0.0, 0.0)  # total variation, the same in both directions, adds up at most
    return _Search(EpsilonAt(parts, tol, delta), mode).interval()


def delta_interval(parts: Parts, epsilon: float, tol: float, *, mode: Mode = "two-sided") -> Interval:
    """Encloses delta(epsilon), the larger of both directions."""
    return _Search(DeltaAt(parts, tol, epsilon), mode).interval()


class _Search:
    """The way to one answer: plan, round, compose, answer, and again on a finer grid while the interval is too wide."""

    def __init__(self, question: Question, mode: Mode) -> None:
        self.question, self.parts, self.mode = question, question.parts, mode
        self.two_sided = mode == "two-sided"
        self.steps = sum(n for _, n in self.parts)
        self.start = question.unknown
        self.first, *self.others = _directions(self.parts)
        self.plans: dict[Direction, tuple[Plan, float]] = {}
        self.rough: dict[Direction, float] = {}
        self.capped = False  # was a grid coarser than the one that was wanted?

    def interval(self) -> Interval:
        """The answer. Of very many steps a normal law is asked first; of fewer, where the grid leaves much open."""
        question, many = self.question, self.steps >= _FAR
        if many:
            self.start = question.far() or question.unknown
            if self.start.is_within(max(question.allowed(self.start), question.least_width(self.start))):
                _confirm(self.parts, *question.point(self.start))
                return self.start
        found = self._best_of_both()
        # Where the lower end is only looked at roughly, width says nothing about the upper one.
        if self.two_sided and not many and not found.is_within(self._poor(found)):
            found = intersected(found, question.far() or question.unknown)
        wide = not self.two_sided or not found.is_within(question.allowed(found))
        found = replace(found, coarse=(self.capped or found.coarse) and wide)
        _confirm(self.parts, *question.point(found))
        return found

    def _poor(self, found: Interval) -> float:
        """A width from which on another way is worth a try."""
        return max(_POOR * self.question.allowed(found), _FAIR * found.upper)

    def _best_of_both(self) -> Interval:
        """The plain way, or the one that tells paths by their largest step: first the one that promises to be quick.

        Where the first leaves the interval wide, the other one is tried too.
        """
        share = self.question.share(self._plan(self.first)[0])
        heavy = self._looks_heavy(share)
        result = self.by_jumps(share) if heavy else self._refined(share)
        nothing = math.isinf(result.upper)
        poor = nothing or (self.two_sided and not result.is_within(self._poor(result)))
        if poor and (nothing or not (heavy and self._nodes(share) > _FORBIDDING)):
            result = intersected(result, self._refined(share) if heavy else self.by_jumps(share))
        return result

    def _plan(self, direction: Direction) -> tuple[Plan, float]:
        if direction not in self.plans:
            self.plans[direction] = self.question.plan(direction)
        return self.plans[direction]

    def _ends(
        self, direction: Direction, share: float, planned: Direction, *, two_sided: bool, look: bool = False
    ) -> tuple[float, float]:
        """Both ends in one direction: plan, round, compose, answer.

        The plan may be that of the other direction. A mere look may be as coarse as it likes.
        """
        plan, delta = self._plan(planned)
        step, tail = _grid_step(self.parts, plan, share), step_tail(delta, self.steps)
        self.capped |= not look and _wanted_step(plan, share) < _coarsest(self.parts, plan)
        above, below = [], []
        for loss, n in self.parts:  # both of a part at once: they share its mesh, and no cache holds those of all parts
            above.append((upper_law(loss, direction, step, tail, plan.order), n))
            if two_sided:
                below.append((lower_law(loss, direction, step, tail, plan.order), n))
        upper = self.question.read(compose(above, step, plan).profile(UPPER, self.question.floor))
        if not two_sided:
            return 0.0, upper
        return self.question.read(compose(below, step, plan).profile(LOWER, self.question.floor)), upper

    def _larger(self, share: float) -> Interval:
        """The larger of both directions, each end for itself.

        The second direction is looked at first with the plan of the other one, from above only and coarsely: most often
        that is enough to see that the first one decides.
        """
        lower, upper = self._ends(self.first, share, self.first, two_sided=self.two_sided)
        for direction in self.others:
            if self.question.is_settled_by(_most(self.parts, direction), upper):
                continue
            if direction not in self.rough:
                coarse = _ROUGHER * share if self.two_sided else share
                self.rough[direction] = self._ends(direction, coarse, self.first, two_sided=False, look=True)[1]
            if not self.rough[direction] <= upper:
                own = self._ends(direction, share, direction, two_sided=self.two_sided)
                lower, upper = max(lower, own[0]), max(upper, own[1])
        return Interval(lower, upper)

    def _refined(self, share: float, only: Direction | None = None) -> Interval:
        """The interval on finer and finer grids until the interval is narrow enough, or refining no longer helps.

        Without a lower end ("upper") the width is judged by what the last refinement gained; "quick" trusts the first grid.
        """
        best, before = self.start, math.inf
        if self.mode == "quick":
            share *= 2.0  # half the width is the upper gap
        for _ in range(_PASSES):
            found = self._larger(share) if only is None else self._alone(only, share)
            previous, best = best, intersected(best, found)
            if math.isinf(best.lower) or (self.mode == "quick" and math.isfinite(best.upper)):
                break
            width = best.upper - best.lower if self.two_sided else previous.upper - best.upper
            allowed = self.question.allowed(best)
            if math.isfinite(width) and (width <= allowed or width > 0.8 * before):
                break
            finer = share * (min(0.5, max(1e-2, 0.8 * allowed / width)) if math.isfinite(width) else 0.25)
            if self._nodes(finer, only) <= self._nodes(share, only):
                break  # as fine as grids get
            before, share = width, finer
        return best

    def _alone(self, direction: Direction, share: float) -> Interval:
        return Interval(*self._ends(direction, share, direction, two_sided=self.two_sided))

    def _nodes(self, share: float, direction: Direction | None = None) -> float:
        """The length of the window that the plain way would use."""
        plan = self._plan(direction or self.first)[0]
        return (plan.high - plan.low) / _grid_step(self.parts, plan, share)

    def _looks_heavy(self, share: float) -> bool:
        """Does the plan look far beyond the loss that decides? (Asked only where the plain way would be costly.)"""
        if self._nodes(share) <= _DEAR:
            return False
        plan = self._plan(self.first)[0]
        if plan.target > _OFTEN * plan.part_width:
            return False  # it takes several of the largest steps: a few cannot decide
        spread = plan.step_scale * math.sqrt(self.steps)
        if plan.high - plan.low > _LONG * spread or (self._nodes(share) > 2.0 * _DEAR and self.steps < _MANY):
            return True
        search = self.question.jumps(self.first)
        expected = plan.log_delta - (plan.target - plan.guess) * plan.order  # of a normal law
        return plan.target > _OFF * search.epsilon or expected > search.log_delta + _ABOVE

    def by_jumps(self, share: float) -> Interval:
        """The larger of both directions by their jumps; the second is asked plainly first: its tail is most often light."""
        allowed = self.question.allowed
        found = self.question.jumps(self.first).interval(allowed, self.start, two_sided=self.two_sided)
        for direction in self.others:
            if self.question.is_settled_by(_most(self.parts, direction), found.upper):
                continue
            if self._ends(direction, _ROUGHER * share, direction, two_sided=False, look=True)[1] <= found.upper:
                continue
            search = self.question.jumps(direction)
            rough = search.interval(allowed, self.start, two_sided=False, ignored=found.upper)
            if rough.upper <= found.upper:
                continue
            own = intersected(rough, self._refined(share, direction))
            if own.upper > found.upper and not own.is_within(allowed(own)):
                own = intersected(own, search.interval(allowed, self.start, two_sided=self.two_sided))
            found = larger_of(found, own)
        return found


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


def profile_curves(parts: Parts, tol: float) -> list[tuple[Array, Array]]:
    """(epsilon nodes, certified upper deltas) of the whole curve, one entry per direction; for trade-off questions."""
    curves = []
    for direction in _directions(parts):
        plan = make_plan(parts, direction, delta=_CURVE_FLOOR, untilted=True)
        step = _grid_step(parts, plan, tol)
        tail = step_tail(_CURVE_FLOOR, sum(n for _, n in parts))
        laws = [(upper_law(loss, direction, step, tail, plan.order), n) for loss, n in parts]
        law = compose(laws, step, plan)
        if law.above + law.wrapped > _LOST:  # long ends that the plan did not foresee
            low, high = support_of(laws)
            if high - low >= step * _MOST_NODES:  # a coarse curve says more than none
                step *= 2.0 ** math.ceil(math.log2((high - low) / (step * (_MOST_NODES >> 1))))
                laws = [(upper_law(loss, direction, step, tail, plan.order), n) for loss, n in parts]
                low, high = support_of(laws)
            if high - low < step * _MOST_NODES:  # of very many steps, each reaches over a few nodes at least
                law = compose(laws, step, replace(plan, low=low, high=high))
        assert isinstance(law, NodeLaw)  # without a tilt every node is wanted
        profile = law.profile(UPPER)
        curves.append((profile.losses + law.shift, profile.upper_deltas()))
    return curves


def clear_caches() -> None:
    """Forget every grid law and transform: for honest timings and for memory.

    >>> clear_caches()
    """
    forget()
