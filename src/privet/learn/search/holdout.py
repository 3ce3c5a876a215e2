"""Records in two parts by private coins, and the score of a model on one of them."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.learn.problem import Chunk, Classes, Counts, Interval, Records, Task
from privet.learn.problem.array_records import dense

STEPS = 2**24  # the score of one record in whole steps


@final
class Part(Records):
    """The records that a mask picks, chunk by chunk."""

    __slots__ = ("_masks", "_whole")

    def __init__(self, whole: Records, masks: list[Array]) -> None:
        self._whole, self._masks = whole, masks

    @property
    def columns(self) -> int:
        return self._whole.columns

    @property
    def target_kind(self) -> str | None:
        return self._whole.target_kind

    def chunks(self) -> Iterator[Chunk]:
        for chunk, mask in zip(self._whole.chunks(), self._masks, strict=True):
            yield Chunk(chunk.rows[mask], None if chunk.targets is None else chunk.targets[mask])


def in_two(records: Records, drawn: Callable[[int], Array]) -> tuple[Records, Records]:
    """The records that a draw leaves, and those that it picks: `drawn(n)` gives the places of those among n."""
    masks = []
    for chunk in records.chunks():
        mask = np.zeros(chunk.rows.shape[0], dtype=bool)
        mask[drawn(len(mask))] = True
        masks.append(mask)
    return Part(records, [~mask for mask in masks]), Part(records, masks)


def score_of(model: Any, task: Task, records: Records) -> Fraction:
    """The sum over records of a number between 0 and 1, exactly: whether the class is right, or 1 - (residual/width)^2.

    Margins are computed element by element, so that a record's score depends on that record alone.
    """
    total = 0
    for rows, targets, _ in records.chunks():
        each = _scores(model, task, dense(rows), targets)
        total += int(np.trunc(np.clip(each, 0.0, 1.0) * STEPS).sum())
    return Fraction(total, STEPS)


def _scores(model: Any, task: Task, rows: Array, targets: Array) -> Array:
    with np.errstate(all="ignore"):  # a warning would tell about values
        margins = model._row_margins(rows)
    encoded, bad = task.target.encoded(targets)
    fits = np.isfinite(margins).all(axis=1) & ~bad
    if isinstance(task.target, Classes):
        places = (margins[:, 0] > 0.0).astype(int) if margins.shape[1] == 1 else np.argmax(margins, axis=1)
        wanted = (encoded > 0.0).astype(int) if len(task.target.labels) == 2 else encoded.astype(int)
        return np.where(fits, places == wanted, 0.0)
    if isinstance(task.target, Interval):
        middle, half = task.target.middle, task.target.half
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.minimum(np.abs((margins[:, 0] - middle) / half - encoded) / 2.0, 1.0)
        return np.where(fits, 1.0 - off * off, 0.0)
    if isinstance(task.target, Counts):
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.minimum(np.abs(margins[:, 0] - encoded) / task.target.largest, 1.0)
        return np.where(fits, 1.0 - off * off, 0.0)
    raise InvalidParameter("a search scores classes and numbers within bounds; this model predicts something else")
