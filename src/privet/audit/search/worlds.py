"""Running a mechanism many times on one input, and keeping everything that an observer could see of each run."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet import noise
from privet._numerics import Array
from privet._validate import count
from privet.errors import InvalidParameter

__all__ = ["World", "observe", "observe_both", "runner_of"]

Runner = Callable[[Any], Any]
_MOST_NUMBERS = 4096  # of one output; longer ones are seen through their length and their first numbers


@dataclass(frozen=True, eq=False)
class World:
    """What many runs on one input showed: numbers, the form of each output, and the time it took.

    `values` has one row a run, padded with NaN; `forms` names type, dtype, shape, exception or warning of each run. A
    `simulate` whose outputs fit no array may return a world itself.

    >>> world = observe(lambda value: value + 1, 41, 3)
    >>> world.values.tolist(), world.forms.tolist()
    ([[42.0], [42.0], [42.0]], ['int', 'int', 'int'])
    """

    values: Array
    forms: Array
    seconds: Array | None = None

    @property
    def runs(self) -> int:
        """How many runs were observed."""
        return len(self.forms)

    def take(self, index: Array | slice) -> "World":
        """Some of the runs."""
        return World(self.values[index], self.forms[index], None if self.seconds is None else self.seconds[index])


def runner_of(mechanism: Any) -> Runner:
    """The function from an input to an output: `.release(value).value`, the callable itself, or one simulated run.

    >>> runner_of(abs)(-2)
    2
    """
    release = getattr(mechanism, "release", None)
    if callable(release):
        return lambda value: getattr(out := release(value), "value", out)
    if callable(mechanism):
        return mechanism
    simulate = getattr(mechanism, "simulate", None)
    if callable(simulate):
        return lambda value: simulate(value, 1)[0]
    raise InvalidParameter("an audit needs something with .release(value), or a callable")


def observe(mechanism: Any, value: Any, runs: int) -> World:
    """Run it `runs` times. Our own mechanisms simulate in bulk; anything else runs one by one, exceptions included.

    >>> observe(lambda value: 1 / 0, 0, 2).forms.tolist()
    ['raises ZeroDivisionError', 'raises ZeroDivisionError']
    """
    runs = count("runs", runs, 1)
    simulate = getattr(mechanism, "simulate", None)
    if callable(simulate):
        bulk = _bulk(lambda: simulate(value, runs), runs)
        if bulk is not None:
            return bulk
    return _one_by_one(runner_of(mechanism), [value], np.zeros((runs, 1), dtype=np.int64), timed=False)[0]


def observe_both(mechanism: Any, left: Any, right: Any, runs: int, *, timed: bool = False) -> tuple[World, World]:
    """Both worlds. When timed, runs alternate in random order, so that a busy machine slows both alike.

    >>> [world.runs for world in observe_both(abs, -1, 2, 3, timed=True)]
    [3, 3]
    """
    if not timed:
        return observe(mechanism, left, runs), observe(mechanism, right, runs)
    first = noise.bernoulli(p=Fraction(1, 2), size=count("runs", runs, 1)).astype(np.int64)
    both = _one_by_one(runner_of(mechanism), [left, right], np.stack((first, 1 - first), axis=1), timed=True)
    return both[0], both[1]


def _bulk(simulate: Callable[[], Any], runs: int) -> World | None:
    """All runs at once, or None when they must be looked at one by one (an exception, ragged outputs)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            outputs = simulate()
    except Exception:
        return None
    if isinstance(outputs, World) and outputs.runs == runs:
        return outputs
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf" and len(outputs) == runs:
        form = f"{outputs.dtype}{outputs.shape[1:]}"
        return World(_flat(outputs.reshape(runs, -1)), np.full(runs, form, dtype=object))
    if isinstance(outputs, list) and len(outputs) == runs:
        return _stack([_look(output) for output in outputs], None)
    return None


def _one_by_one(run: Runner, values: list[Any], order: Array, *, timed: bool) -> list[World]:
    """Runs on several inputs; each row of `order` says which inputs come next. CPU time, not time on the clock."""
    seen: list[list[tuple[Array, str]]] = [[] for _ in values]
    seconds: list[list[float]] = [[] for _ in values]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for world in order.reshape(-1).tolist():
            caught.clear()
            start = time.thread_time()
            try:
                output: Any = run(values[world])
            except Exception as problem:  # an exception is an output like any other; its text is not looked at
                output = problem
            seconds[world].append(time.thread_time() - start)
            row, form = _look(output)
            if caught:
                form += " warns " + "|".join(sorted({warning.category.__name__ for warning in caught}))
            seen[world].append((row, form))
    return [_stack(look, np.array(took) if timed else None) for look, took in zip(seen, seconds, strict=True)]


def _stack(seen: list[tuple[Array, str]], seconds: Array | None) -> World:
    width = max(row.size for row, _ in seen)
    values = np.full((len(seen), width), np.nan)
    for i, (row, _) in enumerate(seen):
        values[i, : row.size] = row
    return World(values, np.array([form for _, form in seen], dtype=object), seconds)


def _look(output: Any) -> tuple[Array, str]:
    """One output as numbers and a form. A run that raised is seen by the type of its exception."""
    if isinstance(output, Exception):
        return np.empty(0), f"raises {type(output).__name__}"
    if isinstance(output, np.ndarray):
        numeric = output.dtype.kind in "biuf"
        form = f"{output.dtype}{output.shape}"
        return (_flat(output.reshape(-1)), form) if numeric else (np.empty(0), form + repr(output.tolist()))
    if isinstance(output, bool | int | float | np.generic):
        return _flat(np.asarray([output])), type(output).__name__
    if isinstance(output, dict):
        output, keys = list(output.values()), repr(list(output))
        row, form = _look(output)
        return row, keys + form
    if isinstance(output, tuple | list):
        parts = [_look(item) for item in output]
        rows = [row for row, _ in parts]
        return np.concatenate(rows) if rows else np.empty(0), f"{type(output).__name__}{[form for _, form in parts]}"
    return np.empty(0), f"{type(output).__name__} {output!r}"


def _flat(numbers: Array) -> Array:
    """As float64. Integers beyond 2^53 lose low bits here, which can only hide a difference, not make one."""
    return numbers[..., :_MOST_NUMBERS].astype(np.float64)
