"""The best fit to several measurements of one histogram."""

from collections.abc import Sequence

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter

_DIRECT = 2_000  # cells up to which the fit is solved directly


def least_squares(measured: Sequence[tuple[Array, Array, float]], *, tolerance: float = 1e-12) -> Array:
    """The cells that fit all measurements (rows, answers, variance) best, each weighted by one over its variance.

    Several releases of one table are made consistent by it: what one says about a cell, all say. Up to 2,000 cells
    directly, beyond by conjugate gradients.

    >>> cells = np.eye(2), np.array([1.0, 2.0]), 1.0
    >>> total = np.ones((1, 2)), np.array([6.0]), 1.0
    >>> least_squares([cells, total]).round(9).tolist()
    [2.0, 3.0]
    """
    if not measured:
        raise InvalidParameter("measured must hold at least one triple (rows, answers, variance)")
    scaled = [
        (np.asarray(rows) / variance**0.5, np.asarray(answers) / variance**0.5) for rows, answers, variance in measured
    ]
    if len({rows.shape[1] for rows, _ in scaled}) != 1:
        raise InvalidParameter("all measurements must be over the same cells")
    if scaled[0][0].shape[1] <= _DIRECT:
        rows = np.concatenate([rows for rows, _ in scaled])
        return np.asarray(np.linalg.lstsq(rows, np.concatenate([answers for _, answers in scaled]), rcond=None)[0])
    return _conjugate_gradients(scaled, tolerance)


def _conjugate_gradients(scaled: list[tuple[Array, Array]], tolerance: float) -> Array:
    def both(x: Array) -> Array:
        return np.asarray(sum(rows.T @ (rows @ x) for rows, _ in scaled))

    rest = np.asarray(sum(rows.T @ answers for rows, answers in scaled))
    x, way = np.zeros_like(rest), rest.copy()
    size, aim = float(rest @ rest), tolerance**2 * float(rest @ rest)
    for _ in range(10 * len(rest)):
        if size <= aim:
            break
        step = both(way)
        length = size / float(way @ step)
        x, rest = x + length * way, rest - length * step
        size, before = float(rest @ rest), size
        way = rest + size / before * way
    return x
