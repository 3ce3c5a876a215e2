"""Running counts: sensitivities by brute force, errors by their law, one answer a step, one price a stream, twins."""

import copy
import math
import os
import pickle
from fractions import Fraction

import numpy as np
import pandas
import pytest

import privet as pv
from privet import noise, testing
from privet.errors import BudgetExceeded, InvalidParameter, LedgerError, NoGuarantee, PrivetError
from privet.ledger.runs import NoneLeft
from privet.mechanisms import AboveThreshold, Example
from privet.privacy import Unit
from privet.workloads import BinaryTreeCount, ContinualCount, CountStream, SquareRootCount
from privet.workloads.streams.counter import Counter

TREE = BinaryTreeCount.for_budget(epsilon=1.0, horizon=12)
ROOT = SquareRootCount.for_budget(mu=1.0, horizon=12, band=5)
COUNTERS = [TREE, BinaryTreeCount.for_budget(rho=0.5, horizon=7), ROOT, SquareRootCount.for_budget(mu=2.0, horizon=1)]


def measured(counter: Counter, steps: int) -> np.ndarray:
    """What is measured, as a matrix over the steps: the noise is taken out and each unit vector put in."""
    columns = []
    for place in range(steps):
        state, seen = counter._counting(1, None), []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(counter), "_noise", lambda *_: np.zeros(1, dtype=np.int64))
            for step in range(steps):
                state.step(int(step == place))
                if isinstance(counter, BinaryTreeCount):
                    width = ((step + 1) & -(step + 1)).bit_length() - 1
                    seen.append(int(state.noisy[width][0]))
                else:
                    at = slice((place_of := step % 5 + 5) - 4, place_of + 1) if counter.band == 5 else None
                    seen.append(int(state.own @ state.exact[at]) if at else 0)
        columns.append(seen)
    return np.array(columns, dtype=object)


@pytest.mark.parametrize("horizon", [*range(1, 34), 64, 65])
def test_tree_sensitivities_are_those_of_what_is_measured(horizon):
    counter = BinaryTreeCount(horizon=horizon, scale=1.0, norm="l1")
    columns = measured(counter, horizon)
    longest = max(sum(abs(each)) for each in columns)
    farthest = max((sum(abs(a - b)) for a in columns for b in columns), default=0)
    assert counter.sensitivity.value == longest
    moved = BinaryTreeCount(horizon=horizon, scale=1.0, norm="l1", unit=Unit("replace"))
    assert moved.sensitivity.value == max(longest, farthest)
    squared = BinaryTreeCount(horizon=horizon, scale=1.0, norm="l2", unit=Unit("replace"), max_rows=3).sensitivity
    assert float(squared) == pytest.approx(3 * math.sqrt(max(longest, farthest)), rel=1e-15)
    assert squared.value**2 >= 9 * max(longest, farthest)


@pytest.mark.parametrize(("horizon", "band"), [(200, 200), (200, 150), (500, 60)])
def test_the_farthest_columns_of_long_streams(horizon, band):
    """Beside the same in whole numbers, over all pairs of columns."""
    counter = SquareRootCount(horizon=horizon, scale=1.0, band=band, unit=Unit("replace"))
    below = np.arange(horizon)[:, None] - np.arange(horizon)
    whole = np.append(counter._whole, np.zeros(horizon, dtype=np.int64))
    matrix = np.where((below >= 0) & (below < band), whole[np.clip(below, 0, None)], 0)
    gram = matrix.T @ matrix
    farthest = np.max(np.diag(gram)[:, None] + np.diag(gram) - 2 * gram)
    assert counter._farthest() == Fraction(int(farthest), 4**22)


@pytest.mark.parametrize("horizon", [5, 6, 9, 12])
def test_square_root_sensitivities_are_those_of_what_is_measured(horizon):
    unit = Unit("replace")
    for relation in (Unit(), unit):
        counter = SquareRootCount(horizon=horizon, scale=1.0, band=5, unit=relation)
        columns = measured(counter, horizon)
        reach = max(sum(each * each) for each in columns)
        if relation == unit:
            reach = max(reach, *(sum((a - b) ** 2) for a in columns for b in columns))
        exact = Fraction(int(reach), 4**22)
        assert counter.sensitivity.value**2 >= exact
        assert float(counter.sensitivity) == pytest.approx(math.sqrt(exact), rel=1e-15)


def test_a_twin_that_forgets_a_level_has_less_sensitivity():
    counter = BinaryTreeCount(horizon=16, scale=1.0, norm="l1")
    columns = measured(counter, 16)
    assert max(sum(abs(each)) for each in columns) > counter.levels - 1


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda each: f"{each.name}-{each.horizon}")
def test_without_noise_the_sums_are_the_sums(counter, monkeypatch):
    monkeypatch.setattr(type(counter), "_noise", lambda self, runs, source: np.zeros(runs, dtype=np.int64))
    counts = [3, 0, 7, 1, 0, 0, 12, 5, 1, 1, 2, 9][: counter.horizon]
    np.testing.assert_allclose(counter.simulate(counts, 2), np.tile(np.cumsum(counts), (2, 1)), atol=1e-9)


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda each: f"{each.name}-{each.horizon}")
def test_errors_are_those_that_were_said(counter):
    """Standard deviations within 6 of their own, bars within what 20,000 runs allow: one false alarm in ten million."""
    runs = 20_000
    counts = [2] * counter.horizon
    off = np.asarray(counter.simulate(counts, runs)) - np.cumsum(counts)
    said = counter.deviations()
    fourth = np.mean(off**4, axis=0) / said**4
    assert np.all(np.abs(np.mean(off**2, axis=0) / said**2 - 1.0) < 6.0 * np.sqrt((fourth - 1.0) / runs))
    assert counter.rmse == pytest.approx(math.sqrt(np.mean(said**2)))
    for confidence in (0.5, 0.95):
        inside = np.mean(np.abs(off) <= counter._radii(range(1, counter.horizon + 1), confidence), axis=0)
        assert np.all(inside >= confidence - 6.0 * math.sqrt(confidence * (1.0 - confidence) / runs))


def test_golden_errors_of_the_square_root():
    """Without search, sigma = sensitivity: worst and mean over 1,024 prefix sums."""
    counter = SquareRootCount.for_budget(mu=1.0, horizon=1024)
    assert counter.rmse == pytest.approx(3.109790, abs=1e-5)
    assert float(counter.deviations()[-1]) == pytest.approx(
        (math.log(1024) + 0.577216 + 4 * math.log(2)) / math.pi, rel=1e-3
    )
    banded = SquareRootCount.for_budget(mu=1.0, horizon=1024, band=128)
    assert counter.rmse < banded.rmse < BinaryTreeCount.for_budget(mu=1.0, horizon=1024).rmse


@pytest.mark.parametrize("band", [1, 7, 100])
def test_planned_errors_are_those_of_the_recursion(band):
    """The rows of (prefix sums) (band matrix)^-1, by dense algebra."""
    counter = SquareRootCount(horizon=100, scale=1.0, band=band)
    below = np.arange(100)[:, None] - np.arange(100)
    whole = np.append(counter._whole / 2**22, np.zeros(100))
    matrix = np.where((below >= 0) & (below < band), whole[np.clip(below, 0, None)], 0.0)
    rows = np.tri(100) @ np.linalg.inv(matrix)
    assert counter.deviations() == pytest.approx(np.linalg.norm(rows, axis=1), rel=1e-10)


def test_every_step_draws_once_and_nothing_twice(monkeypatch):
    """A block that is closed has fresh noise, and keeps it: sums of one step differ by what is between them."""
    drawn = []
    sound = BinaryTreeCount._noise

    def _noise(self, runs, source):
        drawn.append(sound(self, runs, source))
        return drawn[-1]

    monkeypatch.setattr(BinaryTreeCount, "_noise", _noise)
    stream = TREE.start()
    sums = [stream.add(0) for _ in range(12)]
    noises = [int(each[0]) for each in drawn]
    assert len(noises) == 12
    ends = {t: t - (t & -t) for t in range(1, 13)}
    for t, total in enumerate(sums, 1):
        here, expected = t, 0
        while here:
            expected, here = expected + noises[here - 1], ends[here]
        assert total == expected


class TestOneAnswerAStep:
    def test_order_and_horizon(self):
        stream = TREE.start()
        stream.add(1, step=1)
        for wrong in (1, 3, 0, -1, "2"):
            with pytest.raises(PrivetError):
                stream.add(1, step=wrong)
        assert stream.step == 1
        for step in range(2, 13):
            stream.add(1, step=step)
        assert stream.remaining == 0
        with pytest.raises(InvalidParameter, match="a new stream is a new price"):
            stream.add(1)

    @pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_copies(self, twin):
        with pytest.raises(InvalidParameter, match="cannot be copied or pickled"):
            twin(TREE.start())

    def test_forks(self):
        stream = TREE.start()
        stream.add(3)
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                stream.add(4)
                os.write(writes, b"answered")
            except InvalidParameter as problem:
                os.write(writes, str(problem).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert b"in the process that started it" in os.read(reads, 1000)
        assert stream.add(4) is not None

    def test_interrupted_step(self, monkeypatch):
        stream = TREE.start()
        stream.add(1)

        def _noise(self, runs, source):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(BinaryTreeCount, "_noise", _noise)
            with pytest.raises(KeyboardInterrupt):
                stream.add(1)
        with pytest.raises(InvalidParameter, match="interrupted"):
            stream.add(1)
        with pytest.raises(InvalidParameter, match="interrupted"):
            stream.answer()

    def test_counts_are_read_as_in_a_list(self):
        """Missing is 0, halves are rounded up, what is huge is cut."""
        assert TREE._prepare([math.nan, 2.5, -0.5, 1e300]).tolist() == [0, 3, 0, TREE.most]

    def test_answers_repeat_the_last_sum(self):
        stream = ROOT.start()
        with pytest.raises(InvalidParameter, match="no step"):
            stream.answer()
        found = [stream.add(2) for _ in range(3)]
        told = stream.answer(confidence=0.9)
        assert told.value == found[-1]
        assert told.radius == ROOT.error(0.9, step=3).radius

    def test_seeded_noise_is_stamped(self):
        stream = TREE.start(source=noise.Seeded(1))
        assert stream.insecure
        assert stream.add(3).insecure
        assert stream.answer().value.insecure
        assert not TREE.start().insecure


class TestPayment:
    def ledger(self, epsilon=1.5):
        return pv.Ledger.create("memory:", budget=pv.Budget(epsilon=epsilon))

    def test_a_stream_is_paid_at_its_start(self):
        with self.ledger() as ledger:
            stream = TREE.start()
            for _ in range(12):
                stream.add(1)
            assert ledger.spent["basic epsilon"] == pytest.approx(1.0)
            with pytest.raises(BudgetExceeded):
                TREE.start()

    def test_one_run_that_cannot_be_gone_on_with(self):
        """After a crash the run has no slice left: no step is answered a second time without paying the whole again."""
        ledger = self.ledger(2.5)
        with ledger.start([TREE.loss], key="visits").begin():
            stream = TREE.start()
        stream.add(4)
        again = ledger.start([TREE.loss], key="visits")
        assert ledger.spent["basic epsilon"] == pytest.approx(1.0)
        with pytest.raises(NoneLeft):
            again.begin()
        again.repeat(1)
        assert ledger.spent["basic epsilon"] == pytest.approx(2.0)
        with again.begin():
            assert TREE.start().step == 0
            with pytest.raises(LedgerError):
                TREE.start()

    def test_a_list_is_stored_and_answered_again(self):
        ledger = self.ledger()
        first = ledger.release(TREE, [1, 2, 3], key="k")
        assert ledger.release(TREE, [1, 2, 3], key="k").value.tolist() == first.value.tolist()
        assert "cut there" in " ".join(first.provenance)
        low, high = first.interval
        assert low.shape == high.shape == (3,)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: BinaryTreeCount.for_budget(epsilon=1.0, horizon=0), "horizon"),
        (lambda: BinaryTreeCount.for_budget(epsilon=1.0, horizon=2**41), "2\\^40"),
        (lambda: BinaryTreeCount.for_budget(epsilon=1e-17, horizon=8), "too small|noise"),
        (lambda: BinaryTreeCount(horizon=8, scale=1.0, norm="l3"), "norm"),
        (lambda: SquareRootCount(horizon=8, scale=1.0, norm="l1"), "norm"),
        (lambda: SquareRootCount.for_budget(mu=1.0, horizon=8, band=9), "band"),
        (lambda: SquareRootCount.for_budget(mu=1e-12, horizon=8), "too small"),
        (lambda: SquareRootCount.for_budget(mu=1.0, horizon=2**23), "TreeCount"),
        (lambda: ContinualCount(horizon=8, max_rows=0), "max_rows"),
        (lambda: TREE.error(step=13), "horizon"),
        (lambda: TREE.deviations(13), "at most 12"),
        (lambda: BinaryTreeCount.for_budget(epsilon=1.0, horizon=2**30).deviations(), "at most 4,194,304"),
        (lambda: TREE.release([1] * 13), "at most 12"),
        (lambda: TREE.release([]), "at least 1"),
        (lambda: TREE.release([[1, 2]]), "one for each step"),
    ],
)
def test_one_clear_refusal(make, told):
    with pytest.raises(PrivetError, match=told):
        make()


def test_the_square_root_has_no_pure_price():
    with pytest.raises(NoGuarantee, match="TreeCount"):
        SquareRootCount.for_budget(epsilon=1.0, horizon=8)
    assert [each.name for each in ContinualCount(horizon=8).candidates(epsilon=1.0)] == ["tree_count"]


@pytest.mark.parametrize("promise", [{"epsilon": 1.0}, {"rho": 0.5}], ids=str)
def test_the_front_hands_on_whom_it_protects_and_all_of_their_rows(promise):
    asked = ContinualCount(horizon=30, unit=Unit("replace", group_size=2), max_rows=5)
    for each, plain in zip(asked.candidates(**promise), ContinualCount(horizon=30).candidates(**promise), strict=True):
        assert (each.unit, each.max_rows) == (asked.unit, 5)
        assert each.loss.unit == asked.unit
        assert each.scale > 10 * plain.scale  # twice for the group, five rows each, and two places under replace
    assert asked.start(**promise)._mechanism == asked.for_budget(**promise)


def test_the_table_is_known_before_paying():
    told = ContinualCount(horizon=100).explain(rho=0.5)
    assert "square roots" in told.splitlines()[0]
    assert told.splitlines()[-1].split()[0] == "100"
    assert isinstance(ContinualCount(horizon=100).start(rho=0.5), CountStream)


@pytest.mark.parametrize("several", [1, 4])
def test_several_rows_cost_several_times(several):
    for made in (
        BinaryTreeCount(horizon=9, scale=1.0, norm="l2", max_rows=several),
        SquareRootCount(horizon=9, scale=1.0, max_rows=several),
    ):
        one = type(made)(horizon=9, scale=1.0, norm="l2")
        assert made.sensitivity.value == several * one.sensitivity.value


class TestTwins:
    """What a careless author would write, caught by the audit of the same pair."""

    PAIR = ([3, 0, 2, 1], [4, 0, 2, 1])

    def survives(self, counter=None):
        testing.check_survives_audit(Example(counter or BinaryTreeCount.for_budget(epsilon=2.0, horizon=4), *self.PAIR))

    def test_the_sound_one_survives(self):
        assert self.survives() is None

    @pytest.mark.slow
    def test_sensitivity_of_one_level(self, monkeypatch):
        monkeypatch.setattr(BinaryTreeCount, "_longest", lambda self: Fraction(1))
        with pytest.raises(AssertionError, match=r"refuted|violated"):
            self.survives()

    def test_noise_that_is_used_for_every_block(self, monkeypatch):
        sound = BinaryTreeCount._noise

        def counting(self, runs, source):
            state, once = sound_state(self, runs, source), sound(self, runs, source)
            state.counter = type("Same", (), {"_noise": staticmethod(lambda *_: once)})()
            return state

        sound_state = BinaryTreeCount._counting
        monkeypatch.setattr(BinaryTreeCount, "_counting", counting)
        with pytest.raises(AssertionError, match=r"refuted|violated"):
            self.survives()

    def test_square_root_with_noise_of_one_step_for_all(self, monkeypatch):
        sound, sound_state = SquareRootCount._noise, SquareRootCount._counting

        def counting(self, runs, source):
            state, once = sound_state(self, runs, source), sound(self, runs, source)
            state.counter = type("Same", (), {"_noise": staticmethod(lambda *_: once)})()
            return state

        monkeypatch.setattr(SquareRootCount, "_counting", counting)
        with pytest.raises(AssertionError, match=r"refuted|violated"):
            self.survives(SquareRootCount.for_budget(mu=1.0, horizon=4))

    def test_a_stream_with_less_noise_than_its_list(self, monkeypatch):
        sound = BinaryTreeCount._noise

        def half(self, runs, source):
            return sound(self, runs, source) // (2 if runs == 1 else 1)

        monkeypatch.setattr(BinaryTreeCount, "_noise", half)
        with pytest.raises(AssertionError, match="different laws"):
            testing.check_simulation_is_the_release(next(iter(BinaryTreeCount.examples())))


class TestReplay:
    """The exact audit follows a stream count by count."""

    @staticmethod
    def publish(days):
        stream = TREE.start()
        return [stream.add(day, step=i) for i, day in enumerate(days, 1)], stream.answer().radius, stream.step

    def test_a_sound_pipeline(self):
        assert not pv.audit.replay(self.publish, [3, 1, 4], [3, 2, 4]).refuted

    def test_a_row_in_every_step_is_more_than_was_declared(self):
        assert pv.audit.replay(self.publish, [3, 1, 4], [4, 2, 5]).refuted

    def test_a_pipeline_that_shows_a_count(self):
        assert pv.audit.replay(lambda days: (self.publish(days), days[1]), [3, 1, 4], [3, 2, 4]).refuted

    def test_counts_that_are_steered_by_sums(self):
        def steered(days):
            stream = TREE.start()
            total = stream.add(days[0])
            return [total, *(stream.add(day + int(total > 5.0)) for day in days[1:])]

        assert not pv.audit.replay(steered, [3, 1, 4], [3, 2, 4]).refuted


@pytest.mark.parametrize("missing", [None, float("nan"), "x", pandas.NA, [1], np.array([1, 2]), (), {1: 2}])
def test_what_is_no_number_counts_as_zero_in_a_stream_as_in_a_list(missing):
    """Whether one element is a number is data: a refusal would tell."""
    counter = BinaryTreeCount.for_budget(epsilon=100.0, horizon=3)
    listed = counter.release([3, missing, 2]).value
    stream = counter.start()
    assert [round(stream.add(each)) for each in (3, missing, 2)] == [round(float(each)) for each in listed] == [3, 3, 5]
    assert AboveThreshold.for_budget(epsilon=100.0, threshold=3.0, sensitivity=1.0).start().ask(missing) in (
        True,
        False,
    )
