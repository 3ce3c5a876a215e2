"""The smallest number of runs at which most audits refute: ours beside StatDP and DP-Sniper.

Every search is given the claim, the pair of neighbours and the level, and pays for all of its runs, those that choose or
train included. A rival is asked with several shares of its runs for choosing (and DP-Sniper with two probabilities c,
its own 0.01 and one for few runs), and the best of them counts, which flatters it.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from privet import audit, privacy
from privet.testing.zoo.entry import Simulated
from rivals.dp_sniper import DPSniper
from rivals.statdp import StatDP
from rivals.subjects import SUBJECTS, Subject

OF = 100  # audits of each size, four of five of which must refute: of thirty, a power of .56 was once taken for .8
RUNS = tuple(round(50 * 2 ** (step / 2)) for step in range(20))  # 50 to 36,204 of each input


class Search(Protocol):
    """A search for violations."""

    def refutes(self, subject: Subject, runs: int, alpha: float, rng: np.random.Generator) -> bool:
        """Whether one audit with so many runs of each input refutes the subject's claim."""


@dataclass(frozen=True)
class Ours:
    """`audit.mechanism` as it is."""

    def refutes(self, subject: Subject, runs: int, alpha: float, rng: np.random.Generator) -> bool:
        found = audit.mechanism(
            Simulated(subject.name, subject.simulate),
            claim=privacy.PureLoss(subject.epsilon),
            neighbours=[(subject.left, subject.right)],
            runs=runs,
            alpha=alpha,
        )
        assert found.calls <= 2 * runs, "all runs are counted"
        return found.verdict == "violated"


SEARCHES: dict[str, tuple[Search, ...]] = {
    "privet": (Ours(),),
    "StatDP": (StatDP(), StatDP(0.5)),
    "DP-Sniper": (DPSniper(), DPSniper(0.5), DPSniper(least=0.1), DPSniper(0.5, least=0.1)),
}


def smallest(search: Search, subject: Subject, *, alpha: float, of: int, up_to: int, seed: int) -> int | None:
    """The first number of runs at which four of five audits (of so many) refute; None above `up_to`."""
    rng = np.random.default_rng(seed)
    needed = -(-4 * of // 5)
    for runs in (runs for runs in RUNS if runs <= up_to):
        hits = misses = 0
        while hits < needed and misses <= of - needed:
            hit = search.refutes(subject, runs, alpha, rng)
            hits, misses = hits + hit, misses + (not hit)
        if hits >= needed:
            return runs
    return None


def smallest_runs(*, alpha: float = 0.05, of: int = OF, seed: int = 2026, only: str = "") -> Iterator[dict[str, Any]]:
    """One row a subject, as it is done: the smallest runs of each search, and whether ours never needs more.

    A rival is not asked beyond twice our runs: it has then lost.
    """
    for subject in (subject for subject in SUBJECTS if only in subject.name):
        start = time.process_time()
        ours = smallest(SEARCHES["privet"][0], subject, alpha=alpha, of=of, up_to=RUNS[-1], seed=seed)
        row: dict[str, Any] = {"subject": subject.name, "privet": ours}
        up_to = RUNS[-1] if ours is None else RUNS[min(RUNS.index(ours) + 2, len(RUNS) - 1)]
        for name in ("StatDP", "DP-Sniper"):
            found = [smallest(s, subject, alpha=alpha, of=of, up_to=up_to, seed=seed) for s in SEARCHES[name]]
            row[name] = min((runs for runs in found if runs is not None), default=None)
        rivals = [row[name] for name in ("StatDP", "DP-Sniper") if row[name] is not None]
        row["never more"] = ours is not None and all(ours <= runs for runs in rivals)
        row["asked up to"] = up_to
        row["seconds"] = round(time.process_time() - start, 1)
        yield row
