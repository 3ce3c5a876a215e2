"""The state of a server after the reports it has seen: whole counts, mergeable in any order."""

from json import dumps, loads
from math import prod
from numbers import Integral
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData, InvalidParameter, SerialisationError
from privet.local.protocol import Protocol, from_json

_UNLIKE = "only states of one protocol, with the same parameters and candidates, can be merged"
_NO_AGREEMENT = "protocol must be one of privet.local, such as KRR(k=4, epsilon=1.0)"
_NO_STATE = "this text is no state of privet.local"
_MOST = 2**62  # reports, and any count of them; above 2^63 they would wrap
_CELLS = 2**28  # counts of one state: 2 GiB
_COUNTS = "counts must be whole numbers in the shape of the state's table, none negative"
_N = "n and dropped must be whole numbers that are not negative"


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
        if not isinstance(protocol, Protocol):
            raise InvalidParameter(_NO_AGREEMENT)
        self.protocol = protocol
        self.candidates = None if candidates is None else protocol.candidates_of(candidates)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        shape = self.protocol.table_shape(self.candidates)
        if prod(shape) > _CELLS:
            raise InvalidParameter(
                "a state has at most 2^28 counts: take fewer values, or OLH, which counts candidates"
            )
        self.table: Array = np.zeros(shape, dtype=np.int64)
        self.n = 0
        self.dropped = 0

    def add(self, reports: Any) -> "State":
        """Count reports; those that are not possible are dropped and counted. The same state, for chains of calls."""
        rows = self.protocol.rows(reports)
        valid = self.protocol.valid(rows)
        kept = rows if valid.all() else rows[valid]
        if len(kept):
            return self._grow(self.protocol.tally(kept, self.candidates), len(kept), len(rows) - len(kept))
        self.dropped += len(rows)
        return self

    def add_counts(self, table: Any, n: int, *, dropped: int = 0) -> "State":
        """Add counts that were made elsewhere, in an engine say: of `n` reports, in the shape of `table`. Those that n
        reports of the protocol cannot have are refused."""
        try:
            counts = np.asarray(table)
        except ValueError:  # lists of unlike lengths
            raise InvalidData(_COUNTS) from None
        if counts.shape != self.table.shape or counts.dtype.kind not in "iu" or (counts.size and counts.min() < 0):
            raise InvalidData(_COUNTS)
        if not (_is_count(n) and _is_count(dropped)):
            raise InvalidData(_N)
        n, dropped, most = int(n), int(dropped), int(counts.max(initial=0))
        if most <= _MOST and n <= _MOST and not self.protocol.fits(counts.astype(np.int64), n):
            raise InvalidData("these cannot be the counts of n reports of this protocol")
        return self._grow(counts, n, dropped)

    def _grow(self, counts: Array, n: int, dropped: int) -> "State":
        """Add checked counts, all or nothing."""
        most = int(self.table.max(initial=0)) + int(counts.max(initial=0))
        if max(self.n + n, self.dropped + dropped, most) > _MOST:
            raise InvalidParameter("a state holds at most 2^62 reports")
        self.table += counts.astype(np.int64)
        self.n += n
        self.dropped += dropped
        return self

    def merge(self, other: "State") -> "State":
        """A new state with the reports of both: exact, in any order."""
        same = isinstance(other, State) and self.protocol == other.protocol
        if not same or not np.array_equal(self._named(), other._named()):
            raise InvalidParameter(_UNLIKE)
        merged = State(self.protocol, candidates=self.candidates)
        for each in (self, other):
            merged._grow(each.table, each.n, each.dropped)
        return merged

    def _named(self) -> Array:
        return np.zeros(0) if self.candidates is None else self.candidates

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
        """Back from `to_json`; a text that no state can have is refused."""
        try:
            told = loads(text)
            protocol, counts, named = from_json(dumps(told["protocol"])), told["counts"], told["candidates"]
            wanted = None if named is None else protocol.candidates_of(named)
            whole = [told["privet"], told["n"], told["dropped"], *counts]
            if {type(each) for each in whole} != {int} or whole[0] != 1:  # True is no number here
                raise SerialisationError(_NO_STATE)
            shape = protocol.table_shape(wanted)
            if len(counts) != prod(shape):  # before room for so many is made
                raise SerialisationError(_NO_STATE)
            table = np.array(counts, dtype=np.int64).reshape(shape)
            return cls(protocol, candidates=wanted).add_counts(table, told["n"], dropped=told["dropped"])
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
            raise SerialisationError(_NO_STATE) from None


def _is_count(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= 0
