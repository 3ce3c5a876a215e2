"""Covariances as a question: planned without any data, with Laplace or normal noise, whichever is smaller."""

import math
from dataclasses import dataclass, field
from typing import Any, Unpack, final

import numpy as np

from privet._validate import count
from privet.errors import InvalidParameter, NoGuarantee
from privet.mechanisms import DiscreteLaplace, Gaussian
from privet.privacy import Promise, Unit
from privet.queries.covariance_answers import CONFIDENCE, CovarianceAnswers, Design, beyond, design_of, entry_of
from privet.queries.data import Data
from privet.queries.explain import explained_plan
from privet.tables.plan import Node

_MOST_COLUMNS = 50


@final
@dataclass(frozen=True, eq=False)
class CovarianceQuestion:
    """The covariances, or correlations, of columns, as a question for a ledger.

    >>> import privet as pv
    >>> people = pv.Table({"a": [1, 2], "b": [3, 4]}, columns={"a": pv.Int(0, 9), "b": pv.Int(0, 9)})
    >>> print(people.covariance("a", "b").preview(epsilon=1.0, expected_rows=10_000))
    each covariance: +-0.04737 to +-0.05122 (95%), with 10,000 rows
    """

    rows: Node
    names: tuple[str, ...]
    data: Data = field(repr=False)
    correlations: bool = False

    def __post_init__(self) -> None:
        for name in self.names:
            column = self.rows.columns.get(name)
            if column is None or not column.numeric:
                raise InvalidParameter(
                    f"covariances are asked of columns of numbers; {name!r:.60} is none of {', '.join(self.rows.columns)}"
                )
        if not 2 <= len(set(self.names)) == len(self.names) <= _MOST_COLUMNS:
            raise InvalidParameter(f"give from 2 to {_MOST_COLUMNS} columns, each once")

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self.rows.unit.unit

    @property
    def _design(self) -> Design:
        return design_of(self.rows, self.names)

    def for_budget(self, **promise: Unpack[Promise]) -> CovarianceAnswers:
        """The mechanism that answers within the promise; no data are looked at."""
        design, made, refused = self._design, [], None
        # Not every noise can keep every promise: normal noise has no pure epsilon. Of those that can, the smaller one.
        kinds: Any = (("l1", DiscreteLaplace), ("l2", Gaussian))
        for norm, kind in kinds:
            try:
                made.append(kind.for_budget(sensitivity=design.sensitivity(self.unit, norm), **promise))
            except NoGuarantee as problem:
                refused = problem
        if not made:
            assert refused is not None
            raise refused
        # The scale of Laplace noise is its standard deviation over sqrt2.
        part = min(made, key=lambda each: each.scale * (math.sqrt(2.0) if isinstance(each, DiscreteLaplace) else 1.0))
        facts: Any = {"columns": self.names, "design": design, "correlations": self.correlations}
        return CovarianceAnswers(part=part, about=self.unit, at=part.at, **facts)

    def preview(self, *, expected_rows: int | None = None, **promise: Unpack[Promise]) -> "CovariancePreview":
        """How far off each covariance may be, with so many rows (1,000 unless you say so) whose values lie evenly between
        the bounds; no data are looked at, and nothing is paid.
        """
        made = self.for_budget(**promise)
        rows = 1_000 if expected_rows is None else count("expected_rows", expected_rows, 1)
        half_width = {}
        for pair in made.design.pairs:
            # What the sums of a pair (see `Pair`) are on average, as shares, when t and u lie evenly in [0, 1]: t^2,
            # 2t(1-t) and (1-t)^2 have the mean 1/3, the four products of t or 1-t with u or 1-u have 1/4.
            even = np.array([1, 1, 1]) / 3.0 if pair.first == pair.second else np.full(4, 0.25)
            noise = beyond(made.part, len(even), CONFIDENCE)
            _, radius = entry_of(pair, even * rows * pair.top, noise)
            units = made.design.widths[pair.first] * made.design.widths[pair.second]
            # No covariance of values in [0, 1] is beyond 1/4; `units` takes it back to the columns' own.
            half_width[self.names[pair.first], self.names[pair.second]] = min(radius, 0.25) * units
        return CovariancePreview(half_width, rows, made)

    def explain(self) -> str:
        """The plan, whom it protects, and the SQL."""
        return explained_plan(self._design.plan)


@final
@dataclass(frozen=True, eq=False)
class CovariancePreview:
    """The half-width of the interval of every covariance, by pairs of columns."""

    half_width: dict[tuple[str, str], float]
    expected_rows: int
    mechanism: CovarianceAnswers = field(repr=False)

    def __str__(self) -> str:
        low, high = min(self.half_width.values()), max(self.half_width.values())
        return f"each covariance: +-{low:.4g} to +-{high:.4g} ({100 * CONFIDENCE:g}%), with {self.expected_rows:,} rows"
