"""Tables of counts over several columns: exact tables from an engine, and all of them answered with the least error."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, Example, Form, Kept, Source, register
from privet.privacy import Guarantee, PrivacyLoss
from privet.queries.answer import Answer
from privet.queries.question import TableAlgorithm
from privet.queries.reading import counted
from privet.queries.table_answers import key_array
from privet.tables import Bounded, Category, Coded, Coding, Column, Data, Int, Rows, Source as PrivateSource
from privet.workloads import Answers, LinearQueries, Marginals, ResidualTables

_CONFIDENCE = 0.95  # of the intervals that come with every answer


@final
@register
@dataclass(frozen=True, kw_only=True)
class MarginalAnswers(TableAlgorithm, Algorithm[Data, Answer]):
    """Tables of counts over sets of columns. No more than one of them is built at a time, unless a strategy measures the
    cells of all columns together.

    **Guarantee:** that of `LinearQueries` on the exact tables, for all rows of a person together.
    **Sensitivity:** all rows of a person may lie in one cell of each table; they are the same rows in all of them.
    **Error:** an interval for every count, from the law of the noise.
    **Proof:** docs/proofs/queries/marginal_answers.md.
    """

    name = "marginal_answers"

    coded: Coded
    queries: LinearQueries
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("coded", self.coded, Coded)
        instance("queries", self.queries, LinearQueries)
        if self.at is not None:
            set_frozen(self, at=open_fraction("at", self.at))
        workload = self.queries.workload
        if not isinstance(workload, Marginals) or workload.domain != self.coded.coding.sizes:
            raise InvalidParameter("the queries must be tables of counts over the codes of these columns")
        if self.queries.max_rows < self.coded.most_rows or self.queries.unit != self.coded.rows.unit.unit:
            raise InvalidParameter("the queries must be priced for all rows of a person in the plan")
        self.coded.check(self._cliques)

    @property
    def _tables(self) -> tuple[tuple[int, ...], ...]:
        assert isinstance(self.queries.workload, Marginals)
        return self.queries.workload.attributes

    @property
    def _cliques(self) -> tuple[tuple[int, ...], ...]:
        """The sets that an engine counts: the tables asked for, or all columns at once where cells are measured."""
        return self._tables if self.queries.takes_answers else (tuple(range(len(self.coded.coding.sizes))),)

    @property
    def loss(self) -> PrivacyLoss:
        return self.queries.loss

    @property
    def form(self) -> Form:
        return Kept("queries.answer")

    def plans(self) -> tuple[Bounded, ...]:
        return (self.coded.bounded,)

    def weight(self) -> float:
        sizes = self.coded.coding.sizes
        return self.queries.rmse * max(prod(sizes[i] for i in each) for each in self._tables)

    def _run(self, prepared: Any, source: Source) -> Answer:
        exact = self._exact_tables(prepared, self.coded, self._cliques, source)
        tables = [each.reshape(-1) for each in exact] if self.queries.takes_answers else exact
        answers = self.queries.release(np.concatenate(tables), source=source).value
        return self._answer(answers)

    def _answer(self, answers: Answers) -> Answer:
        """All tables one below the other. What is missing is None, and a column that a table does not have is `(all)`
        there: values of a column that some tables lack are texts, for a column of a frame has one type."""
        columns = self.coded.coding.names
        lacking = [any(i not in clique for clique in self._tables) for i in range(len(columns))]
        listed = zip(self.coded.coding.listed, lacking, strict=True)
        values = [_labels(column, texts) for (_, column), texts in listed]
        keys: list[list[Array]] = [[] for _ in columns]
        found = []
        for clique in self._tables:
            table = answers.table(clique, confidence=_CONFIDENCE)
            codes = dict(zip(clique, np.indices(table.value.shape).reshape(len(clique), -1), strict=True))
            for i in range(len(columns)):
                blank = np.full(table.value.size, "(all)", dtype=object)
                keys[i].append(values[i][codes[i]] if i in codes else blank)
            found.append((table.value.reshape(-1), table.radius.reshape(-1)))
        noisy, wide = (np.concatenate([each[k] for each in found]) for k in (0, 1))
        value, low, high = counted(noisy, wide)
        named = {name: key_array(np.concatenate(each).tolist()) for name, each in zip(columns, keys, strict=True)}
        return Answer(named, {"n": value}, {"n": low}, {"n": high}, _CONFIDENCE)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        columns: tuple[tuple[str, Column], ...] = (("sex", Category(["f", "m"])), ("floor", Int(0, 2)))
        coded = Coded(PrivateSource("people", columns, Rows()), Coding.of(dict(columns)))
        asked = Marginals((2, 3), ((0,), (0, 1)))
        queries = LinearQueries.for_budget(workload=asked, strategy=ResidualTables(), mu=1.0)
        left = {"sex": np.array(["m", "f", "f"]), "floor": np.array([0, 2, 1])}
        right = {name: column[:2] for name, column in left.items()}
        made = cls(coded=coded, queries=queries)
        yield Example(made, Data({"people": left}), Data({"people": right}), Guarantee(mu=1.0), cost="costly")


def _labels(column: Column, texts: bool) -> Array:
    """The values of a column by code; the last one may stand for a missing value."""
    domain = column.domain
    assert domain is not None
    values = [*(str(each) if texts else each for each in domain), *((None,) if column.null else ())]
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
