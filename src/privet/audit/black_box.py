"""`audit.mechanism`: search for an input pair and an event that a claimed price forbids, then test it on fresh runs."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from privet import accounting, noise
from privet._numerics import Array
from privet._validate import count, fraction, open_fraction
from privet.audit.base import Counts, CurveTest, LowerBound, Verdict, delta_of, explained
from privet.audit.neighbours import Neighbours, Numbers, Pairs, pairs_for
from privet.audit.search import (
    KINDS,
    Candidate,
    Encoder,
    Event,
    Learned,
    Strain,
    Subject,
    Tallies,
    World,
    dependence,
    differs,
    fit,
    holds_an_iterator,
    learn,
    nudged,
    reusable,
    targets_of,
    twin_of,
)
from privet.audit.statistics import curve_test, point_lower
from privet.audit.statistics.clopper_pearson import point_epsilon
from privet.audit.statistics.curve import box_test
from privet.errors import InvalidParameter
from privet.mechanisms import AdditiveMechanism
from privet.privacy import PrivacyLoss

__all__ = ["DEPENDS", "SHARES", "MechanismAudit", "Witness", "decide", "measure", "mechanism"]

Columns = dict[str, Array]

DEPENDS: Verdict = "depends on more than its input"
SHARES = (0.6, 0.15, 0.25)  # of the level: the best suspect, the second, and the event that measures epsilon
_MOST_PAIRS, _PAIRS_READ = 64, 4_096
_SCOUTS, _FINALISTS = 4_000, 4  # runs that judge a pair of inputs, pairs that are judged twice
_FEW = 1_000  # runs below which nothing is learned
_LEARNING, _CHOOSING, _MOST_LEARNING = 0.15, 0.25, 20_000
_SCOUTING = 0.25  # of the runs choose, where there is nothing to learn first
_RELEASED = 40  # scouting runs through `release`
_TWIN = 64  # runs of a copy beside the mechanism
_HOW = "chosen on other runs"
_CAUTION = 1e-3  # level of the intervals by which the measuring event is chosen


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
    encoder: Encoder
    learned: dict[str, Learned] = field(default_factory=dict)
    subject: Subject | None = field(default=None, repr=False)

    def replay(self, mechanism: Any, runs: int) -> Counts:
        """Count the event on fresh runs of both worlds; feed the counts to any statistic."""
        again = Subject(mechanism) if self.subject is None else replace(self.subject, mechanism=mechanism, fresh=None)
        worlds = [_Worlds(pair) for pair in again.batches(self.left, self.right, runs, wanted=self.encoder.wanted)]
        return self.count(*_encoded(worlds, self.encoder, self.learned).columns)

    def count(self, left: Columns, right: Columns) -> Counts:
        """The counts in observed worlds, the world where the event is too likely first."""
        hits, runs = [], []
        for columns in (left, right):
            runs.append(len(columns["form"]))
            column = columns.get(self.event.feature)  # an output without the feature answers no
            hits.append(0 if column is None else int(np.sum(self.event(column))))
        counts = Counts(tp=hits[0], fp=hits[1], n=runs[0], n_out=runs[1])
        return counts.swapped() if self.swapped else counts

    @property
    def vocabulary(self) -> dict[str, int]:
        """The forms of outputs by which an event about forms is numbered."""
        return self.encoder.vocabulary

    @property
    def question(self) -> str:
        """The event in words."""
        if self.event.feature == "form":
            forms = {number: form for form, number in self.vocabulary.items()}
            return f"form is {forms.get(int(self.event.threshold), 'unknown')}"
        return str(self.event)

    def __str__(self) -> str:
        world = "right" if self.swapped else "left"
        return f"{self.question}, more likely in the {world} world"


@dataclass(frozen=True, eq=False, kw_only=True)
class MechanismAudit:
    """The outcome of an audit. It can refute a claim; it can never prove one.

    Up to three events were chosen on scouting runs: the two that promise to strain the claim's trade-off curve most, and
    the one that promises the largest epsilon. They were tested on fresh runs, each with its share of the level; `test` is
    the strongest of these tests and decides, `tests` has all of them. `lower` is the assumption-free bound of the third.

    `depends` says in words what else than its input the output depends on, if that showed: then runs are no independent
    draws, no test of them means anything, and the verdict is "depends on more than its input". `released` counts the
    tested runs that came from `release` (or `start` and `ask`), `simulated` those that were simulated. `notes` says what
    was sampled, cut or noticed on the way; `calls` is the number of runs in all, scouting included.

    **Guarantee:** a true claim is called `violated` with probability at most `alpha`; and a claim whose epsilon lies
    below `lower` is always called so (unless the runs are found to depend on more than their input).
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
        """`violated`, `not refuted`, or `depends on more than its input`."""
        return self.test.verdict if self.depends is None else DEPENDS

    def explain(self) -> str:
        """Every finding by kind and pair, what was looked at, and what so many runs cannot show."""
        return explained(self)

    def __str__(self) -> str:
        said = f"{self.name}: {self.verdict} at level {self.alpha:g} (p-value {self.test.p_value:.3g}); "
        if self.depends is not None:
            said = f"{self.name}: {self.verdict} ({self.depends}; give fresh=, a function that makes a new instance); "
        return said + (
            f"epsilon >= {self.lower.lower:.4g} at delta {self.lower.delta:g}; event: {self.witness}; "
            f"{self.pairs_tried} pairs of neighbours, {self.runs:,} runs a world, {self.claim.unit.describe()}; "
            f"claims above epsilon {self.lower.ceiling:.3g} are out of reach of so many runs"
            + "".join(f"; {note}" for note in self.notes)
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
    fresh: Callable[[], Any] | None = None,
    view: Callable[[Any], Any] | None = None,
    features: Callable[[Any], Any] | None = None,
    score: Callable[[Any], float] | None = None,
) -> MechanismAudit:
    """Attack a claimed price by running the mechanism on neighbouring inputs.

    `mechanism` is anything with `.release(value)`, or a callable. `claim` defaults to its `.loss`; `neighbours` are
    pairs for the claim's relation (a family such as `audit.Tables`, or a list); for our own additive mechanisms they
    follow from the declared sensitivity. Some of the runs choose events, the others test them once. `timed` looks at the
    run time as well (one by one, slower); `look_at` restricts the search to some kinds of events.

    Every run gets a copy of its input, the worlds take turns in random order. `fresh` makes a new instance for each run,
    where a mechanism keeps something from run to run. Outputs of any kind are taken apart into numbers; for those that
    cannot be read, `view` turns an output into something that can. `features` (numbers) and `score` (one number) are
    looked at besides. Outputs, exceptions, warnings and what is printed count; texts are compared as keyed hashes.

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
    at = delta_of(price) if delta is None else fraction("delta", delta)
    kinds, notes = _kinds(look_at), list[str]()
    pairs = _pairs(mechanism, price, neighbours, notes)
    subject = Subject(mechanism, fresh=fresh, view=view, features=features, score=score, timed=timed)
    twin = None if fresh is not None or callable(getattr(mechanism, "simulate", None)) else twin_of(mechanism)
    strain = _strain(price)
    left, right = _most_telling(subject, pairs, strain, runs, kinds)
    search = _search(subject, left, right, strain, runs, kinds, at)
    subject.ran.update(release=0, simulate=0)
    worlds = _encoded(_observed(subject, left, right, search.testing, search.encoder), search.encoder, search.learned)
    tests = _tests(search, worlds, price, level)
    test, witness = min(tests, key=lambda pair: pair[0].p_value)
    measured = tests[-1][1].count(*worlds.columns)
    return MechanismAudit(
        claim=price,
        test=test,
        lower=measure(measured, claim=price, delta=at, alpha=level),
        witness=witness,
        alpha=level,
        runs=runs,
        pairs_tried=len(pairs),
        name=str(getattr(mechanism, "name", getattr(mechanism, "__name__", type(mechanism).__name__))),
        tests=tuple(tests),
        depends=_depends(subject, twin, worlds, test, witness),
        released=subject.ran["release"],
        simulated=subject.ran["simulate"],
        calls=subject.calls,
        events_tried=search.events,
        notes=(*notes, *search.encoder.notes, *subject.notes),
    )


def decide(counts: Counts, *, claim: PrivacyLoss, alpha: float, share: float = SHARES[0]) -> CurveTest:
    """The curve test of one of the chosen events, at its share of the level.

    The two suspects have the supremum test; the event that measures has the box of two bounds (as any other share, such
    as the half of certificates of schema 1), so that a bound above the claim is always a violation.

    >>> from privet import privacy
    >>> decide(Counts(tp=700, fp=300, n=1000), claim=privacy.PureLoss(0.5), alpha=1e-3).verdict
    'violated'
    """
    test = curve_test if share in SHARES[:-1] else box_test
    return replace(test(counts, claim=claim, alpha=alpha * share).selected(alpha, _HOW), share=share)


def measure(counts: Counts, *, claim: PrivacyLoss, delta: float, alpha: float, share: float = SHARES[-1]) -> LowerBound:
    """The bound on epsilon from the last of the chosen events, at its share of the level.

    >>> from privet import privacy
    >>> measure(Counts(tp=700, fp=300, n=1000), claim=privacy.PureLoss(0.5), delta=0.0, alpha=1e-3).lower > 0.5
    True
    """
    return point_lower(counts, delta=delta, alpha=alpha * share, unit=claim.unit).selected(alpha, _HOW)


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


def _pairs(mechanism: Any, claim: PrivacyLoss, neighbours: Any, notes: list[str]) -> list[tuple[Any, Any]]:
    if neighbours is None:
        if not isinstance(mechanism, AdditiveMechanism):
            raise InvalidParameter(
                "tell the audit which inputs are neighbours: neighbours=[(left, right), ...] or audit.Tables(records)"
            )
        neighbours = Numbers(float(mechanism.sensitivity))
    family = neighbours if isinstance(neighbours, Neighbours) else Pairs(list(neighbours))
    found = islice(pairs_for(family, claim.unit), _PAIRS_READ)
    pairs = [(reusable(left), reusable(right)) for left, right in found]
    if not pairs:
        raise InvalidParameter("the family of neighbours is empty for the claim's relation")
    if len(pairs) > _MOST_PAIRS:
        notes.append(f"{_MOST_PAIRS} of {_many(len(pairs))} pairs of neighbours, drawn at random, were tried")
        drawn = noise.permutation(len(pairs))[:_MOST_PAIRS]
        pairs = [pairs[int(i)] for i in np.sort(drawn)]
    return pairs


def _many(number: int) -> str:
    return f"{number:,}" if number < _PAIRS_READ else f"the first {number:,}"


def _strain(claim: PrivacyLoss) -> Strain:
    small = np.sin(np.linspace(0.0, np.pi / 4, 500)) ** 2
    fpr = np.unique(np.concatenate((np.geomspace(1e-9, 1e-3, 100), small, 1.0 - small)))
    fnr = np.asarray(accounting.tradeoff(claim, fpr))
    grid = np.concatenate((fpr, fnr)), np.concatenate((fnr, fpr))  # steep parts are dense in the other direction
    order = np.lexsort((-grid[1], grid[0]))
    return Strain(grid[0][order], np.minimum.accumulate(grid[1][order]))


# --- running ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Worlds:
    """One batch of runs of both worlds."""

    pair: tuple[World, World]


@dataclass(frozen=True, eq=False)
class _Encoded:
    """The columns of both worlds in the order of the runs, and which runs came after one on the other input."""

    columns: list[Columns]
    after_other: list[Array | None]


def _observed(
    subject: Subject, left: Any, right: Any, runs: int, encoder: Encoder, *, released: float | None = None
) -> Iterable[_Worlds]:
    batches = subject.batches(left, right, runs, wanted=encoder.wanted, released=released)
    return (_Worlds(pair) for pair in batches)


def _encoded(batches: Iterable[_Worlds], encoder: Encoder, learned: dict[str, Learned]) -> _Encoded:
    """Batch by batch, so that long outputs are never held all at once."""
    columns: list[list[Columns]] = [[], []]
    after: list[list[Array | None]] = [[], []]
    for batch in batches:
        for side, world in enumerate(batch.pair):
            columns[side].append(_with(learned, encoder.columns(world)))
            alone = world.released is None or not bool(np.all(world.released))
            after[side].append(None if alone else world.after_other)
    joined = [{name: np.concatenate([each[name] for each in side]) for name in side[0]} for side in columns]
    order = [
        None if any(a is None for a in side) else np.concatenate([a for a in side if a is not None]) for side in after
    ]
    return _Encoded(joined, order)


def _with(learned: dict[str, Learned], columns: Columns) -> Columns:
    return columns | {name: model(columns) for name, model in learned.items()}


# --- choosing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Search:
    """What the scouting runs decided: everything that the tested runs are then held against."""

    encoder: Encoder
    learned: dict[str, Learned]
    witnesses: tuple[Witness, ...]
    testing: int
    events: int


def _most_telling(
    subject: Subject, pairs: list[tuple[Any, Any]], strain: Strain, runs: int, kinds: frozenset[str]
) -> tuple[Any, Any]:
    """The pair whose worlds lie furthest outside the claim: all in a few runs, the best ones in more."""
    each = max(min(_SCOUTS, runs // (2 * len(pairs))), min(runs, 50))
    while len(pairs) > 1:
        scores = []
        for left, right in pairs:
            subject.wants_rows = (targets := targets_of(left, right, subject.marks)) is not None
            worlds = subject.both(left, right, each, released=0)
            encoder = fit(*worlds, strain, targets=targets)
            tallies = Tallies(encoder.columns(worlds[0]), encoder.columns(worlds[1]), kinds)
            scores.append(tallies.suspects(strain, 1)[0].score)
        keep = 1 if len(pairs) <= _FINALISTS else _FINALISTS
        best = np.argsort(-np.array(scores), kind="stable")[:keep]
        pairs, each = [pairs[int(i)] for i in best], max(min(_SCOUTS, runs // (2 * keep)), min(runs, 50))
    return pairs[0]


def _search(
    subject: Subject, left: Any, right: Any, strain: Strain, runs: int, kinds: frozenset[str], delta: float
) -> _Search:
    """Fit the encoder and learn on some runs, choose events on others; how many are left to be tested."""
    targets = targets_of(left, right, subject.marks)
    subject.wants_rows = targets is not None
    first = int(runs * _SCOUTING) if runs < _FEW else min(int(runs * _LEARNING), _MOST_LEARNING)
    worlds = subject.both(left, right, max(first, 1), released=_RELEASED)
    encoder = fit(*worlds, strain, targets=targets)
    scouts = [encoder.columns(world) for world in worlds]
    learned: dict[str, Learned] = {}
    choosing = 0
    if runs >= _FEW:
        learned = learn(*scouts, kinds=kinds)
        choosing = int(runs * _CHOOSING) if learned else int(runs * _SCOUTING) - first
        batches = _observed(subject, left, right, choosing, encoder, released=_RELEASED)
        fresh = _encoded(batches, encoder, learned).columns
        # What was learned flatters the runs that it was learned from; where nothing was, all of them may choose.
        scouts = fresh if learned else [_joined(*both) for both in zip(scouts, fresh, strict=True)]
    tallies = Tallies(scouts[0], scouts[1], kinds)
    chosen: list[Candidate] = tallies.suspects(strain, len(SHARES) - 1)
    chosen += [chosen[0]] * (len(SHARES) - 1 - len(chosen))
    chosen.append(tallies.best(lambda tp, fp, n, n_out: point_epsilon(tp, fp, n, n_out, delta=delta, alpha=_CAUTION)))
    witnesses = tuple(Witness(left, right, each.event, each.swapped, encoder, learned, subject) for each in chosen)
    return _Search(encoder, learned, witnesses, runs - max(first, 1) - choosing, tallies.events)


def _joined(one: Columns, other: Columns) -> Columns:
    return {name: np.concatenate((column, other[name])) for name, column in one.items() if name in other}


def _tests(search: _Search, worlds: _Encoded, claim: PrivacyLoss, alpha: float) -> list[tuple[CurveTest, Witness]]:
    """Each chosen event on the fresh runs, at its share of the level."""
    return [
        (decide(witness.count(*worlds.columns), claim=claim, alpha=alpha, share=share), witness)
        for witness, share in zip(search.witnesses, SHARES, strict=True)
    ]


def _depends(subject: Subject, twin: Any | None, worlds: _Encoded, test: CurveTest, witness: Witness) -> str | None:
    """What the output depends on besides the input, in words.

    Before an accusation it is the accusing event that must come from independent runs; a serial number or a time stamp
    beside it is none of its business. Where nothing is refuted, everything is looked at.
    """
    names = dict.fromkeys((witness.event.feature, "value[0]", "row", "form"))
    accused = test.verdict == "violated"
    judged = [_answers(witness, side) if accused else side for side in worlds.columns]
    found = dependence(judged, worlds.after_other, tuple(names))
    if found is not None or twin is None:
        return found
    if accused and (held := _held(subject, worlds, witness)) is not None:
        return held
    beside = replace(subject, mechanism=twin, notes=[], ran={"release": 0, "simulate": 0})
    pair = beside.both(witness.left, witness.right, _TWIN, wanted=witness.encoder.wanted)
    for side, world in zip(judged, pair, strict=True):
        columns = _with(witness.learned, witness.encoder.columns(world))
        columns = _answers(witness, columns) if accused else columns
        if any(differs(side[name], columns[name]) for name in (side if accused else names) if name in side):
            return "a copy of the mechanism answers otherwise: something was drawn once and kept"
    return None


def _held(subject: Subject, worlds: _Encoded, witness: Witness) -> str | None:
    """Whether answers that never vary have noise in them all the same: drawn once, before the audit began.

    A number that the mechanism holds and that is added to its answers on either input may be such noise.
    """
    if any(len(np.unique(column[~np.isnan(column)])) > 1 for side in worlds.columns for column in side.values()):
        return None
    if holds_an_iterator(subject.mechanism):
        return "nothing varies from run to run, and it holds an iterator: something may have been drawn once and kept"
    for other in nudged(subject.mechanism):
        beside = replace(subject, mechanism=other, notes=[], ran={"release": 0, "simulate": 0})
        pair = beside.both(witness.left, witness.right, 1, wanted=witness.encoder.wanted)
        seen = [witness.encoder.columns(world) for world in pair]
        moved = [
            [now[name][0] - before[name][0] for now, before in zip(seen, worlds.columns, strict=True)]
            for name in seen[0]
            if name.startswith("value") and name in worlds.columns[0] and " given " not in name
        ]
        if any(a == b and a != 0.0 for a, b in moved):
            return (
                "nothing varies from run to run, and a number that it holds is added to its answers: noise drawn once"
            )
    return None


def _answers(witness: Witness, columns: Columns) -> Columns:
    """The tested event as a column of its own, and the feature that it is about."""
    column = columns.get(witness.event.feature, np.full(len(columns["form"]), np.nan))
    return {"event": witness.event(column).astype(float), witness.event.feature: column}
