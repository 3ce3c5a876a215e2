"""The minimum and its certificate, against exact arithmetic."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privet.errors import ReleaseFailed
from privet.learn.losses import Huber, HuberHinge, Logistic, Pinball
from privet.learn.problem import Chunk
from privet.learn.solvers import minimise
from privet.learn.solvers.minimise import Objective, certified, minimiser

RNG = np.random.default_rng(5)


def made(n, p, loss, strength, spread=1.0):
    rows = RNG.normal(size=(n, p))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0) * 1.001
    targets = RNG.choice([-1.0, 1.0], size=n)
    chunks = [Chunk(rows[: n // 2], targets[: n // 2]), Chunk(rows[n // 2 :], targets[n // 2 :])]
    return Objective(lambda: iter(chunks), loss, strength, RNG.normal(size=p) * spread), rows, targets


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
    w = minimiser(objective, 1e-9)
    bound = certified(objective, w)
    assert exact_length(objective, rows, targets, w) <= bound <= 1e-9
    assert exact_length(objective, rows, targets, w) <= certified(objective, w, wide=True) <= bound
    elsewhere = w + 1e-3
    assert exact_length(objective, rows, targets, elsewhere) <= certified(objective, elsewhere)
    assert bound > 0.0


@pytest.mark.parametrize(
    "loss", [Logistic(), HuberHinge(0.5), HuberHinge(0.01), Huber(0.2), Pinball(0.9, 0.01)], ids=repr
)
@pytest.mark.parametrize("strength", [1e-3, 0.3, 30.0])
def test_every_loss_is_minimised_to_the_tolerance(loss, strength):
    objective, _, _ = made(500, 6, loss, strength, 3.0)
    assert certified(objective, minimiser(objective, 1e-7)) <= 1e-7


def test_many_columns_are_solved_without_a_hessian():
    objective, _, _ = made(60, 1_200, Logistic(), 0.5)
    assert certified(objective, minimiser(objective, 1e-7)) <= 1e-7


def test_what_cannot_be_certified_is_not_released():
    objective, _, _ = made(200, 3, Logistic(), 0.1)
    with pytest.raises(ReleaseFailed, match="charge stays"):
        minimiser(objective, 1e-16)


def test_rows_of_exact_halves_sum_as_expected():
    """A gradient that is known: two opposite rows cancel, and the linear term is left."""
    rows = np.array([[0.5, 0.5], [-0.5, -0.5]])
    objective = Objective(lambda: iter([Chunk(rows, np.array([1.0, 1.0]))]), Logistic(), 2.0, np.array([1.0, 0.0]))
    assert Fraction(certified(objective, np.zeros(2))) >= 1


def test_many_records_are_certified_in_long_doubles():
    """Half a million records and a long minimum: what doubles may lose exceeds the tolerance, what was lost does not."""
    objective, _, _ = made(20_000, 60, Logistic(), 1e-3)
    w = minimiser(objective, 1e-7)
    for _ in range(2):  # to where rounding is all that is left of the gradient
        w = w - np.linalg.solve(objective.hessian(w), objective.point(w).gradient)
    assert certified(objective, w, wide=True) < certified(objective, w) / 3.0


def counted(monkeypatch, objective):
    """How many Hessians, and how many gradients, of how many records each, a minimum takes."""
    hessians, points, built, taken = [], [], Objective.hessian, Objective.point

    def hessian(self, *args):
        hessians.append(self.added(minimise._count))
        return built(self, *args)

    def point(self, w, **wide):
        points.append(self.added(minimise._count))
        return taken(self, w, **wide)

    with monkeypatch.context() as patch:
        patch.setattr(Objective, "hessian", hessian)
        patch.setattr(Objective, "point", point)
        w = minimiser(objective, 1e-7)
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
    assert certified(objective, minimiser(objective, 1e-7)) <= 1e-7
    assert kinds[0] is np.float32
    assert set(kinds[1:]) == {np.float64}
    monkeypatch.setattr(minimise, "_DOUBLE", np.float32)
    with pytest.raises(ReleaseFailed):
        minimiser(objective, 1e-7)


def test_two_points_do_not_take_turns():
    """Steps that halved the last gradient were taken, uphill too: here they led back and forth between two points, and a
    fit of adult at epsilon 8 was lost to that."""
    rows = np.array([[-0.7117598929262033, -0.7009998935996167], [0.2653732227751362, 0.9002137805719065]])
    held = [Chunk(rows, np.ones(2))]
    objective = Objective(lambda: iter(held), Logistic(), 0.003, np.array([-7.921322205214398, 2.382038922709641]))
    assert certified(objective, minimiser(objective, 1e-7)) <= 1e-7
