"""Ledgers of many different prices, errors that are errors, and caches that stay small and safe."""

import math
import resource
import threading
import time

import numpy as np
import pytest

from privet import _cache as cache, accounting, privacy
from privet._cache import remember
from privet.accounting import Bound
from privet.accounting.pld import bundle, contract, engine, heavy, levels
from privet.accounting.pld.compose import compose
from privet.accounting.pld.heavy import Guess, heavy_plan, outline_of
from privet.accounting.pld.law import UPPER, Layers
from privet.accounting.pld.plan import make_plan
from privet.accounting.pld.rounding import upper_law
from privet.privacy.poisson_sampled import SampledVariable


def convolved(pairs, epsilon):
    """delta of binary pairs of pure losses, by listing every outcome of halves of the ledger."""
    losses, p = np.zeros(1), np.ones(1)
    for e in pairs:
        truth = 1.0 / (1.0 + math.exp(-e))
        losses = np.add.outer(losses, np.array([-e, e])).ravel()
        p = np.multiply.outer(p, np.array([1.0 - truth, truth])).ravel()
    return float((p * -np.expm1(np.minimum(epsilon - losses, 0.0))).sum())


def test_distinct_pure_prices_against_every_outcome():
    epsilons = [0.05 + 0.0137 * i for i in range(18)]
    loss = privacy.Composed([privacy.PureLoss(e) for e in epsilons])
    for delta in (1e-2, 1e-5, 1e-9):
        bound = accounting.PLD().epsilon(loss, delta)
        assert bound.slack <= 2e-3 * bound.upper
        assert convolved(epsilons, bound.upper) <= delta * (1 + 1e-9)
        assert convolved(epsilons, bound.lower) >= delta * (1 - 1e-9)


@pytest.mark.parametrize(
    "make", [lambda i: privacy.PureLoss(0.01 + 0.0001 * i), lambda i: privacy.DiscreteLaplaceLoss(20.0 + 0.37 * i)]
)
def test_a_hundred_distinct_prices_are_quick_and_narrow(make):
    loss = privacy.Composed([make(i) for i in range(100)])
    start = time.process_time()
    bound = accounting.epsilon(loss, delta=1e-6)
    assert time.process_time() - start < 3.0  # thirty times what it takes: a guard against minutes, not a benchmark
    assert bound.slack <= 1e-3 * bound.upper


def test_bundles_keep_every_part():
    parts = [(privacy.PureLoss(0.01 + 0.001 * i), 1 + i % 3) for i in range(40)]
    gathered = bundle.gathered(parts)
    seen = {}
    for group, times in gathered:
        for loss, n in group.parts:
            seen[loss] = seen.get(loss, 0) + n * times
    assert seen == dict(parts)
    assert len(gathered) < 12


def test_many_copies_are_cut_into_equal_groups():
    parts = [(privacy.PureLoss(0.01), 100_000), (privacy.PureLoss(0.013), 7)]
    gathered = bundle.gathered(parts)
    assert sum(n * times for group, times in gathered for loss, n in group.parts if loss == parts[0][0]) == 100_000


@pytest.mark.parametrize("shift", [0.0, 0.4])
def test_contraction_node_by_node_is_a_garbling(shift):
    """Every tail of the contracted law lies below the true curve."""
    variable = privacy.PoissonSampled(privacy.GaussianLoss(16.7), q=5e-5).variable("remove")
    step = 3e-6
    nodes = (np.arange(-12, 13) + shift) * step
    edges = np.linspace(nodes[0], nodes[-1], 1000)
    p, q = (mass[1:-1] for mass in variable.cells(edges))
    mass, margin = contract.contract_in_turn(p, q, nodes, 1e-11)
    assert mass.sum() <= 1.0 + 1e-12
    for epsilon in np.linspace(-8, 8, 33) * step:
        found = float((mass * -np.expm1(np.minimum(epsilon - nodes, 0.0))).sum())
        assert found <= float(variable.delta(epsilon - margin)) + 1e-15
    broken = np.roll(mass, 1)  # one node too high
    assert float((broken * -np.expm1(np.minimum(-nodes, 0.0))).sum()) > float(variable.delta(0.0))


def test_levels_add_up_to_the_whole():
    """Paths with and without a jump together are the law of the sum."""
    loss = privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01)
    parts, delta = [(loss, 1000)], 1e-5
    outline, tail = outline_of(parts, "remove", delta)
    guess = Guess(outline)
    epsilon = guess.epsilon(math.log(delta))
    plan = heavy_plan(outline, tail, math.log(delta), epsilon, guess.slope(epsilon))
    laws = [(upper_law(loss, "remove", 1e-3, tail, plan.order, plan.fine), 1000)]
    sums = levels.compose_levels(laws, 1e-3, plan)
    layers = Layers(sums, UPPER, 0.0, epsilon)
    whole = Layers([compose(laws, 1e-3, make_plan(parts, "remove", delta=delta))], UPPER, 0.0, epsilon)
    for at in (0.9 * epsilon, epsilon, 1.1 * epsilon):
        assert layers.delta(at) == pytest.approx(whole.delta(at), rel=1e-4)
    forgetful = Layers(sums[:1], UPPER, 0.0, epsilon)
    assert forgetful.delta(epsilon) < 0.99 * whole.delta(epsilon)


# --- errors are errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError("shapes"), MemoryError(), ZeroDivisionError(), IndexError()])
def test_a_mistake_in_the_code_is_not_a_looser_bound(monkeypatch, error):
    accounting.clear_caches()

    def broken(self, nodes):
        raise error

    monkeypatch.setattr(SampledVariable, "cells", broken)
    loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.03), q=0.011), 1000)
    with pytest.raises(type(error)):
        accounting.epsilon(loss, delta=1e-5)


def test_a_planted_shape_bug_surfaces(monkeypatch):
    accounting.clear_caches()
    real = SampledVariable.cells
    monkeypatch.setattr(SampledVariable, "cells", lambda self, nodes: tuple(m[:-1] for m in real(self, nodes)))
    loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.07), q=0.012), 1000)
    with pytest.raises(ValueError, match=r"shape|broadcast|operands|length"):
        accounting.epsilon(loss, delta=1e-5)


def test_a_loose_bound_says_so():
    unit = privacy.Unit()
    assert "loose" in str(Bound(1.0, 1.06, "PLD", unit))
    assert "loose" not in str(Bound(1.0, 1.05, "PLD", unit))
    assert "no lower end" in str(Bound(0.0, 1.0, "RDP", unit))
    assert not Bound(0.0, 0.0, "PLD", unit).loose


def _jump_deltas(epsilon):
    """delta of rare jumps at one epsilon, from above: whole levels, and what kind of law the second one is."""
    loss = privacy.PoissonSampled(privacy.GaussianLoss(0.6), q=1e-5)
    parts = [(loss, 300_000)]
    outline, tail = outline_of(parts, "remove", 1e-6)
    guess = Guess(outline)
    plan = heavy_plan(outline, tail, math.log(1e-6), epsilon, guess.slope(epsilon))
    step = plan.step_for(1e-4)
    laws = [(upper_law(loss, "remove", step, plan.tail, plan.order, plan.fine), 300_000)]
    sums = levels.compose_levels(laws, step, plan)
    return type(sums[1]).__name__, Layers(sums, UPPER, 0.0, epsilon).delta(epsilon)


def test_jumps_through_few_frequencies_are_those_of_the_whole_transform(monkeypatch):
    kind, few = _jump_deltas(0.107)
    monkeypatch.setattr(levels, "_low_band", lambda *_: None)
    whole_kind, whole = _jump_deltas(0.107)
    assert (kind, whole_kind) == ("BandLaw", "NodeLaw")
    assert few == pytest.approx(whole, rel=1e-6)


def test_jumps_cut_off_too_early_are_noticed(monkeypatch):
    whole = _jump_deltas(0.107)[1]
    monkeypatch.setattr(levels, "cut_frequency", lambda *_: 24)
    assert _jump_deltas(0.107)[1] != pytest.approx(whole, rel=1e-3)


# --- limits on nodes ---------------------------------------------------------------------------------------


def _noise_levels():
    base = [privacy.PoissonSampled(privacy.GaussianLoss(1.0 + 0.1 * i), q=0.01) for i in range(5)]
    return privacy.Composed([privacy.Repeated(one, 50) for one in base])


@pytest.mark.parametrize(("name", "limit"), [("_MOST_NODES", 256), ("_MOST_WORK", 5 * 256)])
def test_a_coarser_grid_answers_and_says_so(monkeypatch, name, limit):
    fine = accounting.epsilon(_noise_levels(), delta=1e-6)
    assert not fine.coarse
    assert "coarser" not in str(fine)
    monkeypatch.setattr(engine, name, limit)
    accounting.clear_caches()
    rough = accounting.epsilon(_noise_levels(), delta=1e-6)
    assert rough.coarse
    assert str(rough).endswith("; on a coarser grid than asked for)")
    assert rough.lower <= fine.lower + 1e-12
    assert rough.upper >= fine.upper - 1e-12
    assert rough.slack > fine.slack
    assert accounting.delta(_noise_levels(), epsilon=1.0).coarse
    assert accounting.PLD(two_sided=False).epsilon(_noise_levels(), 1e-6).coarse


def test_jumps_on_a_coarser_grid_say_so_too(monkeypatch):
    loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(0.6), q=1e-5), 300_000)
    fine = accounting.epsilon(loss, delta=1e-6)
    monkeypatch.setattr(heavy, "_MOST_NODES", 1 << 15)
    accounting.clear_caches()
    rough = accounting.epsilon(loss, delta=1e-6)
    assert rough.coarse
    assert not fine.coarse or fine.slack < rough.slack
    assert rough.lower <= fine.upper
    assert fine.lower <= rough.upper


def test_a_limit_that_does_not_matter_is_not_mentioned(monkeypatch):
    monkeypatch.setattr(engine, "_MOST_NODES", 1 << 16)
    assert not accounting.epsilon(_noise_levels(), delta=1e-6).coarse
    assert not accounting.epsilon(privacy.Repeated(privacy.PureLoss(0.1), 10), delta=1e-6).coarse


# --- caches ------------------------------------------------------------------------------------------------


def test_caches_are_safe_for_threads():
    @remember(4000)
    def row(n):
        return np.full(20, float(n))

    broken = []

    def ask(seed):
        try:
            for i in range(3000):
                n = (i * seed) % 97
                if row(n)[0] != n:
                    broken.append(n)
        except KeyError as error:
            broken.append(error)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert broken == []
    assert row.cache_bytes() <= 4000


def test_a_cache_counts_what_it_holds():
    @remember(2000)
    def row(n):
        return np.zeros(50)

    for n in range(100):
        row(n)
    assert 1000 < row.cache_bytes() <= 2000
    row.cache_clear()
    assert row.cache_bytes() == 0
    assert cache._size((np.zeros(3), [1])) >= 24


@pytest.mark.slow
def test_memory_stays_bounded_over_many_questions():
    accounting.epsilon(privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01), 10), delta=1e-5)
    before = _resident()
    for i in range(100):
        accounting.epsilon(privacy.Repeated(privacy.DiscreteGaussianLoss(20.0 + 3.7 * i), 5), delta=1e-6)
        loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(0.7 + 0.01 * i), q=1e-5), 20_000)
        accounting.epsilon(loss, delta=1e-8)
    assert _resident() - before <= 100.0


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20
