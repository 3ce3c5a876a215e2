"""Running a mechanism many times on two inputs, and keeping everything that an observer could see of each run."""

import contextlib
import copy
import inspect
import io
import pickle
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from privet import noise
from privet._numerics import Array
from privet._validate import count
from privet.audit.search.overheard import Ears, overhear, raised
from privet.audit.search.reading import Reading, read
from privet.audit.search.rows import Marks
from privet.audit.search.worlds import Look, World, join, scattered, stack, world_of_array
from privet.errors import InvalidParameter

Runner = Callable[[Any], Any]
_MOST_NUMBERS = 4_000_000  # held at once: longer simulations come in several batches
_MOST_SINGLE = 10_000  # runs one by one that are held at once
_FEWEST_RELEASED, _SHARE_RELEASED, _MOST_RELEASED = 100, 0.01, 1_000  # tested runs of a world through `release`
_BOTH = ((0, 1), (1, 0))  # in turn: neither is always the one that was touched last
_TELLING = 0.2  # seconds between two words about how far the runs have come
_PLAIN = (bool, int, float, complex, str, bytes, type(None), Fraction, np.generic, range)


def runner_of(mechanism: object) -> Runner:
    """The function from an input to an output: `.release(value)`, the callable itself, or one simulated run.

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


def _paths(mechanism: object) -> list[Runner]:
    """The ways in which a user gets an output: a release, and for streams a start with one question after the other."""
    release, start = getattr(mechanism, "release", None), getattr(mechanism, "start", None)
    if not callable(release):
        return []
    return [release, lambda value: _streamed(start, value)] if callable(start) else [release]


def _streamed(start: Callable[[], Any], questions: Any) -> list[Any]:
    stream, answers = start(), []
    for question in questions:
        for ask in (getattr(stream, "ask_number", None), stream.ask):
            try:
                if ask is not None:
                    answers.append(ask(question))
                    break
            except InvalidParameter:  # a stream of signs has no numbers to give
                continue
            except Exception as problem:
                return [*answers, type(problem).__name__]
    return answers


@dataclass(frozen=True)
class Iterated:
    """The items of an iterator: every run gets a new iterator over it."""

    items: list[Any]


def reusable(value: object) -> Any:
    """The value itself, or what an iterator holds, so that it can be given more than once.

    >>> reusable(iter([1, 2]))
    Iterated(items=[1, 2])
    """
    return Iterated(list(value)) if isinstance(value, Iterator) else value


class _Input:
    """An input that every run gets anew: what a run sorts, empties or consumes is a copy."""

    def __init__(self, value: object) -> None:
        self.notes: list[str] = []
        value = reusable(value)
        self._iterated = isinstance(value, Iterated)
        self._value = value.items if isinstance(value, Iterated) else value
        self._plain = _immutable(value)
        if self._iterated:
            self.notes.append("the input is an iterator: every run is given one of its own")
        self._print = None if self._plain else _fingerprint(self._value)
        self._watched = 0
        self._copied = _shallow(self._value) or copy.deepcopy

    def fresh(self) -> Any:
        """The input for one run."""
        if self._plain:
            return self._value
        if self._iterated:
            return iter(self._copied(self._value))
        try:
            return self._copied(self._value)
        except Exception:
            if not self.notes:
                self.notes.append("the input cannot be copied: all runs share one object")
            return self._value

    def check(self, used: object) -> None:
        """Note when a run changed what it was given; the first few runs tell."""
        if self._plain or self._iterated or self._watched >= 8:
            return
        self._watched += 1
        if self._print is not None and _fingerprint(used) != self._print:
            self._watched = 8
            self.notes.append("the mechanism changes its input: every run is given a copy")


def _shallow(value: Any) -> Callable[[Any], Any] | None:
    """The quick copy, where a copy of the outside is a copy of the whole; None where it is not."""
    kind = type(value)
    if kind in (list, set) and all(_immutable(item) for item in value):
        return kind
    if kind is dict and all(_immutable(item) for item in value.values()):
        return kind
    return np.array if kind is np.ndarray and not value.dtype.hasobject else None


def _immutable(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(_immutable(item) for item in value)
    return isinstance(value, _PLAIN)


def _fingerprint(value: object) -> bytes | None:
    try:
        return pickle.dumps(value)
    except Exception:
        return None


@dataclass(eq=False)
class Subject:
    """The thing that is audited, and the way a run of it is looked at.

    `fresh` makes a new instance for every run; `view` turns an output into something that can be read; `features` and
    `score` are numbers of the user's own about an output. `notes` collects what was noticed while running; `told` is
    called with the number of runs that were made since it was called last.

    >>> left, right = Subject(abs).both(-1, 2, 3)
    >>> left.values.tolist(), right.values.tolist()
    ([[1.0], [1.0], [1.0]], [[2.0], [2.0], [2.0]])
    """

    mechanism: Any
    fresh: Callable[[], Any] | None = None
    view: Callable[[Any], Any] | None = None
    features: Callable[[Any], Any] | None = None
    score: Callable[[Any], float] | None = None
    timed: bool = False
    wants_rows: bool = False
    marks: Marks = field(default_factory=lambda: Marks(int(noise.uniform_int(bound=2**128)).to_bytes(16, "big")))
    notes: list[str] = field(default_factory=list)
    ran: dict[str, int] = field(default_factory=lambda: {"release": 0, "simulate": 0})
    calls: int = 0
    told: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        self._told = 0  # of the batch under way
        if self.fresh is None:
            runner_of(self.mechanism)  # refuse at once what cannot be run

    def both(
        self,
        left: object,
        right: object,
        runs: int,
        *,
        wanted: Collection[str] | None = None,
        released: float | None = None,
    ) -> tuple[World, World]:
        """Runs on both inputs, in random order."""
        found = list(self.batches(left, right, runs, wanted=wanted, released=released))
        return join([pair[0] for pair in found]), join([pair[1] for pair in found])

    def batches(
        self,
        left: object,
        right: object,
        runs: int,
        *,
        wanted: Collection[str] | None = None,
        released: float | None = None,
    ) -> Iterator[tuple[World, World]]:
        """The same, some runs at a time. What can simulate in bulk does, and a share of the runs comes from `release`.

        Which runs these are is decided by a coin for each run: so the runs of a world still have one law. `released` is
        the number of them to be expected, for each world.
        """
        inputs = [_Input(value) for value in (left, right)]
        simulate = None if self.timed or self.fresh else getattr(self.mechanism, "simulate", None)
        paths = _paths(self.mechanism) if callable(simulate) else []
        share = (usual_released(runs) if released is None else released) / runs if paths else 0.0
        coins = _coins(min(share, 0.5), (2, runs)) if callable(simulate) else np.ones((2, runs), dtype=bool)
        for start, stop in self._spans(simulate, inputs[0], runs):
            alone = coins[:, start:stop]
            bulk = self._simulated(simulate, inputs, ~alone, wanted) if callable(simulate) else None
            if callable(simulate) and bulk is None:  # bulk runs fail: look at every run on its own
                alone = np.ones_like(alone)
            runner = paths or ([] if self.fresh else [runner_of(self.mechanism)])
            single = self._one_by_one(runner, inputs, alone, wanted)
            straight = bool(paths) or not callable(simulate)
            self.ran["release" if straight else "simulate"] += int(alone.sum())
            self.ran["simulate"] += int((~alone).sum())
            self.calls += alone.size
            if self.told is not None:
                self.told(alone.size - self._told)
            self._told = 0
            for each in inputs:
                self.notes.extend(note for note in each.notes if note not in self.notes)
            yield _woven(bulk, single, alone, 0), _woven(bulk, single, alone, 1)

    # --- in bulk ----------------------------------------------------------------------------------------------------

    def _spans(self, simulate: object, given: _Input, runs: int) -> list[tuple[int, int]]:
        """At least two batches of simulated runs, so that the worlds take turns; more where outputs are long."""
        size = _MOST_SINGLE
        if callable(simulate):
            pilot = self._bulk(simulate, given, 1, ())
            width = 1 if pilot is None else max(pilot.values.shape[1], 1)
            size = max(1, min(_MOST_NUMBERS // width, (runs + 1) // 2, _MOST_SINGLE if pilot is None else runs))
        return [(start, min(start + size, runs)) for start in range(0, runs, size)]

    def _simulated(
        self,
        simulate: Callable[[Any, int], Any],
        inputs: list[_Input],
        wanted_runs: Array,
        wanted: Collection[str] | None,
    ) -> list[World] | None:
        """Bulk runs of both worlds, in random order; None when one of them fails."""
        found: dict[int, World] = {}
        for world in (0, 1) if noise.bernoulli(p=Fraction(1, 2)) else (1, 0):
            bulk = self._bulk(simulate, inputs[world], int(wanted_runs[world].sum()), wanted)
            if bulk is None:
                return None
            found[world] = bulk
        return [found[0], found[1]]

    def _bulk(
        self, simulate: Callable[[Any, int], Any], given: _Input, runs: int, wanted: Collection[str] | None
    ) -> World | None:
        """All runs at once, or None when they must be looked at one by one (an exception, a warning, something printed)."""
        if runs == 0:
            return World(np.empty((0, 0)), np.empty(0, dtype=object))
        value, printed = given.fresh(), io.StringIO()
        try:
            with (
                warnings.catch_warnings(),
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
                Ears() as ears,
            ):
                warnings.simplefilter("error")
                outputs = simulate(value, runs)
        except KeyboardInterrupt:
            raise
        except BaseException:
            return None
        given.check(value)
        if printed.getvalue() or ears.heard:
            return None
        if isinstance(outputs, World):
            return outputs if outputs.runs == runs else None
        own = self.view or self.features or self.score
        plain = isinstance(outputs, np.ndarray) and not isinstance(outputs, np.ma.MaskedArray)
        if plain and outputs.dtype.kind in "biuf" and outputs.ndim and not own:
            return world_of_array(outputs) if len(outputs) == runs else None
        if isinstance(outputs, list | np.ndarray) and len(outputs) == runs:
            return stack([Look(self._look(output)) for output in outputs], wanted=wanted)
        return None

    # --- one by one -------------------------------------------------------------------------------------------------

    def _one_by_one(
        self, paths: list[Runner], inputs: list[_Input], chosen: Array, wanted: Collection[str] | None
    ) -> list[World]:
        """The chosen runs of both worlds in random order. CPU time, not time on the clock."""
        seen: list[list[Look]] = [[], []]
        out, err = io.StringIO(), io.StringIO()
        before, last = -1, time.monotonic()
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            Ears() as ears,
        ):
            warnings.simplefilter("always")
            for world in _order(chosen):
                caught.clear()
                ears.heard.clear()
                ears.look_round(again=len(seen[0]) + len(seen[1]) == 1)  # the first run may have turned a logger silent
                # what was done just before a run is seen by a clock: then both inputs are copied, whichever is used
                needed = _BOTH[(len(seen[0]) + len(seen[1])) % 2] if self.timed else (world,)
                given = {each: inputs[each].fresh() for each in needed}
                value = given[world]
                turn = len(seen[world]) % len(paths) if len(paths) > 1 else 0
                run = paths[turn] if paths else runner_of(self.fresh() if self.fresh else self.mechanism)
                start = time.thread_time() if self.timed else 0.0
                try:
                    output: Any = run(value)
                except KeyboardInterrupt:
                    raise
                except BaseException as problem:  # an exception is an output like any other
                    output = problem
                took = time.thread_time() - start if self.timed else 0.0
                inputs[world].check(value)
                reading = self._look(output)
                self._aside(reading, caught, ears.heard, out, err)
                seen[world].append(Look(reading, took, True, before == 1 - world))
                before = world
                if self.told is not None and time.monotonic() - last > _TELLING:
                    self._tell(len(seen[0]) + len(seen[1]))
                    last = time.monotonic()
        return [stack(looks, timed=self.timed, wanted=wanted) if looks else _nothing() for looks in seen]

    def problem(self, value: object) -> BaseException | None:
        """The error that a run on this input raises, as it is: for words to whoever owns mechanism and input."""
        simulate = getattr(self.mechanism, "simulate", None)
        given, silence = _Input(value).fresh(), io.StringIO()
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
                warnings.simplefilter("ignore")
                if self.fresh is None and callable(simulate):
                    simulate(given, 1)
                runner_of(self.fresh() if self.fresh else self.mechanism)(given)
        except KeyboardInterrupt:
            raise
        except BaseException as problem:
            return problem
        return None

    def _tell(self, done: int) -> None:
        """Runs one by one may be slow: how many of a batch are done is told within it."""
        if self.told is not None:
            self.told(done - self._told)
        self._told = done

    def _aside(self, reading: Reading, caught: list[Any], heard: list[str], out: io.StringIO, err: io.StringIO) -> None:
        """Warnings, logs, and what was printed."""
        if caught:
            reading.form += " warns " + "|".join(sorted({warning.category.__name__ for warning in caught}))
            overhear(reading, "message of warnings", "\n".join(str(w.message) for w in caught), self.marks)
        if heard:
            overhear(reading, "message of logs", "\n".join(heard), self.marks)
        for name, stream in (("standard output", out), ("standard error", err)):
            text = stream.getvalue()
            if text:
                overhear(reading, name, text, self.marks)
                stream.seek(0)
                stream.truncate()

    def _look(self, output: object) -> Reading:
        if isinstance(output, BaseException):
            return raised(output, self.marks)
        if inspect.iscoroutine(output):
            output.close()
            raise InvalidParameter("this mechanism is asynchronous: pass lambda value: asyncio.run(mechanism(value))")
        try:
            reading = read(output if self.view is None else self.view(output), self.marks, wants_rows=self.wants_rows)
            if self.features is not None:
                own = read(self.features(output), self.marks, wants_rows=False)
                reading.numbers |= {f" feature{place}": numbers for place, numbers in own.numbers.items()}
                reading.single |= {f" feature{place}": number for place, number in own.single.items()}
            if self.score is not None:
                reading.single[" score"] = float(self.score(output))
        except Exception as problem:
            raise InvalidParameter(
                f"an output could not be looked at: {type(problem).__name__} in view, features or score; "
                "they must accept every output"
            ) from None
        return reading


def _woven(bulk: list[World] | None, single: list[World], released: Array, world: int) -> World:
    """Simulated and released runs of one world, in the order that the coins gave."""
    if bulk is None:
        return single[world]
    if not released[world].any():
        return bulk[world]
    whole = join([bulk[world], single[world]])
    places = np.concatenate((np.flatnonzero(~released[world]), np.flatnonzero(released[world])))
    return scattered(whole, places)


def _nothing() -> World:
    return World(np.empty((0, 0)), np.empty(0, dtype=object))


def _coins(p: float, shape: tuple[int, int]) -> Array:
    if p <= 0.0:
        return np.zeros(shape, dtype=bool)
    return np.asarray(noise.bernoulli(p=Fraction(p).limit_denominator(10**6), size=shape))


def _order(chosen: Array) -> list[int]:
    """Worlds in the order of their runs: one of each at a time while both have some left, by a fair coin."""
    left, right = (int(row.sum()) for row in chosen)
    both = min(left, right)
    first = np.asarray(noise.bernoulli(p=Fraction(1, 2), size=max(both, 1))).astype(np.int64)[:both]
    pairs = np.stack((first, 1 - first), axis=1).reshape(-1)
    return [*pairs.tolist(), *[0] * (left - both), *[1] * (right - both)]


def usual_released(runs: int) -> float:
    """The number of a world's runs that come from `release`, where the others are simulated.

    >>> usual_released(1_000), usual_released(50_000)
    (100, 500.0)
    """
    return min(max(_FEWEST_RELEASED, _SHARE_RELEASED * runs), _MOST_RELEASED)


def observe(mechanism: object, value: object, runs: int) -> World:
    """Run it `runs` times on one input. What simulates in bulk does; anything else runs one by one, exceptions included.

    >>> observe(lambda value: 1 / 0, 0, 2).forms.tolist()
    ['raises ZeroDivisionError', 'raises ZeroDivisionError']
    """
    runs = count("runs", runs, 1)
    subject, given = Subject(mechanism), _Input(value)
    simulate = getattr(mechanism, "simulate", None)
    if callable(simulate):
        bulk = subject._bulk(simulate, given, runs, None)
        if bulk is not None:
            return bulk
    chosen = np.stack((np.ones(runs, dtype=bool), np.zeros(runs, dtype=bool)))
    return subject._one_by_one([runner_of(mechanism)], [given, given], chosen, None)[0]


def observe_both(
    mechanism: object, left: object, right: object, runs: int, *, timed: bool = False
) -> tuple[World, World]:
    """Both worlds, runs in random order; what drifts while the machine works drifts for both alike.

    >>> [world.runs for world in observe_both(abs, -1, 2, 3, timed=True)]
    [3, 3]
    """
    return Subject(mechanism, timed=timed).both(left, right, count("runs", runs, 1))
