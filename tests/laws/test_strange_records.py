"""Mistakes that the pair of an example does not show, and that the law of strange records does."""

import math
import warnings
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from privet import noise, privacy, testing
from privet.errors import InvalidData
from privet.mechanisms import Algorithm, Example, Laplace, Mechanism
from privet.privacy import Unit
from privet.testing.strange import strange_like


@dataclass(frozen=True)
class Total(Mechanism):
    """A sound sum of records in [0, 1]; each twin below breaks one thing."""

    name = "total"
    unit: Unit = field(default=Unit())

    @property
    def loss(self):
        return privacy.PureLoss(1.0, unit=self.unit)

    def _admit(self, value):
        if not isinstance(value, list) or not all(isinstance(each, float) for each in value):
            raise InvalidData("a list of floats")

    def _clipped(self, each):
        return Fraction(0) if math.isnan(each) else Fraction(min(max(each, 0.0), 1.0))

    def _prepare(self, value):
        return sum(map(self._clipped, value), Fraction(0))

    def _draw(self, prepared, runs, source):
        return noise.rounded_laplace(scale=1, center=prepared, size=runs, source=source)

    def error(self, confidence=0.95):
        return None

    @classmethod
    def examples(cls):
        yield pair(cls())


def pair(mechanism):
    """As an author writes it: ordinary records, the last of which comes or goes."""
    return Example(mechanism, [0.25, 0.5, 0.75], [0.25, 0.5])


class RefusesNan(Total):
    def _admit(self, value):
        super()._admit(value)
        if any(math.isnan(each) for each in value):
            raise InvalidData("no record may be missing")


class RefusesLate(Total):
    def _prepare(self, value):
        if max(value, default=0.0) > 1.0:
            raise InvalidData("records lie between 0 and 1")
        return super()._prepare(value)


class Crashes(Total):
    def _prepare(self, value):
        return Fraction(float(np.clip(value, 0.0, 1.0).sum()))  # NaN stays NaN, which is no fraction


class Overflows(Total):
    def _prepare(self, value):
        for each in value:
            if each**2 == math.inf:
                warnings.warn("overflow", RuntimeWarning, stacklevel=2)
        return super()._prepare(value)


class ClipsTheSum(Total):
    def _prepare(self, value):
        return min(max(sum(map(Fraction, filter(math.isfinite, value))), Fraction(0)), Fraction(100))


class NanIsShown(Total):
    def _prepare(self, value):
        return math.nan if any(map(math.isnan, value)) else super()._prepare(value)

    def _draw(self, prepared, runs, source):
        return [math.nan] * runs if prepared != prepared else super()._draw(prepared, runs, source)


class NobodyIsZero(Total):
    def _draw(self, prepared, runs, source):
        return super()._draw(prepared, runs, source) if prepared else np.zeros(runs, dtype=np.int64)


class NobodyDivides(Total):
    def _prepare(self, value):
        return super()._prepare(value) / len(value)


class FirstIsShown(Total):
    """Whether the first record is small: of tables whose last one comes or goes nothing is seen."""

    def _prepare(self, value):
        return super()._prepare(value) + (10**6 if value and value[0] < 0.3 else 0)


class CastsFirst(Total):
    """A float beyond 64 bits becomes the least of integers, which only has a bound above."""

    def _prepare(self, value):
        with np.errstate(invalid="ignore"):
            return int(np.array(value).astype(np.int64).clip(None, 1).sum())


class CountsPairs(Total):
    """Pairs of equal records: whoever comes makes as many as there are equal ones."""

    def _prepare(self, value):
        return sum(one == other for i, one in enumerate(value) for other in value[:i])


class QuietInCrowds(Total):
    """Noise for a mean, by the exact number of records, where there are enough of them."""

    def _prepare(self, value):
        return super()._prepare(value), len(value)

    def _draw(self, prepared, runs, source):
        total, n = prepared
        return noise.rounded_laplace(scale=1 if n < 20 else Fraction(1, 8), center=total, size=runs, source=source)


class EndsLate(Total):
    """An exception of the sum, not of a record."""

    def _draw(self, prepared, runs, source):
        if prepared > 10:
            raise ArithmeticError("the sum is too large")
        return super()._draw(prepared, runs, source)


TWINS = [
    CountsPairs,
    QuietInCrowds,
    EndsLate,
    RefusesNan,
    RefusesLate,
    Crashes,
    Overflows,
    ClipsTheSum,
    NanIsShown,
    NobodyIsZero,
    NobodyDivides,
    FirstIsShown,
    CastsFirst,
]


@pytest.mark.parametrize("twin", TWINS)
def test_a_mistake_that_only_other_records_show_is_caught(twin):
    example = pair(twin())
    testing.check_behaviour_is_public(example)
    testing.check_survives_audit(example, runs=2_000)  # the pair of the example does not show it
    with pytest.raises(AssertionError, match=Total.name):
        testing.check_strange_records_are_covered(example)


def test_a_sound_sum_passes():
    testing.check_strange_records_are_covered(pair(Total()))


def test_pairs_that_are_no_neighbours_are_not_made():
    """Under replace two lists of numbers of one length may be answers as well as records: the law leaves them alone."""
    for example in (
        Example(ClipsTheSum(unit=Unit("replace")), [0.25, 0.5], [0.25, 0.75]),
        Example(ClipsTheSum(), [0.25, 0.5], [0.25, 0.75]),
        Example(ClipsTheSum(), [0.25, 0.5], [0.75]),
    ):
        testing.check_strange_records_are_covered(example)


@pytest.mark.parametrize("twin", [RefusesNan, RefusesLate, Crashes, Overflows])
def test_no_value_is_refused_under_any_relation(twin):
    example = Example(twin(unit=Unit("replace")), [0.25, 0.5], [0.25, 0.75])
    testing.check_behaviour_is_public(example)
    with pytest.raises(AssertionError, match=r"is refused for its value|raises or warns"):
        testing.check_strange_records_are_covered(example)


class Single(Total):
    """One number, not a list of them."""

    def _admit(self, value):
        if not isinstance(value, float):
            raise InvalidData("a float")

    def _prepare(self, value):
        return self._clipped(value)


class SingleFraction(Single):
    def _prepare(self, value):
        return Fraction(min(max(value, 0.0), 1.0))  # of NaN there is none


def test_no_single_number_is_refused():
    testing.check_strange_records_are_covered(Example(Single(), 0.25, 0.75))
    with pytest.raises(AssertionError, match="nan raises or warns: ValueError"):
        testing.check_strange_records_are_covered(Example(SingleFraction(), 0.25, 0.75))


@dataclass(frozen=True, kw_only=True)
class Sums(Algorithm):
    """A sound algorithm: the sum of rows that are clipped to [0, 1]."""

    name = "sums"
    part: Laplace = field(default=Laplace.for_budget(epsilon=1.0, sensitivity=1.0))

    @property
    def loss(self):
        return self.part.loss

    def _admit(self, value):
        if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind != "f":
            raise InvalidData("an array of rows")

    def _exact_sum(self, rows):
        return float(np.clip(np.nan_to_num(rows[:, 0]), 0.0, 1.0).sum())

    def _run(self, prepared, source):
        return self.part.release(self._exact_sum(prepared), source=source).value

    @classmethod
    def examples(cls):
        yield rows_of(cls())


class ClipsTheSums(Sums):
    def _exact_sum(self, rows):
        return float(np.clip(np.nan_to_num(rows[:, 0]).sum(), 0.0, 100.0))


class Scales(Sums):
    """By the exact number of rows, as if it were public: 3 stands for it in the sensitivity."""

    def _exact_sum(self, rows):
        return 3.0 * super()._exact_sum(rows) / max(len(rows), 1)


class Looks(Sums):
    def _exact_sum(self, rows):
        if np.isnan(rows).any():
            raise InvalidData("a row has NaN")
        return super()._exact_sum(rows)


def rows_of(algorithm, cost="cheap"):
    rows = np.array([[0.25, 1.0], [0.5, 2.0], [0.75, 3.0]])
    return Example(algorithm, rows, rows[:-1], cost=cost)


@pytest.mark.parametrize("twin", [ClipsTheSums, Scales, Looks])
def test_an_algorithm_is_replayed_with_other_records(twin):
    testing.check_replay_sees_nothing(rows_of(twin()))
    with pytest.raises(AssertionError, match=Sums.name):
        testing.check_strange_records_are_covered(rows_of(twin()))


@pytest.mark.parametrize("twin", [ClipsTheSums, Looks])
def test_a_costly_algorithm_is_replayed_with_two(twin):
    testing.check_strange_records_are_covered(rows_of(twin(), "costly"))
    with pytest.raises(AssertionError, match="violated"):
        testing.check_survives_audit(rows_of(twin(), "costly"))


def test_a_sound_algorithm_passes_and_a_costly_one_is_run_for_two_pairs_alone(monkeypatch):
    testing.check_strange_records_are_covered(rows_of(Sums()))
    made = []
    monkeypatch.setattr(Sums, "_run", lambda self, prepared, source: made.append(prepared) or 0.0)
    testing.check_strange_records_are_covered(rows_of(Sums(), "costly"))
    assert not made
    testing.check_survives_audit(rows_of(Sums(), "costly"))
    assert len(made) == (1 + 2) * 3


def test_every_kind_of_record_has_strange_ones():
    for value in ([1], [1.0], ["a"], [(1, "a")], [[1.0, "a"]], [np.zeros(2)]):
        strange = list(strange_like(value))
        assert strange
        assert all(type(each[0]) is type(value[0]) for each in strange)
    for dtype in (np.int8, np.uint64, np.float16, np.float64):
        strange = list(strange_like(np.ones((1, 2), dtype=dtype)))
        assert {each.dtype for each in strange} == {np.dtype(dtype)}
        assert all(each.shape == (1, 2) for each in strange)
    assert not list(strange_like(np.array(["a"])))


def test_the_verdict_says_which_record_tells():
    with pytest.raises(AssertionError, match=r"violated .*\(the record -?(1000000\.0|1\.79.*)\)"):
        testing.check_strange_records_are_covered(pair(ClipsTheSum()))
