"""Tables that try to be read otherwise than they are: names that an engine takes for one, texts that are none, the same
data under two names. What is counted must not depend on how a table is held, and nothing may fail because of a row."""

import datetime as dt
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet.errors import InvalidData
from privet.tables.bounded import Bounded, Cell, Signed, Term, Ticks
from privet.tables.columns import Category, Column, Float, Int, Text
from privet.tables.engines import check_sources, exact_aggregates
from privet.tables.engines.failing import FAILED, one_failure
from privet.tables.expressions import Ref
from privet.tables.keys import KeySet
from privet.tables.person import Person, Rows
from privet.tables.plan import Source, Union
from tests.oracles import array_engine

SALTS = (1, 2, 3, 4, 5)
ALL = KeySet((), ((),))
HELD: dict[str, list[Any]] = {"id": [0, 1, 2, 3, 4, 5], "ID": [1] * 6, "a": [1, 2, 3, 4, 5, 6], "A": [9] * 6}


def forms(held: dict[str, list[Any]], folder: Path) -> dict[str, Any]:
    """The same columns as users hold them."""
    import polars as pl
    import pyarrow as pa

    place = folder / "held.csv"
    rows = [",".join(held), *(",".join(map(str, row)) for row in zip(*held.values(), strict=True))]
    place.write_text("\n".join(rows) + "\n")
    arrays = {name: np.array(values) for name, values in held.items()}
    frames = {"pandas": pd.DataFrame(held), "polars": pl.DataFrame(held), "arrow": pa.table(held)}
    return {"lists": held, "arrays": arrays, **frames, "csv": str(place)}


def plan_of(columns: dict[str, Column], about: Rows | Person, *summed: str) -> Bounded:
    signed = tuple(Signed(Ticks(Ref(name), 0.0, 1.0), 0, 10) for name in summed)
    return Bounded(Source("t", tuple(columns.items()), about), (), ALL, (), (), signed)


@pytest.mark.parametrize("form", ["lists", "arrays", "pandas", "polars", "arrow", "csv"])
def test_names_that_differ_by_case_are_two_columns(form: str, tmp_path: Path) -> None:
    """DuckDB takes them for one: the wrong column would be added up, and the wrong one would name persons."""
    data = {"t": forms(HELD, tmp_path)[form]}
    columns: dict[str, Column] = {"a": Int(0, 10), "A": Int(0, 10)}
    found = exact_aggregates(plan_of(columns, Rows(), "a", "A"), data, SALTS)
    assert [int(each[0]) for each in found.signed] == [21, 54]
    for person, many in (("ID", 1), ("id", 6)):
        found = exact_aggregates(plan_of(columns, Person(person, max_rows=1), "A"), data, SALTS)
        assert (found.rows.tolist(), found.persons.tolist()) == ([many], [many])


@pytest.mark.parametrize(
    "name", ["the person", "The Person", "person", "c0", "c1", "C1", "f0", "one", "h", "place", "k"]
)
@pytest.mark.parametrize("form", ["lists", "pandas", "polars", "arrow", "csv"])
def test_no_name_of_a_column_is_taken_for_another(name: str, form: str, tmp_path: Path) -> None:
    held = {name: [1, 2, 3, 4, 5, 6], "c2": [7] * 6, "ID": [1, 1, 1, 2, 2, 2]}
    plan = plan_of({name: Int(0, 10), "c2": Int(0, 10)}, Person("ID", max_rows=2), name, "c2")
    found = exact_aggregates(plan, {"t": forms(held, tmp_path)[form]}, SALTS)
    wanted = array_engine.exact_aggregates(plan, {"t": held}, SALTS)
    assert found.rows.tolist() == wanted.rows.tolist() == [4]
    assert [each.tolist() for each in found.signed] == [each.tolist() for each in wanted.signed]


@pytest.mark.parametrize("values", [[1, 2, None, 2], [1.5, None, 3.0, 3.0], ["1", None, "x", "2"], [None] * 4])
def test_categories_of_pandas_may_be_missing(values: list[Any]) -> None:
    """A cast of whole numbers with a missing one fails: whether one is missing would be told, for nothing."""
    plan = plan_of({"a": Int(0, 10)}, Rows(), "a")
    found = exact_aggregates(plan, {"t": pd.DataFrame({"a": pd.Categorical(values)})}, SALTS)
    plain = array_engine.exact_aggregates(plan, {"t": {"a": values}}, SALTS)
    assert (found.rows.tolist(), found.signed[0].tolist()) == (plain.rows.tolist(), plain.signed[0].tolist())


def test_a_text_that_is_none_does_not_fail(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    places = pa.py_buffer(np.array([0, 1, 3, 4], dtype=np.int32).tobytes())
    held = pa.table({"w": pa.StringArray.from_buffers(3, places, pa.py_buffer(b"x\xff\xfey")), "id": [1, 2, 3]})
    parquet.write_table(held, tmp_path / "bad.parquet")
    (tmp_path / "bad.csv").write_bytes(b"w,id\nx,1\n\xff\xfe,2\ny,3\n")
    columns = (("w", Category(["x", "y"])),)
    for data in (held, str(tmp_path / "bad.parquet"), str(tmp_path / "bad.csv")):
        for about in (Rows(), Person("id", max_rows=1)):
            plan = Bounded(Source("t", columns, about), ("w",), KeySet.of({"w": ["x", "y"]}))
            check_sources(plan, {"t": data})
            assert exact_aggregates(plan, {"t": data}, SALTS).rows.tolist() == [1, 1]


def test_persons_named_by_such_texts_are_not_made_one(tmp_path: Path) -> None:
    """With every odd byte replaced two persons would be one, and displace each other's rows: rather it fails."""
    import pyarrow as pa
    from pyarrow import parquet

    places = pa.py_buffer(np.array([0, 1, 2], dtype=np.int32).tobytes())
    held = pa.table({"w": ["x", "x"], "id": pa.StringArray.from_buffers(2, places, pa.py_buffer(b"\xff\xfe"))})
    parquet.write_table(held, tmp_path / "bad.parquet")
    plan = Bounded(Source("t", (("w", Text()),), Person("id", max_rows=1)), (), ALL)
    assert exact_aggregates(plan, {"t": held}, SALTS).persons.tolist() == [2]
    with pytest.raises(InvalidData, match="could not answer"):
        exact_aggregates(plan, {"t": str(tmp_path / "bad.parquet")}, SALTS)


def test_names_in_quotes_are_read_and_rows_are_not(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbf"a\nb",c\n1,2\n\xff,3\n')
    plan = plan_of({"a\nb": Int(0, 10)}, Rows(), "a\nb")
    check_sources(plan, {"t": str(path)})
    path.write_bytes(b"\xff\xfe,c\n1,2\n")
    with pytest.raises(InvalidData, match="first line") as told:
        check_sources(plan, {"t": str(path)})
    assert told.value.__context__ is None
    assert told.value.__cause__ is None


def test_what_an_engine_says_is_not_even_a_context() -> None:
    @one_failure
    def ask() -> None:
        raise RuntimeError("patient 4711")

    with pytest.raises(InvalidData) as told:
        ask()
    assert str(told.value) == FAILED
    assert (told.value.__context__, told.value.__cause__) == (None, None)


def twins(tmp_path: Path) -> dict[str, tuple[Any, Any]]:
    import polars as pl
    import pyarrow as pa
    from pyarrow import parquet

    held, ages = {"a": [1, 2, 3]}, np.array([1, 2, 3])
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(held), path)
    os.symlink(path, tmp_path / "link.parquet")
    os.link(path, tmp_path / "hard.parquet")
    frame, polars, arrow = pd.DataFrame(held), pl.DataFrame(held), pa.table(held)
    return {
        "path": (str(path), path),
        "dots": (str(path), f"{tmp_path}/../{tmp_path.name}/t.parquet"),
        "pattern": (str(path), f"{tmp_path}/t*.parquet"),
        "link": (str(path), tmp_path / "link.parquet"),
        "hard link": (str(path), tmp_path / "hard.parquet"),
        "array": ({"a": ages}, {"a": ages}),
        "part of an array": ({"a": ages}, {"a": ages[1:]}),
        "backwards": ({"a": ages}, {"a": ages[::-1]}),
        "list": ({"a": held["a"]}, {"a": held["a"]}),
        "pandas": (frame, frame[["a"]]),
        "polars": (polars, polars.clone()),
        "arrow": (arrow, arrow.select(["a"])),
        "part of arrow": (arrow, arrow.slice(1)),
    }


NAMES = ["path", "dots", "pattern", "link", "array", "list", "pandas", "polars", "arrow", "backwards"]


@pytest.mark.parametrize("which", [*NAMES, "hard link", "part of an array", "part of arrow"])
def test_one_row_under_two_names_is_refused(which: str, tmp_path: Path) -> None:
    """It would be counted twice at the price of one."""
    one, two = twins(tmp_path)[which]
    tables = [pv.Table(each, columns={"a": Int(0, 10)}, name=name) for each, name in ((one, "one"), (two, "two"))]
    both = tables[0].union(tables[1])
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=both.unit)
    with pytest.raises(InvalidData, match="are the same data"):
        ledger.release(both.agg(n=pv.count()), epsilon=1.0)
    assert [entry.kind for entry in ledger.entries()].count("reserve") == 0


def test_other_data_are_not_taken_for_the_same(tmp_path: Path) -> None:
    import pyarrow as pa

    ages, arrow, matrix = np.arange(6), pa.table({"a": [1, 2, 3]}), np.arange(8).reshape(4, 2)
    frame = pd.DataFrame({"a": [1, 2, 3, 4]})
    for one, two in (
        ({"a": ages[:3]}, {"a": ages[3:]}),
        ({"a": ages[::2]}, {"a": ages[1::2]}),
        ({"a": matrix[:, 0]}, {"a": matrix[:, 1]}),
        (arrow.slice(0, 1), arrow.slice(1)),
        (frame.iloc[:2], frame.iloc[2:]),
        ({"a": [1]}, {"a": [1]}),
        ({"a": np.zeros(0)}, {"a": np.zeros(0)}),
    ):
        columns = (("a", Int(0, 10)),)
        plan = Bounded(Union((Source("one", columns, Rows()), Source("two", columns, Rows()))), (), ALL)
        assert int(exact_aggregates(plan, {"one": one, "two": two}, SALTS).rows[0]) == len(one["a"]) + len(two["a"])


def test_persons_may_be_read_under_two_names() -> None:
    """Their rows are bounded together, whatever the tables are called."""
    columns, person = (("a", Int(0, 10)),), Person("id", max_rows=1)
    plan = Bounded(Union((Source("one", columns, person), Source("two", columns, person))), (), ALL)
    held = {"a": np.array([1, 2]), "id": np.array([1, 2])}
    assert exact_aggregates(plan, {"one": held, "two": held}, SALTS).rows.tolist() == [2]


def test_a_draft_looks_at_values_only_when_it_is_told_to(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    header, lines = (
        "id,age,cost,day,urgent,flag,ward,none,code",
        ["1,30,1.5,2024-05-01,true,0,A,,007", "2,,-2e3,2024-05-02,f,1,B,,x"],
    )
    path.write_text("\n".join([header, *lines]) + "\n")
    plain, looked = pv.Table.draft(str(path)), pv.Table.draft(str(path), look=True)
    kinds = [line.split('"')[1] for line in looked.splitlines() if line.startswith("kind =")][1:]
    assert kinds == ["int", "int", "float", "date", "bool", "int", "text", "text", "text"]
    assert plain.count('kind = "text"') == 9
    assert not any(word in looked for word in ("30", "1.5", "2024", "007"))  # kinds alone, no value
    assert 'kind = "date"' not in pv.Table.draft({"day": ["2024-05-01"]})
    assert 'kind = "date"' in pv.Table.draft({"day": ["2024-05-01"]}, look=True)


@pytest.mark.parametrize(
    ("kind", "texts"), [("bool", [" true", "f "]), ("int", [" 1", "7 "]), ("float", [" .5", "1e0 "])]
)
def test_what_a_draft_takes_for_a_kind_is_read_as_one(kind: str, texts: list[str]) -> None:
    assert f'kind = "{kind}"' in pv.Table.draft({"x": texts}, look=True)
    columns = {"bool": pv.Bool(), "int": pv.Int(0, 9), "float": pv.Float(0.0, 9.0)}
    source, present = Source("t", (("x", columns[kind]),), Rows()), (Term((), (Ref("x"),)),)
    plan = Bounded(source, (), ALL, present, (Cell(((0, 1),), 1),))
    for ask in (array_engine.exact_aggregates, exact_aggregates):
        assert ask(plan, {"t": {"x": texts}}, SALTS).cells[0].tolist() == [2]


@pytest.mark.parametrize("others", [[1.0, 2.0], [-0.0], [200.0], [-5.0], [float("inf")], [1.0, None], []])
@pytest.mark.parametrize("column", [Float(0.0, 100.0), Int(0, 100)], ids=["float", "int"])
def test_nan_beside_the_statistics_of_a_file(others: list[Any], column: Column, tmp_path: Path) -> None:
    """They know no NaN, and DuckDB drops what they seem to decide: NaN would be a bound, or make the query fail."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": pa.array([*others, float("nan")], pa.float64())}), tmp_path / "t.parquet")
    signed = (Signed(Ticks(Ref("x"), 0.0, 1.0), 0, 100),)
    plan = Bounded(Source("t", (("x", column),), Rows()), (), ALL, (), (), signed)
    found = exact_aggregates(plan, {"t": str(tmp_path / "t.parquet")}, SALTS)
    wanted = array_engine.exact_aggregates(plan, {"t": {"x": [*others, None]}}, SALTS)
    assert (found.rows.tolist(), found.signed[0].tolist()) == (wanted.rows.tolist(), wanted.signed[0].tolist())


@pytest.mark.parametrize("declared", ["day", "moment"])
@pytest.mark.parametrize("unit", ["ps", "fs", "as"])
def test_one_moment_that_numpy_counts_too_finely_is_missing(declared: str, unit: str) -> None:
    """numpy has no days of picoseconds: the release failed, and whoever paid for it knew of that record."""
    lower, upper = dt.datetime(1970, 1, 1), dt.datetime(1980, 1, 1)
    column = pv.Date(lower.date(), upper.date()) if declared == "day" else pv.Time(lower, upper)
    day = dt.datetime(1970, 1, 2)
    rows = [day, np.datetime64(5, unit), day]
    visits = pv.Table({"when": rows}, columns={"when": column})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6))
    later = visits.where(visits["when"] >= (day.date() if declared == "day" else day))
    assert ledger.release(later.agg(n=pv.count()), epsilon=100.0).value["n"][0] == 2


@pytest.mark.parametrize("name", ["list", "struct", "interval", "runs", "moments"])
def test_a_column_of_several_parts_is_refused_by_its_type_and_only_where_it_is_asked_for(name: str) -> None:
    import pyarrow as pa

    held = {
        "list": pa.array([[1], [2], None]),
        "struct": pa.array([{"a": 1}, {"a": 2}, None]),
        "interval": pa.array([(1, 2, 3), (1, 2, 3), None], type=pa.month_day_nano_interval()),
        "runs": pa.RunEndEncodedArray.from_arrays([1, 3], [1, 2]),
        "moments": np.array([1, 2, 3], dtype="datetime64[as]"),
    }
    visits = pv.Table({"a": held[name]}, columns={"a": Int(0, 10)})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6))
    assert ledger.release(visits.agg(n=pv.count()), epsilon=100.0).value["n"][0] == 3
    with pytest.raises(InvalidData, match="column 'a' is declared as whole numbers from 0 to 10, and the table holds"):
        ledger.release(visits.agg(s=pv.sum("a")), epsilon=1.0)
    assert sum(entry.kind == "reserve" for entry in ledger.entries()) == 1
