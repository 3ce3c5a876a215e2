"""Runs in several processes at once: blocks of runs, each with both worlds in random order."""

import math
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from privet._numerics import Array
from privet.audit.search.features import row_marks
from privet.audit.search.running import Subject, usual_released
from privet.audit.search.worlds import World, join
from privet.errors import InvalidParameter

Pair = tuple[World, World]
_SMALLEST = 200  # runs of a block: fewer are not worth a message to another process
_COMPARED, _COPIED = 1_000, 1e-7  # blocks that agree by so small a chance have the noise of one generator


@dataclass(frozen=True, eq=False)
class Crew:
    """The processes that make the runs of a subject.

    >>> [world.runs for world in Crew().both(Subject(abs), -1, 2, 3)]
    [3, 3]
    """

    jobs: int = 1

    def engaged(self, subject: Subject, pairs: list[tuple[Any, Any]]) -> None:
        """Refuse at once what cannot be sent to another process."""
        if self.jobs == 1:
            return
        if subject.timed:
            raise InvalidParameter("processes side by side slow each other down: timed runs need jobs=1")
        from joblib.externals.loky.backend.reduction import dumps

        try:
            dumps((replace(subject, told=None), pairs))
        except Exception as problem:
            raise InvalidParameter(
                f"the mechanism or its inputs cannot be sent to another process ({type(problem).__name__}): "
                "use jobs=1, or fresh=, a function that makes a new instance there"
            ) from None

    def batches(
        self,
        subject: Subject,
        left: object,
        right: object,
        runs: int,
        *,
        wanted: Collection[str] | None = None,
        released: float | None = None,
    ) -> Iterator[Pair]:
        """Runs on both inputs, some at a time, in the order in which they were handed out."""
        if self.jobs == 1 or runs < 2 * _SMALLEST:
            yield from subject.batches(left, right, runs, wanted=wanted, released=released)
            return
        from joblib import Parallel, delayed

        expected = usual_released(runs) if released is None else released
        sizes = _blocks(runs, self.jobs)
        sent = replace(subject, told=None)
        tasks = (delayed(_block)(sent, left, right, n, wanted, expected * n / runs) for n in sizes)
        known: list[Array] = []
        made = Parallel(n_jobs=self.jobs, return_as="generator")(tasks)
        try:
            for pair, ran, notes, calls in made:
                if subject.fresh is None:
                    _not_copied(known, pair[0])
                subject.calls += calls
                if subject.told is not None:
                    subject.told(calls)
                for path, times in ran.items():
                    subject.ran[path] += times
                subject.notes.extend(note for note in notes if note not in subject.notes)
                yield pair
        finally:  # where runs are no longer wanted their processes are ended here, not when the collector finds them
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made.close()

    def both(self, subject: Subject, left: Any, right: Any, runs: int, **options: Any) -> Pair:
        """The same, all at once."""
        found = list(self.batches(subject, left, right, runs, **options))
        return join([pair[0] for pair in found]), join([pair[1] for pair in found])


def _blocks(runs: int, jobs: int) -> list[int]:
    """Equal blocks, at most four for each process."""
    many = max(1, min(4 * jobs, runs // _SMALLEST))
    return [runs // many + (i < runs % many) for i in range(many)]


def _block(
    subject: Subject, left: object, right: object, runs: int, wanted: Collection[str] | None, released: float
) -> tuple[Pair, dict[str, int], list[str], int]:
    """One block, in a process of its own."""
    mine = replace(subject, notes=[], ran={"release": 0, "simulate": 0}, calls=0)
    pair = mine.both(left, right, runs, wanted=wanted, released=released)
    return pair, mine.ran, mine.notes, mine.calls


def _not_copied(known: list[Array], world: World) -> None:
    """Refuse two processes that make the same noise: a generator that was copied into both of them.

    Runs with the same number in two blocks then agree far more often than any two runs of one block do. The order of the
    worlds differs from block to block, so only about half of such runs are copies.
    """
    mine = _marks(world)
    for theirs in known:
        n = min(len(mine), len(theirs))
        _, times = np.unique(mine[:n], return_counts=True)
        agree = max(float(np.sum(times * (times - 1.0))) / (n * max(n - 1.0, 1.0)), 1.0 / n)
        agree += 2.0 * math.sqrt(agree * (1.0 - min(agree, 1.0)) / n)  # it is an estimate
        equal = int(np.sum(mine[:n] == theirs[:n]))
        if agree < 1.0 and stats.binom.sf(equal - 1, n, agree) < _COPIED:
            raise InvalidParameter(
                "the processes repeat each other's noise: a random generator was copied into all of them; "
                "use fresh=, a function that makes a new instance with a generator of its own, or jobs=1"
            )
    known.append(mine)


def _marks(world: World) -> Array:
    """One number for everything that is numeric in a run."""
    cut = world.take(slice(0, _COMPARED))
    parts = [row_marks(part.values, part.lengths) for part in (cut.main, *cut.parts.values()) if part.values.shape[1]]
    parts += [np.nan_to_num(column, nan=-1.0) for named in (cut.single, cut.marks) for column in named.values()]
    if not parts:
        return np.unique(cut.forms.astype(str), return_inverse=True)[1].astype(float)
    table = np.stack(parts, axis=1)
    return row_marks(table, np.full(len(table), table.shape[1]))
