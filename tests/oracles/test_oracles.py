"""The oracles are checked against each other: no two share a method."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from tests.oracles import brute_force, closed_forms, composition_reference, sampled_gaussian

RECORDS = frozenset(range(4))


@pytest.fixture(autouse=True)
def _thirty_digits() -> object:
    with mp.workdps(30):
        yield


# --- contour inversion --------------------------------------------------------------------------------


def test_contour_reproduces_a_gaussian() -> None:
    total = composition_reference.repeated(composition_reference.gaussian(100.0), 5_000)
    exact = float(closed_forms.gaussian_epsilon("1e-6", mp.sqrt(5000) / 100))
    found = composition_reference.epsilon(total, 1e-6)
    assert found.lower <= exact <= found.upper
    assert found.value == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_contour_reproduces_two_releases(direction: composition_reference.Direction) -> None:
    exact = float(sampled_gaussian.delta_two("0.5", q="0.95", z=2, direction=direction))
    found = composition_reference.sampled_gaussian_delta(
        q=0.95, noise_multiplier=2.0, count=2, epsilon=0.5, direction=direction
    )
    assert found.lower <= exact * (1 + 1e-15)
    assert found.upper >= exact * (1 - 1e-15)
    assert found.value == pytest.approx(exact, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_contour_reproduces_two_sparse_releases(direction: composition_reference.Direction) -> None:
    """Far from a Gaussian, M(s)^2 decays slowly: a long line, a hard case for the inversion."""
    exact = float(sampled_gaussian.delta_two("0.5", q="0.3", z=1, direction=direction))
    found = composition_reference.sampled_gaussian_delta(
        q=0.3, noise_multiplier=1.0, count=2, epsilon=0.5, direction=direction
    )
    assert found.value == pytest.approx(exact, rel=1e-12)


def test_contour_directions_agree_at_zero() -> None:
    """Total variation has no direction, yet the two sums share no term."""
    values = [
        composition_reference.sampled_gaussian_delta(
            q=0.01, noise_multiplier=1.0, count=1_000, epsilon=0.0, direction=direction, refine=1.5
        ).value
        for direction in ("remove", "add")
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    assert values[0] == pytest.approx(0.16101761969793, rel=1e-12)


@pytest.mark.parametrize(
    ("q", "z", "count", "delta", "stored"),
    [(0.01, 4.0, 10_000, 1e-5, 0.946866800764), (0.01, 1.0, 1_000, 1e-50, 15.209761496476)],
)
def test_contour_constants(q: float, z: float, count: int, delta: float, stored: float) -> None:
    found = composition_reference.sampled_gaussian_epsilon(q=q, noise_multiplier=z, count=count, delta=delta)
    assert found.value == pytest.approx(stored, rel=1e-11)
    assert found.upper - found.lower < 1e-8


def test_contour_error_budget_is_two_sided() -> None:
    """A deliberately coarse contour is wrong by more than 1e-6, and its own budget says so."""
    total = composition_reference.repeated(composition_reference.gaussian(10.0), 50)
    fine = composition_reference.delta(total, 1.0)
    coarse = composition_reference.delta(total, 1.0, refine=0.35)
    assert abs(coarse.value / fine.value - 1) > 1e-6
    assert coarse.lower <= fine.value <= coarse.upper


def test_bounded_range_envelope_of_one_call() -> None:
    for at in ("0", "0.3", "-0.4"):
        closed = (1 - mp.exp((mpf(at) - 1) / 2)) ** 2 / (1 - mp.exp(-1))
        if mpf(at) >= 0:
            assert abs(closed_forms.exponential_delta(at, 1) - closed) < mpf("1e-14")
    s = 0.7
    density = mp.quad(lambda x: mp.exp((s + 0.5) * x), [-1, 1]) / mp.quad(lambda x: mp.exp(x / 2), [-1, 1])
    assert composition_reference.repeated(composition_reference.bounded_range(1.0), 1).at(s) == pytest.approx(
        float(mp.log(density)), rel=1e-13
    )


@pytest.mark.slow
def test_contour_in_thirty_digits() -> None:
    """Case B again with mpmath quadrature of M(s) at every point of the line: no shared arithmetic."""
    q, z, count, epsilon = mpf("0.01"), mpf(1), 1_000, mpf("1.828236666517")
    c, step = mpf("5.3"), mpf("0.6")

    def moment(s: object) -> object:
        return sampled_gaussian.integrate(
            lambda x: mp.npdf(x, 0, z) * sampled_gaussian.ratio(x, q, z) ** (s + 1), z, [], top=8
        )

    def term(k: int) -> mpf:
        s = mp.mpc(c, k * step)
        return mp.re(moment(s) ** count * mp.exp(-epsilon * s) / (s * (s + 1)))

    with mp.workdps(20):
        total = term(0) / 2 + mp.fsum(term(k) for k in range(1, 60))
        assert float(total * step / mp.pi) == pytest.approx(1e-5, rel=1e-10)


@pytest.mark.slow
def test_contour_with_rare_large_losses() -> None:
    total = composition_reference.repeated(
        composition_reference.sampled_gaussian(q=1e-5, noise_multiplier=1.0, direction="remove"), 1_000_000
    )
    found = composition_reference.epsilon(total, 1e-8, abscissa=8.0)
    assert found.value == pytest.approx(0.0590999666543, rel=1e-9)


# --- closed forms against sums ------------------------------------------------------------------------


def test_laplace_residues_reproduce_one_release() -> None:
    for at in ("-0.6", "-0.3", "0", "0.3", "0.6"):
        assert abs(closed_forms.laplace_composed_delta(at, 2, 1) - closed_forms.laplace_delta(at, 2)) < mpf("1e-25")


def test_laplace_residues_stored_value() -> None:
    assert float(closed_forms.laplace_composed_delta("4.998978089447", 2, 10)) == pytest.approx(1e-6, rel=1e-8)


@pytest.mark.slow
def test_laplace_residues_of_a_hundred() -> None:
    with mp.workdps(130):
        value = closed_forms.laplace_composed_delta("0.714572399585082", 50, 100)
    assert float(value) == pytest.approx(1e-5, rel=1e-10)


def test_laplace_renyi_is_its_integral() -> None:
    alpha, scale = mpf("3.7"), mpf(2)
    integral = mp.quad(
        lambda x: mp.exp(-alpha * abs(x) / scale - (1 - alpha) * abs(x - 1) / scale) / (2 * scale),
        [-mp.inf, 0, 1, mp.inf],
    )
    assert abs(closed_forms.laplace_renyi(alpha, scale) - mp.log(integral) / (alpha - 1)) < mpf("1e-20")


def test_renyi_real_and_integer_orders_agree() -> None:
    real = sampled_gaussian.renyi(4, q="0.01", z=1, direction="remove")
    assert abs(real / sampled_gaussian.renyi_integer(4, q="0.01", z=1) - 1) < mpf("1e-20")


def test_discrete_laplace_of_unit_shift_is_pure() -> None:
    assert closed_forms.discrete_laplace_delta("0.5000001", 2) == 0
    assert closed_forms.discrete_laplace_delta("0.49", 2) > 0


# --- enumeration --------------------------------------------------------------------------------------

GAMMAS = tuple(Fraction(n, 7) for n in (1, 4, 6, 7, 8, 11, 20))


def poisson_curve(base: object, q: Fraction, gamma: Fraction) -> Fraction:
    """Amplification of the remove direction: q h(1 + (gamma-1)/q) above 1-q."""
    return 1 - gamma if gamma <= 1 - q else q * base(1 + (gamma - 1) / q)  # type: ignore[operator]


def fixed_curve(base: object, q: Fraction, gamma: Fraction) -> Fraction:
    """Sampling without replacement: the same above 1, mirrored below."""
    if gamma >= 1:
        return q * base(1 + (gamma - 1) / q)  # type: ignore[operator]
    return 1 - gamma + gamma * fixed_curve(base, q, 1 / gamma)


@pytest.mark.parametrize("seed", range(4))
def test_poisson_amplification_dominates_random_tables(seed: int) -> None:
    source = random.Random(seed)
    table, q = brute_force.random_table(source, 4, 3), Fraction(source.randint(1, 9), 10)
    pairs = list(brute_force.removals(list(table)))
    for gamma in GAMMAS:
        sampled = brute_force.worst_curve(lambda d: brute_force.poisson_sampled(table, d, q), pairs, gamma)
        assert sampled <= poisson_curve(lambda g: brute_force.worst_curve(table.__getitem__, pairs, g), q, gamma)


@pytest.mark.parametrize("seed", range(4))
def test_fixed_size_amplification_dominates_random_tables(seed: int) -> None:
    source = random.Random(seed)
    table = brute_force.random_table(source, 5, 3)
    samples = [s for s in table if len(s) == 2]
    datasets = [s for s in table if len(s) == 4]
    base_pairs, pairs = (list(brute_force.replacements(family)) for family in (samples, datasets))
    for gamma in GAMMAS:
        drawn = brute_force.worst_curve(lambda d: brute_force.fixed_sampled(table, d, 2), pairs, gamma)
        bound = fixed_curve(lambda g: brute_force.worst_curve(table.__getitem__, base_pairs, g), Fraction(1, 2), gamma)
        assert drawn <= bound


def test_amplification_is_attained_by_membership() -> None:
    present, absent = (Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))
    table = brute_force.membership_table(5, 0, present, absent)
    one, other = frozenset({0, 1, 2, 3}), frozenset({1, 2, 3, 4})
    q = Fraction(1, 2)
    for gamma in GAMMAS:
        drawn = [brute_force.fixed_sampled(table, d, 2) for d in (one, other)]
        worst = max(brute_force.hockey_stick(*drawn, gamma), brute_force.hockey_stick(*drawn[::-1], gamma))
        base = lambda g: brute_force.hockey_stick(present, absent, g)  # noqa: E731
        if gamma >= 1:
            assert worst == fixed_curve(base, q, gamma)
        kept = [brute_force.poisson_sampled(table, d, q) for d in (one, one - {0})]
        assert brute_force.hockey_stick(*kept, gamma) == poisson_curve(base, q, gamma)


def test_trinomial_is_the_enumeration() -> None:
    p, q = (Fraction(4, 6), Fraction(1, 6), Fraction(1, 6)), (Fraction(1, 6), Fraction(4, 6), Fraction(1, 6))
    exact = brute_force.composed_hockey_stick([(p, q)] * 4, Fraction(3))
    value = brute_force.krr_composed_delta(mp.log(3), k=3, budget=mp.log(4), count=4)
    assert float(value) == pytest.approx(float(exact), rel=1e-14)


def test_optimal_composition_is_the_enumeration() -> None:
    slack = Fraction(1, 50)
    p = (slack, *((1 - slack) * x for x in (Fraction(2, 3), Fraction(1, 3))), Fraction(0))
    q = (Fraction(0), *((1 - slack) * x for x in (Fraction(1, 3), Fraction(2, 3))), slack)
    exact = brute_force.composed_hockey_stick([(p, q)] * 3, Fraction(5, 2))
    value = brute_force.optimal_composed_delta(mp.log("2.5"), budget=mp.log(2), slack=mpf(1) / 50, count=3)
    assert float(value) == pytest.approx(float(exact), rel=1e-14)


def test_group_formula_is_attained_by_a_chain() -> None:
    gamma, slack = Fraction(3, 2), Fraction(1, 1000)
    marks = [Fraction(0)]
    for _ in range(3):
        marks.insert(0, gamma * marks[0] + slack)
    chain = [(m, 1 - m) for m in marks]
    step, total = brute_force.chain_hockey_sticks(chain, gamma)
    assert step == slack
    assert total == slack * (gamma**3 - 1) / (gamma - 1)


def test_group_formula_holds_on_random_chains() -> None:
    source = random.Random(3)
    for _ in range(50):
        chain = [brute_force.random_distribution(source, 4) for _ in range(4)]
        step, total = brute_force.chain_hockey_sticks(chain, Fraction(3, 2))
        assert total <= step * (Fraction(27, 8) - 1) / Fraction(1, 2)


def test_mirror_is_the_other_direction() -> None:
    source = random.Random(5)
    p, q = (brute_force.random_distribution(source, 4, zeros=True) for _ in range(2))
    for gamma in GAMMAS:
        assert brute_force.hockey_stick(q, p, gamma) == brute_force.mirror(
            lambda g: brute_force.hockey_stick(p, q, g), gamma
        )


def test_advanced_composition_dominates_the_optimum() -> None:
    optimum = brute_force.solve_epsilon(
        lambda e: brute_force.optimal_composed_delta(e, budget="0.1", slack=0, count=30), "1e-6", 3
    )
    assert optimum < closed_forms.advanced_tanh("0.1", 30, "1e-6") < closed_forms.advanced("0.1", 30, "1e-6")
    assert math.isclose(float(closed_forms.advanced_inverse(1, 100, "1e-6")), 0.01837567410363, rel_tol=1e-10)
