"""The custodian's look: every line and value that does not count as it stands is counted, by reason."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.errors import InvalidData, InvalidParameter
from privet.tables import Bool, Category, Date, Float, Int, Person, PostgresTable, Text, exact_check
from privet.tables.engines import csv_lines
from privet.tables.engines.exact_check import LEFT_OUT, ColumnCheck

COLUMNS = {
    "g": Category(["A", "B"]),
    "v": Int(0, 9),
    "x": Float(0.0, 1.0),
    "d": Date("2024-01-01", "2024-12-31"),
    "b": Bool(),
    "t": Text(),
}
LINES = [
    b"a,A,3,0.5,2024-05-01,true,t",
    b"b,C,12,-1,2023-05-01,maybe,t",
    b",,,,,,",
    b"c,B,x,nan,2024-02-30,0,t",
    b"short",
    b"d,A,3,0.5,2024-05-01,true,t,long",
    b'e,"A,3,0.5,2024-05-01,true,t',
    b"f,\xff,3,0.5,2024-05-01,true,t",
    b"g,A,3,0.5,2024-05-01,true," + b"y" * csv_lines.LONGEST,
]


def test_every_line_and_value_by_reason(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"who,g,v,x,d,b,t\n" + b"\n".join(LINES) + b"\n")
    found = exact_check(path, columns=COLUMNS, unit=Person("who", max_rows=1))
    assert found.rows == 4
    assert found.nobody == 1
    assert found.lines == {"short": 1, "long": 1, "quotes": 1, "large": 1, "ends": 0, "letters": 1}
    assert set(found.lines) == set(LEFT_OUT)
    assert found.columns == {
        "g": ColumnCheck(1, 1, 0),
        "v": ColumnCheck(1, 1, 1),
        "x": ColumnCheck(1, 1, 1),
        "d": ColumnCheck(1, 1, 1),
        "b": ColumnCheck(1, 1, 0),
        "t": ColumnCheck(1, 0, 0),
    }
    told = str(found)
    assert "none of this may be released" in told
    assert told.count("line left out") == 5
    path.write_bytes(b"v,who\n1,a\n2,a\r\n")
    assert exact_check(path, columns={"v": Int(0, 9)}, unit=Person("who", max_rows=1)).lines["ends"] == 1


FROM_OTHERS = {  # what is written, which lines are left out for which reason, and how many rows are left
    "Excel leaves trailing fields out": ("v,note,extra\n1,a,x\n2,b\n3,c\n", {"short": 2}, 1),
    "R's write.table names no column of row names": ('"v","note"\n"1",1,"a"\n"2",2,"b"\n', {"long": 2}, 0),
    "R's write.csv does": ('"","v","note"\n"1",1,"a"\n"2",2,"b"\n', {}, 2),
    "quotes behind backslashes": ('v,note\n1,"say \\"hi\\""\n2,b\n3,"x\\",y"\n', {"quotes": 1, "long": 1}, 1),
}


@pytest.mark.parametrize("writer", FROM_OTHERS)
def test_lines_of_other_writers_that_are_left_out_are_counted(writer: str, tmp_path: Path) -> None:
    """None of them is read as another row than it is, and the custodian is told."""
    text, left_out, rows = FROM_OTHERS[writer]
    path = tmp_path / "visits.csv"
    path.write_text(text)
    found = exact_check(path, columns={"v": Int(0, 9), "note": Text()})
    assert {kind: many for kind, many in found.lines.items() if many} == left_out
    assert found.rows == rows
    assert (found.columns["v"].missing, found.columns["v"].not_read) == (0, 0)


def test_what_is_all_right_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"who,v\na,1\nb,2\n")
    found = exact_check(path, columns={"v": Int(0, 9)}, unit=Person("who", max_rows=1))
    assert (found.rows, found.nobody, sum(found.lines.values())) == (2, 0, 0)
    assert "left out" not in str(found)


def test_frames_and_parquet_have_values_and_no_lines(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    held: dict[str, Any] = {"v": [1.0, 30.0, None, float("nan")]}
    parquet.write_table(pyarrow.table(held), tmp_path / "x.parquet")
    for data in (tmp_path / "x.parquet", pyarrow.table(held), {"v": np.array([1.0, 30.0, np.nan, np.nan])}):
        found = exact_check(data, columns={"v": Int(0, 9)})
        assert (found.rows, found.lines, found.nobody) == (4, {}, None)
        each = found.columns["v"]
        assert (each.missing + each.not_read, each.moved) == (2, 1)


def test_objects_that_name_nobody_are_counted() -> None:
    """In a column of objects their types are data: no answer may tell, and the custodian is told."""
    odd = [7, "ann", date(2024, 5, 1), (1, 2), True, 0.5, b"x", None]
    found = exact_check({"who": odd, "v": [1] * 8}, columns={"v": Int(0, 9)}, unit=Person("who", max_rows=1))
    assert (found.rows, found.nobody) == (8, 5)
    for typed in (np.array(["2024-05-01"], dtype="datetime64[D]"), np.array([True]), np.array([1j])):
        with pytest.raises(InvalidData, match="cannot name a person"):
            exact_check({"who": typed, "v": [1]}, columns={"v": Int(0, 9)}, unit=Person("who", max_rows=1))


def test_what_cannot_be_checked() -> None:
    with pytest.raises(InvalidData, match="in its own SQL"):
        exact_check(PostgresTable("postgresql://db/x", "t"), columns={"v": Int(0, 9)})
    with pytest.raises(InvalidData, match="has no column 'v'"):
        exact_check({"w": [1]}, columns={"v": Int(0, 9)})
    with pytest.raises(InvalidParameter, match="unit must be"):
        exact_check({"v": [1]}, columns={"v": Int(0, 9)}, unit="who")  # type: ignore[arg-type]
