"""The minimum and its certificate, against exact arithmetic."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privet.learn.losses import Huber, HuberHinge, Logistic, Pinball
from privet.learn.problem import Chunk
from privet.learn.problem.task import ROW_STEPS
from privet.learn.solvers import minimise
from privet.learn.solvers.exact_gradient import Place, exact_gradient
from privet.learn.solvers.minimise import Objective, certified, minimiser
from tests.firsts import ends

RNG = np.random.default_rng(5)


def minimum(objective, tolerance):
    """As doubles."""
    return np.array([float(each) for each in minimiser(objective, tolerance)])


def made(n, p, loss, strength, spread=1.0):
    rng = np.random.default_rng([20261118, n, p])  # the same in whatever order tests run: some data are separable
    rows = rng.normal(size=(n, p))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0) * 1.001
    rows = np.trunc(rows * ROW_STEPS) / ROW_STEPS
    targets = rng.choice([-1.0, 1.0], size=n)
    chunks = [Chunk(rows[: n // 2], targets[: n // 2]), Chunk(rows[n // 2 :], targets[n // 2 :])]
    return Objective(lambda: iter(chunks), loss, strength, rng.normal(size=p) * spread), rows, targets


def exact_length(objective, rows, targets, w):
    """The gradient of the logistic objective in 60 digits."""
    mpmath.mp.dps = 60
    point = [mpmath.mpf(float(x)) for x in w]
    total = [objective.strength * x + mpmath.mpf(float(b)) for x, b in zip(point, objective.linear, strict=True)]
    for row, y in zip(rows, targets, strict=True):
        exact = [mpmath.mpf(float(x)) for x in row]
        margin = mpmath.fsum(a * b for a, b in zip(exact, point, strict=True))
        slope = -mpmath.mpf(y) / (1 + mpmath.exp(mpmath.mpf(y) * margin))
        total = [t + slope * x for t, x in zip(total, exact, strict=True)]
    return mpmath.sqrt(mpmath.fsum(t * t for t in total))


@pytest.mark.parametrize(
    ("n", "p", "strength", "spread"), [(40, 3, 0.01, 5.0), (60, 2, 1e-4, 0.1), (30, 4, 10.0, 50.0)]
)
def test_the_certificate_bounds_the_exact_gradient(n, p, strength, spread):
    objective, rows, targets = made(n, p, Logistic(), strength, spread)
    w = minimum(objective, 1e-9)
    bound = certified(objective, w)
    assert exact_length(objective, rows, targets, w) <= bound <= 1e-9
    elsewhere = w + 1e-3
    assert exact_length(objective, rows, targets, elsewhere) <= certified(objective, elsewhere)
    assert bound > 0.0


@pytest.mark.parametrize(
    "loss", [Logistic(), HuberHinge(0.5), HuberHinge(0.01), Huber(0.2), Pinball(0.9, 0.01)], ids=repr
)
@pytest.mark.parametrize("strength", [1e-3, 0.3, 30.0])
def test_every_loss_is_minimised_to_the_tolerance(loss, strength):
    objective, _, _ = made(500, 6, loss, strength, 3.0)
    assert certified(objective, minimum(objective, 1e-7)) <= 1e-7


def test_many_columns_are_solved_without_a_hessian():
    objective, _, _ = made(60, 1_200, Logistic(), 0.5)
    assert certified(objective, minimum(objective, 1e-7)) <= 1e-7


def gradient(objective, rows, targets, w):
    """The gradient of the logistic objective in 60 digits, at a point of fractions."""
    mpmath.mp.dps = 60
    point = [mpmath.mpf(x.numerator) / x.denominator for x in w]
    total = [objective.strength * x + mpmath.mpf(float(b)) for x, b in zip(point, objective.linear, strict=True)]
    for row, y in zip(rows, targets, strict=True):
        exact = [mpmath.mpf(float(x)) for x in row]
        margin = mpmath.fsum(a * b for a, b in zip(exact, point, strict=True))
        slope = -mpmath.mpf(y) / (1 + mpmath.exp(mpmath.mpf(y) * margin))
        total = [t + slope * x for t, x in zip(total, exact, strict=True)]
    return total


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("strength", "spread"), [(1e-3, 1.0), (1e-6, 300.0), (40.0, 1e8)])
def test_exact_gradients_are_as_far_off_as_they_say(wide, strength, spread):
    """In doubles about 1e-14 for these records, in pairs of them less than 1e-20, and rounded once at the end."""
    objective, rows, targets = made(40, 3, Logistic(), strength, spread)
    at = Place.of(RNG.normal(size=3) * 7.0, RNG.normal(size=3) * 1e-17)
    point = [sum(map(Fraction, each), Fraction(0)) for each in zip(*(p.tolist() for p in at.parts), strict=True)]
    found, miss = exact_gradient(objective.added, Logistic(), strength, objective.linear, at, wide=wide)
    wanted = gradient(objective, rows, targets, point)
    once = max(abs(float(each)) for each in wanted) * 2.0**-53 * 1.01
    assert max(abs(a - mpmath.mpf(b)) for a, b in zip(wanted, found.tolist(), strict=True)) <= miss + once
    assert miss < 1e-20 if wide else 1e-14 < miss < 1e-12


def test_a_place_moves_by_less_than_a_double():
    at = Place.of(np.array([1.0, -3.0]), np.zeros(2))
    for _ in range(8):
        at = at.moved(np.array([2.0**-70, 0.0]))
    assert sum(Fraction(float(part[0])) for part in at.parts) == 1 + Fraction(1, 2**67)


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), Huber(0.2), Pinball(0.9, 0.01)], ids=repr)
@pytest.mark.parametrize("copies", ends([1, 2**20, 2**40]))
def test_no_number_of_records_spoils_the_certificate(loss, copies):
    """The same few records, so many times each that doubles have no point with so short a gradient: more than a million
    million records. They are counted, not held."""
    objective, _, _ = made(12, 3, loss, 1e-3)

    class Many(Objective):
        def added(self, part):
            one = super().added(part)
            if isinstance(one, tuple):
                return tuple(each * copies for each in one)
            return one * copies

    many = Many(*objective)
    w = [Fraction(each) for each in minimiser(many, 1e-8)]
    at = Place.of(np.array([float(each) for each in w]), np.array([float(each - Fraction(float(each))) for each in w]))
    for exact, part in zip(w, zip(*(p.tolist() for p in at.parts), strict=True), strict=True):
        assert sum(map(Fraction, part), Fraction(0)) == exact
    found, miss = exact_gradient(many.added, loss, 1e-3, many.linear, at, wide=True)
    assert np.linalg.norm(found) + miss <= 1e-8
    if copies == 2**40:
        rounded = Place.of(at.rounded, np.zeros(3))
        off = exact_gradient(many.added, loss, 1e-3, many.linear, rounded, wide=True)[0]
        assert np.linalg.norm(off) > 1e-8  # no double is near enough


def test_rows_of_exact_halves_sum_as_expected():
    """A gradient that is known: two opposite rows cancel, and the linear term is left."""
    rows = np.array([[0.5, 0.5], [-0.5, -0.5]])
    objective = Objective(lambda: iter([Chunk(rows, np.array([1.0, 1.0]))]), Logistic(), 2.0, np.array([1.0, 0.0]))
    assert Fraction(certified(objective, np.zeros(2))) >= 1


def test_many_records_are_certified_by_exact_sums():
    """A long minimum and many records: what doubles may lose exceeds the tolerance, what was lost does not."""
    objective, _, _ = made(20_000, 60, Logistic(), 1e-3)
    w = minimum(objective, 1e-10)
    assert certified(objective, w) > 1e-10
    assert objective.exact_point(Place.of(w, np.zeros(60)), 1e-10).bound < 1.01e-10


def counted(monkeypatch, objective):
    """How many Hessians, and how many gradients, of how many records each, a minimum takes."""
    hessians, points, built, taken = [], [], Objective.hessian, Objective.point

    def hessian(self, *args):
        hessians.append(self.added(minimise._count))
        return built(self, *args)

    def point(self, w):
        points.append(self.added(minimise._count))
        return taken(self, w)

    with monkeypatch.context() as patch:
        patch.setattr(Objective, "hessian", hessian)
        patch.setattr(Objective, "point", point)
        w = minimum(objective, 1e-7)
    assert certified(objective, w) <= 1e-7
    return hessians, points


def test_few_hessians_of_all_records_are_built(monkeypatch):
    """Most of the way is gone with one record in eight, and a Hessian serves several steps; the twin does neither."""
    objective, rows, _ = made(4_000, 5, Logistic(), 1.0, 400.0)
    hessians, points = counted(monkeypatch, objective)
    assert hessians.count(len(rows)) <= 2
    assert points.count(len(rows)) <= 10
    assert hessians.count(len(rows) // 8) >= 2  # the way there
    monkeypatch.setattr(minimise, "_FAST", 0.0)
    monkeypatch.setattr(minimise, "_ENOUGH", 10**9)
    assert counted(monkeypatch, objective)[0].count(len(rows)) >= 5


def test_a_hessian_in_single_precision_that_leads_nowhere_is_followed_by_one_in_doubles(monkeypatch):
    """The minimum is found from a first Hessian that is wrong altogether, and would not be without a second one."""
    objective, _, _ = made(500, 6, Logistic(), 0.3, 3.0)
    built, kinds = Objective.hessian, []

    def hessian(self, w, kind=np.float64):
        kinds.append(kind)
        return -np.eye(len(w)) if kind is np.float32 else built(self, w, kind)

    monkeypatch.setattr(Objective, "hessian", hessian)
    assert certified(objective, minimum(objective, 1e-7)) <= 1e-7
    assert kinds[0] is np.float32
    assert set(kinds[1:]) == {np.float64}
    monkeypatch.setattr(minimise, "_DOUBLE", np.float32)  # steps in doubles lead nowhere: those on exact sums do
    monkeypatch.setattr(Objective, "hessian", lambda self, w, kind=None: hessian(self, w, kind or np.float64))
    assert certified(objective, minimum(objective, 1e-7)) <= 1e-7


def test_two_points_do_not_take_turns():
    """Steps that halved the last gradient were taken, uphill too: here they led back and forth between two points, and a
    fit of adult at epsilon 8 was lost to that."""
    rows = np.array([[-0.7117598929262033, -0.7009998935996167], [0.2653732227751362, 0.9002137805719065]])
    held = [Chunk(rows, np.ones(2))]
    objective = Objective(lambda: iter(held), Logistic(), 0.003, np.array([-7.921322205214398, 2.382038922709641]))
    assert certified(objective, minimum(objective, 1e-7)) <= 1e-7


def test_many_chunks_are_thinned_for_a_while():
    """One record of each chunk is left at least: a fit of a million records and two columns never came to an end."""
    rows, targets = np.ones((300, 1)) / 2.0, np.tile([1.0, -1.0], 150)
    held = [Chunk(rows[k : k + 1], targets[k : k + 1]) for k in range(300)]
    objective = Objective(lambda: iter(held), Logistic(), 1.0, np.ones(1))
    assert certified(objective, minimum(objective, 1e-7)) <= 1e-7
