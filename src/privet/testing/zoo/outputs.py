"""Bugs in what comes out besides the noisy number: NaN, exceptions, keys, lengths, atoms at bounds, signs of zero."""

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.audit.search import World
from privet.testing.zoo.entry import ONE, STEP, SWAP, Entry, laplace


def _forms(form: str, runs: int) -> Array:
    return np.full(runs, form, dtype=object)


def _clipped_nan(rows: tuple[float, ...], runs: int) -> Array:
    return np.clip(rows, 0.0, STEP).sum() + laplace(STEP, runs)


def _clipped_clean(rows: tuple[float, ...], runs: int) -> Array:
    return np.clip(np.nan_to_num(rows, nan=0.0), 0.0, STEP).sum() + laplace(STEP, runs)


def _crashing(rows: int, runs: int) -> World:
    crashed = np.asarray(noise.bernoulli(p=0.01 if rows > 1491 else 0, size=runs))
    values = np.where(crashed, np.nan, rows + laplace(1, runs).astype(float))
    return World(values[:, None], np.where(crashed, "raises IndexError", "int").astype(object))


def _steady(rows: int, runs: int) -> Array:
    return rows + laplace(1, runs)


def _nonempty_bins(counts: dict[str, int], runs: int) -> World:
    seen = {key: number for key, number in counts.items() if number > 0}
    values = np.asarray(list(seen.values())) + laplace(1, runs, len(seen)).astype(float)
    return World(values, _forms(f"dict of {sorted(seen)}", runs))


def _all_bins(counts: dict[str, int], runs: int) -> World:
    values = np.asarray(list(counts.values())) + laplace(1, runs, len(counts)).astype(float)
    return World(values, _forms(f"dict of {sorted(counts)}", runs))


def _as_long_as_data(rows: int, runs: int) -> World:
    return World(laplace(STEP, runs, rows).astype(float), _forms("list", runs))


def _of_public_length(rows: int, runs: int) -> World:
    return World(laplace(STEP, runs, 16).astype(float), _forms("list", runs))


def _bounds_of_data(rows: tuple[int, ...], runs: int) -> Array:
    return np.clip(int(np.median(rows)) + laplace(3 * STEP, runs), min(rows), max(rows))


def _public_bounds(rows: tuple[int, ...], runs: int) -> Array:
    return np.clip(int(np.median(rows)) + laplace(3 * STEP, runs), 0, 3 * STEP)


def _exact_test(people: int, runs: int) -> Array:
    noisy = people + laplace(1, runs)
    return noisy if people >= 5 else np.full(runs, -1000)


def _noisy_test(people: int, runs: int) -> Array:
    noisy = people + laplace(1, runs)
    return np.where(noisy >= 5, noisy, -1000)


def _masked(total: float, hidden: float, runs: int) -> Array:
    shown = np.asarray(noise.bernoulli(p=0.5, size=runs))  # a noisy count of its own, above or below its threshold
    return np.where(shown, total + laplace(STEP, runs), hidden)


OUTPUTS = (
    Entry(
        number=22, name="NaN passes the clamp", feature="special", claim=ONE, left=(3.0,), right=(3.0, float("nan")),
        story="Clipping leaves NaN as it is, and so does every sum.",
        broken=_clipped_nan, sound=_clipped_clean,
    ),
    Entry(
        number=23, name="an exception in one run of a hundred", feature="form", claim=ONE, left=1491, right=1492,
        story="An index error at one table size, now and then (smartnoise 572 failed at 1492 rows, not at 1491).",
        broken=_crashing, sound=_steady,
    ),
    Entry(
        number=25, name="empty bins omitted", feature="form", claim=ONE, left={"a": 3, "b": 0}, right={"a": 3, "b": 1},
        story="A histogram over the keys that occur: a key shows that somebody has it.",
        broken=_nonempty_bins, sound=_all_bins,
    ),
    Entry(
        number=27, name="bounds read from the data", feature="atom", claim=SWAP, left=(0, 5, STEP), right=(0, 5, 3 * STEP),
        story="A noisy median is clamped to the smallest and largest record, and often lies on one of them.",
        broken=_bounds_of_data, sound=_public_bounds,
    ),
    Entry(
        number=30, name="length of the output", feature="length", claim=ONE, left=11, right=12,
        story="One noisy number a record: pure noise, and exactly as many as there are people.",
        broken=_as_long_as_data, sound=_of_public_length,
    ),
    Entry(
        number=40, name="threshold on the exact count", feature="atom", claim=ONE, left=4, right=5,
        story="Small groups are suppressed by comparing the exact count, and five is not small any more.",
        broken=_exact_test, sound=_noisy_test,
    ),
    Entry(
        number=41, name="the sign of zero", feature="special", claim=ONE, left=-5.0, right=5.0,
        story="Suppressed totals are multiplied by zero, and a negative total leaves minus zero.",
        broken=lambda total, runs: _masked(total, 0.0 * total, runs),
        sound=lambda total, runs: _masked(total, 0.0, runs),
    ),
)  # fmt: skip
