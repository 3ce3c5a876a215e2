"""One price, answered completely: the bound, the ladder, the meaning, and all of it as JSON."""

import json
import math
from dataclasses import dataclass
from typing import Any

from privet import __version__, _markup as markup, accounting
from privet._calls import door
from privet._markup import Shown
from privet._validate import at_least, fraction
from privet.accounting import Accountant, Bound
from privet.errors import InvalidParameter
from privet.privacy import PrivacyLoss, Unit, to_json
from privet.report.meaning import Meaning, what_it_means
from privet.report.rungs import Step, ladder_of
from privet.report.words import answer_in_words, meaning_in_words

FORMAT = 1  # of the JSON document; described in docs/how-to/read-prices-as-json.md


@dataclass(frozen=True)
class Quote(Shown):
    """A loss, the question that was asked about it and everything that was answered.

    `asked` is "delta" when a delta was given and `bound` is an epsilon, "epsilon" the other way round.

    >>> from privet import privacy
    >>> quote(privacy.PureLoss(0.5), delta=0.0).epsilon
    0.5
    """

    loss: PrivacyLoss
    asked: str
    given: float
    bound: Bound
    meaning: Meaning
    ladder: tuple[Step, ...]

    @property
    def epsilon(self) -> float:
        """The epsilon that may be promised."""
        return self.bound.upper if self.asked == "delta" else self.given

    @property
    def delta(self) -> float:
        """The delta at which it holds."""
        return self.given if self.asked == "delta" else self.bound.upper

    def facts(self) -> list[tuple[str, str]]:
        """Name and value, a line each: what is priced, the answer, and what it means for one person."""
        answer = "epsilon" if self.asked == "delta" else "delta"
        told = answer_in_words(self.bound, answer=answer, asked=self.asked, given=self.given)
        parts = [sentence.partition(": ") for sentence in meaning_in_words(self.meaning, self.bound.unit)]
        head = [("Release", self.loss.describe()), ("One person", self.bound.unit.describe())]
        head += [("Answer", told), ("Method", self.bound.method)]
        return head + [(name, rest[:1].upper() + rest[1:]) for name, _, rest in parts]

    def __str__(self) -> str:
        return "\n".join(f"{name:<11} {value}" for name, value in self.facts())

    def _repr_html_(self) -> str:
        return markup.facts("Price", self.facts())

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values: every key is always there, numbers that do not exist are None.

        >>> from privet import privacy
        >>> document = quote(privacy.GaussianLoss(2.0), delta=1e-5).to_dict()
        >>> document["answer"], document["bound"]["method"], document["loss"]["kind"]
        ('epsilon', 'GDP (exact)', 'gaussian')
        """
        meaning = self.meaning
        return {
            "format": FORMAT,
            "privet": __version__,
            "question": {self.asked: self.given},
            "answer": "epsilon" if self.asked == "delta" else "delta",
            "bound": bound_to_dict(self.bound),
            "guarantee": {"epsilon": self.epsilon, "delta": self.delta},
            "meaning": {
                "odds_factor": _finite(meaning.odds_factor),
                "posterior_from_even_odds": meaning.posterior,
                "advantage": meaning.advantage,
                "accuracy_at_even_odds": meaning.accuracy,
                "fpr": meaning.fpr,
                "tpr_at_fpr": meaning.tpr,
            },
            "ladder": [{name: _finite(value) for name, value in vars(step).items()} for step in self.ladder],
            "loss": json.loads(to_json(self.loss)),
        }


@door(prices=("loss",))
def quote(
    loss: PrivacyLoss,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    accountant: Accountant | None = None,
    ladder: bool = True,
) -> Quote:
    """Price a loss at a delta (answer: epsilon) or at an epsilon (answer: delta), with all that a report needs.

    **Guarantee:** that of `accounting.epsilon` and `accounting.delta`; the meaning follows from the upper end.

    >>> from privet import privacy
    >>> priced = quote(privacy.LaplaceLoss(scale=2.0), epsilon=0.25)
    >>> round(priced.delta, 6), priced.ladder
    (0.117503, ())
    """
    if (delta is None) == (epsilon is None):
        raise InvalidParameter("give either delta (the answer is epsilon) or epsilon (the answer is delta)")
    if delta is not None:
        bound = accounting.epsilon(loss, delta=delta, accountant=accountant)
        given, asked, price = fraction("delta", delta), "delta", (bound.upper, fraction("delta", delta))
    else:
        given, asked = at_least("epsilon", epsilon, 0.0), "epsilon"
        bound = accounting.delta(loss, epsilon=given, accountant=accountant)
        price = (given, bound.upper)
    steps = ladder_of(loss, given) if ladder and asked == "delta" else ()
    return Quote(loss, asked, given, bound, what_it_means(loss, epsilon=price[0], delta=price[1]), steps)


def bound_to_dict(bound: Bound) -> dict[str, Any]:
    """A bound as plain values: lower, upper, slack, method and unit."""
    return {
        "lower": bound.lower,
        "upper": bound.upper,
        "slack": bound.slack,
        "method": bound.method,
        "unit": _unit(bound.unit),
    }


def _unit(unit: Unit) -> dict[str, Any]:
    """As in the JSON form of losses: a field that is None is left out."""
    return {name: value for name, value in vars(unit).items() if value is not None}


def _finite(value: object) -> object:
    """JSON has no infinity; a number that does not exist is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
