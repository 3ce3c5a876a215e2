"""Covariances as a question: planned without any data, with Laplace or normal noise, whichever is smaller."""

from dataclasses import dataclass, field
from typing import Any, Unpack, final

import numpy as np

from privet._validate import count
from privet.errors import InvalidParameter
from privet.mechanisms import DiscreteLaplace, least_noise
from privet.privacy import PrivacyLoss, Promise
from privet.queries.covariance_answers import CONFIDENCE, CovarianceAnswers, Design, design_of
from privet.queries.intervals import spread
from privet.queries.question import TableQuestion
from privet.tables import Bounded, Data, Node
from privet.tables.columns import known_column

_MOST_COLUMNS = 50  # their products are over a thousand sums in one query of an engine


@final
@dataclass(frozen=True, eq=False, repr=False)
class CovarianceQuestion(TableQuestion):
    """The covariances, or correlations, of columns, as a question for a ledger.

    >>> import privet as pv
    >>> people = pv.Table({"a": [1, 2], "b": [3, 4]}, columns={"a": pv.Int(0, 9), "b": pv.Int(0, 9)})
    >>> print(people.covariance("a", "b").preview(epsilon=1.0, expected_rows=10_000))
    each covariance: +-0.02969 to +-0.03595 (95%), with 10,000 rows
    """

    rows: Node
    names: tuple[str, ...]
    data: Data = field(repr=False)
    correlations: bool = False

    def __post_init__(self) -> None:
        for name in self.names:
            if not known_column(self.rows.columns, name).numeric:
                raise InvalidParameter(
                    f"covariances are asked of columns of numbers; {name!r:.60} is none of {', '.join(self.rows.columns)}"
                )
        if not 2 <= len(set(self.names)) == len(self.names) <= _MOST_COLUMNS:
            raise InvalidParameter(f"give from 2 to {_MOST_COLUMNS} columns, each once")

    def bounded(self) -> Bounded:
        return self._design.plan

    @property
    def _design(self) -> Design:
        return design_of(self.rows, self.names)

    def for_budget(self, **promise: Unpack[Promise]) -> CovarianceAnswers:
        """The mechanism that answers within the promise; no data are looked at."""
        design = self._design
        l1, l2 = (design.sensitivity(self.unit, norm) for norm in ("l1", "l2"))
        part = least_noise(l1=l1, l2=l2, whole=True, by=spread, **promise)
        if isinstance(part, DiscreteLaplace) and promise.get("delta"):  # delta would buy a millionth of it
            part = DiscreteLaplace.for_budget(sensitivity=l1, epsilon=promise["epsilon"])
        facts: Any = {"columns": self.names, "design": design, "correlations": self.correlations}
        return CovarianceAnswers(part=part, about=self.unit, at=part.at, **facts)

    def preview(self, *, expected_rows: int | None = None, **promise: Unpack[Promise]) -> "CovariancePreview":
        """The distance by which each covariance, or correlation, may be off, with so many rows (1,000 unless you say
        so) whose values lie evenly between the bounds; no data are looked at, and nothing is paid.
        """
        made = self.for_budget(**promise)
        rows = 1_000 if expected_rows is None else count("expected_rows", expected_rows, 1)
        # What the sums of a pair (see `Pair`) are on average, as shares, when t and u lie evenly in [0, 1]: t^2,
        # 2t(1-t) and (1-t)^2 have the mean 1/3, the four products of t or 1-t with u or 1-u have 1/4.
        even = [np.full(len(pair.left), rows * pair.top / len(pair.left)) for pair in made.design.pairs]
        told = made._matrix(np.concatenate(even))  # what would be answered without noise
        wide = np.maximum(told.upper - told.matrix, told.matrix - told.lower)
        pairs = [(pair.first, pair.second) for pair in made.design.pairs]
        half_width = {(self.names[i], self.names[j]): float(wide[i, j]) for i, j in pairs}
        return CovariancePreview(half_width, rows, made)


@final
@dataclass(frozen=True, eq=False)
class CovariancePreview:
    """The half-width of the interval of every covariance, or correlation, by pairs of columns."""

    half_width: dict[tuple[str, str], float]
    expected_rows: int
    mechanism: CovarianceAnswers = field(repr=False)

    @property
    def loss(self) -> PrivacyLoss:
        """The price."""
        return self.mechanism.loss

    def __str__(self) -> str:
        known = self.mechanism.correlations  # that of a column with itself is 1
        wide = [each for (one, two), each in self.half_width.items() if one != two or not known]
        told = f"+-{min(wide):.4g} to +-{max(wide):.4g} ({100 * CONFIDENCE:g}%), with {self.expected_rows:,} rows"
        return f"each {'correlation' if known else 'covariance'}: {told}"
