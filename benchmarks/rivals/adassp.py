"""AdaSSP: a ridge that the smallest eigenvalue, bought for a third of the budget, decides."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance, open_fraction, set_frozen
from privet.errors import InvalidParameter, ReleaseFailed
from privet.learn.losses import Loss, Squared
from privet.learn.problem import ArrayRecords, Interval, Records, Task
from privet.learn.solvers.budget import whole_mu
from privet.learn.solvers.equations import check_squared, reach
from privet.learn.solvers.exact_totals import STEPS, exact_gram
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.solver import NUMBERS, Solver, SolverExample, register_solver
from privet.learn.solvers.symmetric_gaussian import SymmetricGaussian
from privet.mechanisms import Algorithm, Gaussian, Mechanism
from privet.mechanisms.mechanism import Example, Source, register
from privet.mechanisms.sensitivity import Sensitivity
from privet.privacy import Composed, Guarantee, PrivacyLoss, Unit

_ROUNDING = Fraction(1, 2**6)  # of two smallest eigenvalues: each is certified to half of that
_COLUMNS = 2_000
_UNIT = 2.0**-53
_ABOVE = 1.0 + 2.0**-24  # what a norm in doubles misses, of up to 2,000 rows, is far less


@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class AdaSSP(Solver):
    """Adaptive sufficient statistics (Wang 2018): thirds of the budget for the smallest eigenvalue, the Gram and its
    product with the targets, composed as normal noise; then a ridge that is as strong as the noise needs and no stronger.

    `miss` is the probability with which the noise may be larger than the ridge allows for.

    The answer is (G + lambda I)^-1 b for the noisy Gram G and product b, lambda = max(0, what the noise needs -
    lambda_min).

    >>> task = Task(features=2, row_norm=1.0, target=Interval(0.0, 1.0))
    >>> round(AdaSSP().plan(task, Squared(), Guarantee(1.0, 1e-6)).cross.sigma, 3)
    7.317
    """

    miss: float = 0.05

    def __post_init__(self) -> None:
        set_frozen(self, miss=open_fraction("miss", self.miss))

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Any]":
        check_squared(task, loss)
        if task.dimension > _COLUMNS:
            raise InvalidParameter(f"AdaSSP is for at most {_COLUMNS} columns: take BoostedSSP()")
        third, unit = whole_mu(target, "AdaSSP") / math.sqrt(3.0), task.unit
        return AdaSSPFit(
            task=task,
            miss=self.miss,
            smallest=Gaussian.for_budget(mu=third, sensitivity=_eigen_reach(unit)),
            gram=SymmetricGaussian.for_budget(mu=third, size=task.dimension, sensitivity=reach(1, 2, unit)),
            cross=Gaussian.for_budget(mu=third, sensitivity=reach(1, 4, unit)),
            at=target.delta or None,
        )

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(), NUMBERS, Squared(), Guarantee(1.0, 1e-5))


def _eigen_reach(unit: Unit) -> Sensitivity:
    """1 under both relations (a record adds a matrix between 0 and I), and what rounding may do to a computed one."""
    return Sensitivity(unit.group_size + _ROUNDING, norm="l2", unit=unit)


@final
@register
@dataclass(frozen=True, kw_only=True)
class AdaSSPFit(OnRecords, Algorithm[Any, Any]):
    """Noisy smallest eigenvalue, noisy Gram, noisy product with targets: coefficients of unit rows.

    **Guarantee:** the composition of the three normal releases.
    **Sensitivity:** smallest eigenvalue 1 under both relations; Gram 1 (sqrt2 under replace); product 1 (2).
    **Reference:** Wang 2018.
    **Proof:** benchmarks/rivals/adassp.md.
    """

    name = "adassp_fit"
    one_pass = by_totals = True

    task: Task
    miss: float
    smallest: Gaussian
    gram: SymmetricGaussian
    cross: Gaussian
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("task", self.task, Task)
        set_frozen(self, miss=open_fraction("miss", self.miss))
        unit = self.task.unit
        parts = (
            ("smallest", Gaussian, _eigen_reach(unit)),
            ("gram", SymmetricGaussian, reach(1, 2, unit)),
            ("cross", Gaussian, reach(1, 4, unit)),
        )
        for name, kind, needed in parts:
            made: Any = instance(name, getattr(self, name), kind)
            check_reach(name, made.sensitivity, needed)
        if self.gram.size != self.task.dimension:
            raise InvalidParameter("the noise was made for a matrix of another size")

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((self.smallest.loss, self.gram.loss, self.cross.loss))

    def _run(self, prepared: Records, source: Source) -> Any:
        moments = exact_gram(self.task, prepared, targets=True)
        exact = moments[:-1, :-1]
        low = _certified(exact)
        seen = float(self.smallest.release(low, source=source).value)
        gram = np.asarray(self.gram.release(exact, source=source).value)
        totals = [Fraction(int(each), STEPS**2) for each in moments[:-1, -1]]
        cross = np.asarray(self.cross.release(totals, source=source).value)
        ridge = self._ridge(seen)
        values, turn = np.linalg.eigh(gram)
        return turn @ ((turn.T @ cross) / np.maximum(values + ridge, 0.5 * self.gram.sigma))

    def _ridge(self, seen: float) -> float:
        """What the noise of the Gram needs, less what the noisy smallest eigenvalue surely gives."""
        size = self.task.dimension
        sure = max(seen - self.smallest.sigma * math.sqrt(2.0 * math.log(2.0 / self.miss)), 0.0)
        return max(0.0, self.gram.sigma * math.sqrt(size * math.log(2.0 * size**2 / self.miss)) - sure)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        rows, goals = np.array([[0.6, -0.8], [0.0, 1.0], [1.0, 0.0]]), np.array([0.2, 1.0, -1.0])
        task = Task(features=2, row_norm=1.0, target=Interval(-1.0, 1.0))
        made = AdaSSP().plan(task, Squared(), Guarantee(1.0, 1e-5))
        left, right = ArrayRecords(rows, goals), ArrayRecords(rows[:2], goals[:2])
        yield Example(made, left, right, Guarantee(1.0, 1e-5), cost="costly")
        moved = Task(features=1, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0), unit=Unit("replace"))
        other = AdaSSP().plan(moved, Squared(), Guarantee(mu=1.0))
        one = np.array([[1.0]])
        yield Example(
            other, ArrayRecords(one, np.ones(1)), ArrayRecords(one, -np.ones(1)), Guarantee(mu=1.0), cost="costly"
        )
        yield _steered()


def _steered() -> Example:
    """A pair whose smallest eigenvalues, 1.9 and 1.4, call for different ridges, neither of them at an end: the last record
    is most of what there is along the second column."""
    rows = np.column_stack([np.tile([0.9, -0.9], 100), np.tile([0.0837, 0.0837, -0.0837, -0.0837], 50)])
    rows, goals = np.vstack([rows, [[0.0, 0.7]]]), np.append(0.5 * rows[:, 0], -1.0)
    plain = Task(features=2, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0))
    made = AdaSSP().plan(plain, Squared(), Guarantee(mu=4.0))
    return Example(
        made, ArrayRecords(rows, goals), ArrayRecords(rows[:-1], goals[:-1]), Guarantee(mu=4.0), cost="costly"
    )


def _certified(gram: Any) -> float:
    """The smallest eigenvalue of a Gram in steps, at least 0, within half of what rounding is allowed; 0 for traces beyond
    what doubles can certify. One record moves the trace by at most 1, as the eigenvalue. Not releasable.
    """
    room = largest_trace(len(gram)) - Fraction(int(np.trace(gram)), STEPS**2)
    if room <= 0:
        return 0.0
    low, miss = smallest_eigenvalue(gram.astype(np.float64) / STEPS**2)
    if not miss <= _ROUNDING / 2:
        raise ReleaseFailed("an eigenvalue could not be certified: nothing was fitted, and the charge stays")
    return min(max(low, 0.0), float(room))


def largest_trace(columns: int) -> int:
    """Up to where eigenvalues are certified: from the number of columns alone.

    >>> largest_trace(100)
    422889087
    """
    return 2**42 // (columns * (columns + 4))


def smallest_eigenvalue(matrix: Array) -> tuple[float, float]:
    """About the smallest eigenvalue, and how far from the exact one it can be at most, for a matrix whose entries were
    rounded once. However the library found it, the bound is computed from what it gave: eigenvectors and eigenvalues.

    **Proof:** benchmarks/rivals/adassp.md.

    >>> value, miss = smallest_eigenvalue(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> bool(abs(value - 1.0) <= miss < 1e-13)
    True
    """
    values, turn = np.linalg.eigh(matrix)
    many = len(matrix)
    gamma = (many + 4) * 2.0 * _UNIT  # of sums of so many products, in any order
    size, length, largest = _norm(matrix), _norm(turn), float(np.abs(values).max()) * _ABOVE
    residual = _norm(matrix @ turn - turn * values) + gamma * length * (size + largest)
    apart = _norm(turn.T @ turn - np.eye(many)) + gamma * (length**2 + math.sqrt(many))
    bound = residual + (size + largest) * apart + 2.0 * _UNIT * size
    certain = math.isfinite(bound) and apart < 1.0
    return float(values[0]), bound * _ABOVE if certain else math.inf


def _norm(matrix: Array) -> float:
    return float(np.linalg.norm(matrix)) * _ABOVE + 2.0**-500  # a square may leave the doubles
