"""k-ary randomized response."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack, final

import numpy as np

from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.estimate import Estimate
from privet.mechanisms.families.columns import column_kind, is_typed
from privet.mechanisms.families.labels import admit_texts, places, public_texts
from privet.mechanisms.families.response import (
    ResponseMechanism,
    epsilon_of_truth,
    largest_epsilon,
    truth_for,
)
from privet.mechanisms.form import Form, Numbers, Texts
from privet.mechanisms.mechanism import Example, Source, register
from privet.privacy import Guarantee, KRRLoss, Promise

_LABELS = (
    "this holds texts or objects, no numbers: name the texts when the mechanism is made, "
    "KRR.for_budget(labels=(...), epsilon=...)"
)


@final
@register
@dataclass(frozen=True, kw_only=True)
class KRR(ResponseMechanism):
    """One of k values, 0 to k - 1: the true one with probability `truth`, else one of the *other* k - 1, all alike.

    With `labels`, public texts, records and reports are labels; what is none of them counts as the first. Without, they
    are numbers, and a text in a list counts as 0, as everything does that is no number: to refuse it would tell of it.

    **Guarantee:** pure epsilon = ln(truth (k - 1)/(1 - truth)), exactly, for each person. Relation: replace.
    **Error:** all k shares are estimated without bias; see `error`.
    **Reference:** Kairouz, Bonawitz & Ramage 2016.

    >>> channel = KRR.for_budget(k=4, epsilon=1.0)
    >>> round(float(channel.truth), 9), round(float(channel.lie), 9)
    (0.475366886, 0.174877705)
    >>> channel.release([0, 3, 2, 2]).value.shape
    (4,)
    >>> channel.estimate([0, 0, 0, 1, 2, 3, 3, 0]).value.shape
    (4,)
    >>> party = KRR.for_budget(labels=("red", "green", "none"), epsilon=1.0)
    >>> party.release("green").value in party.labels, party.estimate(party.release(["red"] * 9).value).value.shape
    (True, (3,))
    """

    name = "krr"

    k: int
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        set_frozen(self, k=_size(self.k))
        if self.labels is not None:
            set_frozen(self, labels=public_texts(self.labels))
            if len(self.labels) != self.k:
                raise InvalidParameter("k must be the number of labels; for_budget(labels=...) counts them")
        super().__post_init__()

    @classmethod
    def for_budget(
        cls,
        *,
        k: int | None = None,
        labels: Sequence[str] | None = None,
        **promise: Unpack[Promise],
    ) -> "KRR":
        """The most truthful report within the budget, its probability rounded towards 1/k."""
        names = None if labels is None else public_texts(labels)
        if names is None and k is None:
            raise InvalidParameter("give k, the number of values, or labels=, the public texts that may be reported")
        size, target = _size(k if names is None or k is not None else len(names)), Guarantee(**promise)
        best = largest_epsilon(lambda e: KRRLoss(k=size, epsilon=e), target)
        return cls(k=size, labels=names, truth=truth_for(best, size))._charged_at(target)

    @property
    def _k(self) -> int:
        return self.k

    @property
    def loss(self) -> KRRLoss:
        return KRRLoss(k=self.k, epsilon=epsilon_of_truth(self.truth, self.k), unit=self.unit)

    @property
    def form(self) -> Form:
        return Numbers() if self.labels is None else Texts()

    def _admit(self, value: object) -> None:
        if self.labels is None:
            if isinstance(value, str) or (is_typed(value) and column_kind(value) in ("text", "object")):
                raise InvalidData(_LABELS)
            super()._admit(value)
        elif not isinstance(value, str):
            admit_texts(value)

    def _prepare(self, value: object) -> Array:
        if self.labels is None:
            return super()._prepare(value)
        codes = places([value] if isinstance(value, str) else value, self.labels, other=0)
        return codes[0] if isinstance(value, str) else codes

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        codes = super()._draw(prepared, runs, source)
        return codes if self.labels is None else np.array(self.labels)[codes]

    def to_dict(self) -> dict[str, Any]:
        told = super().to_dict()
        if self.labels is None:  # as it was before there were labels: ledgers compare it with what they hold
            del told["labels"]
        return told

    def estimate(self, reports: object, *, confidence: float = 0.95) -> Estimate:
        """The shares of all k values, from reports (post-processing; single shares may be negative, their sum is 1)."""
        shares, error, variance = self._shares(reports, confidence)
        return Estimate(shares, error, variance=variance, labels=self.labels)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(k=4, epsilon=1.0), 0, 3, Guarantee(1.0))
        named = cls.for_budget(labels=("red", "green", "none"), epsilon=1.0)
        yield Example(named, ["red", "none"], ["green", "none"], Guarantee(1.0))
        yield Example(cls.for_budget(k=3, rho=0.2), np.array([0, 2]), np.array([0, 1]), Guarantee(rho=0.2))


def _size(k: object) -> int:
    if isinstance(k, list | tuple | set | dict | np.ndarray):
        raise InvalidParameter("k is the number of values; the values themselves are given as labels=")
    return count("k", k, 2)
