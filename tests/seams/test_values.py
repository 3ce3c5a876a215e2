"""Values beyond numbers: refused before they are paid for, or stored and read back bit for bit; large ones lie outside."""

import datetime
import json
import os
import shutil
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import mechanisms
from privet.errors import InvalidParameter, LedgerError, LedgerTampered, SerialisationError
from privet.ledger.session import Session
from privet.mechanisms import Release
from privet.mechanisms.stored import packed, read, unpack, written
from privet.privacy import PrivacyLoss, PureLoss

LOSS = PureLoss(0.25)
LARGE = np.arange(20_000, dtype=np.float64)


@mechanisms.storable("tests.line")
class Line:
    """A model: two arrays."""

    def __init__(self, slope: Any, names: Any) -> None:
        self.slope, self.names = slope, names

    def to_arrays(self) -> dict[str, Any]:
        return {"slope": self.slope, "names": self.names}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Line":
        return cls(arrays["slope"], arrays["names"])


@dataclass(frozen=True)
class Says:
    """A mechanism that releases a given value."""

    value: Any = field(compare=False)
    loss: PrivacyLoss = LOSS
    form: Any = None

    def release(self, data: Any) -> "Release[Any]":
        return Release(self.value, loss=self.loss, mechanism="says")

    def to_dict(self) -> dict[str, str]:
        return {"mechanism": "says"}


KINDS = ["float16", "float32", "float64", "bool", *(f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64))]
VALUES: dict[str, Any] = {
    **{name: np.arange(6).reshape(2, 3).astype(name) for name in KINDS},
    "not a number": np.array([np.nan, -0.0, np.inf], dtype=np.float32),
    "other byte order": np.arange(3, dtype=">i4"),
    "empty": np.zeros((0, 4), dtype=np.int16),
    "one number in an array": np.array(7, dtype=np.uint64),
    "texts": np.array(["", "ward A", "Zürich", "\N{SNOWMAN}\n'\""]),
    "texts with missing ones": np.array(["a", None, "b"], dtype=object),
    "mixed objects": np.array([datetime.date(2024, 5, 1), 3, None, "x"], dtype=object),
    "date": datetime.date(2024, 5, 1),
    "time of day": datetime.datetime(2024, 5, 1, 12, 30, 1, 5, tzinfo=datetime.UTC),
    "duration": datetime.timedelta(days=-3, microseconds=1),
    "dates": np.array(["2024-05-01", "NaT"], dtype="datetime64[D]"),
    "nanoseconds": np.array([1, 2], dtype="timedelta64[ns]"),
    "one nanosecond": np.datetime64("2024-05-01T00:00:00.000000001", "ns"),
    "exact numbers": [Fraction(1, 3), Decimal("0.10"), 2**80],
    "bytes": b"\x00\xff",
    "mapping of arrays": {"b": np.arange(3), "a": {"inner": np.ones((2, 2), dtype=np.float32)}},
    "dates as keys": {datetime.date(2024, 5, 1): 3, (0, 18): 4, 7: None},
    "column with nulls": {"n": np.ma.MaskedArray([1, 2, 3], mask=[False, True, False])},
    "a model": Line(np.array([0.5, 2.0], dtype=np.float32), np.array(["age", "cost"])),
}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, Line):
        return type(b) is Line and same(a.to_arrays(), b.to_arrays())
    if isinstance(a, np.ma.MaskedArray):
        return isinstance(b, np.ma.MaskedArray) and same(a.mask, b.mask) and same(a.compressed(), b.compressed())
    if isinstance(a, np.ndarray) and a.dtype.kind == "O":
        return a.shape == b.shape and all(same(x, y) for x, y in zip(a.flat, b.flat, strict=True))
    if isinstance(a, np.ndarray | np.generic):
        plain = np.asarray(a).astype(a.dtype.newbyteorder("=")), np.asarray(b)
        return (
            plain[0].dtype == plain[1].dtype
            and plain[0].shape == plain[1].shape
            and (plain[0].tobytes() == plain[1].tobytes())
        )
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_every_value_comes_back_bit_for_bit(value: Any):
    assert same(value, read(json.loads(json.dumps(written(value)))))
    assert same(value, unpack(packed(value)))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    ledger.release(Says(value), None, key="k", about="v1")
    assert same(value, ledger.release(Says(value), None, key="k", about="v1").value)
    assert ledger.spent["basic epsilon"] == 0.25
    assert ledger.verify().orphans == 0


def test_what_lies_under_a_mask_is_not_kept():
    secret = np.ma.MaskedArray([1, 987654321], mask=[False, True])
    release = Release(secret, loss=PureLoss(1.0))
    assert release.value.data.tolist() == [1, 0]
    assert written(secret)["masked"] == written(np.array([1, 0]))
    texts = np.ma.MaskedArray(np.array(["a", "secret"], dtype=object), mask=[False, True])
    assert "secret" not in str(read(written(texts)).data.tolist())


@pytest.mark.parametrize("bad", [object(), {1, 2}, np.array([1j]), np.float128(1) if hasattr(np, "float128") else 1j])
def test_what_has_no_form_is_refused_without_its_value(bad: Any):
    with pytest.raises(SerialisationError):
        written({"a": [bad]} if not isinstance(bad, np.generic) else np.array([bad]))


def test_a_choice_among_dates_is_answered():
    days = [datetime.date(2024, 5, day) for day in (1, 2, 3)]
    choice = mechanisms.Exponential.for_budget(epsilon=0.5, sensitivity=1.0, candidates=days)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    first = ledger.release(choice, [1.0, 2.0, 3.0], key="k")
    assert first.value in days
    assert ledger.release(choice, [1.0, 2.0, 3.0], key="k").value == first.value


def test_what_cannot_be_stored_is_refused_before_it_is_paid_for():
    choice = mechanisms.Exponential.for_budget(epsilon=0.5, sensitivity=1.0, candidates=[object(), object()])
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    for ask in (
        lambda: ledger.release(choice, [1.0, 2.0]),
        lambda: ledger.release(Says(3, form=mechanisms.Unstorable("an open file")), None),
        lambda: ledger.release(Says(3, form=mechanisms.Kept("tests.unknown")), None),
    ):
        with pytest.raises(InvalidParameter, match="could not be stored"):
            ask()
    with ledger, pytest.raises(InvalidParameter, match="could not be stored"):
        choice.release([1.0, 2.0])
    assert ledger.spent["basic epsilon"] == 0.0
    assert choice.release([1.0, 2.0]).value in choice.candidates, "without a ledger nothing need be stored"


def test_an_unknown_kind_is_named():
    text = json.dumps({"kind": "tests.gone", "arrays": {"dict": {}}})
    with pytest.raises(SerialisationError, match=r"tests\.gone"):
        read(json.loads(text))


# --- outside of the chain ------------------------------------------------------------------------------------------------


def folder_of(path: Path) -> Path:
    return Path(f"{path}.values")


def test_a_large_value_lies_outside_and_is_replayed(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    ledger.release(Says(LARGE), None, key="k", about="v1")
    entry = ledger.entries()[-1]
    assert len(entry.body) < 2000
    assert same(LARGE, ledger.release(Says(LARGE), None, key="k", about="v1").value)
    assert ledger.spent["basic epsilon"] == 0.25
    found = ledger.verify(values=True)
    assert (found.values, found.deleted, found.orphans) == (1, (), 0)
    assert "float64 array (20000,)" in ledger.explain(2)["release"]
    reserved = ledger.reserve(PureLoss(0.25), key="by hand")
    reserved.record(Release(LARGE, loss=PureLoss(0.25)))
    assert same(LARGE, ledger.reserve(PureLoss(0.25), key="by hand").release.value)
    assert pv.ledger.verify_export(ledger.export()).entries == 5


def test_a_small_value_stays_in_the_entry(tmp_path):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(1.0))
    ledger.release(Says(LARGE[:8192]), None)
    assert not folder_of(tmp_path / "a.ledger").exists()
    ledger.release(Says(LARGE[:8193]), None)
    assert len(list(folder_of(tmp_path / "a.ledger").iterdir())) == 1


def test_looking_never_reads_a_value(tmp_path, monkeypatch):
    path = tmp_path / "a.ledger"
    with pv.Ledger.create(path, budget=pv.Budget(1.0)) as ledger:
        ledger.release(Says(LARGE), None, key="k", about="v1")
        ledger.close()
    (file,) = folder_of(path).iterdir()
    file.write_bytes(b"not the value")  # whoever reads it would see
    ledger = pv.Ledger.open(path)
    assert pv.report.ledger_status(ledger).orphans == 0
    assert ledger.total(delta=0.0).upper == 0.25
    assert ledger.history()[-1].mechanism == "says"
    ledger.explain(2), ledger.export(), ledger.verify()
    with pytest.raises(LedgerTampered, match="entry 3"):
        ledger.verify(values=True)
    with pytest.raises(LedgerTampered, match="entry 2"):
        ledger.release(Says(LARGE), None, key="k", about="v1")


def test_a_deleted_value_is_said_to_be_deleted(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = pv.Ledger.create(path, budget=pv.Budget(1.0))
    ledger.release(Says(LARGE), None, key="k", about="v1")
    shutil.rmtree(folder_of(path))
    found = ledger.verify(values=True)
    assert (found.values, found.deleted) == (0, (3,))
    assert "deleted" in str(found)
    with pytest.raises(LedgerError, match="deleted"):
        ledger.release(Says(LARGE), None, key="k", about="v1")
    assert ledger.spent["basic epsilon"] == 0.25


def test_values_travel_with_the_entries(tmp_path):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(1.0))
    ledger.release(Says(LARGE), None, key="k", about="v1")
    ledger.backup(tmp_path / "b.ledger")
    back = pv.Ledger.restore(tmp_path / "c.ledger", source=tmp_path / "b.ledger", reason="test", complete=True)
    moved = ledger.migrate(tmp_path / "d.ledger")
    for each in (pv.Ledger.open(tmp_path / "b.ledger", read_only=True), back, moved):
        assert each.verify(values=True).values == 1
    assert same(LARGE, moved.release(Says(LARGE), None, key="k", about="v1").value)


def test_the_value_is_on_the_disk_before_the_entry_names_it(tmp_path, monkeypatch):
    path = tmp_path / "a.ledger"
    ledger = pv.Ledger.create(path, budget=pv.Budget(1.0))
    order: list[str] = []
    sync, append = os.fsync, Session.append
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("sync"), sync(handle))[1])
    monkeypatch.setattr(
        Session, "append", lambda self, kind, **body: (order.append(kind), append(self, kind, **body))[1]
    )
    ledger.release(Says(LARGE), None)
    assert order.index("release") > 1
    assert set(order[: order.index("release")]) == {"sync"}


def test_a_value_that_cannot_be_written_is_paid_for_and_not_recorded(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = pv.Ledger.create(path, budget=pv.Budget(1.0))
    folder_of(path).write_text("in the way")
    with pytest.raises(LedgerError, match="cannot be written"):
        ledger.release(Says(LARGE), None)
    assert ledger.spent["basic epsilon"] == 0.25
    assert ledger.verify().orphans == 1


# --- frames --------------------------------------------------------------------------------------------------------------


def test_a_table_becomes_a_frame():
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    table = {
        "ward": np.array(["A", None, "C"], dtype=object),
        "n": np.ma.MaskedArray([3, 4, 5], mask=[False, True, False]),
        "share": np.array([0.5, 0.25, 0.125], dtype=np.float32),
        "day": np.array(["2024-05-01", "2024-05-02", "2024-05-03"], dtype="datetime64[D]"),
    }
    release = Release(table, loss=PureLoss(1.0))
    frame = release.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["n"].dropna().tolist() == [3, 5]
    assert frame["ward"].isna().tolist() == [False, True, False]
    other = release.to_polars()
    assert isinstance(other, polars.DataFrame)
    assert other["n"].to_list() == [3, None, 5]
    assert other["ward"].to_list() == ["A", None, "C"]
    third = release.to_arrow()
    assert isinstance(third, arrow.Table)
    assert third["n"].to_pylist() == [3, None, 5]
    assert third["share"].type == arrow.float32()
    assert third["day"].to_pylist()[0] == datetime.date(2024, 5, 1)
    assert Release(np.arange(3), loss=PureLoss(1.0)).to_pandas()["value"].tolist() == [0, 1, 2]
    assert Release(np.eye(2), loss=PureLoss(1.0)).to_polars().shape == (2, 2)
    assert Release(2.5, loss=PureLoss(1.0)).to_arrow()["value"].to_pylist() == [2.5]
    assert Release(VALUES["a model"], loss=PureLoss(1.0)).to_pandas()["names"].tolist() == ["age", "cost"]
    with pytest.raises(InvalidParameter, match="no table"):
        Release({"a": np.zeros(2), "b": np.zeros(3)}, loss=PureLoss(1.0)).to_pandas()
