"""The counts of records that fall into each of some public bins or labels."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Unpack, final

import numpy as np

from privet._numerics import Array
from privet._validate import count as whole, finite, instance, items, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.discrete_laplace import DiscreteLaplace
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.columns import holds_no_text, is_grouped, is_number, is_table, is_typed, is_view, moment
from privet.mechanisms.families.labels import places, public_labels
from privet.mechanisms.families.one_noise import PricedByNoise
from privet.mechanisms.families.record_values import admit_records, as_records
from privet.mechanisms.form import Form, Numbers, Record
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.least_noise import least_noise
from privet.mechanisms.mechanism import Example, Mechanism, Source, register
from privet.mechanisms.sensitivities import histogram_sensitivity
from privet.privacy import Guarantee, Promise, Unit

_TABLE = "this is a whole table, and a histogram takes one column of it: pass table['column']"
_COUNTED = (
    "this Series is labelled by its index, as value_counts() labels its result: pass the column that was counted, or "
    "series.to_numpy() where each entry is one record"
)
_NO_TEXT = "the labels are texts and this column holds none: state the labels as they stand in the column"
_NO_COLUMN = "a histogram takes a column or a list of records, one entry each"


@final
@register
@dataclass(frozen=True, kw_only=True)
class Histogram(PricedByNoise, Mechanism[Any, dict[Any, int]]):  # type: ignore[override]  # `at` is read from the noise
    """Counts of records by public labels or between public edges, in one release that keeps its labels.

    Give `labels` (texts, whole numbers, booleans) or `edges` e0 < e1 < ... for the bins [e0, e1), [e1, e2), ..., the last
    one closed. The release is a dictionary from each label, or the text of each bin, to a noisy whole number; labels
    that nobody has are there as well. A record that has no label or lies in no bin (missing ones too) is left out.
    Integer noise, or Gaussian noise rounded to integers where a delta makes that smaller.

    **Guarantee:** that of the noise for the whole vector: every record is in at most one bin.
    **Sensitivity:** l1: 1 under add/remove, 2 under replace; l2: 1 and sqrt 2; times `max_rows`.
    **Error:** all bins at once within the exact quantile of the noise.
    **Reference:** Dwork et al. 2006; proof note mechanisms/histogram.

    >>> wards = Histogram.for_budget(epsilon=1.0, labels=("A", "B", "C"))
    >>> counts = wards.release(["A"] * 500 + ["B"] * 20 + ["?", None]).value
    >>> list(counts), 450 < counts["A"] < 550
    (['A', 'B', 'C'], True)
    >>> Histogram.for_budget(epsilon=1.0, edges=(0, 18, 65, 120)).bins
    ('[0, 18)', '[18, 65)', '[65, 120]')
    """

    name = "histogram"

    noise: DiscreteLaplace | Gaussian = field()
    labels: tuple[Any, ...] | None = None
    edges: tuple[float, ...] | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.labels is None) == (self.edges is None):
            raise InvalidParameter("give either labels=, the public categories, or edges=, the public ends of the bins")
        if self.labels is not None:
            set_frozen(self, labels=public_labels(self.labels))
        else:
            set_frozen(self, edges=_public_edges(self.edges))
        set_frozen(self, max_rows=whole("max_rows", self.max_rows, 1))
        bound = instance("noise", self.noise, DiscreteLaplace, Gaussian).sensitivity
        if bound.value < histogram_sensitivity(norm=bound.norm, unit=bound.unit, max_rows=self.max_rows).value:
            raise InvalidParameter("the noise was made for a smaller sensitivity than a histogram has; use for_budget")

    @property
    def form(self) -> Form:
        return Record(dict.fromkeys(self.bins, Numbers()))

    @classmethod
    def for_budget(
        cls,
        *,
        labels: Sequence[Any] | None = None,
        edges: Sequence[float] | None = None,
        unit: Unit | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> "Histogram":
        """The least noise, jointly over the bins, that stays within the budget."""
        shape: dict[str, Any] = {"labels": labels, "edges": edges, "max_rows": max_rows}
        l1, l2 = (histogram_sensitivity(norm=norm, unit=unit, max_rows=max_rows) for norm in ("l1", "l2"))

        def radius(noise: Any) -> float:
            return cls(noise=noise, **shape).error().radius

        return cls(noise=least_noise(l1=l1, l2=l2, whole=True, by=radius, **promise), **shape)

    @property
    def bins(self) -> tuple[Any, ...]:
        """The keys of the release, in order: the labels, or the bins as text."""
        if self.labels is not None:
            return self.labels
        assert self.edges is not None
        spans = [f"[{_text(a)}, {_text(b)})" for a, b in pairwise(self.edges)]
        return (*spans[:-1], spans[-1][:-1] + "]")

    def _admit(self, value: object) -> None:
        if self.edges is not None:
            admit_records(value)
            return
        if is_table(value):
            raise InvalidData(_TABLE)
        if (
            is_number(value)
            or isinstance(value, str | bytes | dict | set | frozenset)
            or not isinstance(value, Iterable)
            or is_view(value)
        ):
            raise InvalidData(_NO_COLUMN)
        if getattr(value, "ndim", 1) != 1:
            raise InvalidData("a histogram takes one dimension: one entry for each record")
        assert self.labels is not None
        if is_typed(value) and holds_no_text(value):
            if is_grouped(value):
                raise InvalidData(_COUNTED)
            if all(isinstance(label, str) for label in self.labels):
                raise InvalidData(_NO_TEXT)

    def _prepare(self, value: object) -> Array:
        if self.edges is not None:
            records = as_records(value)
            edges = np.array(self.edges)
            place = np.searchsorted(edges, records, side="right") - 1
            place = np.where(records == edges[-1], len(edges) - 2, place)
            inside = (records >= edges[0]) & (records <= edges[-1])
            return np.bincount(place[inside], minlength=len(edges) - 1).astype(np.int64)
        assert self.labels is not None
        known = len(self.labels)
        return np.bincount(places(value, self.labels, other=known), minlength=known + 1)[:known].astype(np.int64)

    def _draw(self, prepared: Array, runs: int, source: Source) -> list[dict[Any, int]]:
        noise: Mechanism[Any, Any] = self.noise
        rows = np.asarray(noise._draw(noise._prepare(prepared), runs, source))
        whole_rows = np.floor(rows + 0.5).astype(np.int64) if rows.dtype.kind == "f" else rows
        return [dict(zip(self.bins, row, strict=True)) for row in whole_rows.tolist()]

    def _notes(self, drawn: dict[Any, int]) -> tuple[str, ...]:
        return ("records outside the labels or bins left out; the bar covers noise alone",)

    def error(self, confidence: float = 0.95) -> ErrorBar:
        """The exact quantile of the noise, jointly over the bins."""
        bar = self.noise.error(confidence, dimension=len(self.bins))
        rounding = 0.0 if isinstance(self.noise, DiscreteLaplace) else 0.5
        return ErrorBar(bar.radius + rounding, confidence, f"each of {len(self.bins)} counts at once")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        wards = cls.for_budget(epsilon=1.0, labels=("A", "B"))
        yield Example(wards, ["A", "B"], ["A", "B", "B"], Guarantee(1.0))
        moved = cls.for_budget(epsilon=1.0, delta=1e-5, edges=(0, 10, 20, 30), unit=Unit("replace"))
        yield Example(moved, [5, 15, 30], [5, 25, 30], Guarantee(1.0, 1e-5))
        people = cls.for_budget(rho=0.05, labels=(1, 2), max_rows=3)
        yield Example(people, [1], [1, 2, 2, 2], Guarantee(rho=0.05))


def _public_edges(edges: object) -> tuple[float, ...]:
    if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
        raise InvalidParameter("edges must be a list of public numbers, never read from the data")
    ends = tuple(finite("edges", moment(end)) for end in items("edges", edges))
    if len(ends) < 2 or any(not a < b for a, b in pairwise(ends)):
        raise InvalidParameter("edges must increase, at least two of them")
    return ends


def _text(edge: float) -> str:
    return str(int(edge)) if edge == math.floor(edge) and abs(edge) < 2**53 else repr(edge)
