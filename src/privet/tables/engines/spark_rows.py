"""Rows of a Spark data frame that stay where they are: work is sent to its partitions, and only totals come back.

The engine stands here, on top of what it is made of.
"""

import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, final
from uuid import uuid4

import numpy as np

from privet._numerics import Array
from privet.tables.bounded import Aggregates, Bounded, Salts, Sources
from privet.tables.coded import Cliques, Coded
from privet.tables.dialect import Spark
from privet.tables.emit import Emitter
from privet.tables.engines.engine import Engine, Part, RowsApart, declared, refuse_a_look, register
from privet.tables.engines.failing import cancellable, one_failure
from privet.tables.engines.spark import check, exact_aggregates, exact_marginals, raw_kind, readings, views
from privet.tables.scan import Scan


@final
class SparkRows(RowsApart):
    """The rows of a scan, kept by Spark: computed once, at the first total, and not again.

    Kept without their history: where a partition is lost, the work fails. Computed anew it could be other rows.
    """

    __slots__ = ("_frame", "_scan", "_sources")

    def __init__(self, scan: Scan, sources: Sources) -> None:
        self._scan, self._sources = scan, sources
        self._frame: Any = None

    @one_failure
    def exact_parts(self, part: Part) -> list[Any]:
        """The results of `part` on the rows of each partition, in blocks as they come: not releasable."""
        session = self._sources[self._scan.rows.sources[0].name].sparkSession
        tag = f"privet-{uuid4().hex}"

        def ask() -> list[Any]:
            session.addTag(tag)
            try:
                if self._frame is None:
                    self._frame = self._kept()
                work = _work(part, self._scan)
                return [pickle.loads(row[0]) for row in self._frame.mapInArrow(work, "total binary").collect()]
            finally:
                session.removeTag(tag)

        return list(cancellable(ask, lambda: session.interruptTag(tag)))

    def _kept(self) -> Any:
        with views(self._scan, self._sources) as (session, prefix):
            sql = Emitter(Spark(), readings(self._scan, self._sources, prefix)).scan(self._scan, ranked=False)
            frame = session.sql(sql)
            if self._scan.persons:  # a person lies in one partition, and their rows stand together there
                frame = frame.repartition("person").sortWithinPartitions("person")
            return frame.localCheckpoint()


def _work(part: Part, scan: Scan) -> Callable[[Any], Any]:
    """The work of a partition on its batches of Arrow; sent to other machines, which need privet too."""
    names, persons = [f"v{place}" for place in range(len(scan.names))], scan.persons

    def work(batches: object) -> Any:
        import pyarrow as pa

        total = pickle.dumps(part(_blocks(batches, names, persons)))
        yield pa.RecordBatch.from_arrays([pa.array([total], pa.binary())], names=["total"])

    return work


def _blocks(batches: Any, names: list[str], persons: bool) -> Iterator[Array]:
    """Batches as numbers. Persons are numbered in the order that they stand in: who equals the one before is the same."""
    before, number = None, 0.0
    for batch in batches:
        if not batch.num_rows:
            continue
        columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in names]
        if persons:
            who = np.array(batch.column("person").to_pylist(), dtype=object)
            new = np.concatenate([[before is None or who[0] != before], who[1:] != who[:-1]]).astype(np.float64)
            ranks = number + np.cumsum(new)
            before, number = who[-1], float(ranks[-1])
            columns.append(ranks)
        yield np.stack(columns, axis=1).astype(np.float64)


@final
@register
class SparkEngine(Engine):
    """Data frames of Spark, on any number of machines.

    >>> SparkEngine().takes({"age": [30]})
    False
    """

    name = "Spark"
    reads = "a Spark DataFrame"
    rows_stay = True

    def takes(self, data: object) -> bool:
        return type(data).__module__.startswith("pyspark.") and hasattr(data, "sparkSession")

    def kinds(self, data: object, *, look: bool) -> Mapping[str, str]:
        refuse_a_look(look)
        return declared({name: raw_kind(type_) for name, type_ in data.dtypes})  # type: ignore[attr-defined]

    def check(self, plan: Bounded | Scan | Coded, sources: Sources) -> None:
        check(plan, sources)

    def exact_aggregates(self, plan: Bounded, sources: Sources, salts: Salts, **settings: object) -> Aggregates:
        return exact_aggregates(plan, sources, salts)

    def exact_rows(self, scan: Scan, sources: Sources, **settings: object) -> RowsApart:
        return SparkRows(scan, sources)

    def exact_marginals(
        self, coded: Coded, cliques: Cliques, sources: Sources, salts: Salts, **settings: object
    ) -> list[Array]:
        return exact_marginals(coded, cliques, sources, salts)

    def same_rows(self, one: Any, two: Any) -> bool:
        return bool(one.sameSemantics(two))
