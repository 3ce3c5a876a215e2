"""Numbers between public bounds: rounded at random to a grid, then reported within a window around it, or elsewhere.

A value on one of G + 1 levels gives a report in its window of W outputs out of G + W with probability `inside`, all of them
alike, else one of the other G outputs, all alike. G = W = 1 is the mechanism of Duchi et al., many levels are the piecewise
mechanism; level 0 and level G have whole windows at the ends of the outputs, so no cell is cut. The mean of the report is
linear in the level, and rounding at random keeps the mean: estimates are unbiased.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array, ndtri, up
from privet._validate import above, count, finite, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.local.channels import listed
from privet.local.families.single import is_single, one_each
from privet.local.protocol import Protocol, by_name, word_of
from privet.local.state import State
from privet.mechanisms import ErrorBar, Estimate, Mechanism, Source, chance_for, epsilon_of_odds, odds_of
from privet.mechanisms.families.odds import MOST
from privet.mechanisms.families.record_values import public_bounds
from privet.mechanisms.families.values import admit_value, read_value
from privet.privacy import PartialResponseLoss, PrivacyLoss

_FINE = 2**53  # steps of a coin that rounds at random: those of a double
_MOST_CELLS = 2**24  # sums of 2^39 reports of so many cells fit int64
_ENOUGH = 100  # reports from which on the normal law is used


@dataclass(frozen=True)
class Window:
    """The law of a report: levels 0 to `levels`, a window of `width` outputs, and the chance to stay inside it.

    >>> coin = Window(1, 1, Fraction(3, 4))
    >>> coin.outputs, coin.row(0)
    (2, (Fraction(3, 4), Fraction(1, 4)))
    """

    levels: int
    width: int
    inside: Fraction

    @property
    def outputs(self) -> int:
        """The number of possible reports."""
        return self.levels + self.width

    @property
    def odds(self) -> Fraction:
        """The ratio of the density inside a window to that outside: e^epsilon."""
        return odds_of(self.inside, Fraction(self.levels, self.width))

    def row(self, level: int) -> tuple[Fraction, ...]:
        """The law of the report on a level."""
        near, far = self.inside / self.width, (1 - self.inside) / self.levels
        return tuple(near if level <= y < level + self.width else far for y in range(self.outputs))

    @kept_property
    def line(self) -> tuple[Fraction, Fraction]:
        """(start, slope): the mean report on level i is start + slope i."""
        near, far, m = self.inside / self.width, (1 - self.inside) / self.levels, self.outputs
        slope = (near - far) * self.width
        return far * m * (m - 1) / 2 + slope * Fraction(self.width - 1, 2), slope

    def second_moment(self, level: int) -> Fraction:
        """The mean square of the report on a level."""
        near, far, last = self.inside / self.width, (1 - self.inside) / self.levels, level + self.width - 1
        return far * _squares(self.outputs - 1) + (near - far) * (_squares(last) - _squares(level - 1))

    def variance(self, place: float) -> float:
        """Of one unbiased estimate of a place between 0 and 1, rounding at random included."""
        at = Fraction(min(max(place, 0.0), 1.0)) * self.levels
        low = min(int(at), self.levels - 1)
        share = at - low
        start, slope = self.line
        square = (1 - share) * self.second_moment(low) + share * self.second_moment(low + 1)
        return float((square - (start + slope * at) ** 2) / (slope * self.levels) ** 2)

    def draw(self, places: Array, source: Source) -> Array:
        """Reports on places between 0 and 1."""
        at = places * self.levels
        level = np.floor(at)
        coins = np.asarray(noise.uniform_int(bound=_FINE, size=at.shape, source=source))
        level = level.astype(np.int64) + (coins < ((at - level) * _FINE).astype(np.int64))
        inside = np.asarray(noise.bernoulli(p=self.inside, size=at.shape, source=source))
        near = level + np.asarray(noise.uniform_int(bound=self.width, size=at.shape, source=source))
        far = np.asarray(noise.uniform_int(bound=self.levels, size=at.shape, source=source))
        return np.where(inside, near, far + self.width * (far >= level))


def grid_cells(cells: object) -> int:
    """A public number of steps between the bounds.

    >>> grid_cells(4096)
    4096
    """
    if count("cells", cells, 2) > _MOST_CELLS:
        raise InvalidParameter(f"cells must be at most {_MOST_CELLS}: sums of reports would not fit")
    return count("cells", cells, 2)


def window_for(epsilon: float, cells: int) -> Window:
    """The piecewise law on a grid: windows of cells/s outputs, s = e^(epsilon/2), at least one.

    >>> window_for(2.0, 1000).width
    368
    """
    width = max(1, round(cells * math.exp(-epsilon / 2.0)))
    return Window(cells, width, chance_for(epsilon, Fraction(cells, width)))


def _squares(last: int) -> Fraction:
    """0 + 1 + 4 + ... + last^2."""
    return Fraction(last * (last + 1) * (2 * last + 1), 6)


@dataclass(frozen=True, kw_only=True)
class NumberProtocol(Mechanism[Any, Any], Protocol):
    """Base of the protocols that estimate the mean of numbers between public `bounds`.

    A number outside the bounds counts as the nearer one, what is no number as 0 (and then as the nearer bound): each value
    by itself, alone as in a list, so that none is refused. `epsilon` is what is typed; the price is computed back from the
    fractions that run.

    **Guarantee:** pure, for each person against everybody. Relation: replace.
    """

    epsilon: float
    bounds: tuple[float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        if above("epsilon", self.epsilon, 0.0) > MOST:
            raise InvalidParameter(f"epsilon must be at most {MOST:g}: beyond, a report is the truth")
        set_frozen(self, epsilon=above("epsilon", self.epsilon, 0.0), bounds=public_bounds(self.bounds))

    @property
    @abstractmethod
    def parts(self) -> tuple[tuple[Window, Fraction], ...]:
        """The laws of which each person draws one, with the share of each; the choice shows in the report. All have the
        same odds, or the price is that of the largest."""

    @property
    def loss(self) -> PrivacyLoss:
        """The two ends of the range are the worst pair, in every part: an output lies in one window or in none."""
        told = sum(share * (w.inside + (1 - w.inside) * Fraction(w.width, w.levels)) for w, share in self.parts)
        return PartialResponseLoss(epsilon_of_odds(max(w.odds for w, _ in self.parts)), up(told))

    def _admit(self, value: Any) -> None:
        if not is_single(value):
            admit_value(one_each(value))

    def _prepare(self, value: Any) -> Array:
        low, high = self.bounds
        one = is_single(value)
        numbers = read_value([value] if one else one_each(value))
        if numbers.array is not None:
            plain = np.where(np.isnan(given := numbers.array.astype(float)), 0.0, given)
        else:
            plain = np.array([float(min(max(each, Fraction(low)), Fraction(high))) for each in numbers.fractions()])
            plain = plain.reshape(() if one else numbers.shape)
        return np.clip((np.clip(plain, low, high) - low) / (high - low), 0.0, 1.0)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        places = np.broadcast_to(prepared, (runs, *np.shape(prepared)))
        (first, share), *others = self.parts
        found = first.draw(places, source)
        if others:
            other, chosen = others[0][0], np.asarray(noise.bernoulli(p=share, size=places.shape, source=source))
            found = np.where(chosen, found, first.outputs + other.draw(places, source))
        return found.astype(word_of(self.widths[0]))

    # --- reports -----------------------------------------------------------------------------------------------------

    @property
    def _outputs(self) -> int:
        return sum(window.outputs for window, _ in self.parts)

    @property
    def widths(self) -> tuple[int, ...]:
        return ((self._outputs - 1).bit_length(),)

    @property
    def report_shape(self) -> tuple[int, ...]:
        return ()

    def valid(self, reports: Array) -> Array:
        return (reports >= 0) & (reports < self._outputs)

    def table_shape(self, candidates: Array | None) -> tuple[int, ...]:
        return len(self.parts), 2

    def candidates_of(self, given: Any) -> Array:
        raise InvalidParameter("a mean has no candidates")

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        found, first, plain = [], 0, reports.astype(np.int64)
        for window, _ in self.parts:
            mine = plain[(plain >= first) & (plain < first + window.outputs)] - first
            found.append((len(mine), int(mine.sum())))
            first += window.outputs
        return np.array(found, dtype=np.int64)

    def fits(self, table: Array, n: int) -> bool:
        within = all(
            total <= seen * (window.outputs - 1)
            for (window, _), (seen, total) in zip(self.parts, table.tolist(), strict=True)
        )
        return within and sum(table[:, 0].tolist()) == n

    def tally_counts(self, counts: Array) -> Array:
        """The same from how often each of `outcomes` was reported."""
        found, first = [], 0
        for window, _ in self.parts:
            mine = counts[first : first + window.outputs]
            found.append((int(mine.sum()), int(mine @ np.arange(window.outputs))))
            first += window.outputs
        return np.array(found, dtype=np.int64)

    def outcomes(self) -> Array:
        """All possible reports."""
        return np.arange(self._outputs)

    def channel(self) -> tuple[tuple[Fraction, ...], ...]:
        """Row i: the exact law of the report on level i of the finest grid; values in between mix two rows."""
        finest = max(window.levels for window, _ in self.parts)
        listed(finest + 1, self._outputs)
        rows = []
        for i in range(finest + 1):
            row: list[Fraction] = []
            for window, share in self.parts:
                at = Fraction(i * window.levels, finest)
                low = min(int(at), window.levels - 1)
                near, far = window.row(low), window.row(low + 1)
                row += [share * ((1 - at + low) * a + (at - low) * b) for a, b in zip(near, far, strict=True)]
            rows.append(tuple(row))
        return tuple(rows)

    # --- the server --------------------------------------------------------------------------------------------------

    def new_state(self) -> State:
        """An empty state: for each part the number of reports and their sum, whole numbers."""
        return State(self)

    def variance(self, value: float, *, n: int = 1) -> float:
        """The variance of the estimated mean of n people who all hold a value (noise alone)."""
        low, high = self.bounds
        place = (min(max(finite("value", value), low), high) - low) / (high - low)
        each = sum(float(share) * (window.variance(place) + place**2) for window, share in self.parts) - place**2
        return (high - low) ** 2 * each / count("n", n, 1)

    @kept_property
    def worst_variance(self) -> float:
        """The largest variance of one person's estimate: a parabola between levels, so at an end or in the middle."""
        low, high = self.bounds
        return max(self.variance(value) for value in (low, high, (low + high) / 2.0))

    def error(self, confidence: float = 0.95, *, people: int = 1) -> ErrorBar:
        """The distance that the estimated mean of `people` may have from theirs: Hoeffding's inequality below 100
        reports, then the normal law at the worst variance."""
        n, miss = count("people", people, 1), 1.0 - open_fraction("confidence", confidence)
        if n >= _ENOUGH:
            radius = -ndtri(miss / 2.0) * math.sqrt(self.worst_variance / n)
        else:
            reach = max(float((w.outputs - 1) / (w.line[1] * w.levels)) for w, _ in self.parts)
            reach *= (self.bounds[1] - self.bounds[0]) * (1.0 if len(self.parts) == 1 else 2.0)
            radius = reach * math.sqrt(math.log(2.0 / miss) / (2.0 * n))
        return ErrorBar(radius, confidence, "the estimated mean", around=False)

    def _error_of(self, prepared: Array) -> ErrorBar | None:
        return self.error(people=max(1, prepared.size))

    def estimate(self, reports: Any, **how: Any) -> Estimate:
        """The mean of the people's numbers, from reports or a state (post-processing): unbiased, and never clipped.

        Arguments by name: confidence=0.95.
        """
        by_name(how, ("confidence",))
        return self._estimate(reports, **how)

    def _estimate(self, reports: Any, *, confidence: float = 0.95) -> Estimate:
        state = reports if isinstance(reports, State) else self.new_state().add(reports)
        if state.protocol != self:
            raise InvalidParameter("this state belongs to another protocol, or to other parameters")
        if not state.n:
            raise InvalidData("an estimate needs at least one report")
        place = Fraction(0)
        for (window, _), (n, total) in zip(self.parts, state.table.tolist(), strict=True):
            start, slope = window.line
            place += (total - n * start) / (slope * window.levels)
        low, high = self.bounds
        value = low + (high - low) * float(place / state.n)
        radius = self.error(confidence, people=state.n).radius
        bar = ErrorBar(radius, confidence, "the estimated mean")
        return Estimate(value, bar, variance=self.worst_variance / state.n, n=state.n)
