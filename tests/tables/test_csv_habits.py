"""CSV files of writers with other habits: separators, decimal commas, unnamed columns, packed files; and drafts."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import pytest

import privet as pv
from privet.errors import InvalidData, InvalidParameter
from privet.tables import CsvFile, exact_check

COLUMNS = {"age": pv.Int(0, 110), "ward": pv.Category(["A", "B;C"]), "cost": pv.Float(0, 1000)}
ROWS = [("31", "A", "100,5"), ("47", "B;C", "250,25"), ("64", "A", "1.5"), ("x", "A", "")]


def counted(table: pv.Table) -> tuple[int, float, float]:
    """Exact, but for noise that is far below one: rows, ages and costs."""
    ledger = pv.Ledger.create("memory:", epsilon=1e9, unit=table.unit)
    made = ledger.release(table.agg(n=pv.count(), age=pv.sum("age"), cost=pv.sum("cost")), epsilon=1e8).value
    return int(made["n"][0]), round(float(made["age"][0]), 2), round(float(made["cost"][0]), 2)


def written(place: Path, separator: str, rows: list[tuple[str, ...]] = ROWS) -> Path:
    quoted = [[f'"{each}"' if separator in each else each for each in row] for row in [("age", "ward", "cost"), *rows]]
    place.write_text("".join(separator.join(row) + "\n" for row in quoted), encoding="utf-8")
    return place


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_separator_and_a_decimal_comma_are_read(tmp_path: Path, separator: str) -> None:
    place = written(tmp_path / "visits.csv", separator)
    table = pv.Table(place, columns=COLUMNS, separator=separator, decimal=",")
    assert counted(table) == (4, 142.0, 350.75)  # 1.5 has a point and is no number here; x is none either


def test_without_a_decimal_mark_a_comma_is_no_number(tmp_path: Path) -> None:
    place = written(tmp_path / "visits.csv", ";")
    assert counted(pv.Table(place, columns=COLUMNS, separator=";")) == (4, 142.0, 1.5)


def test_texts_and_persons_keep_their_commas(tmp_path: Path) -> None:
    place = tmp_path / "visits.csv"
    place.write_text("who;ward;cost\na,b;x,y;1,5\na.b;x.y;2,5\n", encoding="utf-8")
    columns = {"ward": pv.Category(["x,y", "x.y"]), "cost": pv.Float(0, 10)}
    unit = pv.Person("who", max_rows=1)
    table = pv.Table(place, columns=columns, unit=unit, separator=";", decimal=",")
    ledger = pv.Ledger.create("memory:", epsilon=1e9, unit=table.unit)
    made = ledger.release(table.group_by("ward").agg(p=pv.count_persons(), s=pv.sum("cost")), epsilon=1e8).value
    assert made["p"].tolist() == [1, 1]
    assert made["s"].tolist() == pytest.approx([1.5, 2.5], abs=0.01)


@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_another_separator_is_noticed_in_the_header_alone(tmp_path: Path, separator: str, word: str) -> None:
    place = written(tmp_path / "visits.csv", separator)
    for ask in (lambda: counted(pv.Table(place, columns=COLUMNS)), lambda: pv.Table.draft(place)):
        with pytest.raises(InvalidData, match=f"seem to be split at {word}") as caught:
            ask()
        assert f"separator={separator!r}" in str(caught.value)
        told = str(caught.value).replace(str(place), "")  # pytest numbers its folders
        assert not any(cell in told for row in ROWS for cell in row if len(cell) > 1)
    ledger = pv.Ledger.create("memory:", epsilon=1.0)
    with pytest.raises(InvalidData):
        ledger.release(pv.Table(place, columns=COLUMNS).agg(n=pv.count()), epsilon=0.5)
    assert ledger.spent.epsilon == 0.0  # a public mistake is found before the charge
    empty = written(tmp_path / "neighbour.csv", separator, [])
    with pytest.raises(InvalidData) as other:
        counted(pv.Table(empty, columns=COLUMNS))
    assert str(other.value).replace("neighbour", "visits") == str(caught.value)


def test_one_column_that_holds_a_semicolon_is_read_where_that_is_said(tmp_path: Path) -> None:
    place = tmp_path / "odd.csv"
    place.write_text("a;b\n1\n2\n", encoding="utf-8")
    table = pv.Table(place, columns={"a;b": pv.Int(0, 9)}, separator=",")
    ledger = pv.Ledger.create("memory:", epsilon=1e9)
    assert ledger.release(table.agg(s=pv.sum("a;b")), epsilon=1e8).value["s"][0] == 3


def test_the_unnamed_column_of_r_is_ignored(tmp_path: Path) -> None:
    place = tmp_path / "r.csv"
    place.write_text('"","age","ward","cost"\n"1",31,"A",100.5\n"2",47,"A",2\n', encoding="utf-8")
    assert counted(pv.Table(place, columns=COLUMNS)) == (2, 78.0, 102.5)
    assert "[columns.age]" in pv.Table.draft(place)


def packed(place: Path, text: bytes, *members: str) -> Path:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as made:
        for name in members:
            made.writestr(name, b"" if name.startswith("__MACOSX") else text)
    return place


@pytest.mark.parametrize("members", [("visits.csv",), ("visits.csv", "__MACOSX/._visits.csv")])
def test_packed_files_are_read(tmp_path: Path, members: tuple[str, ...]) -> None:
    plain = written(tmp_path / "visits.csv", ";")
    zipped = packed(tmp_path / "visits.csv.zip", plain.read_bytes(), *members)
    (tmp_path / "visits.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    for place in (plain, zipped, tmp_path / "visits.csv.gz"):
        assert counted(pv.Table(place, columns=COLUMNS, separator=";", decimal=",")) == (4, 142.0, 350.75)
        assert counted(pv.Table(str(place), columns=COLUMNS, separator=";", decimal=",")) == (4, 142.0, 350.75)


def test_a_hostile_row_in_a_zip_file_stays_one_row(tmp_path: Path) -> None:
    hostile = 'age,ward,cost\n31,A,1\n47,"' + "x\rq" * 50 + '",2\n9,"open,3\n64,A,4\n'
    plain = tmp_path / "h.csv"
    plain.write_bytes(hostile.encode())
    zipped = packed(tmp_path / "h.csv.zip", hostile.encode(), "h.csv")
    assert counted(pv.Table(zipped, columns=COLUMNS)) == counted(pv.Table(plain, columns=COLUMNS)) == (3, 142.0, 7.0)


@pytest.mark.parametrize("members", [(), ("a.csv", "b.csv")])
def test_a_zip_file_of_none_or_several_is_refused_before_the_charge(tmp_path: Path, members: tuple[str, ...]) -> None:
    zipped = packed(tmp_path / "visits.csv.zip", b"age,ward,cost\n", *members)
    ledger = pv.Ledger.create("memory:", epsilon=1.0)
    with pytest.raises(InvalidData, match="several files or none"):
        ledger.release(pv.Table(zipped, columns=COLUMNS).agg(n=pv.count()), epsilon=0.5)
    zipped.write_bytes(zipped.read_bytes()[:-10])
    with pytest.raises(InvalidData, match="damaged"):
        ledger.release(pv.Table(zipped, columns=COLUMNS).agg(n=pv.count()), epsilon=0.5)
    assert ledger.spent.epsilon == 0.0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"separator": "a"}, "separator must be one of"),
        ({"separator": ";;"}, "separator must be one of"),
        ({"decimal": ";"}, "decimal must be"),
        ({"decimal": ","}, "has another separator"),
        ({"separator": ",", "decimal": ","}, "has another separator"),
    ],
)
def test_what_is_no_separator_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        pv.Table("visits.csv", columns=COLUMNS, **more)
    with pytest.raises(InvalidParameter, match="for CSV files"):
        pv.Table({"age": [1]}, columns={"age": pv.Int(0, 9)}, separator=";")


def test_files_keep_their_habits_in_copies_and_checks(tmp_path: Path) -> None:
    import pickle

    file = CsvFile(written(tmp_path / "visits.csv", ";"), separator=";", decimal=",")
    again = pickle.loads(pickle.dumps(file))
    assert (again, again.separator, again.decimal) == (file, ";", ",")
    found = exact_check(file, columns=COLUMNS, unit=pv.Rows())
    assert found.rows == 4


def test_a_look_takes_one_scan_and_knows_decimal_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from privet.tables.engines import duckdb

    place = tmp_path / "visits.csv"
    place.write_text("age;cost;day;ill;ward\n31;1,5;2026-01-01;true;A\n47;2,5;2026-01-02;false;B\n", encoding="utf-8")
    asked: list[str] = []
    provided = duckdb.provided

    class Told:
        def __init__(self, connection: Any) -> None:
            self.connection = connection

        def execute(self, sql: str) -> Any:
            asked.append(sql)
            return self.connection.execute(sql)

    from contextlib import contextmanager

    @contextmanager
    def watched(*given: Any) -> Any:
        with provided(*given) as (connection, reading):
            yield Told(connection), reading

    monkeypatch.setattr(duckdb, "provided", watched)
    drafted = pv.Table.draft(place, look=True, separator=";", decimal=",")
    kinds = [line.split('"')[1] for line in drafted.splitlines() if line.startswith("kind")][1:]
    assert kinds == ["int", "float", "date", "bool", "text"]
    assert len(asked) == 1


def test_a_draft_of_a_server_has_its_kinds(clinic: Any, postgres_url: str) -> None:
    clinic.execute("CREATE TABLE IF NOT EXISTS drafted (age int, cost numeric(8,2), day date, ill boolean, note text)")
    table = pv.tables.PostgresTable(postgres_url, "drafted")
    kinds = [line.split('"')[1] for line in pv.Table.draft(table).splitlines() if line.startswith("kind")][1:]
    assert kinds == ["int", "float", "date", "bool", "text"]
    with pytest.raises(InvalidParameter, match="kinds in its own schema"):
        pv.Table.draft(table, look=True)
    with pytest.raises(InvalidData, match="there is no table"):
        pv.Table.draft(pv.tables.PostgresTable(postgres_url, "none_such"))


def test_a_draft_of_a_spark_frame_has_its_kinds() -> None:
    from privet.tables.engines.spark_rows import SparkEngine

    class Frame:  # what is asked of a frame is its schema
        dtypes = (("age", "int"), ("cost", "double"), ("day", "date"), ("ill", "boolean"), ("note", "string"))

    assert list(SparkEngine().kinds(Frame(), look=False).values()) == ["int", "float", "date", "bool", "text"]
