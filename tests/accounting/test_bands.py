"""Long sums through a few frequencies, on uneven meshes: the same answers as the whole transform, and honest bounds."""

import dataclasses
import math

import mpmath
import numpy as np
import pytest

from privet import accounting, privacy
from privet.accounting.pld import band, compose, engine, spectrum
from privet.accounting.pld.law import LOWER, UPPER, ComposedLaw, Side
from privet.accounting.pld.mesh import lattice_places, walls_between
from privet.accounting.pld.plan import make_plan, step_tail, summary_of
from privet.accounting.pld.rounding import GridLaw, lower_law, upper_law
from privet.accounting.pld.waves import BandProfile


def sampled(q: float, z: float) -> privacy.PrivacyLoss:
    return privacy.PoissonSampled(privacy.GaussianLoss(z), q=q)


SUMS = {
    "light": ([(sampled(0.01, 4.0), 10_000)], 1e-5),
    "heavy": ([(sampled(0.001, 0.8), 100_000)], 1e-6),
    "tiny q": ([(sampled(1e-5, 1.0), 1_000_000)], 1e-8),
    "tiny delta": ([(sampled(0.01, 1.0), 1000)], 1e-20),
    "mixed": ([(sampled(0.01, 1.0), 400), (sampled(0.02, 2.0), 600), (privacy.GaussianLoss(40.0), 50)], 1e-6),
}


def composed(name: str, side: Side = UPPER, tol: float = 1e-3) -> ComposedLaw:
    parts, delta = SUMS[name]
    plan = make_plan(parts, "remove", delta=delta)
    step = engine._grid_step(parts, plan, tol)
    law = upper_law if side is UPPER else lower_law
    tail = step_tail(delta, sum(n for _, n in parts))
    return compose.compose([(law(part, "remove", step, tail, plan.order), n) for part, n in parts], step, plan)


@pytest.mark.parametrize("side", [UPPER, LOWER], ids=["upper", "lower"])
@pytest.mark.parametrize("name", sorted(SUMS))
def test_the_band_gives_what_the_whole_transform_gives(name, side, monkeypatch):
    delta = SUMS[name][1]
    narrow = composed(name, side).profile(side, 0.0)
    assert isinstance(narrow, BandProfile)
    monkeypatch.setattr(compose, "_low_band", lambda *arguments: None)
    whole = composed(name, side).profile(side, 0.0)
    assert not isinstance(whole, BandProfile)
    epsilon = whole.epsilon(delta)
    assert narrow.epsilon(delta) == pytest.approx(epsilon, rel=1e-7)
    for at in (0.7 * epsilon, epsilon, 1.2 * epsilon):
        assert narrow.delta(at) == pytest.approx(whole.delta(at), rel=1e-5)


def test_a_frequency_that_is_missing_is_seen():
    """The twin of the comparison above: without frequency 1 the answer is another."""
    law = composed("light")
    spectrum = law.spectrum.copy()
    spectrum[1] = 0.0
    twin = dataclasses.replace(law, spectrum=spectrum)
    assert abs(twin.profile(UPPER).epsilon(1e-5) / law.profile(UPPER).epsilon(1e-5) - 1.0) > 1e-3


def random_laws(count: int) -> list[GridLaw]:
    """Peaks, spikes, gaps and combs."""
    rng = np.random.default_rng(5)
    laws = []
    for kind in range(count):
        places = np.unique(rng.integers(0, 400, 300)) if kind % 2 else np.arange(300) * (1 + kind % 3)
        mass = np.exp(-0.5 * ((places - 100.0) / rng.uniform(5.0, 60.0)) ** 2) * rng.uniform(0.3, 1.0, len(places))
        mass[rng.integers(len(mass))] += rng.uniform(0.0, 3.0)
        laws.append(GridLaw(0.0, 0.01, places, mass / mass.sum(), 0.0, 0.0, 0.0))
    return laws


@pytest.mark.parametrize(("copies", "least"), [(200, 1), (3000, 6), (100_000, 6)])
def test_beyond_the_cut_the_transform_is_small(copies, least):
    length, cuts = 4096, 0
    for law in random_laws(24):
        part = band.tilted_law(law, 0.7, law.log_moment(0.7))
        cut = band.cut_frequency([(part, copies)], length, 40.0)
        if cut is None:
            continue
        cuts += 1
        dense = np.bincount((law.places - law.start) % length, weights=part.weight, minlength=length)
        assert copies * np.log(np.abs(np.fft.rfft(dense))[cut:].max()) <= -40.0
    assert cuts >= least


def test_a_comb_has_no_cut_and_would_break_the_bound():
    """Every third node only: the transform comes back to 1. A bound that took them for neighbours would be wrong."""
    comb = next(law for law in random_laws(24) if np.all(np.diff(law.places) == 3))
    part = band.tilted_law(comb, 0.0, 0.0)
    assert band.cut_frequency([(part, 1000)], 4096, 40.0) is None
    neighbours = dataclasses.replace(comb, places=np.arange(len(comb.places)))
    cut = band.cut_frequency([(band.tilted_law(neighbours, 0.0, 0.0), 1000)], 4096, 40.0)
    dense = np.bincount(comb.places - comb.start, weights=part.weight, minlength=4096)
    assert 1000 * np.log(np.abs(np.fft.rfft(dense))[cut:].max()) > -40.0


def test_low_frequencies_keep_their_digits():
    """Against 40 digits; the bound holds, and is not so wide that a place off by one would pass."""
    law, length, count = random_laws(2)[1], 1000, 37
    part = band.tilted_law(law, 0.7, 0.3)
    found, error = band.low_frequencies(law, part, length, count)
    moved = band.low_frequencies(dataclasses.replace(law, places=law.places + (law.places > 100)), part, length, count)
    with mpmath.workdps(40):
        for k in (0, 1, 17, 36):
            terms = (
                mpmath.mpf(float(w)) * mpmath.expjpi(mpmath.mpf(2 * k * int(p - law.start)) / length)
                for w, p in zip(part.weight, law.places, strict=True)
            )
            truth = complex(mpmath.fsum(terms))
            assert abs(found[k] - truth) <= error
            assert k == 0 or abs(moved[0][k] - truth) > error


@pytest.mark.parametrize("length", [4096, 5120, 6144])  # all radices that lengths have
def test_a_fast_transform_errs_less_than_is_charged(length):
    """Against 40 digits; single precision would be seen."""
    assert spectrum.smooth_length(length) == length
    law = random_laws(2)[1]
    found, error = spectrum.transform_of(law, 0.7, length)
    weight = law.mass * np.exp(0.7 * law.losses() - law.log_moment(0.7))
    with mpmath.workdps(40):
        for k in (1, 1000, length // 2 - 1):
            terms = (
                mpmath.mpf(float(w)) * mpmath.expjpi(-mpmath.mpf(2 * k * int(p - law.start)) / length)
                for w, p in zip(weight, law.places, strict=True)
            )
            truth = complex(mpmath.fsum(terms))
            assert abs(found[k] - truth) <= error
            assert abs(complex(found.astype(np.complex64)[k]) - truth) > error


@pytest.mark.parametrize("order", [0.0, 12.0, 300.0])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_an_uneven_mesh_covers_the_law_and_saves_nodes(direction, order):
    loss, step = sampled(0.001, 0.8), 4e-5
    outline = summary_of(loss, direction, 1e-18)
    low, high = float(outline.points[0]), float(outline.points[-1])
    first, last = math.floor(low / step) - 1, math.ceil(high / step) + 1
    places = lattice_places(first, last, step, 0.0, outline.points, outline.inside, order)
    walls = walls_between(places)
    assert places[0] == first
    assert places[-1] >= last
    assert np.all(np.diff(places) > 0)
    assert np.all((walls[:-1] < places) & (places < walls[1:]))
    assert len(places) < 0.2 * (last - first)


@pytest.mark.parametrize("order", [5.0, 40.0])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_uneven_laws_enclose_the_profile(direction, order):
    loss, epsilons = sampled(0.01, 0.6), np.linspace(-2.0, 5.0, 141)
    truth = loss.variable(direction).delta(epsilons)
    ends = []
    for law in (lower_law(loss, direction, 0.003, 1e-14, order), upper_law(loss, direction, 0.003, 1e-14, order)):
        rise = -np.expm1(np.subtract.outer(epsilons, law.losses()))
        ends.append(law.infinite + (law.mass * np.maximum(rise, 0.0)).sum(axis=1))
    assert np.all(ends[0] <= truth + 1e-12)
    assert np.all(truth <= ends[1] + 1e-12)
    assert np.max(ends[1] - ends[0]) < 1e-3


def test_the_second_direction_is_not_forgotten_when_it_is_close():
    """Nearly symmetric: a coarse look cannot settle which direction decides, so both are computed."""
    parts = [(sampled(0.9, 60.0), 1000)]
    both = engine.epsilon_interval(parts, 1e-6, 1e-4)
    alone = {}
    for direction in ("remove", "add"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "_directions", lambda parts, only=direction: (only,))
            alone[direction] = engine.epsilon_interval(parts, 1e-6, 1e-4)
    assert both.upper >= max(one.lower for one in alone.values())
    assert both.lower <= max(one.upper for one in alone.values())
    assert both.upper == pytest.approx(max(one.upper for one in alone.values()), rel=1e-4)


def test_one_sided_answers_stay_above_two_sided_ones():
    loss = privacy.Repeated(sampled(0.02, 1.5), 3000)
    quick = accounting.Tightest(tol=1e-3, two_sided=False).epsilon(loss, 1e-6).upper
    sure = accounting.Tightest().epsilon(loss, 1e-6)
    assert sure.lower <= quick <= sure.upper * 1.001
