"""Questions: what knows its data and becomes a mechanism once it is known what it may cost."""

import inspect
from typing import Any, Protocol, runtime_checkable

from privet.errors import InvalidParameter
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, PrivacyLoss, Unit


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()  # no data were given: None is a value like any other


@runtime_checkable
class Question(Protocol):
    """A question that `ledger.release(question, epsilon=0.5)` takes: queries, estimators, synthesizers.

    `for_budget` makes the mechanism from public facts, for one of the promises (epsilon and delta, rho, or mu); `data` is
    what that mechanism is run on. Where `for_budget` also takes a `unit`, it is given the ledger's.

    >>> import privet as pv
    >>> class Visits:
    ...     data = 1234
    ...     def for_budget(self, *, unit=None, **promise):
    ...         return pv.mechanisms.Laplace.for_budget(sensitivity=1.0, unit=unit, **promise)
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> release = ledger.release(Visits(), epsilon=0.25)
    >>> release.loss.pure(), ledger.spent["basic epsilon"]
    (0.25, 0.25)
    """

    @property
    def data(self) -> Any:
        """The data that the mechanism is run on, as they are: nothing is computed from it before the charge is
        written."""

    def for_budget(self, **promise: object) -> "Mechanism[Any, Any]":
        """The mechanism that answers within the promise."""


def made_for(what: object, data: object, promise: dict[str, Any], unit: Unit | None) -> tuple[Any, Any]:
    """The mechanism and its data: as they are given, or of a question for its promise.

    >>> made_for("a mechanism", 3, {}, None)
    ('a mechanism', 3)
    """
    given = {name: value for name, value in promise.items() if value is not None and (name != "delta" or value)}
    if not given:
        if data is MISSING and isinstance(what, Question):
            raise InvalidParameter("a question needs to know what it may cost: epsilon= (and delta=), rho= or mu=")
        if data is MISSING:
            raise InvalidParameter("a mechanism needs data: release(mechanism, data)")
        return what, data
    if isinstance(what, type):
        raise InvalidParameter(f"a question is an object, and {what.__name__} is a class: make one of it")
    if (
        not isinstance(what, Question)
        and not isinstance(what, Mechanism)
        and callable(getattr(what, "for_budget", None))
    ):
        raise InvalidParameter(f"a question knows its data, and {type(what).__name__} has no attribute `data`")
    if not isinstance(what, Question) or isinstance(what, Mechanism):
        raise InvalidParameter(
            "a mechanism has its price already; epsilon=, delta=, rho= and mu= are for a question, which knows its data "
            "and has for_budget(epsilon=, delta=, rho=, mu=)"
        )
    if data is not MISSING:
        raise InvalidParameter("a question knows its data; leave them out")
    Guarantee(**given)  # one refusal for all rooms: give exactly one of ...
    if unit is not None and getattr(what, "unit", None) is None and _takes_unit(what.for_budget):
        given["unit"] = unit
    return what.for_budget(**given), what.data


def _takes_unit(function: Any) -> bool:
    try:
        return "unit" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def loss_of(mechanism: object) -> PrivacyLoss:
    """The loss of a mechanism; anything else is refused.

    >>> from privet.mechanisms import Laplace
    >>> loss_of(Laplace.for_budget(epsilon=1.0, sensitivity=1.0)).pure()
    1.0
    """
    loss = getattr(mechanism, "loss", None)
    if isinstance(loss, PrivacyLoss) and callable(getattr(mechanism, "release", None)):
        return loss
    raise InvalidParameter("a ledger releases a mechanism: an object with .loss (a PrivacyLoss) and .release(data)")
