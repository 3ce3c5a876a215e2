"""The tested runs: how many the time allows, in which processes they are made, and when bets may end them early."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privet import _progress
from privet._numerics import Array
from privet.audit.counts import Counts
from privet.audit.result import CurveTest
from privet.audit.search import Crew, Subject
from privet.audit.statistics import BettingTest
from privet.privacy import PrivacyLoss

BETTING = 0.25  # of the level, where bets may end the runs early
_FIRST_BLOCK = 250  # pairs of runs before the first look
_PILOT, _OF_TIME = 16, 0.03  # runs of a world that are timed first; the share of the time that a pilot should take
_OVERHEAD = 1.5  # choosing events and counting them, beside the runs themselves
_FEWEST = 20  # runs, however little time there is: fewer can refute nothing

Progress = Callable[[int, int], None]


@dataclass(eq=False)
class Bets:
    """One event bet on, pair after pair; the bets are kept, so that they can be repeated."""

    test: BettingTest
    digits: list[str] = field(default_factory=list)

    @classmethod
    def on(cls, scouted: Counts, claim: PrivacyLoss, alpha: float) -> "Bets":
        """Bets on an event as often seen as the scouting runs say: these decide which tangent of the curve is bet on."""
        likely, rarely = (
            (hits + 0.5) / (n + 1.0) for hits, n in ((scouted.tp, scouted.n), (scouted.fp, scouted.n_out))
        )
        return cls(BettingTest.against(claim, likely, rarely, alpha=alpha * BETTING))

    def feed(self, first: Array, second: Array) -> bool:
        """Bet on the pairs of one more block; whether the claim is refuted now."""
        before = self.test.pairs
        refuted = self.test.feed(first, second) == "violated"
        used = self.test.pairs - before
        self.digits += (2 * first[:used].astype(int) + second[:used].astype(int)).astype(str).tolist()
        return refuted

    @property
    def counts(self) -> Counts:
        """The number of times that the event was seen in the pairs that were bet on."""
        pairs = np.array(self.digits, dtype=int)
        return Counts(tp=int(np.sum(pairs // 2)), fp=int(np.sum(pairs % 2)), n=len(pairs))

    def decided(self, claim: PrivacyLoss, alpha: float, how: str) -> CurveTest:
        """The refutation, at the level of the whole audit."""
        p = min(1.0, self.test.p_value / BETTING)
        method = f"betting, {self.test.pairs} pairs of runs"
        return CurveTest(
            claim=claim, p_value=p, alpha=alpha, method=method, counts=self.counts, selection=how, share=BETTING
        )

    def to_dict(self) -> dict[str, Any]:
        """The event that was bet on, and the pairs as digits (2 a hit in the first world, 1 in the other)."""
        return {"epsilon": self.test.epsilon, "delta": self.test.delta, "pairs": "".join(self.digits)}


def blocks(runs: int, jobs: int) -> list[int]:
    """Growing blocks of runs, with a look after each.

    >>> blocks(2_000, 1)
    [250, 500, 1000, 250]
    """
    sizes, size = list[int](), _FIRST_BLOCK * (1 if jobs == 1 else 2 * jobs)
    while (left := runs - sum(sizes)) > 0:
        sizes.append(min(size, left))
        size *= 2
    return sizes


def affordable(crew: Crew, subject: Subject, pair: tuple[Any, Any], runs: int, seconds: float, *, several: bool) -> int:
    """The runs a world that so many seconds allow, scouting included.

    Runs of a pilot are timed, and are neither searched nor tested. That decides once and for all: a clock that is looked
    at all the time would let the results decide when to stop.
    """
    start, n = time.monotonic(), _PILOT
    while True:
        begin = time.monotonic()
        crew.both(subject, *pair, n, released=n / 4)
        took = time.monotonic() - begin
        if took >= _OF_TIME * seconds or 4 * n > runs:
            break
        n *= 4
    each = max(took / n, 1e-9) * _OVERHEAD * (2.0 if several else 1.0)  # choosing among pairs costs as much again
    left = max(seconds - (time.monotonic() - start), 0.0)
    return min(runs, max(_FEWEST, math.floor(left / each)))


def told(total: int, progress: Progress | None) -> Callable[[int], None]:
    """The function that is called with every few runs: tells whoever listens, and the caller's own function.

    >>> told(4, lambda done, of: print(done, "of", of))(3)
    3 of 4
    """
    work = _progress.track("audit", total)

    def more(runs: int) -> None:
        if work.done + runs > work.total:
            work.total = work.done + runs
        work.advance(runs)
        if progress is not None:
            progress(work.done, work.total)

    return more
