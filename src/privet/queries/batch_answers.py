"""Several queries answered together: one price, one payment, an answer by name."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._validate import items, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, DiscreteLaplace, Example, Form, Record, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Unit
from privet.queries.aggregates import Count, CountPersons
from privet.queries.measured import compiled
from privet.queries.question import TableAlgorithm
from privet.queries.table_answers import TableAnswers
from privet.tables import Bounded, Category, Data, KeySet, Person, Source as PrivateSource


@final
@register
@dataclass(frozen=True, kw_only=True)
class BatchAnswers(TableAlgorithm, Algorithm[Data, dict[str, Any]]):
    """The answers of several queries by name, each by the mechanism of its own.

    **Guarantee:** the composition of the queries. All of them protect the same unit: a person who has rows in several
    tables is paid for in each query that reads one of them.
    **Error:** that of each query, in its answer.
    **Proof:** docs/proofs/queries/batch_answers.md.
    """

    name = "batch_answers"

    labels: tuple[str, ...]
    parts: tuple[Any, ...]  # each a `TableAlgorithm`
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, labels=items("labels", self.labels), parts=items("parts", self.parts))
        if not all(isinstance(part, TableAlgorithm) for part in self.parts):
            raise InvalidParameter("parts must be the mechanisms of the queries")
        if not all(isinstance(label, str) for label in self.labels):
            raise InvalidParameter("labels must be texts, the names of the queries")
        if self.at is not None:
            set_frozen(self, at=open_fraction("at", self.at))
        if not self.parts or len(self.parts) != len(self.labels) or len(set(self.labels)) != len(self.labels):
            raise InvalidParameter(
                "labels and parts: each query of a batch has its own name, and there is at least one"
            )
        if len({part.unit for part in self.parts}) > 1:
            raise InvalidParameter("all parts, the queries of a batch, must protect the same unit")

    @property
    def loss(self) -> PrivacyLoss:
        losses = [part.loss for part in self.parts]
        return losses[0] if len(losses) == 1 else Composed(losses)

    @property
    def form(self) -> Form:
        return Record({label: part.form for label, part in zip(self.labels, self.parts, strict=True)})

    def plans(self) -> tuple[Bounded, ...]:
        return tuple(plan for part in self.parts for plan in part.plans())

    def weight(self) -> float:
        return max(float(part.weight()) for part in self.parts)

    def _run(self, prepared: object, source: Source) -> dict[str, Any]:
        return {
            label: part.release(prepared, source=source).value
            for label, part in zip(self.labels, self.parts, strict=True)
        }

    @classmethod
    def examples(cls) -> Iterable[Example]:
        person = Person("who", max_groups=1, max_rows_per_group=2)
        rows = PrivateSource("visits", (("ward", Category(["A", "B"])),), person)
        by_ward = KeySet(("ward",), (("A",), ("B",)))
        asked: list[tuple[str, Any, Any, tuple[str, ...], float]] = [
            ("wards", Count(), by_ward, ("ward",), 0.75),
            ("people", CountPersons(), KeySet((), ((),)), (), 0.25),
        ]
        parts = []
        for label, request, keys, names, share in asked:
            plan, families = compiled(rows, names, keys, (request,))
            about = Unit(person="who")
            moved = families[0].sensitivity(plan.reach, about, "l1")
            noise = DiscreteLaplace.for_budget(epsilon=share, sensitivity=moved)
            parts.append(
                TableAnswers(plan=plan, families=families, outputs=((label, request),), parts=(noise,), about=about)
            )
        left = {"ward": np.array(["A", "A", "B"]), "who": np.array([1, 1, 2])}
        right = {name: column[2:] for name, column in left.items()}
        made = cls(labels=("wards", "people"), parts=tuple(parts))
        yield Example(made, Data({"visits": left}), Data({"visits": right}), Guarantee(1.0), cost="costly")
