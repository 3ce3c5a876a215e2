"""Enrolment of laws: a decorator beside the law is all it takes for it to run over every registered member."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

Subject = Literal["loss", "accountant", "losses", "mechanism"]
_Law = TypeVar("_Law", bound=Callable[..., None])

_ENROLLED: dict[Subject, list[Callable[..., None]]] = {"loss": [], "accountant": [], "losses": [], "mechanism": []}


def law_of(subject: Subject) -> Callable[[_Law], _Law]:
    """Class a law by what it is called with: a loss, a loss and an accountant, several losses, an example of a mechanism.

    >>> law_of("losses").__name__
    'enrol'
    """

    def enrol(law: _Law) -> _Law:
        _ENROLLED[subject].append(law)
        return law

    return enrol


def laws_of(subject: Subject) -> tuple[Callable[..., Any], ...]:
    """The laws enrolled for a subject, in the order of their files.

    >>> from privet import testing
    >>> testing.check_hashable in laws_of("loss")
    True
    """
    return tuple(_ENROLLED[subject])
