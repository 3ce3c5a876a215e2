"""Choosing what to test, honestly: on other runs, from a list fixed in advance, or not at all."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic

import numpy as np

from privet._numerics import Array
from privet._validate import count, flag, open_fraction, set_frozen
from privet.audit.counts import Counts
from privet.audit.sample import AtLeast, Event, Sample
from privet.audit.statistic import R, Statistic
from privet.errors import InvalidData, InvalidParameter, ReusedData

_STRICTER = 100.0  # many events are looked at while choosing: demand more of each, so that luck does not choose
_CUTS = 400  # thresholds per tail, evenly spaced in the logarithm of the rank

Samples = Sample | Sequence[Sample]  # one sample per pair of neighbouring inputs


@dataclass(frozen=True, eq=False)
class Choice:
    """The subject of a test: an event, the order of the worlds, one of the pairs of neighbours, and what it was chosen
    on.

    >>> runs = Sample(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    >>> Choice(AtLeast(2.0), seen=(runs,)).count(runs)
    Traceback (most recent call last):
    privet.errors.ReusedData: this event was chosen by looking at some of these runs; test it on fresh ones
    """

    event: Event
    swapped: bool = False
    pair: int = 0
    seen: tuple[Sample, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not callable(self.event):
            raise InvalidParameter("an event must be callable: outputs in, one bool for each out")
        flag("swapped", self.swapped)
        count("pair", self.pair)

    def count(self, samples: Samples) -> Counts:
        """The number of times that the event happened, on runs that had no part in choosing it: `ReusedData`
        otherwise."""
        every = _several(samples)
        if self.pair >= len(every):
            raise InvalidParameter(f"pair {self.pair} was chosen, but only {len(every)} pairs of worlds were run")
        if any(looked.overlaps(sample) for looked in self.seen for sample in every):
            raise ReusedData("this event was chosen by looking at some of these runs; test it on fresh ones")
        counts = every[self.pair].count(self.event)
        return counts.swapped() if self.swapped else counts


@dataclass(frozen=True, eq=False)
class Selected(Generic[R]):
    """A result, the choice that led to it, and how many choices were tested."""

    result: R
    choice: Choice
    looks: int


class Selection(ABC):
    """A rule for choosing the event, the order of the worlds and the pair of neighbours, and for paying for the choice."""

    @abstractmethod
    def run(self, samples: Samples, statistic: Statistic[R], *, alpha: float = 0.05) -> Selected[R]:
        """Choose, test, and report at level alpha for the whole of it."""


@dataclass(frozen=True, eq=False)
class Bonferroni(Selection):
    """Test every choice of a list that was fixed in advance, each at an equal share of alpha; report the strongest.

    **Guarantee:** the level of the whole is alpha, since each choice on the list costs alpha/len(choices), whether it
    turned out interesting or not. **Reference:** Bonferroni 1936.

    >>> from privet.audit import Point
    >>> runs = Sample(np.arange(1000.0), np.arange(1000.0) - 900.0)
    >>> found = Bonferroni([AtLeast(500.0), AtLeast(100.0)]).run(runs, Point(delta=0.0), alpha=0.05)
    >>> found.looks, found.choice.event
    (2, AtLeast(threshold=100.0))
    """

    choices: Sequence[Choice | Event]

    def __post_init__(self) -> None:
        choices = tuple(each if isinstance(each, Choice) else Choice(each) for each in self.choices)
        if not choices:
            raise InvalidParameter("choices must list at least one event")
        set_frozen(self, choices=choices)

    def run(self, samples: Samples, statistic: Statistic[R], *, alpha: float = 0.05) -> Selected[R]:
        level = open_fraction("alpha", alpha)
        choices = [each for each in self.choices if isinstance(each, Choice)]
        looks = len(choices)
        results = [statistic.test(choice.count(samples), alpha=level / looks) for choice in choices]
        best = max(range(looks), key=lambda index: results[index].strength)
        return Selected(results[best].selected(level, f"one of {looks} fixed in advance"), choices[best], looks)


@dataclass(frozen=True, eq=False)
class Fixed(Selection):
    """One event, fixed before any run: nothing to pay for.

    >>> from privet.audit import Point
    >>> runs = Sample(np.arange(1000.0), np.arange(1000.0) - 900.0)
    >>> round(Fixed(AtLeast(100.0)).run(runs, Point(delta=0.0)).result.lower, 2)
    5.48
    """

    event: Event
    swapped: bool = False
    pair: int = 0

    def run(self, samples: Samples, statistic: Statistic[R], *, alpha: float = 0.05) -> Selected[R]:
        choice = Choice(self.event, self.swapped, self.pair)
        return Selected(statistic.test(choice.count(samples), alpha=open_fraction("alpha", alpha)), choice, 1)


@dataclass(frozen=True, eq=False)
class Split(Selection):
    """Choose on the first part of the runs, test once on the rest.

    Without `events` the candidates are thresholds at the ranks of the scores seen in the first part. Each candidate is
    judged in both orders of the worlds and on every pair of neighbours, at a level stricter than alpha: the choice
    cannot hurt validity, and a strict one is less often fooled by luck in the tails.

    **Guarantee:** the tested runs had no part in the choice, so the test keeps its full level. **Error:** for Gaussian
    scores the bound is on average within 10% of the best threshold's on the tested half.

    >>> from privet.audit import Point
    >>> runs = Sample(np.tile([0.0, 1.0, 1.0], 2000), np.tile([0.0, 0.0, 1.0], 2000))
    >>> found = Split().run(runs, Point(delta=0.0))
    >>> found.choice.event, round(found.result.lower, 3), found.result.counts.n
    (AtLeast(threshold=1.0), 0.617, 3000)
    """

    share: float = 0.5
    events: Sequence[Event] | None = None

    def __post_init__(self) -> None:
        set_frozen(self, share=open_fraction("share", self.share))
        if self.events is not None and not len(self.events):
            raise InvalidParameter("events must list at least one event, or be left out")

    def choose(self, samples: Samples, statistic: Statistic[R], *, alpha: float = 0.05) -> Choice:
        """The most promising choice, by the first part of the runs only."""
        level = open_fraction("alpha", alpha) / _STRICTER
        looked = tuple(sample.part(0.0, self.share) for sample in _several(samples))
        best: tuple[float, Choice] | None = None
        for pair, sample in enumerate(looked):
            events, tp, fp = self._candidates(sample)
            n, n_out = len(sample.first), len(sample.second)
            orders = ((False, (tp, fp, n, n_out)), (True, (fp, tp, n_out, n)))
            for swapped, seen in orders:
                promise = statistic.screen(*seen, level)
                index = int(np.argmax(promise))
                if best is None or promise[index] > best[0]:
                    best = float(promise[index]), Choice(events[index], swapped, pair, looked)
        assert best is not None
        return best[1]

    def run(self, samples: Samples, statistic: Statistic[R], *, alpha: float = 0.05) -> Selected[R]:
        choice = self.choose(samples, statistic, alpha=alpha)
        fresh = [sample.part(self.share, 1.0) for sample in _several(samples)]
        result = statistic.test(choice.count(fresh), alpha=alpha)
        name = f"chosen on the first {self.share:.0%} of the runs, tested on the rest"
        return Selected(result.selected(open_fraction("alpha", alpha), name), choice, 1)

    def _candidates(self, sample: Sample) -> tuple[Sequence[Event], Array, Array]:
        """Events with their counts in the first part."""
        if self.events is not None:
            counts = [sample.count(event) for event in self.events]
            return self.events, np.array([c.tp for c in counts]), np.array([c.fp for c in counts])
        worlds = [_sorted_scores(outputs) for outputs in (sample.first, sample.second)]
        cuts = _thresholds(np.sort(np.concatenate(worlds)))
        tp, fp = (len(scores) - np.searchsorted(scores, cuts) for scores in worlds)
        return [AtLeast(float(cut)) for cut in cuts], tp, fp


def _several(samples: Samples) -> list[Sample]:
    every = [samples] if isinstance(samples, Sample) else list(samples)
    if not every or not all(isinstance(sample, Sample) for sample in every):
        raise InvalidParameter("samples must be a Sample, or a sequence of them, one per pair of neighbours")
    return every


def _sorted_scores(outputs: Array) -> Array:
    if outputs.ndim != 1 or outputs.dtype.kind not in "biuf":
        raise InvalidData("thresholds need one number a run; give events for other outputs")
    return np.sort(outputs[np.isfinite(outputs)].astype(float))


def _thresholds(pooled: Array) -> Array:
    """Scores at ranks that are dense in both tails, where the rare events are."""
    if not len(pooled):
        raise InvalidData("thresholds need finite scores; give events for other outputs")
    tail = np.geomspace(1.0, max(1.0, len(pooled) / 2.0), _CUTS)
    ranks = np.concatenate((tail, len(pooled) - tail)).round().astype(int)
    return np.unique(pooled[np.clip(ranks, 0, len(pooled) - 1)])
