"""The contract of a local protocol: what a client sends, what a server keeps, and what it may say."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from json import dumps, loads
from typing import Any, ClassVar, Literal

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData, InvalidParameter, SerialisationError
from privet.mechanisms import Estimate, Release, Source, registered_mechanisms

_NUMBERS = "reports are whole numbers, as privatize and decode give them"
_NO_PROTOCOL = "this text is no protocol of privet.local"
_NO_REPORT = "these are no possible reports of this protocol: encode what privatize and decode give"
_RATIO = re.compile(r"-?[0-9]+(/[0-9]+)?")  # as fractions are written: one with an exponent could be without end
_PAYLOAD = "the payload does not consist of whole reports of this protocol"


class Protocol(ABC):
    """An agreement between clients and a server: a mechanism on one person's value, and what is done with many reports.

    A member is a registered, frozen mechanism as well (`class FrequencyProtocol(Mechanism, Protocol)`): it has a price,
    laws, audits and JSON. One report is `report_shape` unsigned numbers of `widths` bits each, or one number where the
    shape is empty; an array with one value per person gives one report per person, in the same order.

    **Guarantee:** each report is protected at the price of `loss` against everybody, the server included. The number of
    reports is public.
    """

    name: ClassVar[str]
    # how a report is counted: "value" adds 1 to the count of the number that was sent, "bits" adds each bit of a row to its
    # own count, and all rows are possible; what is neither is left to `tally`
    coding: ClassVar[Literal["value", "bits", "tally"]] = "tally"
    epsilon: float

    # --- what a member answers ---------------------------------------------------------------------------------------

    @abstractmethod
    def release(self, value: Any, *, source: Source = None) -> Release[Any]:
        """The reports of one person or many, with their price (see `Mechanism.release`)."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The public parameters, exactly."""

    @property
    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """The bits of each number of a report."""

    @property
    @abstractmethod
    def report_shape(self) -> tuple[int, ...]:
        """The shape of one report: empty for a single number, else (how many,)."""

    @abstractmethod
    def valid(self, reports: Array) -> Array:
        """Which reports (one a row) are possible outputs; all others are dropped by a server, and counted."""

    @abstractmethod
    def candidates_of(self, given: Any) -> Array:
        """The values that are to be counted, checked: they are public, and a mistake in them is refused by a sentence."""

    @abstractmethod
    def table_shape(self, candidates: Array | None) -> tuple[int, ...]:
        """The shape of the counts that a server keeps."""

    @abstractmethod
    def tally(self, reports: Array, candidates: Array | None) -> Array:
        """The counts of valid reports: whole numbers, so that states merge exactly and in any order."""

    def fits(self, table: Array, n: int) -> bool:
        """True if these can be the counts of n reports, none of them negative: where each report is counted once, they
        add up to n; else no count exceeds it. A member that knows more says so."""
        return whole_sum(table) == n if self.coding == "value" else int(table.max(initial=0)) <= n

    @abstractmethod
    def estimate(self, reports: Any, **how: Any) -> Estimate:
        """The estimate of reports, or of a state, about the people who sent them."""

    # --- what comes with it ------------------------------------------------------------------------------------------

    def privatize(self, values: Any, *, source: Source = None) -> Any:
        """The reports of `release`, for clients: one value, or an array with one value per person."""
        return self.release(values, source=source).value

    @property
    def report_bytes(self) -> int:
        """The bytes of one encoded report."""
        return sum(-(-width // 8) for width in self.widths)

    def rows(self, reports: Any) -> Array:
        """Reports as an array with one report a row; what cannot be such an array is refused by its type and shape."""
        try:
            array = np.asarray(reports)
        except ValueError:  # lists of unlike lengths
            raise InvalidData(_NUMBERS) from None
        if array.dtype.kind not in "biu" and array.size:
            raise InvalidData(_NUMBERS)
        wanted = self.report_shape
        if wanted and (array.ndim < 1 or array.shape[-1:] != wanted):
            raise InvalidData(f"a report of this protocol has {wanted[0]} numbers")
        return array.reshape(-1, *wanted)

    def encode(self, reports: Any) -> Array:
        """Reports as bytes: an array with `report_bytes` bytes a row, each number little-endian in whole bytes."""
        rows = self.rows(reports)
        if not self.valid(rows).all():
            raise InvalidData(_NO_REPORT)
        columns = rows.reshape(len(rows), len(self.widths)).astype("<u8")
        parts = [
            np.ascontiguousarray(columns[:, i : i + 1]).view(np.uint8).reshape(-1, 8)[:, : -(-width // 8)]
            for i, width in enumerate(self.widths)
        ]
        return np.concatenate(parts, axis=1) if len(rows) else np.zeros((0, self.report_bytes), dtype=np.uint8)

    def decode(self, payload: Any) -> Array:
        """The reports in bytes or in an array of `encode`; what is no possible report is left to the server's state."""
        try:
            raw = np.frombuffer(payload, np.uint8) if isinstance(payload, bytes | bytearray) else np.asarray(payload)
        except ValueError:  # rows of several lengths
            raise InvalidData(_PAYLOAD) from None
        size = self.report_bytes
        if raw.dtype != np.uint8 or raw.size % size or (raw.ndim > 1 and raw.shape[-1] != size):
            raise InvalidData(_PAYLOAD)
        raw = raw.reshape(-1, size)
        found, start = np.zeros((len(raw), len(self.widths)), dtype=np.uint64), 0
        for i, width in enumerate(self.widths):
            whole = np.zeros((len(raw), 8), dtype=np.uint8)
            stop = start + -(-width // 8)
            whole[:, : stop - start] = raw[:, start:stop]
            found[:, i], start = whole.view("<u8")[:, 0], stop
        return found if self.report_shape else found[:, 0].astype(word_of(self.widths[0]))

    def to_json(self) -> str:
        """The public parameters as text; `local.from_json` reads it."""
        return dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))


def by_name(given: Mapping[str, object], known: tuple[str, ...]) -> None:
    """A check that an estimate takes these arguments.

    >>> by_name({"confidence": 0.9}, ("confidence",))
    """
    if not set(given) <= set(known):
        raise InvalidParameter(f"estimate takes {', '.join(known)}, by name, and nothing else")


def word_of(bits: int) -> Any:
    """The smallest unsigned dtype with so many bits.

    >>> word_of(10)
    dtype('uint16')
    """
    return np.dtype(next(f"u{width // 8}" for width in (8, 16, 32, 64) if width >= bits))


def whole_sum(table: Array) -> int:
    """The sum of whole numbers that are not negative, as a number that never wraps.

    >>> whole_sum(np.array([2**62, 2**62, 2**62])) == 3 * 2**62
    True
    """
    return (int((table >> 32).sum(dtype=np.int64)) << 32) + int((table & (2**32 - 1)).sum(dtype=np.int64))


def from_json(text: str) -> Any:
    """A protocol from the text of its `to_json`.

    >>> from privet import local
    >>> local.from_json(local.KRR(k=4, epsilon=1.0).to_json())
    KRR(epsilon=1.0, k=4, labels=None)
    """
    try:
        told = loads(text) if isinstance(text, str | bytes) else dict(text)
        kind: Any = registered_mechanisms()[told.pop("mechanism")]
        if not issubclass(kind, Protocol):
            raise SerialisationError(_NO_PROTOCOL)
        known = {field.name: field.type for field in fields(kind)}
        return kind(**{name: _read(item, known[name]) for name, item in told.items()})
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise SerialisationError(_NO_PROTOCOL) from None


def _read(item: Any, kind: Any) -> Any:
    """A parameter as its field has it: floats and fractions are written as texts."""
    if isinstance(item, dict) and "mechanism" in item:
        return from_json(dumps(item))
    if isinstance(item, list):
        return tuple(_read(each, kind) for each in item)
    if isinstance(item, str) and kind in (float, float | None, tuple[float, float]):
        return float(item)
    if isinstance(item, str) and kind in (Fraction, Fraction | None):
        if not _RATIO.fullmatch(item):
            raise SerialisationError(_NO_PROTOCOL)
        return Fraction(item)
    return item
