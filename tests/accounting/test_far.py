"""Very many sampled Gaussian steps: enclosed by moments and a normal law, against an inversion integral."""

import math
import time
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp, mpf

from privet import accounting, privacy
from privet.accounting import PLD
from privet.accounting.pld import far, tilted
from tests.oracles import composition_reference as reference

# q, noise multiplier, steps, delta, and the epsilon that `inverted` gives (to about 1e-13 of itself)
ROWS = [
    (1e-5, 2.0, 10**9, 1e-6, 0.6940408199856183),
    (1e-6, 2.0, 10**10, 1e-6, 0.20256577099079887),
    (1e-5, 4.0, 10**10, 1e-6, 1.0788368887032433),
    (1e-7, 1.0, 10**12, 1e-8, 0.6546805896143933),
    (1e-4, 1.0, 10**8, 1e-6, 6.671930940097203),
    (1e-6, 1.0, 10**8, 1e-6, 0.04508889510395361),
    (1e-4, 4.0, 10**9, 1e-10, 5.1551353035437435),
    (1e-4, 0.6, 10**8, 1e-6, 25.376392664791595),
    (1e-5, 1.0, 10**8, 1e-12, 0.8559193839230806),
    (1e-6, 1.0, 10**12, 1e-5, 6.007096458659969),
    (1e-7, 4.0, 10**12, 1e-6, 0.09166793570133656),
    (1e-6, 1.5, 10**11, 1e-30, 2.65920074291973),
    (1e-2, 1.0, 10**8, 1e-6, 9003.237228989687),
]
# large outcomes matter: what the inversion integral gives without the largest ones, at most a thousandth of delta
HEAVY = [
    (1e-7, 0.5, 10**11, 1e-6, 0.9773837414706281),
    (1e-5, 0.6, 10**9, 1e-6, 6.193154556787745),
    (1e-8, 0.5, 10**12, 1e-9, 0.38706867865805417),
]
UNLIKE = [(1e-5, 2.0, 10**9), (3e-6, 1.2, 4 * 10**9)], 1.2017742305925498  # at delta 1e-7
NAMED = ROWS[:4]  # rows that were 2 to 30 percent wide, or had no lower end
IDS = [f"q={row[0]:g},z={row[1]:g},T={row[2]:g},delta={row[3]:g}" for row in ROWS]


def sampled(q, z):
    return privacy.PoissonSampled(privacy.GaussianLoss(z), q=q)


def cut_at(parts, delta, share):
    """Where the outcomes of a step may be cut so that at most this share of delta is lost over all steps."""

    def lost(top):
        return sum(n * (math.erfc(top / 2**0.5) + q * math.erfc((top - 1 / z) / 2**0.5)) for q, z, n in parts)

    return next(top for top in np.arange(4.0, 40.0, 0.25).tolist() if lost(top) <= share * delta)


def inverted(parts, delta, share=1e-9):
    """epsilon by an inversion integral, the larger of both directions; what is cut makes it a little smaller."""
    top = cut_at(parts, delta, share)
    found = []
    for direction in ("remove", "add"):
        laws = [
            (reference.cut_sampled_gaussian(q=q, noise_multiplier=z, direction=direction, top=top), n)
            for q, z, n in parts
        ]
        found.append(reference.epsilon(reference.Composition(tuple(laws)), delta))
    return reference.worst(found).value


def encloses(bound, value):
    return bound.lower <= value * (1.0 + 1e-9) and value * (1.0 - 1e-9) <= bound.upper


@pytest.mark.parametrize(("q", "z", "steps", "delta", "value"), ROWS, ids=IDS)
def test_against_an_inversion_integral(q, z, steps, delta, value):
    loss = privacy.Repeated(sampled(q, z), steps)
    bound = accounting.epsilon(loss, delta=delta)
    assert encloses(bound, value)
    assert bound.slack <= 1e-3 * bound.upper
    at_upper, at_lower = accounting.delta(loss, epsilon=bound.upper), accounting.delta(loss, epsilon=bound.lower)
    assert at_upper.lower <= delta <= at_lower.upper
    assert at_upper.upper <= 1.01 * delta
    assert 0.9 * delta <= at_lower.lower


@pytest.mark.parametrize(("q", "z", "steps", "delta", "value"), HEAVY)
def test_heavy_tails(q, z, steps, delta, value):
    bound = accounting.epsilon(privacy.Repeated(sampled(q, z), steps), delta=delta)
    assert bound.lower <= value * (1.0 + 1e-4)
    assert value <= bound.upper  # dropping outcomes makes the exact value smaller
    assert bound.slack <= 0.005 * bound.upper


def test_the_named_rows_are_quick():
    accounting.epsilon(privacy.Repeated(sampled(1e-5, 3.0), 10**9), delta=1e-6)  # scipy is loaded
    for q, z, steps, delta, _ in NAMED:
        start = time.process_time()
        bound = accounting.epsilon(privacy.Repeated(sampled(q, z), steps), delta=delta)
        assert time.process_time() - start < 3.0  # fifty times what it takes
        assert bound.method == "PLD"
        one_sided = PLD(two_sided=False).epsilon(privacy.Repeated(sampled(q, z), steps), delta)
        assert one_sided.upper == bound.upper


def region(noise=(1.0, 1.5, 2.5, 4.0)):
    for steps in (10**8, 10**9, 10**10, 10**11, 10**12):
        for q in (1e-7, 1e-6, 1e-5, 1e-4):
            for z in noise:
                if 1e-4 <= steps * q * q * math.expm1(1.0 / z**2) <= 10.0:
                    yield q, z, steps


def test_narrow_over_the_region():
    cases = list(region())
    assert len(cases) >= 30
    for number, (q, z, steps) in enumerate(cases):
        delta = (1e-5, 1e-10)[number % 2]
        found = far.far_epsilon([(sampled(q, z), steps)], delta)
        assert found is not None
        assert 0.0 < found.upper - found.lower <= 1e-3 * found.upper, (q, z, steps, delta, found)


@pytest.mark.slow
@pytest.mark.parametrize(("delta", "noise"), [(1e-5, (1.0, 2.5)), (1e-9, (1.5, 4.0))])
def test_the_region_against_an_inversion_integral(delta, noise):
    for q, z, steps in region(noise):
        bound = accounting.epsilon(privacy.Repeated(sampled(q, z), steps), delta=delta)
        assert encloses(bound, inverted([(q, z, steps)], delta)), (q, z, steps, bound)


@pytest.mark.slow
def test_the_values_written_down():
    for q, z, steps, delta, value in ROWS + FEWER:
        assert inverted([(q, z, steps)], delta) == pytest.approx(value, rel=1e-9)
    for q, z, steps, delta, value in HEAVY:
        assert inverted([(q, z, steps)], delta, 1e-3) == pytest.approx(value, rel=1e-9)
    assert inverted(UNLIKE[0], 1e-7) == pytest.approx(UNLIKE[1], rel=1e-9)


def test_the_limit_is_gaussian():
    """With T q^2 fixed and q to 0 the sum of losses tends to that of one Gaussian, mu = q sqrt(T (e^{1/z^2} - 1))."""
    gaps = []
    for q, steps in ((1e-5, 10**8), (1e-6, 10**10), (1e-7, 10**12)):
        mu = q * math.sqrt(steps * math.expm1(0.25))
        limit = accounting.epsilon(privacy.GaussianLoss(1.0 / mu), delta=1e-6)
        bound = accounting.epsilon(privacy.Repeated(sampled(q, 2.0), steps), delta=1e-6)
        gaps.append(max(limit.upper - bound.lower, bound.upper - limit.lower) / limit.upper)
    assert gaps[0] < 0.005
    assert gaps[-1] < 1e-4
    assert all(later < earlier for earlier, later in pairwise(gaps))


def test_unlike_parts_and_a_plain_gaussian():
    parts, value = UNLIKE
    loss = privacy.Composed([privacy.Repeated(sampled(q, z), n) for q, z, n in parts])
    bound = accounting.epsilon(loss, delta=1e-7)
    assert encloses(bound, value)
    assert bound.slack <= 2e-3 * bound.upper
    with_gaussian = privacy.Composed([loss, privacy.GaussianLoss(5.0)])
    more = accounting.epsilon(with_gaussian, delta=1e-7)
    assert more.slack <= 2e-3 * more.upper
    mu2 = sum(n * q * q * math.expm1(1.0 / z**2) for q, z, n in parts)  # the limit, about 1e-3 off
    about = accounting.epsilon(privacy.GaussianLoss(1.0 / math.sqrt(mu2 + 0.04)), delta=1e-7)
    assert more.upper == pytest.approx(about.upper, rel=3e-3)


def test_monotone_across_the_seam():
    """A larger price never has an upper end below the lower end of a smaller one, and prices do grow."""
    for rows in (
        [(1e-6, 2.0, n * 10**6) for n in (10, 19, 21, 40, 100, 1000, 10**5)],
        [(q, 2.0, 10**9) for q in (1e-6, 1e-5, 1e-4, 1e-3)],
        [(1e-5, z, 10**9) for z in (4.0, 3.0, 2.0, 1.0, 0.7)],
    ):
        bounds = [accounting.epsilon(privacy.Repeated(sampled(q, z), n), delta=1e-8) for q, z, n in rows]
        assert all(less.upper < more.lower for less, more in pairwise(bounds))


def test_what_is_not_of_this_kind_is_left_to_the_grid():
    step = sampled(1e-5, 2.0)
    assert far.far_epsilon([(step, 10**4)], 1e-6) is None
    assert far.far_epsilon([(step, 10**9), (privacy.LaplaceLoss(1e6), 1)], 1e-6) is None
    assert far.far_epsilon([(privacy.PoissonSampled(privacy.LaplaceLoss(1.0), q=1e-6), 10**9)], 1e-6) is None
    assert far.far_epsilon([(sampled(1e-5, 0.1), 10**9)], 1e-6) is None
    assert far.far_delta([(step, 10**19)], 0.1) is None


# --- the parts of the proof, each with a twin that is broken on purpose -------------------------------------------------

FEWER = [  # as above; here the normal law is off visibly
    (1e-2, 1.0, 2000, 1e-6, 2.9552459109203704),
    (1e-3, 0.8, 30_000, 1e-7, 1.7719432875127739),
    (5e-2, 2.0, 1000, 1e-5, 3.699737250297632),
]


def misses():
    """How many intervals of short sums do not hold the exact value."""
    missed = 0
    for q, z, steps, delta, value in FEWER:
        found = far.far_epsilon([(sampled(q, z), steps)], delta)
        assert found is not None
        missed += not encloses(found, value)
    return missed


def test_short_sums_are_enclosed_as_well(monkeypatch):
    monkeypatch.setattr(far, "_STEPS", (1, 10**18))
    assert misses() == 0


def test_a_normal_law_without_its_error_is_caught(monkeypatch):
    monkeypatch.setattr(far, "_STEPS", (1, 10**18))
    monkeypatch.setattr(tilted, "_ALIKE", 0.0)
    assert misses() > 0


@cache
def exact_moments(q, s, top, a):
    """E[(1+u)^a ln^j(1+u); x <= top] for a standard normal x, minus 1 where j = 0, to about 20 digits."""
    with mp.workdps(24):
        q, s, a = mpf(q), mpf(s), mpf(a)
        breaks = [mpf(x) for x in range(-12, int(top), 2)] + [mpf(top)]

        def moment(j):
            def at(x):
                u = q * mp.expm1(s * x - s * s / 2)
                log = mp.log1p(u)
                value = mp.expm1(a * log) if j == 0 else mp.exp(a * log) * log**j
                return value * mp.npdf(x)

            return mp.quad(at, breaks) - (mp.ncdf(-mpf(top)) if j == 0 else 0)

        return [moment(j) for j in range(3)]


MOMENTS = [
    (1e-6, 0.5, 9.0, 90.0),
    (1e-7, 1.0, 11.0, 12.0),
    (1e-6, 1.0, 10.0, -350.0),
    (0.3, 0.25, 7.0, -4.0),
]


def worst_miss():
    """The largest distance between an enclosed moment and the exact one, in units of the error that is stated."""
    worst = 0.0
    for q, s, top, a in MOMENTS:
        found = tilted.Cells(q, s, top).moments(a)
        assert found is not None
        for (value, error), exact in zip(found, exact_moments(q, s, top, a), strict=False):
            worst = max(worst, float(abs(mpf(value) - exact) / error))
    return worst


def test_moments_are_enclosed():
    assert worst_miss() <= 1.0


def test_moments_are_narrow_enough():
    """Relative to the part of second order, which the steps multiply."""
    for q, s, top, a in MOMENTS:
        found = tilted.Cells(q, s, top).moments(a)
        assert found is not None
        assert found[0][1] <= 1e-4 * abs(found[0][0])
        assert found[1][1] <= 1e-3 * abs(found[1][0])


def test_cells_whose_width_is_not_charged_are_caught(monkeypatch):
    monkeypatch.setattr(tilted, "_CURVATURE", 0.0)
    assert worst_miss() > 1.0


def test_the_third_moment_is_an_upper_bound():
    """Against a fine sum over points, which is off by far less than the share of a cell that the bound gives away."""
    for q, s, top, a in MOMENTS:
        found = tilted.Cells(q, s, top).moments(a)
        assert found is not None
        x = np.linspace(-12.0, top, 200_001)
        log = np.log1p(q * np.expm1(s * x - s * s / 2.0))
        away = np.abs(log - found[1][0] / (1.0 + found[0][0]))
        density = np.exp(a * log - 0.5 * x * x) / math.sqrt(2.0 * math.pi)
        exact = float((density * away**3).sum()) * (x[1] - x[0])
        assert exact < found[3][0] <= 1.05 * exact


def test_paths_with_a_large_outcome_are_counted():
    """Here delta is that of one large outcome; the other paths alone would promise far too little."""
    q, z, steps, epsilon = 1e-5, 0.5, 10**6, 2.15818
    exact = accounting.delta(privacy.Repeated(sampled(q, z), steps), epsilon=epsilon)  # by a grid, within 0.3%
    total = tilted.FarSum([(q, 1.0 / z, steps)], 0.0, "remove")
    total.cut(1e-8)
    moments = total.moments(12.0)
    assert moments is not None
    curve = far._Curve(moments, 12.0, total)
    lower, upper = curve.ends(epsilon)
    assert lower <= exact.lower <= exact.upper <= upper
    curve.weights = 0.0 * curve.weights
    assert curve.ends(epsilon)[1] < 0.01 * exact.lower


def test_large_outcomes_are_all_there():
    """The expected number of large outcomes, and of those above a loss, from the tails of the normal law."""
    q, s, steps = 1e-4, 1.5, 10**8
    for direction in ("remove", "add"):
        total = tilted.FarSum([(q, s, steps)], 0.0, direction)
        total.cut(1e-8)
        assert 1e-7 < float(total.weights.sum()) <= 1e-6 * (1.0 + 1e-6)  # the square is a small share of delta
        if direction == "add":
            assert not total.jumps.any()  # they lower the loss
            continue
        for loss in (2.0, 4.0, 10.0):
            x = (math.log1p(math.expm1(loss) / q) + s * s / 2.0) / s
            tail = steps * 0.5 * (math.erfc(x / 2**0.5) + q * math.erfc((x - s) / 2**0.5))
            assert tail <= float(total.weights[total.jumps >= loss].sum()) <= 3.0 * tail
