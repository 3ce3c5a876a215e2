"""`audit.training`: an audit of few and costly runs, through the scores of canaries."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array
from privet._validate import above, count, fraction, open_fraction
from privet.accounting import tradeoff
from privet.audit.claim import Claim, as_claim, delta_of
from privet.audit.coins import Coins
from privet.audit.counts import Counts, Guesses
from privet.audit.datasets import extended, selected
from privet.audit.result import CurveTest, LowerBound, Verdict
from privet.audit.statistics import (
    BettingTest,
    Curve,
    gaussian_lower,
    guess,
    one_run_curve,
    one_run_lower,
    point_lower,
    pooled,
)
from privet.errors import InternalError, InvalidData, InvalidParameter
from privet.mechanisms.payment import refuse_unpaid_runs
from privet.privacy import PrivacyLoss

_PILOT = 0.25  # share of the runs that chooses the threshold of a single canary
_FEWEST_PILOT, _MOST_PILOT = 8, 50  # pairs of runs that place a threshold, and do not count: power only
Progress = Callable[[int, int], None]
Train = Callable[[Any], Any]
Score = Callable[[Any, Any], float]


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingAudit:
    """The outcome of `audit.training`. It can refute a claim; it can never prove one.

    `test` decides and assumes nothing. `lower` is a bound on epsilon without assumption, `gaussian` one that assumes a
    Gaussian trade-off curve (None where it does not apply). `stopped` says that the claim was refuted before all runs
    were made. `trainings` counts every call of `train`, those that chose the threshold included.

    **Guarantee:** a true claim is called `violated` with probability at most `alpha`, early stops included.
    """

    claim: PrivacyLoss
    test: CurveTest
    lower: LowerBound
    gaussian: LowerBound | None
    alpha: float
    trainings: int
    canaries: int
    stopped: bool
    seconds: float
    threshold: float | None = None
    commitments: tuple[str, ...] = ()
    betting: dict[str, Any] | None = None

    @property
    def verdict(self) -> Verdict:
        """`violated` or `not refuted`."""
        return self.test.verdict

    def explain(self) -> str:
        """Words on what was looked at, and on what so few runs cannot show."""
        how = (
            f"one canary in {self.trainings} trainings, scored against the threshold {self.threshold:.6g}"
            if self.threshold is not None
            else f"{self.canaries} canaries with a coin each in {self.trainings} trainings, guessed from the ends"
        )
        lines = [
            f"{self.verdict} at level {self.alpha:g} (p-value {self.test.p_value:.3g}): {how}.",
            "The claim was refuted before all runs were made; the rest was not run, and there is no bound on epsilon."
            if self.stopped
            else f"Without assumption epsilon >= {self.lower.lower:.4g} at delta {self.lower.delta:g}; claims above "
            f"{self.lower.ceiling:.4g} cannot be refuted by so many runs.",
        ]
        if self.gaussian is not None:
            lines.append(f"Assuming a Gaussian curve epsilon >= {self.gaussian.lower:.4g}.")
        lines.append("Not seen: other canaries, other scores, other data. Not refuted is not private.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return " ".join(self.explain().splitlines()[:2])  # the verdict, and what so many runs could have found


@door
def training(
    train: Train,
    canaries: Any,
    score: Score,
    *,
    claim: Claim,
    data: object = None,
    otherwise: Any = None,
    runs: int = 100,
    top: int | None = None,
    bottom: int | None = None,
    threshold: float | None = None,
    alpha: float = 0.05,
    delta: float | None = None,
    seconds: float | None = None,
    jobs: int = 1,
    stop: bool = True,
    progress: Progress | None = None,
) -> TrainingAudit:
    """Audit an algorithm that is costly to run, by a few trainings with and without canaries.

    `train(data)` returns a model, `score(model, canary)` is large when the model looks as if the canary was in. With one
    canary, half of the `runs` trainings have it and half do not; the threshold is given, or chosen on a quarter of the
    runs. With m canaries every run flips a coin for each of them, and `top` and `bottom` guesses (a tenth of m each by
    default) are made from the ends of its scores; the runs are pooled. `otherwise` holds the records that stand in for
    canaries under `replace`. `seconds` is what the audit may take: the time of the first runs decides how many more are
    made, whatever they showed. `jobs` trains in parallel. With `stop` the audit of one canary ends as soon as a betting
    test has refuted the claim. `progress(done, of)` is called now and then.

    **Guarantee:** a true claim is called violated with probability at most `alpha`: the threshold is fixed before the
    tested runs, early stop and last test have half of the level each, coins are drawn anew for every run.
    **Error:** one canary, 1,000 trainings: a noise multiplier of half of what was claimed is found with near certainty.
    **Reference:** Nasr et al. 2021, 2023; Steinke, Nasr & Jagielski 2023; Mahloujifar, Melis & Chaudhuri 2024.

    >>> from privet import mechanisms, privacy
    >>> mean = mechanisms.Gaussian.for_budget(epsilon=1.0, delta=1e-5, sensitivity=1.0)
    >>> train = lambda rows: mean.release(sum(rows)).value
    >>> score = lambda model, canary: model * canary
    >>> training(train, [1.0], score, claim=mean.loss, data=[0.5, 0.0], runs=40, alpha=1e-3).verdict
    'not refuted'
    """
    refuse_unpaid_runs("audit.training")
    claim = as_claim(claim, delta or 0.0)
    level, runs = open_fraction("alpha", alpha), count("runs", runs, 1)
    at = delta_of(claim) if delta is None else fraction("delta", delta)
    many = len(canaries) if not hasattr(canaries, "columns") else canaries.shape[0]
    _suits(claim, otherwise)
    budget = _Budget(runs, seconds, count("jobs", jobs, 1), progress)
    if many == 1:
        pair = _worlds(data, canaries, otherwise)
        return _two_worlds(train, score, pair, claim, at, level, threshold, budget, stop)
    if threshold is not None:
        raise InvalidParameter("a threshold belongs to a single canary; with several say top=... and bottom=...")
    each = max(1, many // 10)
    ends = (each if top is None else top, each if bottom is None else bottom)
    return _coin_runs(train, score, canaries, (data, otherwise), claim, at, level, ends, budget)


class _Budget:
    """The runs and seconds that may be spent, and the runs themselves, several at a time."""

    def __init__(self, runs: int, seconds: float | None, jobs: int, progress: Progress | None) -> None:
        self.runs, self.jobs, self._progress = runs, jobs, progress
        self._seconds = math.inf if seconds is None else above("seconds", seconds, 0.0)
        self._start = time.monotonic()
        self.done = 0

    @property
    def spent(self) -> float:
        return time.monotonic() - self._start

    def results(self, work: Callable[[Any], Any], tasks: Iterator[Any], first: int) -> Iterator[Any]:
        """Results in the order of the tasks. The time of the `first` ones decides how many more there will be.

        A clock that is looked at all the time would let the results decide when to stop.
        """
        most = self.runs
        while batch := list(islice(tasks, min(self.jobs, most - self.done))):
            if self.jobs == 1:
                found = [work(task) for task in batch]
            else:
                from joblib import Parallel, delayed

                found = Parallel(n_jobs=self.jobs)(delayed(work)(task) for task in batch)
            before, self.done = self.done, self.done + len(batch)
            if before < first <= self.done and math.isfinite(self._seconds):
                # as many more as fit into what is left at this speed, but one for each job at least
                left = max(self._seconds - self.spent, 0.0)
                most = min(most, self.done + max(self.jobs, int(left * self.done / max(self.spent, 1e-9))))
            if self._progress is not None:
                self._progress(self.done, most)
            yield from found


def _worlds(data: object, canaries: object, otherwise: object) -> tuple[Any, Any, Any]:
    """The data with the canary and without (or with the record in its stead), and the canary."""
    (canary,) = selected(canaries, 1)
    other = [] if otherwise is None else selected(otherwise, 1)
    return extended(data, [canary]), extended(data, other), canary


def _two_worlds(
    train: Train,
    score: Score,
    worlds: tuple[Any, Any, Any],
    claim: PrivacyLoss,
    delta: float,
    alpha: float,
    threshold: float | None,
    budget: _Budget,
    stop: bool,
) -> TrainingAudit:
    """One canary: pairs of a run with it and a run without, in random order.

    Two tests look at the pairs: betting after each of them, which may stop, and the claim's curve at the end. Each has half
    of alpha; without betting the curve has all of it.
    """
    inside, outside, canary = worlds
    pairs = budget.runs // 2
    pilot = 0 if threshold is not None else min(max(_FEWEST_PILOT, math.ceil(_PILOT * pairs)), _MOST_PILOT)
    if pairs <= pilot:
        raise InvalidParameter(
            f"{budget.runs} runs are too few: at least {2 * (_FEWEST_PILOT + 1)}, or name a threshold"
        )

    def run(first_inside: bool) -> tuple[float, float]:
        order = (inside, outside) if first_inside else (outside, inside)
        a, b = (_number(score(train(_fresh(world)), canary)) for world in order)
        return (a, b) if first_inside else (b, a)

    orders = iter(np.asarray(noise.bernoulli(p=Fraction(1, 2), size=pairs)).tolist())
    budget.runs = pairs
    seen: list[tuple[float, float]] = []
    betting = _bet(claim, np.empty((0, 2)), 0.0, alpha) if stop else None  # for a given threshold: there is no pilot
    for scores in budget.results(run, orders, max(pilot, 1)):
        seen.append(scores)
        if threshold is None and len(seen) == pilot:  # the pilot chooses, and is not tested
            threshold = _chosen(np.array(seen))
            betting = _bet(claim, np.array(seen), threshold, alpha) if stop else None
        elif threshold is not None and betting is not None and len(seen) > pilot:
            hit = np.array([scores]) >= threshold
            if betting.feed(hit[:, 0], hit[:, 1]) == "violated":
                break
    tested = np.array(seen[pilot:]).reshape(-1, 2)
    if threshold is None:
        raise InternalError("no run was made")
    hits = tested >= threshold
    counts = Counts(tp=int(hits[:, 0].sum()), fp=int(hits[:, 1].sum()), n=len(tested))
    how = "threshold fixed in advance" if pilot == 0 else f"threshold chosen on {pilot} other pairs of runs"
    stopped = betting is not None and betting.verdict == "violated"
    test = _decided(counts, claim, alpha, betting, how)
    share = alpha / 2.0 if betting is not None else alpha
    lower = point_lower(counts, delta=delta, alpha=share, unit=claim.unit).selected(alpha, how)
    curve = None if delta == 0.0 else gaussian_lower(counts, delta=delta, alpha=share, unit=claim.unit)
    return TrainingAudit(
        claim=claim, test=test, lower=lower if not stopped else _nothing(lower), canaries=1, threshold=float(threshold),
        gaussian=None if curve is None or stopped else curve.selected(alpha, how), alpha=alpha,
        trainings=2 * len(seen), stopped=stopped, seconds=budget.spent,
        betting=None if betting is None else _bets(betting, hits),
    )  # fmt: skip


def _bets(betting: BettingTest, hits: Array) -> dict[str, Any]:
    """The bets, so that they can be repeated: what was bet on, and the pairs as digits (2 a hit inside, 1 outside)."""
    pairs = "".join(map(str, (hits @ np.array([2, 1])).tolist()))
    return {"epsilon": betting.epsilon, "delta": betting.delta, "pairs": pairs}


def _nothing(lower: LowerBound) -> LowerBound:
    """After an early stop the number of runs depends on what was seen, and a bound for a fixed number does not hold."""
    from dataclasses import replace

    return replace(lower, lower=0.0, method="none: stopped early")


def _decided(counts: Counts, claim: PrivacyLoss, alpha: float, betting: BettingTest | None, how: str) -> CurveTest:
    """The test that decides: betting where it refuted the claim, else the curve; each has half of the level, so that the
    p-value counts twice."""
    if betting is None:
        return Curve(claim).test(counts, alpha=alpha).selected(alpha, how)
    if betting.verdict == "violated":
        p = min(1.0, 2.0 * betting.p_value)
        method = f"betting, {betting.pairs} pairs of runs"
        return CurveTest(claim=claim, p_value=p, alpha=alpha, method=method, counts=counts, selection=how)
    return Curve(claim).test(counts, alpha=alpha / 2.0).selected(alpha, how)


def _coin_runs(
    train: Train,
    score: Score,
    canaries: Any,
    sets: tuple[Any, Any],
    claim: PrivacyLoss,
    delta: float,
    alpha: float,
    ends: tuple[int, int],
    budget: _Budget,
) -> TrainingAudit:
    """Many canaries, a coin each, in one run or several."""
    data, otherwise = sets
    many = len(canaries) if not hasattr(canaries, "columns") else canaries.shape[0]
    records = selected(canaries, many)

    def run(coins: Coins) -> tuple[Guesses, str]:
        model = train(coins.apply(data, canaries, otherwise=otherwise))
        scores = np.array([_number(score(model, record)) for record in records])
        return guess(scores, coins), coins.commitment

    flips = (Coins.draw(many, top=ends[0], bottom=ends[1]) for _ in range(budget.runs))
    found = list(budget.results(run, flips, 1))
    guesses = pooled(*(each for each, _ in found))
    test = one_run_curve(guesses, claim=claim, alpha=alpha)
    return TrainingAudit(
        claim=claim, test=test, lower=one_run_lower(guesses, delta=delta, alpha=alpha, unit=claim.unit), gaussian=None,
        alpha=alpha, trainings=len(found), canaries=many, stopped=False, seconds=budget.spent,
        commitments=tuple(name for _, name in found),
    )  # fmt: skip


def _chosen(pilot: Array) -> float:
    """The threshold with the largest difference between the rates of hits, which luck with a few extreme scores cannot
    make large. Cuts lie in the middle between scores, and below all of them; of several best ones it is the middle one."""
    values = np.unique(pilot)
    cuts = np.append((values[1:] + values[:-1]) / 2.0, values[:1])
    tp, fp = ((pilot[:, j, None] >= cuts).sum(axis=0) for j in (0, 1))
    best = np.flatnonzero(tp - fp >= (tp - fp).max())
    return float(cuts[best[len(best) // 2]])


def _bet(claim: PrivacyLoss, pilot: Array, threshold: float, alpha: float) -> BettingTest:
    """Bets on the tangent of the claim's curve that the pilot's rates lie furthest beyond: an epsilon with its delta.

    A half is added to the hits, and one to the pairs, so that no rate is 0 or 1; without a pilot both rates are 1/2.
    """
    hit = (np.sum(pilot >= threshold, axis=0) + 0.5) / (len(pilot) + 1.0) if len(pilot) else np.array([0.5, 0.5])
    return BettingTest.against(claim, float(hit[0]), float(hit[1]), alpha=alpha / 2.0)


def _fresh(world: object) -> Any:
    """A copy for every training, so that one that changes its data does not change the next one's."""
    import copy

    return copy.deepcopy(world)


def _number(value: Any) -> float:
    number = float(value)
    if math.isnan(number):
        raise InvalidData("a score must be a number, not NaN")
    return number


def _suits(claim: PrivacyLoss, otherwise: Sequence[Any] | None) -> None:
    """A check, before anything costly is run, that canaries can be about this claim."""
    if claim.unit.group_size != 1:
        raise InvalidParameter("canaries audit single records: the claim speaks of groups")
    if (claim.unit.relation == "replace") != (otherwise is not None):
        raise InvalidParameter(
            "a claim under replace needs otherwise=..., the records that stand in for the canaries, and others must not "
            "have them"
        )
    tradeoff(claim, 0.5)  # a claim without a curve is refused before anything costly is run
