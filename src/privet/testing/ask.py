"""Asking questions that may honestly be refused."""

from privet.accounting import PLD, Accountant, Advanced, Basic, Bound, Gdp, Optimal, Rdp, Tightest, Zcdp
from privet.errors import InternalError, NoGuarantee
from privet.privacy import Direction, LossVariable, PrivacyLoss

DELTA = 1e-5  # the target of laws that need one


def accountants(tol: float = 1e-2) -> tuple[Accountant, ...]:
    """Every accountant, with the numerical ones on a coarse grid: the laws hold at every tolerance.

    >>> [type(accountant).__name__ for accountant in accountants()][:3]
    ['Basic', 'Advanced', 'Optimal']
    """
    return (Basic(), Advanced(), Optimal(), Zcdp(), Rdp(), Gdp(), PLD(tol), Tightest(tol))


def epsilon_of(accountant: Accountant, loss: PrivacyLoss, delta: float = DELTA) -> Bound | None:
    """The accountant's epsilon, or None where it refuses.

    >>> from privet import privacy
    >>> epsilon_of(Basic(), privacy.GaussianLoss(1.0)) is None
    True
    """
    try:
        return accountant.epsilon(loss, delta)
    except NoGuarantee:
        return None
    except InternalError as error:
        raise AssertionError(f"{type(accountant).__name__} contradicts itself about {loss!r}: {error}") from error


def delta_of(accountant: Accountant, loss: PrivacyLoss, epsilon: float) -> Bound | None:
    """The accountant's delta, or None where it refuses.

    >>> from privet import privacy
    >>> delta_of(Basic(), privacy.PureLoss(1.0), 0.5) is None
    True
    """
    try:
        return accountant.delta(loss, epsilon)
    except NoGuarantee:
        return None
    except InternalError as error:
        raise AssertionError(f"{type(accountant).__name__} contradicts itself about {loss!r}: {error}") from error


def variable_of(loss: PrivacyLoss, direction: Direction) -> LossVariable | None:
    """The worst pair's loss variable, or None where none is known.

    >>> from privet import privacy
    >>> variable_of(privacy.DiscreteGaussianLoss(1.0, dimension=2), "remove") is None
    True
    """
    try:
        return loss.variable(direction)
    except NoGuarantee:
        return None
