"""The model that a synthesizer releases: tables with error bars, rows without end, and no data."""

import hashlib
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, final

import numpy as np

from privet import noise
from privet._calls import door
from privet._markup import facts
from privet._numerics import Array
from privet._validate import count
from privet.errors import InvalidParameter
from privet.mechanisms import ErrorBar, storable
from privet.mechanisms.stored import packed
from privet.synth.compression import Compression
from privet.synth.count_table import CountTable
from privet.synth.error_bars import CandidateBound, cell_bar, query_bar
from privet.synth.graph import Clique, Coins, GraphModel, Measurement, TreePlan, sampled
from privet.synth.graph.reduction import Reduction
from privet.synth.linear_query import LinearQuery
from privet.synth.privacy import SynthesisPrivacy
from privet.synth.synthetic_table import SyntheticTable
from privet.tables import Coding

_MOST_CELLS = 2**26  # of a table that is answered: half a gigabyte, more are refused
MOST_UNASKED = 10**7  # rows that are drawn where nobody said how many: a small budget may say billions


@final
@storable("synth.model")
class SyntheticModel:
    """A distribution over coded columns that fits what was released, with what was released.

    `sample(n)` draws rows and costs nothing, however often; n defaults to `total`, the number of rows as it was paid for.
    `counts("age", "sex")` is a table of expected counts with values, bins and intervals, as people read it;
    `marginal("age", "sex")` is the bare array, `error("age", "sex")` how far it may be from the data's.
    `answers` are tables that the graph has no room for, made of what was measured; rows are drawn from the graph alone.
    `public` are the cliques whose tables were taken from public rows; no error bar rests on them.
    Models that are fitted to synthetic rows have no valid intervals: sampling noise and privacy noise are not in them.
    """

    def __init__(
        self,
        coding: Coding,
        graph: GraphModel,
        measurements: Sequence[Measurement] = (),
        *,
        compression: Compression | None = None,
        candidates: Mapping[Clique, CandidateBound] | None = None,
        method: str = "",
        public: Sequence[Clique] = (),
        answers: Mapping[Clique, Array] | None = None,
    ) -> None:
        self.coding, self.graph, self.method = coding, graph, method
        self.public = tuple(tuple(each) for each in public)
        self.measurements = tuple(measurements)
        self.compression = Compression.none(coding.sizes) if compression is None else compression
        self.candidates = dict(candidates or {})
        self.answers = dict(answers or {})
        self.privacy_: SynthesisPrivacy | None = None
        if graph.plan.sizes != self.compression.sizes or coding.sizes != self.compression.wide:
            raise InvalidParameter("the model has other columns than the coding")

    @property
    def total(self) -> float:
        """The number of rows, as it was paid for or is public."""
        return self.graph.total

    @property
    def cells(self) -> int:
        """The number of numbers that the calibrated model holds."""
        return self.graph.plan.tree.cells

    @door
    def sample(self, n: int | None = None, *, source: noise.Source | None = None) -> SyntheticTable:
        """Rows of the model, free of charge: `n` of them, or as many as the paid total says, up to ten million."""
        if n is None and self.total > MOST_UNASKED:
            raise InvalidParameter(
                f"the paid total is {self.total:.4g} rows, which may be noise: say how many rows are drawn, sample(n)"
            )
        many = round(self.total) if n is None else count("n", n, 0)
        coins = Coins(source)
        codes = self.compression.expanded(sampled(self.graph, many, coins), coins)
        return SyntheticTable(self.coding, codes, self.coding.decode(codes, source))

    def _clique(self, names: Sequence[str]) -> Clique:
        unknown = [each for each in names if each not in self.coding.names]
        if unknown or not names or len(set(names)) != len(names):
            raise InvalidParameter(f"name columns of the model, each once; there are {', '.join(self.coding.names)}")
        clique = tuple(sorted(self.coding.names.index(each) for each in names))
        self._check_size(clique)
        return clique

    def _check_size(self, clique: Clique) -> None:
        """Refuse a table that cannot be written out: with merged codes the model's own table may be small."""
        cells = prod(self.coding.sizes[i] for i in clique)
        if cells > _MOST_CELLS:
            told = ", ".join(self.coding.names[i] for i in clique)
            raise InvalidParameter(f"the table of {told} has {cells:,} cells: at most {_MOST_CELLS:,} are written out")

    def table(self, clique: Clique) -> Array:
        """Expected counts of a clique of places, in increasing order."""
        self._check_size(clique)
        return self.compression.spread(self._expected(clique), clique)

    def _expected(self, clique: Clique) -> Array:
        """Expected counts of groups of codes: from the smallest table of `answers` that holds them, else from the graph."""
        held = [each for each in self.answers if set(clique) <= set(each)]
        if not held:
            return self.graph.marginal(clique)
        nearest = min(held, key=lambda each: (self.answers[each].size, each))
        return Reduction(nearest, clique, self.compression.sizes).sum(self.answers[nearest])

    def marginal(self, *names: str) -> Array:
        """Expected counts of all combinations of codes, with an axis for each of the named columns."""
        clique = self._clique(names)
        return self.table(clique).transpose([clique.index(self.coding.names.index(each)) for each in names])

    def error(self, *names: str, confidence: float = 0.95) -> ErrorBar:
        """The distance that `marginal` of these columns may have from the counts of the data: noise and misfit of the
        model.

        A table that was measured, or lies inside of one that was, has a bar for each cell, all of which hold at once. One
        that was a candidate of the last choice has a bar for the sum of all absolute differences. Any other has none.

        **Error:** normal quantiles (Laplace noise: its tail) of the combined measurements, and the distance of the model
        from them. **Reference:** McKenna et al. 2022, theorems 3 and 4, re-derived in proof note synth/error_bars.
        """
        bar = self._bar(names, confidence)
        if bar is None:
            raise InvalidParameter(
                f"nothing was measured that bounds the error of {', '.join(names)}: ask for columns that a measured table "
                "holds, or give them weight in the workload"
            )
        return bar

    def _bar(self, names: Sequence[str], confidence: float) -> ErrorBar | None:
        """The bar of a table, where there is one."""
        clique = self._clique(names)
        order = [clique.index(self.coding.names.index(each)) for each in names]
        bar = cell_bar(self._expected(clique), self.measurements, self.compression, clique, confidence)
        if bar is not None:
            return ErrorBar(bar.transpose(order), confidence, "counts of " + " and ".join(names))
        bound = self.candidates.get(clique)
        if bound is None:
            return None
        far = bound.radius(confidence)
        return ErrorBar(far, confidence, "sum of all absolute differences of counts", around=False)

    def counts(self, *names: str, confidence: float = 0.95) -> CountTable:
        """Expected counts of all combinations of the named columns, as people read them: values and bins in the place of
        codes, and intervals where `error` has some; `to_pandas()`, `plot()`."""
        table, bar = self.marginal(*names), self._bar(names, confidence)
        promised = "" if self.privacy_ is None else self.privacy_.promise.describe()
        if self.privacy_ is not None and self.privacy_.insecure:
            promised += "; INSECURE: seeded noise, protects nobody"
        return CountTable(self.coding.subset(names), table, bar, promised)

    def _asked(self, query: LinearQuery, names: Sequence[str]) -> tuple[Clique, Array]:
        """The clique that a query is about, and its weights with the columns in increasing order."""
        listed = tuple(names) or self.coding.names
        clique = self._clique(listed)
        places = [self.coding.names.index(each) for each in listed]
        shape = tuple(self.coding.sizes[i] for i in places)
        if not isinstance(query, LinearQuery) or query.weights.shape != shape:
            raise InvalidParameter(
                f"a query about {', '.join(listed)} is a LinearQuery with the shape {shape}: name its columns"
            )
        return clique, query.weights.transpose([places.index(i) for i in clique])

    @door
    def answer(self, query: LinearQuery, *names: str) -> float:
        """The expected answer to a linear query, in rows; `names` are the columns that it has weights for, all of the
        model's unless they are said."""
        clique, weights = self._asked(query, names)
        return float((weights * self.table(clique)).sum())

    @door
    def answer_error(self, query: LinearQuery, *names: str, confidence: float = 0.95) -> ErrorBar:
        """A bar for `answer`: noise and misfit of the model, for a query about columns that a measured table holds, or that
        were a candidate of the last choice.

        **Error:** the normal quantile of the weighted sum of the noises (Laplace noise: Chebyshev's inequality or a union
        over cells), and the distance of the model from the measurement; for candidates the largest weight times the bound
        on the sum of all absolute differences.
        """
        clique, weights = self._asked(query, names)
        far = query_bar(self._expected(clique), self.measurements, self.compression, clique, weights, confidence)
        if far is None and clique in self.candidates:
            far = float(np.abs(weights).max()) * self.candidates[clique].radius(confidence)
        if far is None:
            told = ", ".join(self.coding.names[i] for i in clique)
            raise InvalidParameter(f"nothing was measured that bounds the error of a query about {told}")
        return ErrorBar(far, confidence, "answer to a linear query")

    # --- a value that a ledger keeps ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        plan = self.graph.plan
        return {
            "answers": {_key(each): table for each, table in self.answers.items()},
            "allowed": {_key(each): mask for each, mask in plan.allowed.items()},
            "candidates": {_key(each): list(bound) for each, bound in self.candidates.items()},
            "coding": self.coding.to_dict(),
            "groups": list(self.compression.groups),
            "measured": [
                [_key(m.clique), m.values, m.sigma, m.cell_variance, m.normal, m.part_variance]
                for m in self.measurements  # the last of the fields is new in 0.9
            ],
            "method": self.method,
            "potentials": {_key(c): t for c, t in zip(plan.measured, self.graph.potentials, strict=True)},
            "public": [_key(each) for each in self.public],
            "total": self.total,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "SyntheticModel":
        """Back from `to_arrays`."""
        coding = Coding.from_dict(arrays["coding"])
        compression = Compression(coding.sizes, tuple(arrays["groups"]))
        potentials = {_clique(each): table for each, table in arrays["potentials"].items()}
        allowed = {_clique(each): mask for each, mask in arrays["allowed"].items()}
        plan = TreePlan(compression.sizes, list(potentials), allowed)
        return cls(
            coding,
            GraphModel(plan, list(potentials.values()), arrays["total"]),
            [Measurement(_clique(each[0]), *each[1:]) for each in arrays["measured"]],
            compression=compression,
            candidates={_clique(each): CandidateBound(*bound) for each, bound in arrays["candidates"].items()},
            method=arrays["method"],
            public=[_clique(each) for each in arrays["public"]],
            answers={_clique(each): table for each, table in arrays.get("answers", {}).items()},  # new in 0.9
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SyntheticModel) and packed(self) == packed(other)

    def __hash__(self) -> int:
        return hash(packed(self))

    def __repr__(self) -> str:
        told = hashlib.sha256(packed(self)).hexdigest()[:12]  # so that two models are told apart by their names
        names = ", ".join(self.coding.names)
        return f"<model {told} of {names}: {self.cells:,} cells, about {self.total:,.0f} rows>"

    def _repr_html_(self) -> str:
        pairs = [("columns", ", ".join(self.coding.names)), ("cells", f"{self.cells:,}")]
        return facts("Model of a table", [*pairs, ("rows, about", f"{self.total:,.0f}"), ("next", "model.sample(n)")])


def _key(clique: Clique) -> str:
    return " ".join(map(str, clique))


def _clique(key: str) -> Clique:
    return tuple(int(each) for each in key.split())
