"""Values of a row, and mistakes of other libraries that must not be ours."""

from datetime import date
from typing import Any

import numpy as np
import pytest

from privet.errors import InvalidParameter
from privet.privacy import Unit
from privet.tables.bounded import Bounded, Signed, Ticks
from privet.tables.columns import Bool, Category, Date, Float, Int, Text, key_value
from privet.tables.dialect import DuckDB
from privet.tables.engines import duckdb, exact_aggregates
from privet.tables.expressions import Bin, Compare, Linear, Negated, Ref
from privet.tables.frames import raw_column
from privet.tables.keys import KeySet, plain_key
from privet.tables.mix import fifth_power
from privet.tables.person import Person, Rows
from privet.tables.plan import Derive, Source, Where
from privet.tables.reading import Reader
from tests.oracles import array_engine
from tests.oracles.array_mix import number_of, priority

SALTS = (12345, 67890, 13579, 24680, 11111)
ALL = KeySet((), ((),))
ENGINES = pytest.mark.parametrize("engine", [array_engine, duckdb], ids=["numpy", "duckdb"])


def signed(name: str, lower: int, upper: int) -> Signed:
    return Signed(Ticks(Ref(name), 0.0, 1.0), lower, upper)


def test_golden_mix() -> None:
    assert fifth_power(np.array([2, 3, 2**31 - 2, 123456789])).tolist() == [32, 243, 2**31 - 2, 1949744752]
    ids, keys = np.array([0, 1, 0, 123456789012]), np.array([0, 0, 1, 42])
    assert priority(ids, keys, SALTS).tolist() == [412679524, 1832205603, 305673327, 2062259226]
    assert number_of("abc") == 648541476951500027
    with duckdb._connected({}) as connection:
        assert connection.execute("SELECT " + DuckDB().digest("'abc'")).fetchone() == (648541476951500027,)


def test_golden_mix_on_postgres_and_its_days(clinic: Any) -> None:
    from privet.tables.dialect import PostgreSQL
    from privet.tables.texts import day_in

    d = PostgreSQL()
    assert clinic.execute("SELECT " + d.digest("'abc'")).fetchone() == (648541476951500027,)
    texts = [
        f"{y:04}-{m:02}-{day:02}"
        for y in (1, 4, 100, 400, 1900, 1970, 2000, 2023, 2024, 9999)
        for m in range(1, 13)
        for day in (1, 28, 29, 30, 31)
    ]
    listed = ", ".join(f"({d.text(text)})" for text in texts)
    found = clinic.execute(f"SELECT t, {d.read_day('t', 'text')} FROM (VALUES {listed}) AS v(t)").fetchall()
    assert dict(found) == {text: day_in(text) for text in texts}


@ENGINES
def test_what_is_missing_is_no_bound(engine: Any) -> None:
    """OpenDP #2935, #2936, #2939: NaN that passes a clamp, or that is counted."""
    column = np.array([np.nan, np.inf, -np.inf, -0.0, 3.0])
    plan = Bounded(Source("t", (("x", Float(1.0, 5.0, tick=1.0)),), Rows()), (), ALL, (), (), (signed("x", 1, 5),))
    assert engine.exact_aggregates(plan, {"t": {"x": column}}, SALTS).signed[0].tolist() == [5 + 1 + 1 + 3]
    arrow = pytest.importorskip("pyarrow").table({"x": column})  # where NaN is a number among numbers
    assert engine.exact_aggregates(plan, {"t": arrow}, SALTS).signed[0].tolist() == [5 + 1 + 1 + 3]


def test_a_missing_value_that_is_clamped_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def clamped(self: Reader, sql: str, lower: float, upper: float) -> str:
        return f"least(greatest({sql}, {self.dialect.number(lower)}), {self.dialect.number(upper)})"

    held = {"t": {"x": np.ma.MaskedArray([3, 3], [False, True])}}
    plan = Bounded(Source("t", (("x", Int(1, 5)),), Rows()), (), ALL, (), (), (signed("x", 1, 5),))
    assert duckdb.exact_aggregates(plan, held, SALTS).signed[0].tolist() == [3]
    monkeypatch.setattr(DuckDB, "double_sums", False)  # there it is not the value that is moved, but its steps
    assert duckdb.exact_aggregates(plan, held, SALTS).signed[0].tolist() == [3]
    monkeypatch.setattr(Reader, "_clamped", clamped)
    assert duckdb.exact_aggregates(plan, held, SALTS).signed[0].tolist() == [4]


@ENGINES
def test_rows_without_a_person_are_nobodys(engine: Any) -> None:
    """Whatever stands in an array where a person is missing: those rows must not be somebody's, and displace his."""
    about = Person("id", max_groups=1, max_rows_per_group=2)
    plan = Bounded(Source("t", (("g", Int(0, 19)),), about), ("g",), None)
    gone = np.arange(20) >= 2
    for ids in (np.ma.MaskedArray(np.zeros(20, dtype=np.int64), gone), [None if each else "" for each in gone]):
        for salt in range(3):  # one of twenty groups would be kept
            held = {"t": {"id": ids, "g": np.maximum(np.arange(20), 1)}}
            found = engine.exact_aggregates(plan, held, (salt, *SALTS[1:]))
            assert (found.found, found.rows.tolist()) == (((1,),), [2])


def test_an_engines_own_rounding_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {"t": {"x": np.array([0.5, 1.5, 2.5])}}
    plan = Bounded(Source("t", (("x", Float(0.0, 8.0, tick=1.0)),), Rows()), (), ALL, (), (), (signed("x", 0, 8),))
    assert array_engine.exact_aggregates(plan, held, SALTS).signed[0].tolist() == [6]
    assert duckdb.exact_aggregates(plan, held, SALTS).signed[0].tolist() == [6]
    monkeypatch.setattr(DuckDB, "double_sums", False)  # there it is no cast that rounds
    monkeypatch.setattr("privet.tables.values.rounded", lambda dialect, sql: dialect.whole(sql))  # half to even
    assert duckdb.exact_aggregates(plan, held, SALTS).signed[0].tolist() == [4]


@ENGINES
def test_a_cast_that_fails_is_a_missing_value(engine: Any) -> None:
    """OpenDP #2938: a cast that fails must neither stop the query nor count everybody."""
    plan = Bounded(Source("t", (("x", Int(0, 9)),), Rows()), ("x",), None)
    found = engine.exact_aggregates(plan, {"t": {"x": np.array(["1", "one", "", "0x1", "1e0"])}}, SALTS)
    assert (found.found, found.rows.tolist()) == (((1,),), [2])


@ENGINES
def test_a_condition_on_what_is_missing_keeps_nothing(engine: Any) -> None:
    """OpenDP #2788: a filter and its opposite both leave out rows without a value."""
    source = Source("t", (("x", Int(0, 9)),), Rows())
    held = {"t": {"x": [1, None, 7]}}
    over = Compare(Ref("x"), ">", 5)
    for condition in (over, Negated(over)):
        assert engine.exact_aggregates(Bounded(Where(source, condition), (), ALL), held, SALTS).rows.tolist() == [1]


def test_a_column_in_another_meaning_has_other_bounds() -> None:
    """OpenDP #2949: a column that is redefined must not keep its bounds; #2944: codes of bins are public."""
    source = Source("t", (("x", Int(0, 9)),), Rows())
    grown = Derive(source, "x", Linear(Ref("x"), 100, 0))
    assert grown.columns["x"] == Int(0, 900)
    with pytest.raises(InvalidParameter, match="its ends do not hold its column"):
        Bounded(grown, (), ALL, (), (), (signed("x", 0, 9),))
    assert Derive(source, "b", Bin(Ref("x"), 0, 5, 2)).columns["b"] == Int(0, 1)


@ENGINES
def test_exactly_so_many_groups_are_kept(engine: Any) -> None:
    """Not one less (OpenDP's truncation of groups), and not one more."""
    source = Source("t", (("g", Int(0, 99)),), Person("id", max_groups=3, max_rows_per_group=1))
    held = {"t": {"g": np.tile(np.arange(20), 50), "id": np.repeat(np.arange(50), 20)}}
    found = engine.exact_aggregates(Bounded(source, ("g",), None), held, SALTS)
    assert int(found.rows.sum()) == int(found.persons.sum()) == 150


def test_a_limit_counts_twice_when_a_person_is_replaced() -> None:
    """OpenDP #2945: a public length is no excuse for half the distance."""
    about = Person("id", max_rows=4, relation="replace")
    assert Source("t", (), about).reach.l1(Unit("replace")) == 8


def test_bounds_are_needed() -> None:
    """SmartNoise #317, diffprivlib #104 and #105: no bounds means no answer, not bounds from the data or no noise."""
    for build in (lambda: Int(), lambda: Float(0.0), lambda: Person("id"), lambda: Float(0.0, np.inf)):  # type: ignore[call-arg]
        with pytest.raises((InvalidParameter, TypeError)):
            build()


def test_the_form_of_a_key_does_not_matter() -> None:
    days = Source("t", (("d", Date("2024-01-01", "2024-12-31")),), Rows())
    plan = Bounded(days, ("d",), KeySet(("d",), (("2024-05-01",), ("2024-05-02",))))
    assert exact_aggregates(plan, {"t": {"d": ["2024-05-02"]}}, SALTS).rows.tolist() == [0, 1]
    with pytest.raises(InvalidParameter, match="must differ"):
        Bounded(days, ("d",), KeySet(("d",), (("2024-05-01",), (date(2024, 5, 1),))))
    with pytest.raises(InvalidParameter, match="fractions are not grouped by"):
        Bounded(Source("t", (("x", Float(0.0, 1.0)),), Rows()), ("x",), None)


def test_texts_with_quotes_are_texts() -> None:
    wards = ("it's", '"', "\\", "'; DROP TABLE t; --", "ä")
    for column in (Category(wards), Text()):
        plan = Bounded(
            Source("t", (("w'\"", column),), Rows()), ("w'\"",), KeySet(("w'\"",), tuple((w,) for w in wards))
        )
        assert exact_aggregates(plan, {"t": {"w'\"": list(wards)}}, SALTS).rows.tolist() == [1] * 5


PLAIN: dict[str, tuple[Any, list[Any]]] = {
    "int": (Int(-3, 5), [-4, -3, 5, 6, 2.0, 2.5, True, "3", np.int64(4), 2**70, None]),
    "day": (Date("2024-01-01", "2024-12-31"), [date(2024, 1, 1), date(2025, 1, 1), "2024-12-31", "2024-13-01", 5]),
    "texts": (Category(["A", "B"]), ["A", "B", "C", 0, np.str_("A")]),
    "numbers": (Category([0, 1]), [0, 1, 2, True, 1.0, "0"]),
    "text": (Text(), ["A", "\0", 5]),
    "bool": (Bool(), [True, False, 0, 1, None]),
    "null": (Int(0, 5, null=True), [0, None, 7]),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_keys_that_are_read_together_are_read_as_each_by_itself(kind: str) -> None:
    """All at once where they are plain, one by one where one of them is not: the same keys, and the same ones refused."""
    column, values = PLAIN[kind]
    good = []
    for value in values:
        try:
            read = None if value is None and column.null else plain_key(column, key_value("k", column, value))
        except InvalidParameter:
            with pytest.raises(InvalidParameter):
                KeySet(("k",), ((value,),)).plain_rows({"k": column})
        else:
            good.append((value, read))
            ((alone,),) = KeySet(("k",), ((value,),)).plain_rows({"k": column})
            assert (alone, type(alone)) == (read, type(read))
    assert 0 < len(good) < len(values)
    together = dict(good)
    made = KeySet(("k",), tuple((value,) for value in together)).plain_rows({"k": column})
    assert [(each, type(each)) for (each,) in made] == [(each, type(each)) for each in together.values()]


@pytest.mark.parametrize("column", [None, Text(), Category(["ann", "bob"]), Int(0, 9)], ids=str)
def test_what_a_mask_hides_of_python_objects_is_not_read(column: Any) -> None:
    under = ["1", "2"] if isinstance(column, Int) else ["ann", "bob"]
    held = np.ma.MaskedArray(np.array(under, dtype=object), [False, True])
    read = raw_column("x", held, column)
    assert read.missing.tolist() == [False, True]
    assert read.values[1] is None or np.isnan(read.values[1])
    assert held.data.tolist() == under  # and the table of the caller is left as it was
