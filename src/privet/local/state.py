"""What a server keeps of the reports it has seen: whole counts, mergeable in any order."""

from json import dumps, loads
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData, InvalidParameter, SerialisationError
from privet.local.protocol import Protocol, from_json

_UNLIKE = "only states of one protocol, with the same parameters and candidates, can be merged"
_NO_STATE = "this text is no state of privet.local"
_MOST = 2**62  # reports; a count above 2^63 would wrap


@final
class State:
    """The counts of the reports so far, their number `n`, and how many were no possible report (`dropped`).

    >>> from privet import local
    >>> protocol = local.KRR(k=3, epsilon=1.0)
    >>> state = State(protocol).add([0, 1, 1]).add([2, 7])  # there is no value 7
    >>> state.n, state.dropped, state.table.tolist()
    (4, 1, [1, 2, 1])
    >>> state.merge(state).table.tolist()
    [2, 4, 2]
    """

    def __init__(self, protocol: Protocol, *, candidates: Any = None) -> None:
        self.protocol = protocol
        self.candidates = None if candidates is None else protocol.candidates_of(candidates)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.table: Array = np.zeros(self.protocol.table_shape(self.candidates), dtype=np.int64)
        self.n = 0
        self.dropped = 0

    def add(self, reports: Any) -> "State":
        """Count reports; those that are not possible are dropped and counted. The same state, for chains of calls."""
        rows = self.protocol.rows(reports)
        valid = self.protocol.valid(rows)
        kept = rows if valid.all() else rows[valid]
        self._room_for(len(kept))
        if len(kept):
            self.table += self.protocol.tally(kept, self.candidates)
        self.n += len(kept)
        self.dropped += len(rows) - len(kept)
        return self

    def add_counts(self, table: Any, n: int, *, dropped: int = 0) -> "State":
        """Add counts that were made elsewhere, in an engine say: of `n` reports, in the shape of `table`."""
        counts = np.asarray(table)
        if counts.shape != self.table.shape or counts.dtype.kind not in "iu" or (counts.size and counts.min() < 0):
            raise InvalidData("counts must be whole numbers in the shape of the state's table, none negative")
        self._room_for(int(n))
        self.table += counts.astype(np.int64)
        self.n += int(n)
        self.dropped += int(dropped)
        return self

    def merge(self, other: "State") -> "State":
        """A new state with the reports of both: exact, in any order."""
        same = isinstance(other, State) and self.protocol == other.protocol
        if not same or not np.array_equal(self._named(), other._named()):
            raise InvalidParameter(_UNLIKE)
        self._room_for(other.n)
        merged = State(self.protocol, candidates=self.candidates)
        merged.table = self.table + other.table
        merged.n, merged.dropped = self.n + other.n, self.dropped + other.dropped
        return merged

    def _named(self) -> Array:
        return np.zeros(0) if self.candidates is None else self.candidates

    def _room_for(self, more: int) -> None:
        if more < 0 or self.n + more > _MOST:
            raise InvalidParameter("a state holds at most 2^62 reports")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"State({self.protocol!r}, n={self.n}, dropped={self.dropped})"

    def to_json(self) -> str:
        """Protocol and counts as text: public after the noise."""
        told = {
            "privet": 1,
            "protocol": self.protocol.to_dict(),
            "candidates": None if self.candidates is None else self.candidates.tolist(),
            "n": self.n,
            "dropped": self.dropped,
            "counts": self.table.reshape(-1).tolist(),
        }
        return dumps(told, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "State":
        """Back from `to_json`."""
        try:
            told = loads(text)
            if told["privet"] != 1:
                raise SerialisationError(_NO_STATE)
            state = cls(from_json(dumps(told["protocol"])), candidates=told["candidates"])
            table = np.array(told["counts"], dtype=np.int64).reshape(state.table.shape)
            return state.add_counts(table, told["n"], dropped=told["dropped"])
        except (KeyError, TypeError, ValueError, OverflowError, InvalidData):
            raise SerialisationError(_NO_STATE) from None
