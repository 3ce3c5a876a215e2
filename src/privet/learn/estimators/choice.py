"""Which solver fits a model, from public facts alone, and why."""

from privet.learn.losses import Logistic, Loss
from privet.learn.problem import Task
from privet.learn.solvers import NoisyGD, ObjectivePerturbation, Preconditioned, Solver
from privet.privacy import Guarantee

_FEW = 200.0  # n epsilon/d: below, noisy gradient descent came out ahead (benchmarks/README.md)
_LARGE, _FEW_OF_LARGE = 10_000, 30.0  # records from which it takes long, and came out ahead only below the second
# Where preconditioned steps came out ahead, of logistic models alone: up to so many columns and this epsilon, and from so
# many columns on up to the larger one. By what was lost and gained on sets of few records (benchmarks/README.md).
_NARROW, _SMALL, _BROADER, _SMALL_OF_BROADER = 40, 2.0, 10, 4.0
_MANY = 5_000.0  # n epsilon/d: above, noise is no longer what matters
_WIDE = 1_000  # columns beyond which a Gram matrix, or a Newton step, is too large


def chosen_solver(task: Task, loss: Loss, promise: Guarantee, n_rows: int | None = None) -> tuple[Solver, str]:
    """The solver for these public facts, and the reason.

    `n_rows` is the number of records where it is public, or was paid for.

    >>> from privet.learn.losses import Logistic
    >>> from privet.learn.problem import Classes
    >>> task = Task(features=30, row_norm=5.0, target=Classes((0, 1)))
    >>> type(chosen_solver(task, Logistic(), Guarantee(1.0, 1e-6), n_rows=455)[0]).__name__
    'NoisyGD'
    >>> type(chosen_solver(task, Logistic(), Guarantee(1.0, 1e-6), n_rows=100_000)[0]).__name__
    'Preconditioned'
    >>> type(chosen_solver(task, Logistic(), Guarantee(8.0, 1e-6), n_rows=100_000)[0]).__name__
    'ObjectivePerturbation'
    """
    pure = promise.epsilon is not None and promise.delta == 0.0
    if loss.outputs > 1 and pure:
        return ObjectivePerturbation(), "several classes and a pure epsilon: objective perturbation of the softmax loss"
    if loss.outputs > 1:
        if task.dimension > _WIDE:
            return NoisyGD(rows=n_rows), "several classes and many columns: noisy gradient descent on the softmax loss"
        return Preconditioned(), "several classes: preconditioned noisy steps on the softmax loss, all classes at once"
    if not pure and n_rows is not None and few_records(task, promise, n_rows):
        return NoisyGD(rows=n_rows), "few records for so many columns and so small a budget: noisy gradient descent"
    steps: Solver = Preconditioned() if task.dimension <= _WIDE else NoisyGD(rows=n_rows)
    if promise.epsilon is None:
        return steps, "a promise of rho or mu: noisy steps, whose normal noise composes in it exactly"
    if task.unit.group_size > 1 and not pure:
        return steps, "several records a person: noisy steps on the sums of their clipped gradients"
    if not pure and isinstance(loss, Logistic) and _small_and_narrow(task, promise.epsilon, n_rows):
        return Preconditioned(), "a small budget and few columns: preconditioned noisy steps"
    return ObjectivePerturbation(), "a loss with bounded slope and curvature: objective perturbation"


def _small_and_narrow(task: Task, epsilon: float, n_rows: int | None) -> bool:
    """Is epsilon at most 2 (4 from 10 columns on), for at most 40 columns, and n epsilon/d, if it is known, at most
    5,000?"""
    many = n_rows is not None and n_rows * epsilon / task.dimension > _MANY
    small = _SMALL_OF_BROADER if task.features >= _BROADER else _SMALL
    return epsilon <= small and task.features <= _NARROW and not many


def few_records(task: Task, promise: Guarantee, n_rows: int) -> bool:
    """Is n epsilon/d below 200, or 30 of more than 10,000 records? Then noise is as large as what the records say together.

    >>> few_records(Task(features=30, row_norm=1.0), Guarantee(1.0, 1e-6), 455)
    True
    """
    epsilon = promise.epsilon
    if epsilon is None:
        epsilon = 4.0 * (promise.mu if promise.mu is not None else (2.0 * (promise.rho or 0.0)) ** 0.5)
    return n_rows * epsilon / task.dimension < (_FEW_OF_LARGE if n_rows > _LARGE else _FEW)
