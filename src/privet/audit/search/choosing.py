"""Choosing events: all of them counted in scouting runs, ranked by what the final test would make of them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privet._numerics import Array
from privet.audit.search.events import RELATIONS, Event, Tally, kind_of, tally
from privet.audit.search.strain import Strain

__all__ = ["Candidate", "Tallies"]

Score = Callable[[Array, Array, int, int], Array]
_SMOOTH = 5  # thresholds: a broad peak is worth more than a lucky point
_OFTEN = 50  # an event that is seen, and missed, at least once in so many runs
_NOTHING = Event("form", "equal to", -2.0)  # never happens: what is tested when no wanted event was seen


@dataclass(frozen=True)
class Candidate:
    """An event, the world in which it is too likely, and how strongly it speaks against the claim."""

    score: float
    event: Event
    swapped: bool


class Tallies:
    """All events of the wanted kinds, counted in both worlds.

    >>> side = {"form": np.zeros(4), "value[0]": np.array([0.0, 1.0, 2.0, 3.0])}
    >>> Tallies(side, side, frozenset({"threshold"})).events
    6
    """

    def __init__(self, left: dict[str, Array], right: dict[str, Array], kinds: frozenset[str]) -> None:
        self._n, self._n_out = len(left["form"]), len(right["form"])
        seen = tally(*(_wanted(side, kinds) for side in (left, right)))
        self._groups = [group for group in seen if group.thresholds.size and group.kind in kinds]

    @property
    def events(self) -> int:
        """How many events were looked at."""
        return sum(group.thresholds.size for group in self._groups)

    def suspects(self, strain: Strain, most: int) -> list[Candidate]:
        """The events that promise the smallest p-values, each about another feature.

        The promise is the squared depth below the curve, less the price of having looked at so many events of its sort:
        one lucky window among thousands must not win against a plain threshold. Where nothing promises anything, the
        frequent event nearest to the edge is the likeliest suspect.
        """
        sizes = Counter[tuple[str, str]]()
        for group in self._groups:
            sizes[_family(group)] += group.thresholds.size
        found: dict[str, Candidate] = {}
        fallback: Candidate | None = None
        for group in self._groups:
            price = float(np.log(2.0 * sizes[_family(group)]))
            for swapped, depth, often in self._depths(group, strain):
                index = int(np.argmax(depth))
                promise = 0.5 * max(float(depth[index]), 0.0) ** 2 - price
                known = found.get(group.feature)
                if depth[index] > 0.0 and (known is None or promise > known.score):
                    found[group.feature] = Candidate(promise, group.event(index), swapped)
                plain = np.where(often, depth, -np.inf)
                near = int(np.argmax(plain))
                if np.isfinite(plain[near]) and (fallback is None or plain[near] > fallback.score):
                    fallback = Candidate(float(plain[near]), group.event(near), swapped)
        ranked = sorted(found.values(), key=lambda each: -each.score)
        if fallback is not None and (not ranked or ranked[0].score <= 0.0):
            ranked.insert(0, fallback)
        chosen: list[Candidate] = []
        for candidate in ranked:
            if len(chosen) < most and candidate.event not in [each.event for each in chosen]:
                chosen.append(candidate)
        return chosen or [Candidate(-np.inf, _NOTHING, False)]

    def _depths(self, group: Tally, strain: Strain) -> list[tuple[bool, Array, Array]]:
        found = []
        for swapped in (False, True):
            tp, fp, n, n_out = self._counts(group, swapped)
            depth = strain.depth(tp, fp, n, n_out)
            depth = np.where((tp + fp == 0) | (tp + fp == n + n_out), -np.inf, depth)
            if group.relation in ("at least", "at most"):
                depth = _smoothed(depth)
            often = np.minimum(tp, n_out - fp) >= n / _OFTEN
            found.append((swapped, depth, often))
        return found

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


def _family(group: Tally) -> tuple[str, str]:
    return group.kind, "threshold" if group.relation in ("at least", "at most") else group.relation


def _wanted(columns: dict[str, Array], kinds: frozenset[str]) -> dict[str, Array]:
    return {name: column for name, column in columns.items() if kinds & {kind_of(name, r) for r in RELATIONS}}


def _smoothed(scores: Array) -> Array:
    """The mean over neighbouring thresholds."""
    if scores.size < 8 * _SMOOTH:
        return scores
    ends = np.pad(np.where(np.isfinite(scores), scores, -10.0), _SMOOTH // 2, mode="edge")
    smooth: Array = np.convolve(ends, np.full(_SMOOTH, 1.0 / _SMOOTH), mode="valid")
    return smooth
