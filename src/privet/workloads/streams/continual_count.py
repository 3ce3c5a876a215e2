"""The front of running counts: the better of the counters, known before anything is paid."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Unpack, final

from privet._calls import door
from privet._validate import count, instance, set_frozen
from privet.errors import InvalidParameter, NoGuarantee
from privet.mechanisms import Source
from privet.privacy import Promise, Unit
from privet.workloads.streams.count_stream import CountStream
from privet.workloads.streams.counter import Counter
from privet.workloads.streams.square_root_count import SquareRootCount
from privet.workloads.streams.tree_count import TreeCount


@final
@door
@dataclass(frozen=True, kw_only=True)
class ContinualCount:
    """The number of rows so far, after every one of at most `horizon` steps of a stream.

    `max_rows` is how many rows a person may have in all steps together; somebody else must have bounded it.

    **Guarantee:** that of the counter chosen, for all sums together, also where later counts depend on earlier sums.
    **Error:** `explain` prints it step by step, before anything is paid.

    >>> visits = ContinualCount(horizon=365)
    >>> visits.for_budget(epsilon=1.0).name, visits.for_budget(rho=0.5).name
    ('tree_count', 'square_root_count')
    >>> stream = visits.start(epsilon=1.0)
    >>> stream.remaining
    365
    """

    horizon: int
    unit: Unit | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        set_frozen(self, horizon=count("horizon", self.horizon, 1), max_rows=count("max_rows", self.max_rows, 1))
        if self.unit is not None:
            instance("unit", self.unit, Unit)

    @door
    def candidates(self, **promise: Unpack[Promise]) -> tuple[Counter, ...]:
        """Every counter that keeps the promise, from the least mean squared error to the greatest.

        >>> [each.name for each in ContinualCount(horizon=100).candidates(rho=0.5)]
        ['square_root_count', 'tree_count']
        """
        facts: dict[str, Any] = {"horizon": self.horizon, "unit": self.unit, "max_rows": self.max_rows}
        found: list[Counter] = [TreeCount.for_budget(**facts, **promise)]
        with suppress(NoGuarantee, InvalidParameter):  # a pure promise, or a stream too long for it
            found.append(SquareRootCount.for_budget(**facts, **promise))
        return tuple(sorted(found, key=lambda each: each.rmse))

    @door
    def for_budget(self, **promise: Unpack[Promise]) -> Counter:
        """The counter of least mean squared error."""
        return self.candidates(**promise)[0]

    @door
    def explain(self, *, confidence: float = 0.95, **promise: Unpack[Promise]) -> str:
        """The tables of all candidates, the best first."""
        return "\n\n".join(each.explain(confidence) for each in self.candidates(**promise))

    @door
    def start(self, *, source: Source = None, **promise: Unpack[Promise]) -> CountStream:
        """A stream of the best counter, paid by the ledger in force."""
        return self.for_budget(**promise).start(source=source)
