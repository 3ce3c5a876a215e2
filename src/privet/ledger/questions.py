"""Questions: what knows its data and becomes a mechanism once it is known what it may cost."""

import inspect
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from privet.errors import InvalidParameter
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, PrivacyLoss, Unit


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


_TABLE = 'pv.Table(df, columns={"age": pv.Int(0, 110), ...})'
_LONGEST = 300  # letters of a question that a ledger keeps
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


def _counts(delta: object) -> bool:
    """False for the delta of a pure promise; what is no number has an error of its own later."""
    return not isinstance(delta, int | float) or delta != 0.0


def made_for(what: object, data: object, promise: dict[str, Any], unit: Unit | None) -> tuple[Any, Any]:
    """The mechanism and its data: as they are given, or of a question for its promise.

    >>> made_for("a mechanism", 3, {}, None)
    ('a mechanism', 3)
    """
    given = {
        name: value for name, value in promise.items() if value is not None and (name != "delta" or _counts(value))
    }
    if not given:
        if data is MISSING and isinstance(what, Question):
            raise InvalidParameter("a question needs to know what it may cost: epsilon= (and delta=), rho= or mu=")
        if data is MISSING:
            raise InvalidParameter(_no_question(what) or "a mechanism needs data: release(mechanism, data)")
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
            _no_question(what)
            or "a mechanism has its price already; epsilon=, delta=, rho= and mu= are for a question, which knows its data "
            "and has for_budget(epsilon=, delta=, rho=, mu=)"
        )
    if data is not MISSING:
        raise InvalidParameter("a question knows its data; leave them out")
    Guarantee(**given)  # one refusal for all rooms: give exactly one of ...
    if unit is not None and getattr(what, "unit", None) is None and _takes_unit(what.for_budget):
        given["unit"] = unit
    return what.for_budget(**given), what.data


def _no_question(what: object) -> str | None:
    """The sentence for what people hand in instead of a question; its type is looked at, nothing inside of it."""
    ours, name = type(what).__module__.startswith("privet."), type(what).__name__
    asked = "ledger.release(table.agg(n=pv.count()), epsilon=0.5)"
    if isinstance(what, str):
        return 'SQL is asked of a table: ledger.release(table.sql("SELECT ..."), epsilon=0.5)'
    if ours and isinstance(what, Mechanism):
        return None
    if ours and hasattr(type(what), "agg"):
        return (
            f"a {name} is no question yet: ask it something, as in {asked}; a data frame becomes a table with " + _TABLE
        )
    if ours and not hasattr(what, "loss"):
        return f"a {name} is no question: it is asked of a table, as in {asked}"
    if isinstance(what, Mapping | list | tuple) or hasattr(type(what), "columns") or hasattr(what, "__array__"):
        return f"data become a private table first, {_TABLE}, and then a question: {asked}"
    return None


def _takes_unit(function: Any) -> bool:
    try:
        return "unit" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def words_of(what: object) -> str | None:
    """The public words of a question (its `in_words`), for the log and for reports; None where it has none.

    >>> import privet as pv
    >>> visits = pv.Table({"ward": ["A"]}, columns={"ward": pv.Category(["A", "B"])}, name="visits")
    >>> words_of(visits.group_by("ward").agg(n=pv.count())), words_of(3)
    ('n: count by ward, of visits', None)
    """
    said = getattr(type(what), "in_words", None)
    if not callable(said):
        return None
    text = " ".join("".join(each if each.isprintable() else " " for each in said(what)).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


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
