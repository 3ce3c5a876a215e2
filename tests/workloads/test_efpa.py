"""EFPA: scores by brute force over neighbours, exact probabilities of the choice, and a twin with a smaller bound."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import privet as pv
from privet import audit
from privet.errors import PrivetError
from privet.mechanisms import Exponential
from privet.privacy import Guarantee, Unit
from privet.workloads import EFPA, AdaptiveQueries, LowFrequencies, Marginals, Points, Prefix, RangeQueries
from privet.workloads.adaptive import Task
from privet.workloads.adaptive.efpa import frequency_scores, high_frequencies


def task_of(relation, k, rows=1):
    return Task(Prefix(k), Guarantee(1.0), Unit(relation), rows)


def changes(k, relation):
    units = [*np.eye(k, dtype=np.int64), np.zeros(k, dtype=np.int64)]
    return units if relation == "add_remove" else [a - b for a, b in product(units, repeat=2)]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_scores_move_by_the_bound_and_hardly_less(relation, k):
    task = task_of(relation, k)
    tails, frequency = high_frequencies(k)
    expected = EFPA()._noise(task)
    bound = EFPA()._choice(task).sensitivity.value

    def scores(cells):
        return np.array(frequency_scores(tails, frequency, cells, expected), dtype=object)

    most = 0
    for cells in product(range(3), repeat=k):
        base = np.array(cells)
        for change in changes(k, relation):
            most = max(most, np.max(np.abs(scores(base + change) - scores(base))))
    assert 0.99 * bound <= most <= bound
    exact = (
        1.0 if relation == "add_remove" else 2.0**0.5
    )  # of all rows; the constant, which is never left out, has less
    assert float(bound * tails.weight) <= exact + 1e-5


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_exact_choice_keeps_its_price_and_a_smaller_bound_does_not(relation):
    k = 4
    task = task_of(relation, k)
    choice = EFPA(share=0.9)._choice(task)
    tails, frequency = high_frequencies(k)
    weak = Exponential(scale=choice.scale / 3, sensitivity=choice.sensitivity, candidates=choice.candidates)

    def worst(mechanism):
        most = 0.0
        for cells in product((0, 2), repeat=k):
            for change in changes(k, relation):
                laws = [
                    mechanism.exact_probabilities(frequency_scores(tails, frequency, np.array(x), np.zeros(3)))
                    for x in (np.array(cells), np.array(cells) + change)
                ]
                most = max(most, float(np.max(np.abs(np.log(laws[0] / laws[1])))))
        return most

    assert worst(choice) <= choice.loss.pure() * (1 + 1e-9)
    assert worst(weak) > choice.loss.pure()


@pytest.mark.parametrize("k", [2, 5, 8, 16])
def test_rows_kept_have_the_sensitivity_of_the_handbook_formula(k):
    for kept in range(1, (k - 1) // 2 + 2):
        design = LowFrequencies(kept).design(Prefix(k), "l2")
        rows = 2 * kept - 1
        assert design.measurements == rows
        assert float(design.sensitivity("l2")) == pytest.approx(math.sqrt(rows / k), rel=1e-5)
        assert float(design.sensitivity("l1")) <= rows / math.sqrt(k) * (1 + 1e-5)


def test_all_frequencies_give_the_cells_back():
    counts = np.array([3, 1, 4, 1, 5, 9, 2])
    design = LowFrequencies(4).design(Prefix(7), "l1")
    assert design.reconstruct(design.measure(counts)) == pytest.approx(counts, abs=1e-4)
    assert design.biased
    mean = LowFrequencies(1).design(Prefix(7), "l1")
    assert mean.reconstruct(mean.measure(counts)) == pytest.approx(np.full(7, 25 / 7), abs=1e-4)


@pytest.mark.parametrize("promise", [{"epsilon": 1.0}, {"rho": 0.5}, {"mu": 1.0}, {"epsilon": 1.0, "delta": 1e-6}])
def test_every_promise_is_kept(promise):
    asked = RangeQueries(workload=Points(6), unit=Unit("replace"), max_rows=2)
    mechanism = asked.for_budget(**promise, strategy=EFPA())
    assert Guarantee(**promise).covers(mechanism.loss)
    found = mechanism.release([5, 4, 3, 3, 4, 5]).value
    assert found.answer(0, 5).noise_only


def test_smooth_data_need_few_rows():
    k = 64
    counts = np.rint(1000 + 800 * np.cos(2 * np.pi * np.arange(k) / k)).astype(int)
    found = RangeQueries(workload=Points(k)).release(counts, epsilon=0.5, strategy=EFPA()).value
    assert found.design.measurements <= 15
    assert np.abs(found.histogram - counts).mean() < 100


def test_tail_in_doubles_is_not_what_is_scored():
    """Counts so large that a length in doubles could not see one row; the scores do."""
    tails, frequency = high_frequencies(4)
    big = np.array([tails.most // 2, 0, 0, 0])
    one, other = (frequency_scores(tails, frequency, x, np.zeros(3)) for x in (big, big + np.array([0, 1, 0, 0])))
    assert 0 < max(abs(a - b) for a, b in zip(one, other, strict=True)) <= Fraction(2**22) + 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: EFPA(share=0.0),
        lambda: RangeQueries(domain=1).for_budget(epsilon=1.0, strategy=EFPA()),
        lambda: RangeQueries(domain=4096).for_budget(epsilon=1.0, strategy=EFPA()),
        lambda: RangeQueries(workload=Marginals((2, 2), ((0,),))).for_budget(epsilon=1.0, strategy=EFPA()),
        lambda: LowFrequencies(9).design(Prefix(4), "l1"),
        lambda: RangeQueries(domain=8).release([1] * 7, epsilon=1.0, strategy=EFPA()),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(PrivetError):
        make()


def test_replay_sees_both_parts():
    mechanism = AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(4), strategy=EFPA())
    found = audit.replay(mechanism.release, np.array([3, 3, 5, 5]), np.array([3, 4, 5, 5]))
    assert found.releases == 2
    assert not found.refuted


def test_ledger_pays_once_for_both_parts():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    release = ledger.release(RangeQueries(domain=8).of([4] * 8, strategy=EFPA()), epsilon=1.0)
    assert release.value.histogram.shape == (8,)
    assert len([entry for entry in ledger.entries() if entry.kind == "reserve"]) == 1
