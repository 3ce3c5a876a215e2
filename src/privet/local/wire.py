"""Reports as bytes that travel: a header that names the protocol, and what a server does with what arrives.

A packet is `PV`, a version, eight bytes of the SHA-256 of the parameters, and the report as `encode` packs it. It
carries no order, time or sender; a batch is written in the order of its bytes.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet.errors import InvalidData, InvalidParameter
from privet.local.protocol import Protocol
from privet.local.state import State

_MARK = b"PV"
_VERSION = 1  # of the format: a reader refuses any other
_COLUMN = "report"
_NO_BATCH = "a batch is a list of packets, an array of bytes, or an Arrow column of packets"
_NO_FILE = "this file is no Parquet file with a column of packets named 'report'"


def header_of(protocol: Protocol) -> bytes:
    """The first bytes of every packet of a protocol: mark, version and digest of its parameters.

    >>> from privet import local
    >>> header_of(local.KRR(k=4, epsilon=1.0))[:3], len(header_of(local.KRR(k=4, epsilon=1.0)))
    (b'PV\\x01', 11)
    """
    if not isinstance(protocol, Protocol):
        raise InvalidParameter("protocol must be one of privet.local, such as KRR(k=4, epsilon=1.0)")
    digest = hashlib.sha256(protocol.to_json().encode()).digest()[:8]
    return _MARK + bytes([_VERSION]) + digest


@door
def to_packets(protocol: Protocol, reports: Any) -> Array:
    """Reports as packets: an array of bytes with one packet a row, in the order of the reports.

    >>> from privet import local
    >>> protocol = local.KRR(k=4, epsilon=1.0)
    >>> to_packets(protocol, protocol.privatize([0, 3])).shape
    (2, 12)
    """
    payload = protocol.encode(reports)
    head = np.frombuffer(header_of(protocol), dtype=np.uint8)
    return np.concatenate((np.broadcast_to(head, (len(payload), len(head))), payload), axis=1)


@door
def to_arrow(protocol: Protocol, reports: Any) -> Any:
    """A batch as an Arrow table with one column of packets of a fixed size, sorted: nothing is told by their order.

    >>> from privet import local
    >>> protocol = local.KRR(k=4, epsilon=1.0)
    >>> to_arrow(protocol, protocol.privatize([0, 3])).schema.field("report").type
    FixedSizeBinaryType(fixed_size_binary[12])
    """
    import pyarrow as pa

    packets = to_packets(protocol, reports)
    packets = packets[np.lexsort(packets.T[::-1])]
    size = packets.shape[1]
    column = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(size), len(packets), [None, pa.py_buffer(packets.tobytes())]
    )
    return pa.table({_COLUMN: column})


@door
def write_parquet(protocol: Protocol, reports: Any, path: "str | Path") -> None:
    """A batch as a Parquet file, as `to_arrow` makes it."""
    import pyarrow.parquet as pq

    table = to_arrow(protocol, reports)
    try:
        pq.write_table(table, str(path))
    except OSError:
        raise InvalidParameter(
            "this file cannot be written: path must lie in a folder that exists and is open"
        ) from None


@door
def read_packets(state: State, batch: Any) -> State:
    """Count the reports of a batch in a state: a list of packets, an array of bytes, an Arrow column or table, or the path
    of a Parquet file.

    What is truncated or too long, of another protocol or version, or no possible report is dropped and counted in
    `state.dropped`: which of these it was is not told, and nothing a sender sends is an error. The state changes when the
    whole batch was read, or not at all.

    >>> from privet import local
    >>> protocol = local.KRR(k=4, epsilon=1.0)
    >>> sent = [bytes(row) for row in to_packets(protocol, [0, 3, 3])]
    >>> state = read_packets(protocol.new_state(), [*sent, sent[0][:-1], b"", b"PV" + bytes(10)])
    >>> state.n, state.dropped, state.table.tolist()
    (3, 3, [1, 0, 0, 2])
    """
    protocol = state.protocol
    head = np.frombuffer(header_of(protocol), dtype=np.uint8)
    size = len(head) + protocol.report_bytes
    arrived, foreign = State(protocol, candidates=state.candidates), 0
    for rows, strange in _pieces(batch, size):
        own = (rows[:, : len(head)] == head).all(axis=1)
        foreign += strange + int(len(rows) - np.count_nonzero(own))
        arrived.add(protocol.decode(np.ascontiguousarray(rows[own, len(head) :])))
    return state.add_counts(arrived.table, arrived.n, dropped=arrived.dropped + foreign)


def _pieces(batch: Any, size: int) -> Iterable[tuple[Array, int]]:
    """Packets of the right size, an array of rows each, and how many have another size."""
    if isinstance(batch, str | Path):
        yield from _parquet(Path(batch), size)
    elif isinstance(batch, np.ndarray):
        if batch.dtype != np.uint8 or batch.ndim != 2:
            raise InvalidData(_NO_BATCH)
        yield (batch, 0) if batch.shape[1] == size else (np.zeros((0, size), dtype=np.uint8), len(batch))
    elif isinstance(batch, list | tuple):
        yield _listed(batch, size)
    elif hasattr(batch, "column_names"):
        if _COLUMN not in batch.column_names:
            raise InvalidData(_NO_BATCH)
        yield from _pieces(batch[_COLUMN], size)
    elif hasattr(batch, "to_pylist"):
        for chunk in getattr(batch, "chunks", [batch]):
            yield _column(chunk, size)
    else:
        raise InvalidData(_NO_BATCH)


def _listed(packets: Any, size: int) -> tuple[Array, int]:
    good = [bytes(each) for each in packets if isinstance(each, bytes | bytearray | memoryview) and len(each) == size]
    rows = np.frombuffer(b"".join(good), dtype=np.uint8).reshape(-1, size)
    return rows, len(packets) - len(good)


def _column(chunk: Any, size: int) -> tuple[Array, int]:
    """A chunk of fixed-size packets without gaps is taken as it lies in memory; any other is read one by one."""
    import pyarrow as pa

    if not (pa.types.is_binary(chunk.type) or pa.types.is_large_binary(chunk.type)
            or pa.types.is_fixed_size_binary(chunk.type)):  # fmt: skip
        raise InvalidData(_NO_BATCH)
    if pa.types.is_fixed_size_binary(chunk.type) and chunk.type.byte_width == size and not chunk.null_count:
        raw = np.frombuffer(chunk.buffers()[1], dtype=np.uint8)
        return raw[chunk.offset * size : (chunk.offset + len(chunk)) * size].reshape(-1, size), 0
    return _listed(chunk.to_pylist(), size)


def _parquet(path: Path, size: int) -> Iterable[tuple[Array, int]]:
    import pyarrow.parquet as pq

    if not path.is_file():
        raise InvalidParameter(f"there is no file {path.name!r}")
    try:
        with pq.ParquetFile(path) as file:
            if _COLUMN not in file.schema_arrow.names:
                raise InvalidData(_NO_FILE)
            for batch in file.iter_batches(columns=[_COLUMN]):
                yield _column(batch.column(0), size)
    except Exception:  # a damaged file fails in Arrow in as many ways as there are bytes in it
        raise InvalidData(_NO_FILE) from None
