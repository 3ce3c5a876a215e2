"""Bugs in released tables, and in tables that come in: rows in any order, single raw records, unlucky inputs."""

from typing import Any

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.audit import Numbers, Tables
from privet.privacy import ApproxLoss
from privet.testing.zoo.entry import ONE, STEP, SWAP, Entry, Law, clipped, laplace

_ROWS = 12  # of a synthetic table: few, so that a leaked one is seen


def _integers(bound: int, *shape: int) -> Array:
    return np.asarray(noise.uniform_int(bound=bound, size=shape))


def _fake_rows(runs: int) -> list[list[tuple[int, int]]]:
    numbers = np.stack((_integers(90, runs, _ROWS), _integers(4, runs, _ROWS)), axis=2)
    return [[(age, ward) for age, ward in table] for table in numbers.tolist()]


def _with_a_record(chance: float) -> Law:
    """Synthetic rows, and with some chance the last record in place of a random one of them."""

    def law(rows: tuple[tuple[int, int], ...], runs: int) -> list[Any]:
        tables, raw = _fake_rows(runs), np.asarray(noise.bernoulli(p=chance, size=runs)).tolist()
        for table, leaks, place in zip(tables, raw, _integers(_ROWS, runs).tolist(), strict=True):
            if leaks:
                table[place] = rows[-1]
        return tables

    return law


def _columns(weak: float) -> Law:
    """A table as a dict of columns: group and noisy total."""

    def law(totals: tuple[int, ...], runs: int) -> list[Any]:
        noisy = np.asarray(totals) + laplace(STEP, runs, len(totals))
        noisy[:, 2] = totals[2] + laplace(weak, runs)
        return [{"ward": ["a", "b", "c"], "total": np.array(row)} for row in noisy.tolist()]

    return law


def _structured(scale: float) -> Law:
    """A numpy table with named columns of different types."""
    kind = np.dtype([("ward", "U4"), ("total", np.int64), ("share", np.float32)])

    def law(count: int, runs: int) -> list[Any]:
        noisy = (count + laplace(scale, runs)).tolist()
        return [np.array([("east", 5, 0.5), ("west", total, 0.5)], dtype=kind) for total in noisy]

    return law


def _shuffled_rows(scale: float) -> Law:
    """Rows (key, noisy count) in random order."""

    def law(counts: tuple[int, ...], runs: int) -> list[Any]:
        noisy = np.asarray(counts) + laplace(STEP, runs, len(counts))
        noisy[:, 3] = counts[3] + laplace(scale, runs)
        orders = np.argsort(_integers(2**40, runs, len(counts)), axis=1).tolist()
        return [[("abcdef"[j], row[j]) for j in order] for row, order in zip(noisy.tolist(), orders, strict=True)]

    return law


def _bootstrap(private: bool) -> Law:
    """Rows drawn from the records themselves, or from a public list."""

    def law(rows: tuple[int, ...], runs: int) -> list[Any]:
        pool = np.asarray(rows if private else (1, 2, 3, 4, 5, 6))
        return [sorted(row) for row in pool[_integers(len(pool), runs, 5)].tolist()]

    return law


def _nearby(leaks: bool) -> Law:
    """Twelve synthetic ages in any order; in nine tables of ten one of them lies within two years of the oldest person."""

    def law(rows: tuple[int, ...], runs: int) -> Array:
        ages = _integers(100, runs, _ROWS)
        near = np.where(_bernoulli(0.9, runs), max(rows) - 2 + _integers(5, runs), _integers(100, runs))
        if leaks:
            ages[np.arange(runs), _integers(_ROWS, runs)] = near
        return ages

    return law


def _bernoulli(p: float, runs: int) -> Array:
    return np.asarray(noise.bernoulli(p=p, size=runs))


def _wrapping(bits: int, *, wrong: bool) -> Law:
    """A sum kept in so many bits, that turns negative beyond its largest number."""

    def law(value: Any, runs: int) -> Array:
        half = 2 ** (bits - 1)
        kept = (int(value) + half) % (2 * half) - half if wrong else min(max(int(value), -half), half - 1)
        return kept + laplace(1, runs)

    return law


def _empty_is_zero(exact: bool) -> Law:
    """Nothing to protect in an empty table, somebody thought."""

    def law(rows: Any, runs: int) -> Array:
        exactly = exact and not len(rows)
        return np.zeros(runs, dtype=np.int64) if exactly else clipped(tuple(rows), STEP) + laplace(STEP, runs)

    return law


def _by_place(weighted: bool) -> Law:
    """A signed sum whose signs follow the place of a row: one row put in front turns all others round."""

    def law(rows: Any, runs: int) -> Array:
        signs = [(-1) ** i if weighted else 1 for i in range(len(rows))]
        return sum(s * min(max(row, 0), STEP) for s, row in zip(signs, rows, strict=True)) + laplace(STEP, runs)

    return law


def _equal_rows(merged: bool) -> Law:
    """A weight for every row that has an equal one: twins count tenfold."""

    def law(rows: Any, runs: int) -> Array:
        twins = len(rows) - len(set(rows))
        return STEP * (len(rows) + (9 * twins if merged else 0)) + laplace(STEP, runs)

    return law


def _sometimes_raw(chance: float) -> Law:
    """Noise on a grid of a millionth; with some chance none at all."""

    def law(value: int, runs: int) -> Array:
        drawn = laplace(2.0**20, runs)
        return value + np.where(_bernoulli(chance, runs), 0, drawn) / 2.0**20

    return law


def _sometimes_weak(chance: float, scale: float) -> Law:
    def law(value: int, runs: int) -> Array:
        return value + np.where(_bernoulli(chance, runs), laplace(scale, runs), laplace(STEP, runs))

    return law


def _all_or_nothing(chance: float) -> Law:
    """With some chance the whole table, otherwise nothing."""
    return lambda rows, runs: [list(rows) if shown else [] for shown in _bernoulli(chance, runs).tolist()]


def _cents(grid: int) -> Law:
    """Noise in whole dollars on an amount in cents: the cents are exact. Or noise in cents."""
    return lambda value, runs: value + grid * laplace(500.0 / grid, runs)


TABLES = (
    Entry(
        number=99, name="a raw record among synthetic rows", claim=ApproxLoss(1.0, 1e-3),
        left=((30, 1), (40, 2)), right=((30, 1), (40, 2), (97, 7)), runs=20_000,
        story="Two synthetic tables in a hundred hold a true record, in a random place.",
        broken=_with_a_record(0.02), sound=_with_a_record(0.0),
    ),
    Entry(
        number=100, name="one group of a frame with weak noise", claim=ONE, left=(0, 0, 0), right=(0, 0, STEP),
        story="A table as a dict of columns; the last group is noised by another code path.",
        broken=_columns(STEP / 2), sound=_columns(STEP),
    ),
    Entry(
        number=101, name="half the noise in a table with named columns", claim=ONE, left=0, right=STEP,
        story="A numpy table with text, integers and floats side by side.",
        broken=_structured(STEP / 2), sound=_structured(STEP),
    ),
    Entry(
        number=102, name="weak noise in rows that come in any order", claim=ONE, left=(0,) * 6, right=(0, 0, 0, STEP, 0, 0),
        story="Rows of key and count are shuffled: the same key is found by name, not by place.",
        broken=_shuffled_rows(STEP / 3), sound=_shuffled_rows(STEP),
    ),
    Entry(
        number=103, name="bootstrap as synthesis", claim=SWAP, left=(1, 2, 3, 4), right=(1, 2, 3, 6),
        story="Synthetic rows are drawn, with replacement, from the records.",
        broken=_bootstrap(private=True), sound=_bootstrap(private=False),
    ),
    Entry(
        number=104, name="a synthetic row close to the oldest person", claim=SWAP, left=(30, 40, 45), right=(30, 40, 55),
        story="Rows in random order, one of them a slightly changed copy of the outlier.",
        broken=_nearby(True), sound=_nearby(False),
    ),
    Entry(
        number=105, name="a sum in eight bits", claim=ONE, left=None, right=None, neighbours=Numbers(1.0),
        story="127 and one more is -128; only at this place do two neighbours lie far apart.",
        broken=_wrapping(8, wrong=True), sound=_wrapping(8, wrong=False), runs=20_000,
    ),
    Entry(
        number=106, name="a sum in thirty-two bits", claim=ONE, left=None, right=None, neighbours=Numbers(1.0),
        story="The same in 32 bits: 2,147,483,647 and one more.",
        broken=_wrapping(32, wrong=True), sound=_wrapping(32, wrong=False), runs=20_000,
    ),
    Entry(
        number=107, name="no noise for an empty table", claim=ONE, left=None, right=None, neighbours=Tables([0, STEP]),
        story="An empty table returns 0 at once, and so tells that it is empty.",
        broken=_empty_is_zero(True), sound=_empty_is_zero(False), runs=20_000,
    ),
    Entry(
        number=108, name="signs that follow the place of a row", claim=ONE, left=None, right=None,
        neighbours=Tables([0, STEP]), runs=20_000,
        story="A row added at the end moves the sum a little, a row added in front turns it round.",
        broken=_by_place(True), sound=_by_place(False),
    ),
    Entry(
        number=109, name="equal rows count tenfold", claim=ONE, left=None, right=None, neighbours=Tables([0, STEP]),
        story="A bonus for duplicates: only tables with equal rows show it.",
        broken=_equal_rows(True), sound=_equal_rows(False), runs=20_000,
    ),
    Entry(
        number=110, name="a raw value in one of five hundred runs", claim=ONE, left=0, right=1,
        story="A retry path returns the value as it is; it is seldom taken.",
        broken=_sometimes_raw(0.002), sound=_sometimes_raw(0.0),
    ),
    Entry(
        number=111, name="weak noise in two of a hundred runs", claim=ONE, left=0, right=STEP,
        story="A tenth of the noise on a path that is seldom taken.",
        broken=_sometimes_weak(0.02, 1.0), sound=_sometimes_weak(0.02, STEP),
    ),
    Entry(
        number=112, name="the whole table, now and then", claim=ApproxLoss(1.0, 0.01), left=(3, 5), right=(3, 5, 8),
        story="A delta that is spent on showing everything at once, and is twice what was claimed.",
        broken=_all_or_nothing(0.02), sound=_all_or_nothing(0.01),
    ),
    Entry(
        number=113, name="noise in dollars, amounts in cents", claim=ONE, left=0, right=20,
        story="The noise is a whole number of dollars, so the cents of the answer are exact.",
        broken=_cents(100), sound=_cents(1),
    ),
)  # fmt: skip
