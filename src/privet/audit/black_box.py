"""`audit.mechanism`: search for an input pair and an event that a claimed price forbids, then test it on fresh runs."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet._calls import door
from privet._validate import above, count, flag, fraction, open_fraction
from privet.audit.claim import Claim, delta_of
from privet.audit.counts import Counts
from privet.audit.explain import all_equal, explained, headline, name_of, never_answered
from privet.audit.neighbours import Neighbours
from privet.audit.question import claim_of, kinds_of, pairs_of, strain_of
from privet.audit.result import CurveTest, LowerBound, Verdict
from privet.audit.scouting import Scout, Search
from privet.audit.search import (
    KINDS,
    Crew,
    Subject,
    dependence,
    differs,
    held,
    twin_of,
    usual_released,
)
from privet.audit.statistics import curve_test, point_lower
from privet.audit.statistics.curve import box_test
from privet.audit.trial import BETTING, Bets, Progress, affordable, blocks, told
from privet.audit.witness import Columns, Encoded, Witness, encoded, one_after_other, with_learned
from privet.mechanisms.payment import refuse_unpaid_runs
from privet.privacy import PrivacyLoss

DEPENDS: Verdict = "depends on more than its input"
SHARES = (0.6, 0.15, 0.25)  # of the level: the best suspect, the second, and the event that measures epsilon
_TWIN = 64  # runs of a copy beside the mechanism
_HOW = "chosen on other runs"


@dataclass(frozen=True, eq=False, kw_only=True)
class MechanismAudit:
    """The outcome of an audit. It can refute a claim; it can never prove one.

    Up to three events were chosen on scouting runs: the two that promise to strain the claim's trade-off curve most, and
    the one that promises the largest epsilon. They were tested on fresh runs, each with its share of the level; `test` is
    the strongest of these tests and decides, `tests` has all of them. `lower` is the assumption-free bound of the third.

    `depends` says in words what else than its input the output depends on, if that showed: then runs are no independent
    draws, no test of them means anything, and the verdict is "depends on more than its input". `released` counts the
    tested runs that came from `release` (or `start` and `ask`), `simulated` those that were simulated. `notes` says what
    was sampled, cut or noticed on the way; `calls` is the number of runs in all, scouting included. `stopped` says that
    bets (see `BettingTest`) refuted the claim before all runs were made; there is no bound then, and `betting` has them.

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
    stopped: bool = False
    betting: dict[str, Any] | None = None

    @property
    def verdict(self) -> Verdict:
        """`violated`, `not refuted`, or `depends on more than its input`."""
        return self.test.verdict if self.depends is None else DEPENDS

    def explain(self) -> str:
        """Every finding by kind and pair, what was looked at, and what so many runs cannot show."""
        return explained(self)

    def __str__(self) -> str:
        return headline(self)

    def __repr__(self) -> str:
        return f"<audit of {self.name}: {self.verdict} at level {self.alpha:g}; print it, or its explain()>"


@door
def mechanism(
    mechanism: object,
    *,
    claim: Claim | None = None,
    epsilon: float | None = None,
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
    seconds: float | None = None,
    jobs: int = 1,
    stop: bool = False,
    progress: Progress | None = None,
) -> MechanismAudit:
    """Attack a claimed price by running the mechanism on neighbouring inputs.

    `mechanism` is anything with `.release(value)`, or a callable. The claim is a price (`claim`), an `epsilon` with or
    without `delta`, or its own `.loss`; a number as `claim` is an epsilon. `neighbours` are pairs for the claim's relation
    (a family such as `audit.Tables`, or a list); for our own additive mechanisms they follow from the declared sensitivity.
    `delta` is also the delta at which the lower bound is reported. Some of the runs choose events, the others test them
    once. `timed` looks at the run time as well (one by one, slower); `look_at` restricts the search to some kinds of
    events.

    Every run gets a copy of its input, the worlds take turns in random order. `fresh` makes a new instance for each run,
    where a mechanism keeps something from run to run. Outputs of any kind are taken apart into numbers; for those that
    cannot be read, `view` turns an output into something that can. `features` (numbers) and `score` (one number) are
    looked at besides. Outputs, exceptions, warnings and what is printed count; texts are compared as keyed hashes.

    **Cost:** `runs` for each of the two inputs, those that choose events included; where several pairs are tried, at most
    as many again (and 50 for each input of a pair) find the pair; `calls` of the result counts all. `seconds` is what all
    of it may take: timed pilot runs decide once how many runs are made. `jobs` runs in so many processes, `stop` ends as
    soon as bets have refuted the claim (they have a quarter of the level), `progress(done, of)` is called now and then.

    **Guarantee:** false alarms have probability at most `alpha`, early stops included.
    **Error:** what is not refuted is not thereby private.
    **Reference:** Wasserman & Zhou 2010; Bichsel et al. 2021 for the search.

    >>> from privet import audit, mechanisms
    >>> laplace = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    >>> audit.mechanism(laplace, runs=4000).verdict
    'not refuted'
    >>> audit.mechanism(laplace, epsilon=0.3, runs=4000).verdict
    'violated'
    """
    refuse_unpaid_runs("audit.mechanism")
    price = claim_of(mechanism, claim, epsilon, delta)
    runs, level = count("runs", runs, 4), open_fraction("alpha", alpha)
    at = delta_of(price) if delta is None else fraction("delta", delta)
    notes: list[str] = []
    pairs = pairs_of(mechanism, price, neighbours, notes)
    subject = Subject(mechanism, fresh=fresh, view=view, features=features, score=score, timed=timed)
    crew = Crew(count("jobs", jobs, 1))
    crew.engaged(subject, pairs)
    audit = _Audit(price, level, at, kinds_of(look_at), subject, crew, flag("stop", stop))
    twin = None if fresh is not None or callable(getattr(mechanism, "simulate", None)) else twin_of(mechanism)
    if seconds is not None:
        limit = above("seconds", seconds, 0.0)
        runs = affordable(crew, subject, pairs[0], runs, limit, several=len(pairs) > 1)
    subject.told = told(2 * runs * (1 if len(pairs) == 1 else 2), progress)
    return audit.run(pairs, twin, runs, notes)


@dataclass(frozen=True, eq=False)
class _Audit:
    """One audit under way: what is claimed, what is run, and how."""

    claim: PrivacyLoss
    alpha: float
    delta: float
    kinds: frozenset[str]
    subject: Subject
    crew: Crew
    stop: bool

    def run(self, pairs: list[tuple[Any, Any]], twin: Any | None, runs: int, notes: list[str]) -> MechanismAudit:
        """Choose a pair and events, test them on fresh runs, and say what came of it."""
        subject = self.subject
        scout = Scout(subject, self.crew, self.kinds, self.delta, strain_of(self.claim))
        left, right = scout.most_telling(pairs, runs)
        search = scout.search(left, right, runs, suspects=len(SHARES) - 1)
        subject.ran.update(release=0, simulate=0)
        bets = Bets.on(search.scouted, self.claim, self.alpha) if self.stop else None
        worlds = self._tested(scout, search, left, right, bets)
        tests: list[tuple[CurveTest, Witness]] = []
        part = 1.0 if bets is None else 1.0 - BETTING
        stopped = bets is not None and bets.test.verdict == "violated"
        if bets is not None and stopped:
            tests.append((bets.decided(self.claim, self.alpha, _HOW), search.witnesses[0]))
        else:
            tests += _tests(search, worlds, self.claim, self.alpha, part)
        test, witness = min(tests, key=lambda pair: pair[0].p_value)
        if test.verdict != "violated":
            scout.refuse_unanswered(search.encoder, left, worlds.columns)
            notes += all_equal(worlds.columns)
            notes += never_answered(search.encoder)
        measured = search.witnesses[-1].count(*worlds.columns)
        lower = measure(measured, claim=self.claim, delta=self.delta, alpha=self.alpha * part)
        lower = lower.selected(self.alpha, _HOW)
        if stopped:  # the number of runs depends on what was seen, and a bound for a fixed number does not hold
            lower = replace(lower, lower=0.0, ceiling=0.0, method="none: stopped early")
        made = subject.mechanism
        return MechanismAudit(
            claim=self.claim,
            test=test,
            lower=lower,
            witness=witness,
            alpha=self.alpha,
            runs=runs,
            pairs_tried=len(pairs),
            name=name_of(made),
            tests=tuple(tests),
            depends=_depends(subject, twin, worlds, test, witness),
            released=subject.ran["release"],
            simulated=subject.ran["simulate"],
            calls=subject.calls,
            events_tried=search.events,
            notes=(*notes, *search.encoder.notes, *subject.notes),
            stopped=stopped,
            betting=None if bets is None else bets.to_dict(),
        )

    def _tested(self, scout: Scout, search: Search, left: object, right: object, bets: Bets | None) -> Encoded:
        """Fresh runs: all of them, or block after block until the bets have refuted the claim."""
        if bets is None:
            pairs = scout.observed(left, right, search.testing, search.encoder)
            return encoded(pairs, search.encoder, search.learned)
        found, expected = list[Encoded](), usual_released(search.testing)
        for size in blocks(search.testing, self.crew.jobs):
            released = min(expected * size / search.testing, size / 2)
            pairs = scout.observed(left, right, size, search.encoder, released=released)
            found.append(encoded(pairs, search.encoder, search.learned))
            if bets.feed(*search.witnesses[0].hits(*found[-1].columns)):
                break
        return one_after_other(found)


def decide(
    counts: Counts, *, claim: PrivacyLoss, alpha: float, share: float = SHARES[0], part: float = 1.0
) -> CurveTest:
    """The curve test of one of the chosen events, at its share of the level (of a `part` of it, where bets had the rest).

    The two suspects have the supremum test; the event that measures has the box of two bounds (as any other share, such
    as the half of certificates of schema 1), so that a bound above the claim is always a violation.

    >>> from privet import privacy
    >>> decide(Counts(tp=700, fp=300, n=1000), claim=privacy.PureLoss(0.5), alpha=1e-3).verdict
    'violated'
    """
    test = curve_test if share in SHARES[:-1] else box_test
    return replace(test(counts, claim=claim, alpha=alpha * share * part).selected(alpha, _HOW), share=share * part)


def measure(counts: Counts, *, claim: PrivacyLoss, delta: float, alpha: float, share: float = SHARES[-1]) -> LowerBound:
    """The bound on epsilon from the last of the chosen events, at its share of the level.

    >>> from privet import privacy
    >>> measure(Counts(tp=700, fp=300, n=1000), claim=privacy.PureLoss(0.5), delta=0.0, alpha=1e-3).lower > 0.5
    True
    """
    return point_lower(counts, delta=delta, alpha=alpha * share, unit=claim.unit).selected(alpha, _HOW)


def _tests(
    search: Search, worlds: Encoded, claim: PrivacyLoss, alpha: float, part: float
) -> list[tuple[CurveTest, Witness]]:
    """Each chosen event on the fresh runs, at its share of the level."""
    return [
        (decide(witness.count(*worlds.columns), claim=claim, alpha=alpha, share=share, part=part), witness)
        for witness, share in zip(search.witnesses, SHARES, strict=True)
    ]


def _depends(subject: Subject, twin: Any | None, worlds: Encoded, test: CurveTest, witness: Witness) -> str | None:
    """The things that the output depends on besides the input, in words.

    Before an accusation it is the accusing event that must come from independent runs; a serial number or a time stamp
    beside it is none of its business. Where nothing is refuted, everything is looked at.
    """
    names = dict.fromkeys((witness.event.feature, "value[0]", "row", "form"))
    accused = test.verdict == "violated"
    judged = [_answers(witness, side) if accused else side for side in worlds.columns]
    found = dependence(judged, worlds.after_other, tuple(names))
    if found is not None or twin is None:
        return found
    if accused and (kept := held(subject, witness.encoder, (witness.left, witness.right), worlds.columns)):
        return kept
    copied = replace(subject, mechanism=twin, told=None, notes=[], ran={"release": 0, "simulate": 0})
    pair = copied.both(witness.left, witness.right, _TWIN, wanted=witness.encoder.wanted)
    for side, world in zip(judged, pair, strict=True):
        columns = with_learned(witness.learned, witness.encoder.columns(world))
        columns = _answers(witness, columns) if accused else columns
        if any(differs(side[name], columns[name]) for name in (side if accused else names) if name in side):
            return "a copy of the mechanism answers otherwise: something was drawn once and kept"
    return None


def _answers(witness: Witness, columns: Columns) -> Columns:
    """The tested event as a column of its own, and the feature that it is about."""
    column = columns.get(witness.event.feature, np.full(len(columns["form"]), np.nan))
    return {"event": witness.event(column).astype(float), witness.event.feature: column}
