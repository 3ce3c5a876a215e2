"""Several questions to one person: everyone answers all with a part of the budget, or each one of them with all of it."""

from collections.abc import Mapping, Set, Sized
from typing import Any, final

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array
from privet.errors import InvalidData, InvalidParameter
from privet.local.families.single import is_single
from privet.local.protocol import Protocol
from privet.local.state import State
from privet.mechanisms import Estimate, Source
from privet.privacy import Composed, Parallel, PrivacyLoss

_COLUMNS = (
    "the answers must be a mapping with one list for each question, all of one length; one person's are lists of one"
)
_REPORTS = "the reports must be a mapping with those of privatize, or a state, for each question"


def _questions(protocols: Any) -> dict[str, Any]:
    if not isinstance(protocols, Mapping) or not protocols:
        raise InvalidParameter("protocols must be a mapping from the name of a question to its protocol")
    for name, protocol in protocols.items():
        if not isinstance(name, str) or not isinstance(protocol, Protocol):
            raise InvalidParameter("each question needs a name and a protocol of privet.local")
    return dict(protocols)


def _columns(answers: Any, names: Any) -> dict[str, Any]:
    """One column for each question, by shape alone."""
    if not isinstance(answers, Mapping) or set(answers) != set(names):
        raise InvalidData(_COLUMNS)
    if len({_length(column) for column in answers.values()}) != 1:
        raise InvalidData(_COLUMNS)
    return {name: answers[name] for name in names}


def _length(column: Any) -> int:
    """The number of people; a text is one person's, however long it is."""
    if is_single(column) or isinstance(column, Mapping | Set) or not isinstance(column, Sized):
        raise InvalidData(_COLUMNS)
    if isinstance(column, np.ndarray) and not column.ndim:
        raise InvalidData(_COLUMNS)
    return len(column)


def _estimates(protocols: dict[str, Any], reports: Any, how: dict[str, Any]) -> dict[str, Estimate]:
    if not isinstance(reports, Mapping) or set(reports) != set(protocols):
        raise InvalidData(_REPORTS)
    return {name: each.estimate(reports[name], **how) for name, each in protocols.items()}


@final
@door
class AllQuestions:
    """Everyone answers every question; the prices of the protocols add up. What is known as splitting the budget.

    **Guarantee:** the composition of the protocols, for a person's whole record. Relation: replace.

    >>> from privet import local
    >>> both = AllQuestions({"smokes": local.Warner(epsilon=0.5), "age": local.Hybrid(epsilon=0.5, bounds=(0, 100))})
    >>> round(both.loss.pure(), 6)
    1.0
    >>> reports = both.privatize({"smokes": [0, 1, 1], "age": [30, 41, 70]})
    >>> sorted(both.estimate(reports))
    ['age', 'smokes']
    """

    def __init__(self, protocols: Mapping[str, Any]) -> None:
        self.protocols = _questions(protocols)

    @property
    def loss(self) -> PrivacyLoss:
        """The price that one person pays."""
        return Composed([protocol.loss for protocol in self.protocols.values()])

    def privatize(self, answers: Any, *, source: Source = None) -> dict[str, Any]:
        """The reports of many people, a list for each question."""
        given = _columns(answers, self.protocols)
        return {name: each.privatize(given[name], source=source) for name, each in self.protocols.items()}

    def new_states(self) -> dict[str, State]:
        """An empty state for each question."""
        return {name: State(protocol) for name, protocol in self.protocols.items()}

    def estimate(self, reports: Mapping[str, Any], **how: Any) -> dict[str, Estimate]:
        """The estimates of reports or states for each question."""
        return _estimates(self.protocols, reports, how)


@final
@door
class OneQuestion:
    """Everyone answers one question, drawn at random, which the report names: the full epsilon for each.

    From d questions each gets a d-th of the reports: the variance grows d-fold; with a split budget it grows about
    d^2-fold. Answers to the questions that were not drawn are not looked at, and no fake ones are sent.

    **Guarantee:** the costliest of the protocols, for a person's whole record: the draw does not depend on the answers.
    Relation: replace.

    >>> from privet import local
    >>> one = OneQuestion({"smokes": local.Warner(epsilon=1.0), "age": local.Hybrid(epsilon=1.0, bounds=(0, 100))})
    >>> 0.999 < one.loss.pure() <= 1.0
    True
    >>> reports = one.privatize({"smokes": [0, 1, 1], "age": [30, 41, 70]})
    >>> sum(len(column) for column in reports.values())
    3
    """

    def __init__(self, protocols: Mapping[str, Any]) -> None:
        self.protocols = _questions(protocols)

    @property
    def loss(self) -> PrivacyLoss:
        """The price that one person pays."""
        return Parallel([protocol.loss for protocol in self.protocols.values()], fixed_blocks=True)

    def drawn(self, people: int, *, source: Source = None) -> Array:
        """Which question each person is asked, as a place in `protocols`; public."""
        return np.asarray(noise.uniform_int(bound=len(self.protocols), size=people, source=source))

    def privatize(self, answers: Any, *, source: Source = None) -> dict[str, Any]:
        """The reports of many people: for each question those of the people who drew it."""
        given = _columns(answers, self.protocols)
        which = self.drawn(len(next(iter(given.values()))), source=source)
        found = {}
        for place, (name, protocol) in enumerate(self.protocols.items()):
            asked = [answer for answer, drew in zip(given[name], which == place, strict=True) if drew]
            found[name] = protocol.privatize(asked, source=source)
        return found

    def new_states(self) -> dict[str, State]:
        """An empty state for each question."""
        return {name: State(protocol) for name, protocol in self.protocols.items()}

    def estimate(self, reports: Mapping[str, Any], **how: Any) -> dict[str, Estimate]:
        """The estimates of reports or states for each question, from the people who were asked."""
        return _estimates(self.protocols, reports, how)
