"""Packets and batches: what arrives is counted or dropped, and nothing a sender sends is an error."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet import local
from privet.errors import InvalidData, InvalidParameter
from tests.local.members import KINDS, made

EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def packets_of(protocol, reports):
    return [bytes(row) for row in local.to_packets(protocol, reports)]


@EVERY
def test_a_batch_arrives_by_every_road(kind, tmp_path):
    protocol = made(kind)
    reports = protocol.privatize(np.arange(100) % protocol.size)
    whole = protocol.new_state().add(reports)
    table = local.to_arrow(protocol, reports)
    local.write_parquet(protocol, reports, tmp_path / "batch.parquet")
    roads = [
        local.to_packets(protocol, reports),
        packets_of(protocol, reports),
        table,
        table["report"],
        table["report"].combine_chunks(),
        table["report"].cast(pa.binary()),
        table.slice(0, 100)["report"],
        tmp_path / "batch.parquet",
        str(tmp_path / "batch.parquet"),
    ]
    for road in roads:
        assert local.read_packets(protocol.new_state(), road) == whole
    sliced = local.read_packets(protocol.new_state(), table.slice(30, 50))
    assert sliced.n == 50
    assert (
        local.read_packets(sliced, table.slice(0, 30)).merge(
            local.read_packets(protocol.new_state(), table.slice(80, 20))
        )
        == whole
    )


@EVERY
def test_what_is_corrupted_truncated_or_foreign_is_dropped_and_counted(kind):
    protocol, other = made(kind), made(kind, epsilon=1.5)
    good = packets_of(protocol, protocol.privatize(np.zeros(5, dtype=int)))
    head = local.header_of(protocol)
    bad = [
        good[0][:-1],
        good[0] + b"\0",
        b"",
        packets_of(other, other.privatize([0]))[0],
        b"XY" + good[0][2:],
        good[0][:2] + b"\2" + good[0][3:],
        head[:-1] + bytes([head[-1] ^ 1]) + good[0][len(head) :],
        None,
        "text",
        7,
    ]
    state = local.read_packets(protocol.new_state(), [*good, *bad])
    assert (state.n, state.dropped) == (5, len(bad))
    arrow = pa.array([each if isinstance(each, bytes) else None for each in [*good, *bad]])
    assert local.read_packets(protocol.new_state(), arrow) == state


def test_a_report_outside_the_domain_is_dropped():
    protocol = local.KRR(k=5, epsilon=1.0)
    payload = np.array([[0], [4], [5], [255]], dtype=np.uint8)  # encode refuses the last two
    packets = np.concatenate([np.tile(np.frombuffer(local.header_of(protocol), np.uint8), (4, 1)), payload], axis=1)
    state = local.read_packets(protocol.new_state(), packets)
    assert (state.n, state.dropped, state.table.tolist()) == (2, 2, [1, 0, 0, 0, 1])


def test_the_header_names_every_parameter():
    heads = {
        local.header_of(protocol)
        for protocol in (
            local.KRR(k=4, epsilon=1.0),
            local.KRR(k=5, epsilon=1.0),
            local.KRR(k=4, epsilon=1.1),
            local.KRR(labels=("a", "b", "c", "d"), epsilon=1.0),
            local.Warner(epsilon=1.0),
            local.Duchi(epsilon=1.0, bounds=(0, 1)),
            local.Duchi(epsilon=1.0, bounds=(0, 2)),
        )
    }
    assert len(heads) == 7
    assert all(head[:3] == b"PV\x01" and len(head) == 11 for head in heads)


def test_the_bytes_of_a_packet_are_the_same_for_ever():
    protocol = local.KRR(k=1000, epsilon=2.0)
    assert local.to_packets(protocol, [258])[0].tobytes().hex() == local.header_of(protocol).hex() + "0201"
    assert local.header_of(local.KRR(k=4, epsilon=1.0)).hex() == HEADER


HEADER = "5056019fefb381429f50d5"


def test_a_batch_has_no_order():
    protocol = local.KRR(k=6, epsilon=1.0)
    reports = protocol.privatize(np.arange(300) % 6)
    assert local.to_arrow(protocol, reports).equals(local.to_arrow(protocol, reports[::-1]))


def test_numbers_travel_as_well():
    protocol = local.Hybrid(epsilon=2.0, bounds=(0.0, 10.0))
    reports = protocol.privatize(np.linspace(0.0, 10.0, 40))
    state = local.read_packets(protocol.new_state(), local.to_arrow(protocol, reports))
    assert state == protocol.new_state().add(reports)


def test_what_is_no_batch_is_refused_by_its_type(tmp_path):
    state = local.KRR(k=3, epsilon=1.0).new_state()
    for wrong in (7, np.zeros(3, dtype=np.uint8), np.zeros((2, 2)), pa.array([1, 2]), pa.table({"x": [1]})):
        with pytest.raises(InvalidData, match="a batch is"):
            local.read_packets(state, wrong)
    with pytest.raises(InvalidParameter, match="no file"):
        local.read_packets(state, tmp_path / "missing.parquet")
    (tmp_path / "text.parquet").write_text("no parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    for name in ("text.parquet", "other.parquet"):
        with pytest.raises(InvalidData, match="no Parquet file"):
            local.read_packets(state, tmp_path / name)
    assert (state.n, state.dropped) == (0, 0)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_is_no_report_is_not_encoded(kind):
    protocol = made(kind)
    bad = np.full((1, *protocol.report_shape), 2**63, dtype=np.uint64)
    for encoded in (protocol.encode, lambda reports: local.to_packets(protocol, reports)):
        with pytest.raises(InvalidData, match="no possible reports"):
            encoded(np.concatenate([protocol.rows(protocol.privatize([0])).astype(np.uint64), bad]))
    for wrong in ([256], [4], [-1]):
        with pytest.raises(InvalidData, match="no possible reports"):
            local.to_packets(local.KRR(k=4, epsilon=1.0), wrong)


def test_a_damaged_file_is_refused_whole(tmp_path):
    """Every error of Arrow is ours, and no part of the file is counted."""
    protocol, rng = local.KRR(k=4, epsilon=1.0), np.random.default_rng(7)
    table = local.to_arrow(protocol, protocol.privatize(np.arange(3000) % 4))
    pq.write_table(table, tmp_path / "good.parquet", row_group_size=500, compression="NONE", use_dictionary=False)
    good = (tmp_path / "good.parquet").read_bytes()
    refused = 0
    for trial in range(120):
        raw = bytearray(good)
        for place in rng.integers(4 if trial % 2 else len(good) * 9 // 10, len(good), 1 + trial % 7):
            raw[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "bad.parquet").write_bytes(raw)
        state = protocol.new_state().add([1, 2, 2])
        before, said = state.to_json(), ""
        try:
            local.read_packets(state, tmp_path / "bad.parquet")
        except InvalidData as problem:
            said = str(problem)
        assert said == "" or ("no Parquet file" in said and state.to_json() == before)
        refused += said != ""
    assert refused > 20


def test_a_batch_that_fails_in_the_middle_leaves_the_state_alone():
    protocol = local.KRR(k=4, epsilon=1.0)
    packets = local.to_arrow(protocol, [0, 1, 2])["report"].combine_chunks()
    state = protocol.new_state().add([3])

    class Chunks:
        chunks = (packets, pa.array([1, 2]))

        def to_pylist(self):
            raise AssertionError("chunks are read one by one")

    with pytest.raises(InvalidData, match="a batch is"):
        local.read_packets(state, Chunks())
    assert (state.n, state.dropped, state.table.tolist()) == (1, 0, [0, 0, 0, 1])


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    protocol = local.KRR(k=4, epsilon=1.0)
    with pytest.raises(InvalidParameter, match="cannot be written"):
        local.write_parquet(protocol, [0], tmp_path / "missing" / "batch.parquet")


def test_rows_of_several_lengths_are_no_payload():
    with pytest.raises(InvalidData, match="whole reports"):
        local.KRR(k=8, epsilon=1.0).decode([[1, 2], [3]])
