"""Public mistakes cost nothing: what a mechanism is handed by mistake is taken, or refused before the charge."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet.errors import InvalidData, PrivetError
from privet.mechanisms import Mechanism, Release
from privet.workloads import (
    DAWA,
    MWEM,
    AdaptiveGrid,
    AllRanges,
    Automatic,
    Buckets,
    Cells,
    EveryQuery,
    Fourier,
    Hierarchical,
    Kronecker,
    LowFrequencies,
    Marginals,
    Optimised,
    Points,
    Prefix,
    Product,
    Quadtree,
    RangeQueries,
    Ranges,
    ResidualTables,
    Rows,
    SquareRoot,
    Tiles,
    Wavelet,
)
from tests.firsts import first_of_each, mechanism_examples
from tests.laws.test_mechanisms import Coin

FIRST = {example.mechanism.name: example for example in reversed(list(mechanism_examples()))}


def mistakes(left):
    """Values that somebody may hand in by mistake; for some mechanisms one or the other is right."""
    yield from (object(), "twelve", b"abc", {"a": 1}, len, int, {1, 2}, 1 + 2j, float("nan"), None, [], [object()] * 2)
    yield from (
        np.zeros((2, 2, 2)),
        np.array(3.0),
        np.array(["a", "b"]),
        [[1, 2], [3]],
        np.zeros(3, dtype=[("a", int)]),
    )
    yield from (np.array(["2020-01-01"], dtype="datetime64[D]"), (i for i in range(3)), [1.0] * 977)
    yield np.concatenate([left, left]) if isinstance(left, np.ndarray) and left.ndim else np.zeros(977)
    yield pv.Table({"a": [1, 2]}, unit=pv.Rows(), columns={"a": pv.Int(0, 3)})
    yield Release(1.0, loss=pv.privacy.PureLoss(1.0), mechanism="laplace")


def charged(mechanism: Mechanism, value) -> tuple[int, PrivetError | None]:
    """How many charges a release of this value makes, and how it is refused."""
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9, delta=0.5), unit=mechanism.unit)
    problem = None
    try:
        with ledger:
            mechanism.release(value)
    except PrivetError as refusal:
        problem = refusal
    return sum(entry.kind == "reserve" for entry in ledger.entries()), problem


def assert_mistakes_cost_nothing(mechanism: Mechanism, values) -> None:
    for value in values:
        charges, problem = charged(mechanism, value)
        if problem is None:
            assert charges == 1, f"{mechanism.name} takes {type(value).__name__} for nothing"
        else:
            assert charges == 0, f"{mechanism.name} is paid for {type(value).__name__} and then says: {problem}"
            assert len(str(problem)) < 400
            assert "Traceback" not in str(problem)


# One of each room and form in every run: `tests/mechanisms/test_newcomer_inputs.py` hands more to all of them.
@pytest.mark.parametrize(
    "name",
    first_of_each(
        FIRST,
        lambda name: (type(FIRST[name].mechanism).__module__.split(".")[1], type(FIRST[name].mechanism.form)),
        lambda name, _: name,
    ),
)
def test_what_is_handed_in_by_mistake_costs_nothing(name):
    assert_mistakes_cost_nothing(FIRST[name].mechanism, mistakes(FIRST[name].left))


# --- parameters that are far out: refused where a mechanism is made, or its noise can be drawn -------------------------

L1, L2 = (pv.mechanisms.Sensitivity(1, norm=norm) for norm in ("l1", "l2"))
FAR_OUT = {
    "staircase, little epsilon": (lambda: pv.mechanisms.Staircase(scale=1e30, sensitivity=L1, gamma=0.3), 1.5),
    "staircase, much epsilon": (lambda: pv.mechanisms.Staircase(scale=1e-15, sensitivity=L1, gamma=0.3), 1.5),
    "staircase, small numbers": (lambda: pv.mechanisms.Staircase.for_budget(epsilon=1e6, sensitivity=1e-50), 1.5),
    "ball": (lambda: pv.mechanisms.Ball(scale=1e30, sensitivity=L2), [1.0, 2.0]),
    "wide proposal": (
        lambda: pv.mechanisms.ProposeTestRelease.for_budget(
            epsilon=1.0, delta=1e-3, query=pv.mechanisms.StableMedian(bounds=(0, 10)), proposal=10
        ),
        [1.0],
    ),
    **{
        f"{kind.name}, {bounds}": (lambda kind=kind, bounds=bounds: kind.for_budget(epsilon=1.0, bounds=bounds), [1.0])
        for kind in (pv.mechanisms.BoundedSum, pv.mechanisms.BoundedMean, pv.mechanisms.BoundedVariance)
        for bounds in ((0, 1e-50), (-1e50, 1e50), (0, 1e60))
    },
    **{
        f"{kind.name}, {promise}": (
            lambda kind=kind, promise=promise: kind.for_budget(**promise, clip_norm=1.0, dimension=2),
            np.ones((2, 2)),
        )
        for kind in (pv.mechanisms.VectorSum, pv.mechanisms.VectorMean)
        for promise in ({"rho": 1e-60}, {"mu": 1e-30})
    },
    "sums with the noise of another norm": (
        lambda: pv.mechanisms.VectorSum(
            clip_norm=1.0, dimension=9, noise=pv.mechanisms.Laplace(scale=1.0, sensitivity=L1)
        ),
        np.ones((2, 9)),
    ),
    "attoseconds": (
        lambda: pv.mechanisms.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 9)),
        np.array([1, 2], dtype="datetime64[as]"),
    ),
}


@pytest.mark.parametrize("name", FAR_OUT)
def test_what_is_far_out_is_refused_before_it_is_paid(name):
    make, value = FAR_OUT[name]
    try:
        mechanism = make()
    except PrivetError:
        return
    assert_mistakes_cost_nothing(mechanism, [value])


@pytest.mark.parametrize("norm", ["l3", None, 1, [], np.array([1, 2])], ids=str)
def test_what_is_no_norm_is_refused_in_words(norm):
    for make in (pv.mechanisms.histogram_sensitivity, pv.mechanisms.count_sensitivity):
        with pytest.raises(PrivetError, match="norm must be one of l1, l2, score"):
            make(norm=norm)


@pytest.mark.parametrize("patterns", [None, 1.5, np.array(3), len, [1, 2]], ids=str)
def test_what_is_no_list_of_patterns_is_refused_in_words(patterns):
    with pytest.raises(PrivetError, match="patterns must be"):
        pv.mechanisms.counts_sensitivity(patterns, norm="l1")


def test_other_arguments_that_are_none_are_refused_in_words():
    with pytest.raises(PrivetError, match="unit must be a Unit"):
        pv.mechanisms.StableMedian(bounds=(0, 1), unit="replace")
    with pytest.raises(PrivetError, match="missing must be a real number"):
        pv.mechanisms.StableMedian(bounds=(0, 1), missing=pd.NaT)
    with pytest.raises(PrivetError, match="what make returns"):
        pv.mechanisms.smallest_budget(lambda budget: budget, within=1.0)
    with pytest.raises(PrivetError, match="around must be True or False"):
        pv.mechanisms.ErrorBar(1.0, 0.9, around=[1, 2])


# --- questions to a table, prices, reports: words instead of what numpy and Python say ---------------------------------

VISITS = pv.Table({"a": [1, 2], "f": [0.1, 0.2], "c": ["x", "y"]}, columns={
    "a": pv.Int(0, 3), "f": pv.Float(0, 1), "c": pv.Category(["x", "y"])
})  # fmt: skip
HUGE = Fraction(10**400, 3)
ODD_WORDS = {
    "share": (lambda: pv.quantile("a", HUGE), "q must lie"),
    "compared": (lambda: VISITS.where(VISITS["a"] < HUGE), "too large"),
    "bin": (lambda: VISITS.bin("a", width=10**400), "width"),
    "narrow bin": (lambda: VISITS.bin("f", width=5e-324), "width"),
    "public rows": (lambda: VISITS.join_public(3, on="c", columns={"c": pv.Int(0, 1)}), "rows must be a dict"),
    "joined on": (
        lambda: VISITS.join_public({"c": ["x"]}, on=[[1]], columns={"c": pv.Category(["x", "y"])}),
        "need the column",
    ),
    "keys": (lambda: pv.KeySet(("a",), (1, 2)), "a row of keys must be"),
    "relation": (lambda: pv.Rows(relation=np.array([1, 2])), "relation must be"),
    "calibrate": (
        lambda: pv.accounting.calibrate(pv.privacy.GaussianLoss, epsilon=1.0, delta=1e-5, bounds=()),
        "bounds must be",
    ),
    "rule": (lambda: pv.accounting.basic_or_zcdp(1.0, delta=np.array([1, 2])), "delta must be"),
    "channel": (lambda: pv.local.epsilon_of(np.array(3)), "channel must be"),
    "rows of an engine": (lambda: pv.local.state_of_rows(pv.local.KRR(k=2, epsilon=1.0), np.array(3)), "rows must be"),
    "words of a report": (lambda: pv.local.RAPPOR(k=2**31, epsilon=1.0), "k must be at most 4096"),
}


@pytest.mark.parametrize("name", ODD_WORDS)
def test_an_odd_argument_is_refused_in_words(name):
    make, words = ODD_WORDS[name]
    with pytest.raises(PrivetError, match=words):
        make()


@pytest.mark.parametrize("promise", [{"delta": np.array([1, 2])}, {"delta": pd.NA}, {"epsilon": pd.NA}], ids=str)
def test_an_odd_promise_is_refused_before_it_is_paid(promise):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0, delta=0.5))
    with pytest.raises(PrivetError, match="must be a real number"):
        ledger.release(VISITS.agg(n=pv.count()), **{"epsilon": 0.5, **promise})
    assert not any(entry.kind == "reserve" for entry in ledger.entries())


def test_a_chance_of_failing_that_no_double_tells_from_none_is_refused_before_it_is_paid():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0))
    with pytest.raises(PrivetError, match="failing must be at least"):
        ledger.release(VISITS.find_bounds("f", failing=5e-324), epsilon=1.0)
    assert not any(entry.kind == "reserve" for entry in ledger.entries())
    assert ledger.release(VISITS.find_bounds("f", failing=1e-12), epsilon=1.0)


@pytest.mark.parametrize("wrong", [{"n_clusters": 2**31}, {"rounds": 2**31}, {"bad_rows": np.array([1, 2])}], ids=str)
def test_a_fit_that_cannot_be_made_is_refused_before_it_is_paid(wrong):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0))
    model = pv.learn.KMeans(**{"epsilon": 5.0, "bounds": (-1, 1), "n_clusters": 2, "ledger": ledger, **wrong})
    with pytest.raises(PrivetError):
        model.fit(np.zeros((20, 2)))
    assert not any(entry.kind == "reserve" for entry in ledger.entries())


def test_a_number_in_the_clothes_of_an_array_is_no_list_of_classes():
    with pytest.raises(PrivetError, match="classes must be a list"):
        pv.learn.GaussianNB(epsilon=5.0, classes=np.array(3), bounds=(-1, 1)).fit(np.zeros((4, 2)), [0, 1, 0, 1])


# --- workloads: what is asked, by which strategy, at which price ----------------------------------------------------

ASKED = [
    Prefix(1),
    Prefix(9),
    AllRanges(5),
    Points((2, 3)),
    Ranges(6, [(0, 1), (3, 3)]),
    Ranges(6, [(3, 1)]),
    Rows([[2**0.5, 1.0, 0.0]]),
    Product((Prefix(3), AllRanges(2))),
    Marginals((2, 3), ((0,), (0, 1))),
]
BY = [
    Cells(),
    EveryQuery(),
    Fourier(),
    Hierarchical(),
    Kronecker(),
    Optimised(rounds=3),
    Quadtree(),
    ResidualTables(),
    SquareRoot(),
    Wavelet(),
    DAWA(),
    DAWA(inner=EveryQuery()),
    MWEM(rounds=2),
    Automatic(),
    AdaptiveGrid(),
    Buckets((2, 6)),
    Tiles(((1,), (2, 6))),
    LowFrequencies(2),
    "cells",
    Cells,
]
PROMISES = [{"epsilon": 1.0}, {"epsilon": 1e-14}, {"epsilon": 1.0, "delta": 1e-6}, {"rho": 1e-17}, {"mu": 1.0}]


@pytest.mark.parametrize("strategy", BY, ids=str)
def test_a_workload_that_cannot_be_answered_costs_nothing(strategy):
    answered = 0
    for turn, workload in enumerate(ASKED):
        promise = PROMISES[turn % len(PROMISES)], PROMISES[(turn + 2) % len(PROMISES)]
        for each in promise:
            kind = {name: 1e6 for name in each if name in ("rho", "mu")} or {"epsilon": 1e6, "delta": 0.5}
            ledger = pv.Ledger.create("memory:", budget=pv.Budget(**kind))
            problem = None
            try:
                ledger.release(
                    RangeQueries(workload=workload).of(np.full(workload.shape, 3), strategy=strategy), **each
                )
            except PrivetError as refusal:
                problem = refusal
            charges = sum(entry.kind == "reserve" for entry in ledger.entries())
            assert charges == (1 if problem is None else 0), f"{workload}, {strategy}, {each}: {problem}"
            answered += charges
    assert answered or isinstance(strategy, str | type) or strategy == DAWA(inner=EveryQuery())


def test_the_right_value_is_charged_once():
    assert charged(FIRST["laplace"].mechanism, FIRST["laplace"].left) == (1, None)


@dataclass(frozen=True)
class LooksLate(Coin):
    """The twin: the type is looked at when it has been paid for."""

    def _admit(self, value):
        pass

    def _prepare(self, value):
        return value

    def _draw(self, prepared, runs, source):
        if not isinstance(prepared, int):
            raise InvalidData("a coin takes one number")
        return super()._draw(prepared, runs, source)


def test_a_mechanism_that_looks_late_is_caught():
    assert_mistakes_cost_nothing(Coin(), [0, "twelve"])
    with pytest.raises(AssertionError, match="is paid for str"):
        assert_mistakes_cost_nothing(LooksLate(), [0, "twelve"])
