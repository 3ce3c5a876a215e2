"""A question about a table and the algorithm that answers it: what every one of them says and does alike.

A new kind of question is a `TableQuestion` (public: a plan and what is asked of it) whose `for_budget` makes a
`TableAlgorithm`, which looks at the data through `_exact_sums` alone and hands these sums to its parts.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Unpack

from privet._markup import Shown
from privet._numerics import Array
from privet.errors import InvalidData
from privet.mechanisms import Source
from privet.privacy import Promise, Unit
from privet.queries.explain import columns_in_words, explained_plan, rows_in_words
from privet.queries.other_names import no_such_name
from privet.tables import Aggregates, Bounded, Coded, Data
from privet.tables.data import drawn_salts


class TableQuestion(Shown, ABC):
    """A question that knows its data and becomes a mechanism: `ledger.release(question, epsilon=0.5)`.

    >>> import privet as pv
    >>> visits = pv.Table({"ward": ["A", "B"]}, columns={"ward": pv.Category(["A", "B"])})
    >>> isinstance(visits.agg(n=pv.count()), TableQuestion), isinstance(visits.top_k("ward", 1), TableQuestion)
    (True, True)
    >>> visits.agg(n=pv.count())
    n: count, of table; ask it with ledger.release(query, epsilon=...)
    """

    data: Data

    @abstractmethod
    def bounded(self) -> Bounded:
        """The plan of what an engine adds up, with the rows of every person bounded; no data are looked at."""

    @abstractmethod
    def for_budget(self, **promise: Unpack[Promise]) -> Any:
        """The mechanism that answers within the promise, a `TableAlgorithm`; no data are looked at."""

    @abstractmethod
    def preview(self, **promise: Unpack[Promise]) -> Any:
        """The price and how far off the answer may be; no data are looked at, and nothing is paid."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # libraries ask for these
            raise AttributeError(name)
        raise no_such_name(self, name)

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self.bounded().rows.unit.unit

    def explain(self) -> str:
        """The plan, whom it protects, and the SQL; no data are looked at."""
        return explained_plan(self.bounded())

    def __repr__(self) -> str:
        """The question in words, which are public, and the call that asks it."""
        return f"{self.in_words()}; ask it with ledger.release(query, epsilon=...)"

    def in_words(self) -> str:
        """The question in one public line, for the log of a ledger: what is asked, of which rows."""
        what = " ".join(re.findall("[A-Z][a-z]+", type(self).__name__.removesuffix("Question"))).lower()
        plan = self.bounded()
        names = vars(self).get("names") or plan.names
        return f"{what} of {columns_in_words(names, plan.rows)}{rows_in_words(plan.rows)}"

    def told(self, **promise: Unpack[Promise]) -> Any:
        """The line of this question in the preview of a batch: its own preview, unless a line says more."""
        return self.preview(**promise)


class TableAlgorithm(ABC):
    """The common ground of algorithms over the data of a question: `class Answers(TableAlgorithm, Algorithm[Data,
    Out])`.

    **Sensitivity:** of exact sums, by the reach of the plan (`tables.Reach`): a person's rows are bounded before anything
    is added up, by salted numbers that depend on those rows alone.

    >>> from privet.queries import HistogramQuestion
    >>> issubclass(HistogramQuestion.for_budget.__annotations__["return"], TableAlgorithm)
    True
    """

    @abstractmethod
    def plans(self) -> tuple[Bounded, ...]:
        """Every plan whose exact sums a run takes."""

    @abstractmethod
    def weight(self) -> float:
        """The widest noise of an answer in rows, times the number of groups that rows are spread over: by this a batch
        shares its budget."""

    def _admit(self, value: object) -> None:
        if not isinstance(value, Data):
            raise InvalidData("a query is asked of the data that its table knows: ledger.release(query, epsilon=...)")
        for plan in self.plans():
            value.check(plan)

    def _exact_sums(self, data: Data, plan: Bounded, source: Source, *, coin: str = "salt") -> Aggregates:
        """Exact sums of one of the plans, with fresh salts: for the parts, and for nothing else."""
        algorithm: Any = self
        return data.exact_aggregates(plan, algorithm._coins(coin, drawn_salts, source))

    def _exact_tables(
        self, data: Data, coded: Coded, cliques: Sequence[tuple[int, ...]], source: Source
    ) -> list[Array]:
        """Exact counts of every clique, from one choice of each person's rows: for the parts, and for nothing else."""
        algorithm: Any = self
        return data.exact_marginals(coded, cliques, algorithm._coins("salt", drawn_salts, source))
