"""Clocks, counters, sticky noise and inputs that are used up: named for what they are, never called violations."""

import functools
import itertools
import threading
import time

import numpy as np
import pytest
from scipy import stats

from privet import audit, mechanisms, noise, privacy, testing
from privet.audit.black_box import DEPENDS
from privet.audit.search import dependence, independence, twin_of

ONE = privacy.PureLoss(1.0)
STRICT = testing.alarm_level("audit", of=2000)


def laplace(value, scale=10):
    return value + int(noise.discrete_laplace(scale=scale))


def audited(subject, pair=(0, 10), runs=1_200, **options):
    return audit.mechanism(subject, claim=ONE, neighbours=[pair], runs=runs, alpha=STRICT, **options)


class Counter:
    def __init__(self):
        self.calls = 0

    def release(self, value):
        self.calls += 1
        return self.calls, laplace(value)


class Sticky:
    """Noise that is drawn once for each input and kept."""

    def __init__(self):
        self.known = {}

    def release(self, value):
        return self.known.setdefault(value, laplace(value, 1000))


class Budget:
    def __init__(self):
        self.left = 900

    def release(self, value):
        self.left -= 1
        return laplace(value) if self.left > 0 else None


class Remembering:
    """Answers about the input of the run before."""

    def __init__(self):
        self.before = 0

    def release(self, value):
        answer, self.before = self.before, value
        return answer


@pytest.mark.parametrize("kind", [Counter, Sticky, Budget, Remembering])
def test_state_is_named(kind):
    found = audited(kind())
    assert found.verdict == DEPENDS
    assert "fresh=" in str(found)
    assert audited(kind(), fresh=kind).verdict == "not refuted"


def test_a_cached_function_and_a_closure_are_named():
    @functools.cache
    def cached(value):
        return laplace(value, 1000)

    def closure():
        known = {}
        return lambda value: known.setdefault(value, laplace(value, 1000))

    assert audited(cached).verdict == DEPENDS
    assert audited(closure()).verdict == DEPENDS


def kept_in_a_helper():
    known = {}

    def draw(value):
        return known.setdefault(value, laplace(0))

    return lambda value: value + draw(value)


def kept_behind_a_lock():
    known, lock = {}, threading.Lock()

    def run(value):
        with lock:
            return known.setdefault(value, laplace(value))

    return run


def kept_by_a_cached_helper():
    draw = functools.lru_cache(lambda value: laplace(0))
    return lambda value: value + draw(value)


def kept_by_a_generator():
    drawn = itertools.repeat(laplace(0))
    return lambda value: value + next(drawn)


def drawn_before():
    drawn = laplace(0)
    return lambda value: value + drawn


def drawn_into_a_partial():
    return functools.partial(lambda drawn, value: value + drawn, laplace(0))


class DrawnAtTheStart:
    def __init__(self):
        self.drawn = laplace(0)

    def release(self, value):
        return value + self.drawn


@pytest.mark.parametrize(
    "make",
    [
        kept_in_a_helper, kept_behind_a_lock, kept_by_a_cached_helper, kept_by_a_generator, drawn_before,
        drawn_into_a_partial, DrawnAtTheStart,
    ],
)  # fmt: skip
def test_noise_that_was_drawn_once_is_named_and_fresh_instances_are_judged(make):
    found = audited(make())
    assert found.verdict == DEPENDS, found
    assert audited(make(), fresh=make, runs=400).verdict == "not refuted"


def test_a_number_that_is_no_noise_excuses_nothing():
    weight, bound = 3, 100
    assert audited(lambda value: weight * value).verdict == "violated"
    assert audited(lambda value: min(value, bound)).verdict == "violated"
    assert audited(lambda value: laplace(value, scale=weight)).verdict == "violated"


def test_a_function_that_calls_itself_has_a_twin():
    def run(value):
        return 0 if value == 0 else run(value - 1) + 1

    twin = twin_of(run)
    assert twin is not run
    assert twin(3) == 3


def test_a_clock_is_named():
    start = time.perf_counter_ns()
    assert audited(lambda value: (time.perf_counter_ns() - start, laplace(value))).verdict == DEPENDS


def test_a_fixed_seed_is_a_violation():
    """The same answer whoever asks, again and again: that depends on the input alone."""
    found = audited(lambda value: value + int(noise.discrete_laplace(scale=10, source=noise.Seeded(3))))
    assert found.verdict == "violated"


def test_half_the_noise_beside_a_serial_number_is_still_a_violation():
    class Numbered(Counter):
        def release(self, value):
            self.calls += 1
            return self.calls, laplace(value, 4)

    assert audited(Numbered(), runs=3_000).verdict == "violated"


def test_inputs_that_are_sorted_emptied_or_consumed_are_given_anew():
    def emptying(rows):
        total = 0
        while rows:
            total += rows.pop()
        return laplace(total)

    found = audited(emptying, pair=([5, 1], [5, 1, 9]))
    assert found.verdict == "not refuted"
    assert any("changes its input" in note for note in found.notes)
    consumed = audited(lambda rows: laplace(sum(rows)), pair=(iter([1, 2]), iter([1, 12])))
    assert consumed.verdict == "not refuted"
    assert any("iterator" in note for note in consumed.notes)
    broken = audited(lambda rows: laplace(sum(rows), 3), pair=(iter([1, 2]), iter([1, 12])))
    assert broken.verdict == "violated"


def test_independent_runs_are_left_alone():
    rng = np.random.default_rng(1)
    for _ in range(50):
        side = {"value[0]": rng.normal(size=500), "form": np.zeros(500), "row": rng.integers(0, 3, 500).astype(float)}
        assert dependence([side, side], [rng.random(500) < 0.75] * 2, ()) is None


def test_the_comparisons_keep_their_level(monkeypatch):
    """At a level of 0.2 instead of 1e-9, so that alarms can be counted."""
    monkeypatch.setattr(independence, "LEVEL", 0.2)
    rng = np.random.default_rng(2)
    alarms = {"apart": 0, "together": 0, "equal": 0}
    for _ in range(400):
        marks = rng.random(100) < 0.4
        alarms["apart"] += independence.apart(marks[:50], marks[50:])
        alarms["together"] += independence._together(marks)
        alarms["equal"] += independence._together_equal(rng.integers(0, 2, 100).astype(float))
    assert max(alarms.values()) <= stats.binom.isf(1e-6, 400, 0.2)


def test_a_twin_has_the_state_of_the_moment():
    counter = Counter()
    twin = twin_of(counter)
    counter.release(0)
    assert (counter.calls, twin.calls) == (1, 0)
    assert twin_of(len) is None


# --- the released path ------------------------------------------------------------------------------------------------


class TwoFaced:
    """What is simulated is sound; what is released is not."""

    loss = ONE
    name = "two-faced"

    def simulate(self, value, runs):
        return value + noise.discrete_laplace(scale=10, size=runs)

    def release(self, value):
        return value


def test_a_share_of_the_tested_runs_is_released():
    found = audited(TwoFaced(), runs=20_000)
    assert found.verdict == "violated"
    assert found.released >= 100
    assert found.released + found.simulated == 2 * 15_000
    sound = audit.mechanism(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), runs=2_000)
    assert 0 < sound.released < sound.simulated


def test_a_stream_is_asked_one_by_one():
    """Only the stream is broken: it answers without noise."""

    class Stream:
        def ask(self, question):
            return question > 0

    class Streaming(TwoFaced):
        def simulate(self, value, runs):
            return np.asarray(noise.bernoulli(p=0.5, size=(runs, 1))).astype(int)

        def release(self, value):
            return [int(noise.bernoulli(p=0.5))]

        def start(self):
            return Stream()

    assert audited(Streaming(), pair=([1], [0]), runs=20_000).verdict == "violated"
