"""Bugs in outputs whose length or keys vary; their twins vary as much, for reasons that are public or paid for."""

import math
from typing import Any

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.privacy import ApproxLoss
from privet.testing.zoo.entry import ONE, STEP, SWAP, Entry, Law, laplace

_DELTA = 0.01  # large enough to be seen in runs
_CUT = 1 + math.ceil(math.log(1.0 / (2.0 * _DELTA)))  # a key of one person is shown with probability below delta


def _integers(bound: int, *shape: int) -> Array:
    return np.asarray(noise.uniform_int(bound=bound, size=shape))


def _history(scale: float) -> Law:
    """A noisy answer, behind as many lines of public chatter as a die says."""

    def law(value: int, runs: int) -> list[Any]:
        before = _integers(7, runs).tolist()
        return [
            [1] * lines + [noisy] for lines, noisy in zip(before, (value + laplace(scale, runs)).tolist(), strict=True)
        ]

    return law


def _noisy_length(scale: float) -> Law:
    """As many synthetic rows as a noisy count says."""

    def law(people: int, runs: int) -> list[Any]:
        lengths = np.maximum(people + laplace(scale, runs), 0).tolist()
        digits = _integers(10, runs, max(max(lengths), 1)).tolist()
        return [row[:length] for row, length in zip(digits, lengths, strict=True)]

    return law


def _discovered(exact: bool) -> Law:
    """Keys that occur, with noisy counts; shown above a threshold of the exact count, or of the noisy one."""

    def law(counts: dict[str, int], runs: int) -> list[Any]:
        noisy = {key: number + laplace(1, runs) for key, number in counts.items() if number}
        shown = {key: (noisy[key] > _CUT) if not exact else np.full(runs, counts[key] > 1) for key in noisy}
        return [{key: int(noisy[key][run]) for key in noisy if shown[key][run]} for run in range(runs)]

    return law


def _in_any_order(weak: float) -> Law:
    """A dict of three keys in random order; the noise of the last one."""

    def law(count: int, runs: int) -> list[Any]:
        values = np.stack((laplace(3, runs), laplace(3, runs), 3 * count + laplace(weak, runs)), axis=1).tolist()
        orders = np.argsort(_integers(2**40, runs, 3), axis=1).tolist()
        return [{"abc"[j]: row[j] for j in order} for row, order in zip(values, orders, strict=True)]

    return law


def _ordered_by(exact: bool) -> Law:
    """Keys with noisy counts, the largest first: by the exact counts, or by the noisy ones."""

    def law(counts: dict[str, int], runs: int) -> list[Any]:
        noisy = np.array(list(counts.values())) + laplace(1, runs, len(counts))
        names = list(counts)
        places = np.argsort(-np.array(list(counts.values())), kind="stable")
        orders = [places] * runs if exact else list(np.argsort(-noisy, axis=1, kind="stable"))
        return [{names[j]: int(noisy[run, j]) for j in order} for run, order in enumerate(orders)]

    return law


def _until_quiet(threshold_noise: float) -> Law:
    """Answers are listed until one falls below a threshold; the list ends there."""

    def law(queries: tuple[int, ...], runs: int) -> list[Any]:
        level = laplace(threshold_noise, runs, 1) if threshold_noise else np.zeros((runs, 1), dtype=np.int64)
        below = np.asarray(queries) + laplace(4 * STEP, runs, len(queries)) < level
        stops = np.where(below.any(axis=1), below.argmax(axis=1), len(queries)).tolist()
        return [["yes"] * stop for stop in stops]

    return law


def _missing_where_small(exact: bool) -> Law:
    """Cells below five are None."""

    def law(cells: tuple[int, ...], runs: int) -> list[Any]:
        noisy = np.asarray(cells) + laplace(1, runs, len(cells))
        shown = np.broadcast_to(np.asarray(cells) >= 5, noisy.shape) if exact else noisy >= 5
        return [
            [v if s else None for v, s in zip(*row, strict=True)]
            for row in zip(noisy.tolist(), shown.tolist(), strict=True)
        ]

    return law


def _nested(scale: float) -> Law:
    """A report with parts of several kinds, and a public number of footnotes that changes from run to run."""

    def law(count: int, runs: int) -> list[Any]:
        notes, values = _integers(3, runs).tolist(), (count + laplace(scale, runs)).tolist()
        return [
            {"title": "visits", "parts": [{"n": value}, {"ok": True}], "notes": ["see below"] * some}
            for value, some in zip(values, notes, strict=True)
        ]

    return law


def _kept_with(chance: float) -> Law:
    """The keys of a random sample of the people, without any numbers."""

    def law(people: tuple[str, ...], runs: int) -> list[Any]:
        kept = np.stack([np.asarray(noise.bernoulli(p=chance, size=runs)) for _ in people], axis=1).tolist()
        return [{name for name, stays in zip(people, row, strict=True) if stays} for row in kept]

    return law


def _steps_until(value_scale: float) -> Law:
    """Random steps until a noisy bound: every second output is longer than the first sixteen numbers."""

    def law(value: int, runs: int) -> list[Any]:
        lengths = (_integers(30, runs) + 1).tolist()
        last = (value + laplace(value_scale, runs)).tolist()
        steps = _integers(2, runs, 30).tolist()
        return [[*row[:some], end] for row, some, end in zip(steps, lengths, last, strict=True)]

    return law


RAGGED = (
    Entry(
        number=63, name="half the noise behind chatter of varying length", claim=ONE, left=0, right=STEP,
        story="The noisy number is the last of a list that is longer or shorter by chance.",
        broken=_history(STEP / 2), sound=_history(STEP),
    ),
    Entry(
        number=64, name="too many synthetic rows told", claim=ONE, left=8, right=9,
        story="The number of synthetic rows is a noisy count with half of the noise.",
        broken=_noisy_length(0.5), sound=_noisy_length(1.0),
    ),
    Entry(
        number=65, name="discovered keys by the exact count", claim=ApproxLoss(1.0, _DELTA),
        left={"a": 30, "b": 1}, right={"a": 30, "b": 2},
        story="Keys of at least two people are shown, and their counts are noisy.",
        broken=_discovered(exact=True), sound=_discovered(exact=False),
    ),
    Entry(
        number=66, name="one key of a shuffled dict has weak noise", claim=ONE, left=0, right=1,
        story="Keys come in random order, so that no place is always the same key.",
        broken=_in_any_order(1.0), sound=_in_any_order(3.0),
    ),
    Entry(
        number=67, name="sorted by the exact counts", claim=ONE,
        left={"a": 3, "b": 3}, right={"a": 3, "b": 4},
        story="Noisy counts are listed from the largest exact one to the smallest.",
        broken=_ordered_by(exact=True), sound=_ordered_by(exact=False),
    ),
    Entry(
        number=68, name="a list that ends at an exact threshold", claim=ONE, left=(STEP,) * 20, right=(0,) * 20,
        story="Above-threshold whose threshold has no noise, written as a list that simply ends.",
        broken=_until_quiet(0.0), sound=_until_quiet(2 * STEP),
    ),
    Entry(
        number=69, name="small cells suppressed exactly", claim=ONE, left=(9, 4, 7), right=(9, 5, 7),
        story="Cells below five become None before the noise is looked at.",
        broken=_missing_where_small(exact=True), sound=_missing_where_small(exact=False),
    ),
    Entry(
        number=70, name="half the noise in a nested report", claim=ONE, left=0, right=STEP,
        story="Dicts in lists in dicts, with footnotes that come and go.",
        broken=_nested(STEP / 2), sound=_nested(STEP),
    ),
    Entry(
        number=71, name="names of a random sample", claim=SWAP, left=("ann", "bob"), right=("ann", "cy"),
        story="Sampling without noise: whoever is in the sample is named.",
        broken=_kept_with(0.2), sound=lambda people, runs: _kept_with(0.2)(("eve", "fay"), runs),
    ),
    Entry(
        number=72, name="weak noise at the end of a long walk", claim=ONE, left=0, right=STEP,
        story="Up to thirty public steps, then an answer with half of the noise.",
        broken=_steps_until(STEP / 2), sound=_steps_until(STEP),
    ),
)  # fmt: skip
