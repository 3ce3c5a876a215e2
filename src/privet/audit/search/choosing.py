"""Choosing events: all of them counted in scouting runs, ranked by what the final test would make of them."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from privet._numerics import Array
from privet.audit.search.events import RELATIONS, Event, Tally, kind_of, tally
from privet.audit.search.strain import Strain

Score = Callable[[Array, Array, int, int], Array]
_SMOOTH = 5  # thresholds: a broad peak is worth more than a lucky point
_OFTEN = 50  # an event that is seen, and missed, at least once in so many runs
_HALF_LINES = 8  # the thresholds of a feature are so alike that they are worth so many chances for luck
_MODELLED = 4_000  # runs up to which thresholds are judged by a model of the noise besides
_ALIKE, _EVEN = 1.36, 0.8  # Kolmogorov-Smirnov: shapes that differ by more are not one noise; a noise is not symmetric
_BITS = "lowest bit"
_NOTHING = Event("form", "equal to", -2.0)  # never happens: what is tested when no wanted event was seen


@dataclass(frozen=True)
class Candidate:
    """An event, the world in which it is too likely, and how strongly it speaks against the claim."""

    score: float
    event: Event
    swapped: bool
    seen: tuple[int, int] | None = None  # left, right; swapped, of its complement: the same test


class Tallies:
    """All events of the wanted kinds, counted in both worlds.

    `scores` names features by which each run was judged by another rule than the tested runs will be: their half-lines
    mean the same under either rule, their single values do not. `strain` is the claim: rare values that lie far outside
    of it are looked at besides the frequent ones.

    >>> side = {"form": np.zeros(4), "value[0]": np.array([0.0, 1.0, 2.0, 3.0])}
    >>> Tallies(side, side, frozenset({"threshold"})).events
    6
    """

    def __init__(
        self,
        left: dict[str, Array],
        right: dict[str, Array],
        kinds: frozenset[str],
        scores: Collection[str] = (),
        strain: Strain | None = None,
    ) -> None:
        self._n, self._n_out, self._scores = len(left["form"]), len(right["form"]), frozenset(scores)
        sides = [_wanted(side, kinds) for side in (left, right)]
        self._groups = [
            group
            for group in tally(sides[0], sides[1], None if strain is None else strain.depth)
            if group.thresholds.size and group.kind in kinds and self._sensible(group)
        ]
        self._shifts: dict[str, Shift] = {}
        if max(self._n, self._n_out) <= _MODELLED:
            names = {group.feature for group in self._groups if group.relation == "at least"}
            shifts = {name: Shift.of(sides[0][name], sides[1][name]) for name in names}
            self._shifts = {name: shift for name, shift in shifts.items() if shift is not None}

    @property
    def events(self) -> int:
        """The number of events that were looked at."""
        return sum(group.thresholds.size for group in self._groups)

    def suspects(self, strain: Strain, most: int) -> list[Candidate]:
        """The events that promise the smallest p-values, each about another feature.

        The promise is the depth below the curve in standard errors, less what luck alone would reach among so many events
        of its sort: one lucky window among thousands must not win against a plain threshold. Where nothing promises
        anything, the frequent event nearest to the edge is the likeliest suspect.
        """
        chances = Counter[tuple[str, str]]()
        for group in self._groups:
            chances[self._family(group)] += self._chances(group)
        found: dict[tuple[str, bool], Candidate] = {}
        fallback: Candidate | None = None
        for group in self._groups:
            luck = float(np.sqrt(2.0 * np.log(2.0 * chances[self._family(group)])))
            for swapped, depth, often in self._depths(group, strain):
                index = int(np.argmax(depth))
                promise = float(depth[index]) - luck
                known = found.get((group.feature, swapped))
                if depth[index] > 0.0 and (known is None or promise > known.score):
                    found[group.feature, swapped] = self._candidate(promise, group, index, swapped)
                plain = np.where(often, depth - luck, -np.inf)
                near = int(np.argmax(plain))
                if np.isfinite(plain[near]) and (fallback is None or plain[near] > fallback.score):
                    fallback = self._candidate(float(plain[near]), group, near, swapped)
        ranked = sorted(found.values(), key=lambda each: -each.score)
        if fallback is not None and (not ranked or ranked[0].score <= 0.0):
            ranked.insert(0, fallback)
        return _unlike(ranked, most, fallback) or [Candidate(-np.inf, _NOTHING, False)]

    def _candidate(self, score: float, group: Tally, index: int, swapped: bool) -> Candidate:
        left, right = int(group.left[index]), int(group.right[index])
        seen = (self._n - left, self._n_out - right) if swapped else (left, right)
        return Candidate(score, group.event(index), swapped, seen)

    def _depths(self, group: Tally, strain: Strain) -> list[tuple[bool, Array, Array]]:
        found = []
        for swapped in (False, True):
            tp, fp, n, n_out = self._counts(group, swapped)
            depth = strain.depth(tp, fp, n, n_out)
            depth = np.where((tp + fp == 0) | (tp + fp == n + n_out), -np.inf, depth)
            if group.relation in ("at least", "at most"):
                depth = _smoothed(depth)
                if group.feature in self._shifts:
                    rates = self._shifts[group.feature].rates(group)
                    expected = (rates[1] * n, rates[0] * n_out) if swapped else (rates[0] * n, rates[1] * n_out)
                    depth = 0.5 * (depth + strain.depth(*expected, n, n_out))
            often = np.minimum(tp, n_out - fp) >= n / _OFTEN
            found.append((swapped, depth, often))
        return found

    def _sensible(self, group: Tally) -> bool:
        return group.feature not in self._scores or group.relation in ("at least", "at most")

    def _family(self, group: Tally) -> tuple[str, str]:
        if group.feature in self._scores:  # all of them estimate one and the same likelihood ratio
            return "score", "threshold"
        return group.kind, "threshold" if group.relation in ("at least", "at most") else group.relation

    def _chances(self, group: Tally) -> int:
        if group.feature in self._scores:
            return 1
        if group.relation not in ("at least", "at most"):
            return group.thresholds.size
        return min(group.thresholds.size, 1 if group.feature in self._shifts else _HALF_LINES)

    def best(self, score: Score) -> Candidate:
        """The event with the highest score."""
        best = Candidate(-np.inf, _NOTHING, False)
        for swapped in (False, True):
            seen = [self._counts(group, swapped) for group in self._groups]
            if not seen:
                break
            tp, fp = (np.concatenate([each[side] for each in seen]) for side in (0, 1))
            n, n_out = seen[0][2:]
            every = np.where((tp + fp == 0) | (tp + fp == n + n_out), -np.inf, score(tp, fp, n, n_out))
            ends = np.cumsum([group.thresholds.size for group in self._groups])
            for group, scores in zip(self._groups, np.split(every, ends[:-1]), strict=True):
                if group.relation in ("at least", "at most"):
                    scores = _smoothed(scores)
                index = int(np.argmax(scores))
                if scores[index] > best.score:
                    best = Candidate(float(scores[index]), group.event(index), swapped)
        return best

    def _counts(self, group: Tally, swapped: bool) -> tuple[Array, Array, int, int]:
        if swapped:
            return group.right, group.left, self._n_out, self._n
        return group.left, group.right, self._n, self._n_out


@dataclass(frozen=True, eq=False)
class Shift:
    """Two worlds as one noise around two centres: few runs then tell more about where to put a threshold.

    For choosing only. It is how most mechanisms work, and `of` says None where the runs contradict it.

    >>> shift = Shift.of(np.arange(100.0), np.arange(100.0) + 50.0)
    >>> group = Tally("value[0]", "at least", np.array([99.5]), np.array([0]), np.array([50]))
    >>> [round(float(rate[0]), 1) for rate in shift.rates(group)]
    [0.0, 0.5]
    """

    centres: tuple[float, float]
    noise: Array  # sorted

    @classmethod
    def of(cls, left: Array, right: Array) -> "Shift | None":
        """The model of some runs, or None when their worlds have different shapes, few values or gaps."""
        if min(len(left), len(right)) < 8 or not (np.isfinite(left).all() and np.isfinite(right).all()):
            return None
        centres = float(np.median(left)), float(np.median(right))
        a, b = np.sort(left - centres[0]), np.sort(right - centres[1])
        both = np.sort(np.concatenate((a, b)))
        if len(np.unique(both)) < 8 or _apart(a, b) > _ALIKE:
            return None
        mirrored = -both[::-1]
        noise = both if _apart(both, mirrored) > _EVEN else np.sort(np.concatenate((both, mirrored)))
        return cls(centres, noise)

    def rates(self, group: Tally) -> list[Array]:
        """The modelled rates of thresholds in the left and in the right world."""
        found = []
        for centre in self.centres:
            cuts = group.thresholds - centre
            below, upto = (np.searchsorted(self.noise, cuts, side) / len(self.noise) for side in ("left", "right"))
            found.append(1.0 - below if group.relation == "at least" else upto)
        return found


def _unlike(ranked: list[Candidate], most: int, fallback: Candidate | None) -> list[Candidate]:
    """The first so many, each about another feature (but the fallback's), and none that is an earlier one in other words.

    A value of 0 is also a lowest bit and an exponent of its own: to test that twice would waste a share of the level.
    """
    chosen: list[Candidate] = []
    if ranked and ranked[0].event.kind == _BITS:  # floats leak by themselves: is anything wrong besides?
        ranked = [ranked[0], *sorted(ranked[1:], key=lambda each: each.event.kind == _BITS)]
    for candidate in ranked:
        features = [each.event.feature for each in chosen if each is not fallback]
        again = candidate.event.feature in features or candidate.seen in [each.seen for each in chosen]
        if len(chosen) < most and not again:
            chosen.append(candidate)
    return chosen


def _apart(one: Array, other: Array) -> float:
    """The Kolmogorov-Smirnov distance of two sorted samples, in units of chance."""
    places = np.concatenate((one, other))
    gap = np.searchsorted(one, places, "right") / len(one) - np.searchsorted(other, places, "right") / len(other)
    return float(np.abs(gap).max() * np.sqrt(len(one) * len(other) / (len(one) + len(other))))


def _wanted(columns: dict[str, Array], kinds: frozenset[str]) -> dict[str, Array]:
    return {name: column for name, column in columns.items() if kinds & {kind_of(name, r) for r in RELATIONS}}


def _smoothed(scores: Array) -> Array:
    """The mean over neighbouring thresholds."""
    if scores.size < 8 * _SMOOTH:
        return scores
    ends = np.pad(np.where(np.isfinite(scores), scores, -10.0), _SMOOTH // 2, mode="edge")
    smooth: Array = np.convolve(ends, np.full(_SMOOTH, 1.0 / _SMOOTH), mode="valid")
    return smooth
