"""What a fit says about how it reads records: in one pass, from totals alone. It is held to it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import mechanisms, testing
from privet.errors import InvalidData
from privet.learn.encoding import Encoding
from privet.learn.estimators.table_fit import table_records
from privet.learn.problem import ArrayRecords, Records
from privet.learn.problem.table_records import _sum
from privet.learn.solvers import PersonFit
from privet.learn.solvers.on_records import OnRecords
from privet.noise import Seeded
from privet.tables.data import Data
from privet.tables.engines import SparkEngine

testing.load_rooms()
FITS = {name: kind for name, kind in mechanisms.registered_mechanisms().items() if issubclass(kind, OnRecords)}
BY_TOTALS = [name for name, kind in FITS.items() if kind.by_totals]
ONE_PASS = [name for name, kind in FITS.items() if kind.one_pass]


class InPieces(Records):
    """Records on two machines: totals of them come here, rows do not. Passes are counted."""

    def __init__(self, whole: Records) -> None:
        (chunk,) = whole.chunks()
        half = len(chunk.rows) // 2
        parts = (slice(None, half), slice(half, None))
        self.pieces = [
            ArrayRecords(chunk.rows[part], None if chunk.targets is None else chunk.targets[part]) for part in parts
        ]
        self.passes = 0

    @property
    def columns(self) -> int:
        return self.pieces[0].columns

    @property
    def target_kind(self) -> str | None:
        return self.pieces[0].target_kind

    @property
    def apart(self) -> bool:
        return True

    @property
    def kept(self) -> bool:
        return False

    def chunks(self) -> Any:
        raise AssertionError("rows were asked for")

    def exact_added(self, part: Any) -> Any:
        self.passes += 1
        return _sum([part(piece) for piece in self.pieces])


def check_reads_as_it_says(plan: Any, records: Records, *, one_pass: bool) -> None:
    """It runs from totals alone, and in one pass where it says so."""
    apart = InPieces(records)
    plan.release(apart, source=Seeded(5))
    assert apart.passes > 0, "it did not read the records"
    assert apart.passes == 1 or not one_pass, f"{apart.passes} passes"


@pytest.mark.parametrize("name", BY_TOTALS)
def test_a_fit_by_totals_reads_no_rows(name):
    for example in FITS[name].examples():
        check_reads_as_it_says(example.mechanism, example.left, one_pass=name in ONE_PASS)


def test_one_pass_is_from_totals():
    assert set(ONE_PASS) < set(BY_TOTALS) < set(FITS)


@pytest.mark.parametrize(("name", "one_pass"), [("noisy_sgd_fit", False), ("noisy_gd_fit", True)])
def test_a_fit_that_says_too_much_is_seen(name, one_pass):
    example = next(iter(FITS[name].examples()))
    with pytest.raises((AssertionError, InvalidData)):
        check_reads_as_it_says(example.mechanism, example.left, one_pass=one_pass)


@pytest.mark.parametrize("one_pass", [False, True])
def test_a_fit_of_an_outside_author_says_itself_how_it_reads(one_pass, monkeypatch):
    """A closed list of fits decided, and no other one ran on Spark or in one pass."""
    table = pv.Table({"x": np.ones(3)}, columns={"x": pv.Float(0.0, 1.0)})
    made = table_records(table, Encoding(table.columns), SimpleNamespace(one_pass=one_pass, by_totals=True))
    assert made._one_pass is one_pass
    monkeypatch.setattr(Data, "check_rows", lambda self, scan: SparkEngine())
    assert table_records(table, Encoding(table.columns), SimpleNamespace(by_totals=True)).apart
    for silent in (SimpleNamespace(), SimpleNamespace(by_totals=False)):
        with pytest.raises(InvalidData, match="one by one"):
            table_records(table, Encoding(table.columns), silent)


def test_a_fit_about_persons_reads_as_its_rows_do(monkeypatch):
    plan = next(iter(PersonFit.examples())).mechanism
    table = pv.Table({"x": np.ones(3)}, columns={"x": pv.Float(0.0, 1.0)})
    assert table_records(table, Encoding(table.columns), plan)._one_pass is plan.rows.one_pass
