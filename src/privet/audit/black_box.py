"""`audit.mechanism`: search for an input pair and an event that a claimed price forbids, then test it on fresh runs."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from privet import accounting
from privet._numerics import Array
from privet._validate import count, fraction, open_fraction
from privet.audit.base import Counts, CurveTest, LowerBound, Verdict, delta_of, explained
from privet.audit.neighbours import Neighbours, Numbers, Pairs, pairs_for
from privet.audit.search import (
    KINDS,
    RELATIONS,
    Event,
    Learned,
    World,
    features,
    kind_of,
    learn,
    observe_both,
    tally,
)
from privet.audit.statistics import curve_test, point_lower
from privet.audit.statistics.clopper_pearson import point_epsilon, rate_above
from privet.errors import InvalidParameter
from privet.mechanisms import AdditiveMechanism
from privet.privacy import PrivacyLoss

__all__ = ["MechanismAudit", "Witness", "decide", "measure", "mechanism"]

Score = Callable[[Array, Array, int, int], Array]
_MOST_PAIRS = 64
_SCOUTS = 4_000
_EVENTS = 2
SHARES = (0.5, 0.5)
_HOW = "chosen on the other half of the runs"
_WINDOW = 9  # thresholds
_CAUTION = 1e-3  # level of the intervals by which events are chosen


@dataclass(frozen=True, eq=False)
class Witness:
    """What was tested: two neighbouring inputs, an event, and in which world it is too likely. It can be run again.

    >>> from privet import audit, mechanisms
    >>> witness = audit.mechanism(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), runs=2000).witness
    >>> witness.replay(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), 100).n
    100
    """

    left: Any
    right: Any
    event: Event
    swapped: bool
    vocabulary: dict[str, int]
    learned: dict[str, Learned] = field(default_factory=dict)
    timed: bool = False

    def replay(self, mechanism: Any, runs: int) -> Counts:
        """Count the event on fresh runs of both worlds; feed the counts to any statistic."""
        worlds = observe_both(mechanism, self.left, self.right, runs, timed=self.timed)
        return self.count(*(_with(self.learned, features(world, self.vocabulary)) for world in worlds))

    def count(self, left: dict[str, Array], right: dict[str, Array]) -> Counts:
        """The counts in observed worlds, the world where the event is too likely first."""
        hits, runs = [], []
        for columns in (left, right):
            runs.append(len(columns["form"]))
            column = columns.get(self.event.feature)  # an output too short for the feature answers no
            hits.append(0 if column is None else int(np.sum(self.event(column))))
        counts = Counts(tp=hits[0], fp=hits[1], n=runs[0], n_out=runs[1])
        return counts.swapped() if self.swapped else counts

    @property
    def question(self) -> str:
        """The event in words."""
        if self.event.feature != "form":
            return str(self.event)
        forms = {number: form for form, number in self.vocabulary.items()}
        return f"form is {forms.get(int(self.event.threshold), 'unknown')}"

    def __str__(self) -> str:
        world = "right" if self.swapped else "left"
        return f"{self.question}, more likely in the {world} world"


@dataclass(frozen=True, eq=False, kw_only=True)
class MechanismAudit:
    """The outcome of an audit. It can refute a claim; it can never prove one.

    Two events were chosen: one that strains the claim's trade-off curve most, one that promises the largest epsilon.
    `test` is the better of their curve tests, at half the level each, and decides; `lower` is the assumption-free bound
    of the second event, at half the level. Search and test used separate runs.

    **Guarantee:** a true claim is called `violated` with probability at most `alpha`; and a claim whose epsilon lies
    below `lower` is always called so, as both rest on the same two confidence bounds.
    """

    claim: PrivacyLoss
    test: CurveTest
    lower: LowerBound
    witness: Witness
    alpha: float
    runs: int
    pairs_tried: int
    name: str
    tests: tuple[tuple[CurveTest, Witness], ...] = ()
    depends: str | None = None
    released: int = 0
    simulated: int = 0
    calls: int = 0
    events_tried: int = 0
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """`violated` or `not refuted`."""
        return self.test.verdict

    def explain(self) -> str:
        """Every finding by kind and pair, what was looked at, and what so many runs cannot show."""
        return explained(self)

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.verdict} at level {self.alpha:g} (p-value {self.test.p_value:.3g}); "
            f"epsilon >= {self.lower.lower:.4g} at delta {self.lower.delta:g}; event: {self.witness}; "
            f"{self.pairs_tried} pairs of neighbours, {self.runs:,} runs a world, {self.claim.unit.describe()}; "
            f"claims above epsilon {self.lower.ceiling:.3g} are out of reach of so many runs"
        )


def mechanism(
    mechanism: Any,
    *,
    claim: PrivacyLoss | None = None,
    neighbours: Neighbours | Iterable[tuple[Any, Any]] | None = None,
    runs: int = 100_000,
    alpha: float = 1e-3,
    delta: float | None = None,
    timed: bool = False,
    look_at: Collection[str] = KINDS,
) -> MechanismAudit:
    """Attack a claimed price by running the mechanism on neighbouring inputs.

    `mechanism` is anything with `.release(value)`, or a callable. `claim` defaults to its `.loss`; `neighbours` are
    pairs for the claim's relation (a family such as `audit.Tables`, or a list); for our own additive mechanisms they
    follow from the declared sensitivity. Half of the runs chooses the event, the other half tests it once. `timed`
    looks at the run time as well (one by one, slower); `look_at` restricts the search to some kinds of events.

    **Guarantee:** false alarms have probability at most `alpha`. **Error:** what is not refuted is not thereby private.
    **Reference:** Wasserman & Zhou 2010; Bichsel et al. 2021 for the search.

    >>> from privet import audit, mechanisms, privacy
    >>> laplace = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    >>> audit.mechanism(laplace, runs=4000).verdict
    'not refuted'
    >>> audit.mechanism(laplace, claim=privacy.PureLoss(0.3), runs=4000).verdict
    'violated'
    """
    price = _claim_of(mechanism, claim)
    runs, level = count("runs", runs, 4), open_fraction("alpha", alpha)
    pairs, kinds = _pairs(mechanism, price, neighbours), _kinds(look_at)
    curve = _Curve.of(price)
    left, right = _most_telling(mechanism, pairs, curve, min(_SCOUTS, runs), timed, kinds)
    worlds = observe_both(mechanism, left, right, runs, timed=timed)
    at = delta_of(price) if delta is None else fraction("delta", delta)
    (witness, measured), columns = _choose(worlds, (left, right), curve, at, timed, kinds)
    tested = [(decide(seen.count(*columns), claim=price, alpha=level), seen) for seen in (witness, measured)]
    test, witness = min(tested, key=lambda pair: pair[0].p_value)
    return MechanismAudit(
        claim=price,
        test=test,
        lower=measure(measured.count(*columns), claim=price, delta=at, alpha=level),
        witness=witness,
        tests=tuple(tested),
        alpha=level,
        runs=runs,
        pairs_tried=len(pairs),
        name=str(getattr(mechanism, "name", getattr(mechanism, "__name__", type(mechanism).__name__))),
    )


def decide(counts: Counts, *, claim: PrivacyLoss, alpha: float) -> CurveTest:
    """The curve test of one of the two events, its p-value doubled for the other one.

    >>> from privet import privacy
    >>> decide(Counts(tp=700, fp=300, n=1000), claim=privacy.PureLoss(0.5), alpha=1e-3).verdict
    'violated'
    """
    return curve_test(counts, claim=claim, alpha=alpha / _EVENTS).selected(alpha, _HOW)


def measure(counts: Counts, *, claim: PrivacyLoss, delta: float, alpha: float) -> LowerBound:
    """The bound on epsilon from one of the two events, at half the level.

    >>> from privet import privacy
    >>> measure(Counts(tp=700, fp=300, n=1000), claim=privacy.PureLoss(0.5), delta=0.0, alpha=1e-3).lower > 0.5
    True
    """
    return point_lower(counts, delta=delta, alpha=alpha / _EVENTS, unit=claim.unit).selected(alpha, _HOW)


def _claim_of(mechanism: Any, claim: PrivacyLoss | None) -> PrivacyLoss:
    price = getattr(mechanism, "loss", None) if claim is None else claim
    if not isinstance(price, PrivacyLoss):
        raise InvalidParameter("an audit needs a claim: pass claim=..., a loss out of privet.privacy")
    return price


def _kinds(look_at: Collection[str]) -> frozenset[str]:
    kinds = frozenset(look_at)
    if not kinds or isinstance(look_at, str) or not kinds <= frozenset(KINDS):
        raise InvalidParameter(f"look_at must name some of: {', '.join(KINDS)}")
    return kinds


def _pairs(mechanism: Any, claim: PrivacyLoss, neighbours: Any) -> list[tuple[Any, Any]]:
    if neighbours is None:
        if not isinstance(mechanism, AdditiveMechanism):
            raise InvalidParameter(
                "tell the audit which inputs are neighbours: neighbours=[(left, right), ...] or audit.Tables(records)"
            )
        neighbours = Numbers(float(mechanism.sensitivity))
    family = neighbours if isinstance(neighbours, Neighbours) else Pairs(list(neighbours))
    pairs = list(islice(pairs_for(family, claim.unit), _MOST_PAIRS))
    if not pairs:
        raise InvalidParameter("the family of neighbours is empty for the claim's relation")
    return pairs


@dataclass(frozen=True, eq=False)
class _Curve:
    """The claim's trade-off curve on a grid: good enough to choose an event, not used to test it."""

    fpr: Array
    fnr: Array

    @classmethod
    def of(cls, claim: PrivacyLoss) -> "_Curve":
        small = np.geomspace(1e-9, 0.5, 160)
        fpr = np.concatenate(([0.0], small, 1.0 - small[::-1], [1.0]))
        return cls(fpr, np.asarray(accounting.tradeoff(claim, fpr)))

    def excess(self, tp: Array, fp: Array, n: int, n_out: int) -> Array:
        """By how many standard errors the counts lie below the curve, even at the cautious ends of their intervals.

        The caution keeps luck in the far tails, where there are many events and few runs, from being chosen.
        """
        return self._errors_below(rate_above(fp, n_out, _CAUTION), rate_above(n - tp, n, _CAUTION), n, n_out)

    def plain(self, tp: Array, fp: Array, n: int, n_out: int) -> Array:
        """The same without caution, for events that are often seen: where nothing stands out, the likeliest suspect."""
        often = np.minimum(tp, n_out - fp) >= n / 50
        return np.where(
            often, self._errors_below((fp + 0.5) / (n_out + 1), (n - tp + 0.5) / (n + 1), n, n_out), -np.inf
        )

    def _errors_below(self, q: Array, fn: Array, n: int, n_out: int) -> Array:
        bound = np.interp(q, self.fpr, self.fnr)
        slope = (np.interp(q * 0.9, self.fpr, self.fnr) - bound) / (0.1 * q)
        variance = fn * (1.0 - fn) / n + slope**2 * q * (1.0 - q) / n_out
        return (bound - fn) / np.sqrt(variance + 1.0 / n**2)


def _most_telling(
    mechanism: Any, pairs: list[tuple[Any, Any]], curve: _Curve, runs: int, timed: bool, kinds: frozenset[str]
) -> tuple[Any, Any]:
    """The pair whose worlds lie furthest outside the claim in a few runs."""
    if len(pairs) == 1:
        return pairs[0]
    scores = []
    for left, right in pairs:
        vocabulary: dict[str, int] = {}
        worlds = observe_both(mechanism, left, right, runs, timed=timed)
        columns = [features(world, vocabulary) for world in worlds]
        scores.append(_Tallies(columns[0], columns[1], kinds).best(curve.excess)[0])
    return pairs[int(np.argmax(scores))]


def _choose(
    worlds: tuple[World, World],
    inputs: tuple[Any, Any],
    curve: _Curve,
    delta: float,
    timed: bool,
    kinds: frozenset[str],
) -> tuple[list[Witness], list[dict[str, Array]]]:
    """The events to test and to measure with, chosen on the first half; and the columns of the second half."""
    vocabulary: dict[str, int] = {}
    raw = [features(world, vocabulary) for world in worlds]
    learned = learn(*(_part(side, 0, 4) for side in raw), kinds=kinds)  # a quarter learns, a quarter chooses
    columns = [_with(learned, side) for side in raw]
    search = [_part(_part(side, 0, 2), 1, 2) if learned else _part(side, 0, 2) for side in columns]
    tallies = _Tallies(search[0], search[1], kinds)
    tested, suspect, measured = map(tallies.best, (curve.excess, curve.plain, _measure(delta)))
    if tested[0] <= 0.0 and np.isfinite(suspect[0]):
        tested = suspect  # nothing stands out: a frequent event near the edge says more than a rare one
    witnesses = [Witness(*inputs, *chosen[1:], vocabulary, learned, timed) for chosen in (tested, measured)]
    return witnesses, [_part(side, 1, 2) for side in columns]


def _measure(delta: float) -> Score:
    return lambda tp, fp, n, n_out: point_epsilon(tp, fp, n, n_out, delta=delta, alpha=_CAUTION)


def _part(columns: dict[str, Array], index: int, of: int) -> dict[str, Array]:
    """One of `of` equal parts of the runs."""
    n = len(columns["form"])
    return {name: column[index * n // of : (index + 1) * n // of] for name, column in columns.items()}


def _with(learned: dict[str, Learned], columns: dict[str, Array]) -> dict[str, Array]:
    return columns | {name: model(columns) for name, model in learned.items()}


class _Tallies:
    """All events of the wanted kinds, counted in both worlds."""

    def __init__(self, left: dict[str, Array], right: dict[str, Array], kinds: frozenset[str]) -> None:
        self._n, self._n_out = len(left["form"]), len(right["form"])
        seen = tally(*(_wanted(side, kinds) for side in (left, right)))
        self._groups = [group for group in seen if group.thresholds.size and group.kind in kinds]

    def best(self, score: Score) -> tuple[float, Event, bool]:
        """The event with the highest score, and whether it is about the right world."""
        n, n_out = self._n, self._n_out
        best = (-np.inf, Event("form", "equal to", 0.0), False)
        for group in self._groups:
            for swapped in (False, True):
                tp, fp = (group.right, group.left) if swapped else (group.left, group.right)
                scores = score(tp, fp, n_out if swapped else n, n if swapped else n_out)
                always_or_never = (tp + fp == 0) | (tp + fp == n + n_out)
                scores = np.where(always_or_never, -np.inf, scores)
                scores = _smooth(scores) if group.relation != "equal to" else scores
                index = int(np.argmax(scores))
                if scores[index] > best[0]:
                    best = float(scores[index]), group.event(index), swapped
        return best


def _wanted(columns: dict[str, Array], kinds: frozenset[str]) -> dict[str, Array]:
    return {name: column for name, column in columns.items() if kinds & {kind_of(name, r) for r in RELATIONS}}


def _smooth(scores: Array) -> Array:
    """The mean over neighbouring thresholds: a broad peak is worth more than a lucky point."""
    if scores.size < 4 * _WINDOW:
        return scores
    ends = np.pad(np.where(np.isfinite(scores), scores, -10.0), _WINDOW // 2, mode="edge")
    smooth: Array = np.convolve(ends, np.full(_WINDOW, 1.0 / _WINDOW), mode="valid")
    return smooth
