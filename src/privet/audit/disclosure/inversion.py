"""Inversion: a hidden attribute guessed from a model's answer, beside what could be guessed without the model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import above, open_fraction
from privet.audit.answers import answered, numbers
from privet.audit.statistics.clopper_pearson import rate_above, rate_below
from privet.audit.statistics.roc import Interval
from privet.errors import InvalidData, InvalidParameter

Records = tuple[Any, Any, Any]  # other attributes, hidden attribute, outcome
Predict = Callable[[Any, Any], Any]


@final
@dataclass(frozen=True)
class Share:
    """A share of right guesses: `right` of `many`.

    >>> Share(3, 4, 0.05).rate.value
    0.75
    """

    right: int
    many: int
    alpha: float

    @property
    def rate(self) -> Interval:
        """The share with its exact interval."""
        each = self.alpha / 2.0
        ends = rate_below(self.right, self.many, each), rate_above(self.right, self.many, each)
        return Interval(self.right / self.many, float(ends[0]), float(ends[1]))


@final
@dataclass(frozen=True)
class Inversion:
    """The four figures of an inversion, never fewer.

    They are right guesses by the commonest value, by the other attributes alone, by the attack on members, and by the
    same attack on others.

    Only `leak`, members minus others, is about the people the model was trained on, and only that does differential
    privacy bound. Others minus `exact_given_rest` is what the model teaches about the population.
    """

    exact_majority: Share
    exact_given_rest: Share
    exact_members: Share
    exact_others: Share
    alpha: float

    @property
    def leak(self) -> Interval:
        """Members minus others, with an interval at `alpha` (half of it for each of the two)."""
        one, two = (
            Share(each.right, each.many, self.alpha / 2.0).rate for each in (self.exact_members, self.exact_others)
        )
        return Interval(one.value - two.value, one.low - two.high, one.high - two.low)

    def explain(self) -> str:
        """Words on the four figures and on which of them differential privacy is about."""
        return "\n".join(
            [
                f"Commonest value: {self.exact_majority.rate}. From the other attributes: {self.exact_given_rest.rate}.",
                f"Attack on members: {self.exact_members.rate}. The same attack on others: {self.exact_others.rate}.",
                f"Members minus others: {self.leak}. This alone is about the people in the training data; the rest is what "
                "the model teaches about everybody, which differential privacy does not hide.",
                "These figures are computed from people's records without protection: for the custodian, not releasable.",
            ]
        )

    def __str__(self) -> str:
        return self.explain()


def invert(
    predict: Predict,
    *,
    members: Records,
    others: Records,
    values: Sequence[Any],
    sigma: float,
    given_rest: Callable[[Any], Any],
    use_rest: bool = False,
    alpha: float = 0.05,
) -> Inversion:
    """Guesses of a hidden attribute: the value that, put into the model, explains the outcome best.

    `members` and `others` are triples (rest, hidden, outcome) of records that the model was, and was not, trained on.
    `predict(rest, value)` gives the model's outcomes with the hidden attribute set to `value`; `sigma` is the
    standard deviation of outcomes around it. `given_rest(rest)` gives for each record a row of shares, one for each
    of `values`: what the other attributes say without the model, from public knowledge. The attack takes the value
    with the largest prior times normal density; the prior is the average of these shares, or with `use_rest` the
    record's own.

    **Error:** each share has an exact interval. **Reference:** Fredrikson et al. 2014.

    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.integers(0, 2, 400); outcome = hidden + rng.normal(0, 0.1, 400); rest = np.zeros((400, 1))
    >>> found = invert(lambda rest, value: np.full(len(rest), float(value)),
    ...                members=(rest[:200], hidden[:200], outcome[:200]),
    ...                others=(rest[200:], hidden[200:], outcome[200:]), values=[0, 1], sigma=0.1,
    ...                given_rest=lambda rest: np.full((len(rest), 2), 0.5))
    >>> found.exact_members.rate.value > 0.99, 0.0 in found.leak
    (True, True)
    """
    level, spread, kinds = open_fraction("alpha", alpha), above("sigma", sigma, 0.0), list(values)
    if len(kinds) < 2 or len(set(map(str, kinds))) < len(kinds):
        raise InvalidParameter("values must be two or more different values of the hidden attribute")
    people = [_checked("members", members, kinds), _checked("others", others, kinds)]
    shares = [_prior(given_rest, rest, len(hidden), len(kinds)) for rest, hidden, _ in people]
    common = np.concatenate(shares).mean(axis=0)
    found = []
    for (rest, hidden, outcome), own in zip(people, shares, strict=True):
        told = np.stack([_told(predict, rest, value, len(hidden)) for value in kinds], axis=1)
        with np.errstate(divide="ignore"):
            prior = np.log(own if use_rest else common[None])
        guess = np.argmax(prior - 0.5 * ((outcome[:, None] - told) / spread) ** 2, axis=1)
        found.append(Share(int((guess == hidden).sum()), len(hidden), level))
    _, truth, _ = people[1]
    rest_right = int((shares[1].argmax(axis=1) == truth).sum())
    return Inversion(
        exact_majority=Share(int((truth == int(common.argmax())).sum()), len(truth), level),
        exact_given_rest=Share(rest_right, len(truth), level),
        exact_members=found[0],
        exact_others=found[1],
        alpha=level,
    )


def _checked(name: str, records: Records, kinds: list[Any]) -> tuple[Any, Array, Array]:
    if not isinstance(records, tuple | list) or len(records) != 3:
        raise InvalidData(f"{name} are a triple: other attributes, hidden attribute, outcome")
    rest, hidden, outcome = records[0], np.asarray(records[1]), numbers(f"outcomes of {name}", records[2])
    if hidden.ndim != 1 or hidden.shape != outcome.shape or not hidden.size or np.isnan(outcome).any():
        raise InvalidData(f"{name} need a hidden value and an outcome (not NaN) each, and at least one record")
    place = {str(kind): at for at, kind in enumerate(kinds)}
    codes = np.array([place.get(str(value), -1) for value in hidden.tolist()])
    if (codes < 0).any():
        raise InvalidData(f"the hidden attribute of {name} has a value that is not among values=")
    return rest, codes, outcome


def _prior(given_rest: Callable[[Any], Any], rest: object, many: int, kinds: int) -> Array:
    shares = numbers("shares of given_rest", answered("given_rest", given_rest, rest))
    if shares.shape != (many, kinds) or np.isnan(shares).any() or (shares < 0.0).any():
        raise InvalidData("given_rest(rest) must give a share for each record and each of values=")
    return shares


def _told(predict: Predict, rest: object, value: object, many: int) -> Array:
    found = numbers("outcomes of predict", answered("predict", predict, rest, value))
    if found.size != many:
        raise InvalidData("predict(rest, value) must give an outcome for each record")
    return found.reshape(many)
