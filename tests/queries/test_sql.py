"""The small part of SQL: it means what the methods of a table mean; whatever else is written is refused in its place."""

import re
from datetime import date

import pytest
from hypothesis import given, settings, strategies as st

import privet as pv
from privet.errors import InvalidParameter, PrivetError

COLUMNS = {
    "age": pv.Int(0, 110, null=True),
    "ward": pv.Category(["A", "B", "it's"]),
    "cost": pv.Float(0.0, 1000.0),
    "day": pv.Date("2024-01-01", "2024-12-31"),
    "urgent": pv.Bool(),
    "city": pv.Text(),
    "Sum Of": pv.Int(0, 5),
}
DATA = {
    "who": [1, 1, 2, 3, 4, 5],
    "age": [30, 70, None, 65, 10, 90],
    "ward": ["A", "B", "A", "it's", "B", "B"],
    "cost": [10.0, 20.0, 30.0, 40.0, 50.0, 1000.0],
    "day": [date(2024, 1, d) for d in (1, 2, 3, 4, 5, 31)],
    "urgent": [True, False, True, False, True, False],
    "city": ["Rome", "Bonn", "Rome", "Rome", "Rome", "Rome"],
    "Sum Of": [1, 2, 3, 4, 5, 0],
}
PUBLIC = {"wards": {"ward": ["A", "B", "it's"], "floor": [1, 2, 2]}}


def visits(unit=None):
    return pv.Table(DATA, columns=COLUMNS, name="visits", unit=unit or pv.Person("who", max_rows=2))


def counted(where):
    """How many rows meet a condition, exactly."""
    query = visits().sql(f"SELECT COUNT(*) AS n FROM visits WHERE {where}")
    return int(query.data.exact_aggregates(query.for_budget(epsilon=1.0).plan, (1, 2, 3, 4, 5)).rows[0])


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("age >= 65", 3),
        ("65 <= age", 3),
        ("65 < age", 2),
        ("age <> 65", 4),
        ("age IS NULL", 1),
        ("age is not null", 5),
        ("NOT age >= 65", 2),  # where age is missing it is unknown, and so is its opposite
        ("age BETWEEN 30 AND 65", 2),
        ("age NOT BETWEEN 30 AND 65", 3),
        ("ward IN ('A', 'it''s')", 3),
        ("ward NOT IN ('A')", 4),
        ("ward = 'A' OR ward = 'B' AND age > 80", 3),  # AND binds closer
        ("(ward = 'A' OR ward = 'B') AND age > 80", 1),
        ("day < DATE '2024-01-03'", 2),
        ("day < '2024-01-03'", 2),
        ("urgent", 3),
        ("urgent = FALSE", 3),
        ("NOT urgent", 3),
        ("cost <= 2.5e1", 2),
        ("cost > -1", 6),
        ('"Sum Of" > 2', 3),
        ('"Sum Of" > cost', 0),
        ("visits.AGE >= +65", 3),
        ("city = 'Bonn'", 1),
        ("ward LIKE 'it%'", 1),
        ("ward NOT LIKE 'A%' -- the others", 4),
        ("/* all\n of them */ age >= 65", 3),
    ],
)
def test_conditions_mean_what_they_say(where, rows):
    assert counted(where) == rows


def test_it_is_the_query_that_the_methods_make():
    table = visits()
    asked = table.sql(
        "SELECT ward, COUNT(*) AS n, COUNT(DISTINCT who), SUM(cost), AVG(cost) AS m, VAR_POP(cost), STDDEV(age), MIN(age), "
        "MAX(age), MEDIAN(age), QUANTILE(cost, 0.9), PERCENTILE(cost, .25) AS p "
        "FROM visits v WHERE v.age >= 65 GROUP BY ward"
    )
    made = table.where(table["age"] >= 65).group_by("ward")
    by_hand = made.agg(
        n=pv.count(),
        count_who=pv.count_persons(),
        sum_cost=pv.sum("cost"),
        m=pv.mean("cost"),
        var_pop_cost=pv.variance("cost"),
        stddev_age=pv.std("age"),
        min_age=pv.min("age"),
        max_age=pv.max("age"),
        median_age=pv.median("age"),
        quantile_cost=pv.quantile("cost", 0.9),
        p=pv.quantile("cost", 0.25),
    )
    assert asked.outputs == by_hand.outputs
    assert (asked.rows, asked.names, asked.keys) == (by_hand.rows, by_hand.names, by_hand.keys)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SELECT EXTRACT(MONTH FROM day), COUNT(*) AS n FROM visits GROUP BY 1", "month"),
        ("SELECT month(visits.day) AS m, COUNT(*) AS n FROM visits GROUP BY m", "m"),
        ("SELECT YEAR(day), Month(day) AS m, COUNT(*) AS n FROM visits GROUP BY MONTH(day), 1", "m"),
        ("SELECT COUNT(*) AS n FROM visits GROUP BY extract(month from day)", "month"),
    ],
)
def test_parts_of_days_are_keys(text, name):
    table = visits()
    asked, derived = table.sql(text), {"year": table["day"].year} if "YEAR" in text else {}
    by_hand = table.derive(**derived, **{name: table["day"].month}).group_by(name, *derived).agg(n=pv.count())
    assert (asked.outputs, asked.names, asked.keys) == (by_hand.outputs, by_hand.names, by_hand.keys)
    assert asked.rows == by_hand.rows


def test_parts_of_days_stand_inside_aggregates():
    table = visits()
    asked = table.sql("SELECT AVG(MONTH(day)) AS m, COUNT(DISTINCT DAY(day)) AS d FROM visits WHERE YEAR(day) = 2024")
    chosen = table.where(table["day"].year == 2024)
    by_hand = chosen.agg(m=pv.mean(table["day"].month), d=pv.count_distinct(table["day"].day))
    assert (asked.outputs, asked.rows) == (by_hand.outputs, by_hand.rows)


def test_a_public_table_is_joined():
    table = visits()
    asked = table.sql(
        "SELECT floor, COUNT(*) AS n FROM visits JOIN wards AS w USING (ward) WHERE w.floor = 2 GROUP BY floor",
        public=PUBLIC,
    )
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e4), unit=table.unit)
    answer = ledger.release(asked, epsilon=500.0).value
    assert dict(zip(answer["floor"].tolist(), answer["n"].tolist(), strict=True)) == {1: 0, 2: 4}


def test_keys_may_be_given_or_discovered():
    text = "SELECT city, COUNT(DISTINCT who) AS n FROM visits GROUP BY city"
    assert visits().sql(text, discover=True).keys is None
    assert len(visits().sql(text, keys=["Rome", "Bonn"]).keys) == 2
    with pytest.raises(InvalidParameter, match=r"line 1, column 8: column 'city' has no public list of values"):
        visits().sql(text)


REFUSED = {
    "SELECT": "expected a column or an aggregate, got the end",
    "SELECT ^*": "expected a column or an aggregate",
    "SELECT ^agee FROM visits": "there is no column 'agee'; the columns are age, ward",
    "SELECT ^age FROM visits": "add 'age' to GROUP BY",
    "SELECT ward, ward AS ^w, COUNT(*) FROM visits GROUP BY ward": "keys keep their names",
    "SELECT ^ward FROM visits GROUP BY ward": "Add an aggregate",
    "SELECT COUNT(*), ^COUNT(*) FROM visits": "two columns 'count'",
    "SELECT ward, SUM(cost) AS ^ward FROM visits GROUP BY ward": "two columns 'ward'",
    "SELECT COUNT(DISTINCT ^3) FROM visits": "the values of one column",
    "SELECT ^COUNT(DISTINCT *) FROM visits": "COUNT(DISTINCT column)",
    "SELECT SUM(^ward) FROM visits": "cannot be added up",
    "SELECT SUM(^*) FROM visits": "the values of one column",
    "SELECT SUM(cost ^% 1) FROM visits": "'%' is not understood",
    "SELECT SUM(cost ^age) FROM visits": "expected )",
    "SELECT SUM(^1 + 2) FROM visits": "the values of one column",
    "SELECT SUM(cost ^/ age) FROM visits": "divided by constants only",
    "SELECT SUM(cost ^* ward) FROM visits": "only numbers have products",
    "SELECT SUM(cost ^/ 0) FROM visits": "not by 0",
    "SELECT SUM(cost * (1 ^/ 0)) FROM visits": "no number",
    "SELECT SUM(cost * ^1e400) FROM visits": "too large",
    "SELECT SUM(cost ^* 1e40) FROM visits": "factor",
    "SELECT SUM(ward ^+ 1) FROM visits": "only numbers can be added",
    "SELECT SUM(CASE ^WHEN age > 3 THEN cost ELSE age END) FROM visits": "ELSE takes a number",
    "SELECT SUM(CASE ^WHEN age > 3 THEN ward ELSE 0 END) FROM visits": "only numbers",
    "SELECT SUM(CASE WHEN ^ward = 'Z' THEN 1 ELSE 0 END) FROM visits": "not among the values",
    "SELECT SUM(CASE WHEN age > 3 THEN 1 ^WHEN age > 2 THEN 0 END) FROM visits": "expected END",
    "SELECT AVG(^CASE WHEN age > 3 THEN day END) FROM visits": "cannot be added up",
    "SELECT ^CASE WHEN age > 3 THEN 1 END FROM visits": "inside an aggregate",
    "SELECT COUNT(*) FILTER (^age > 3) FROM visits": "expected WHERE",
    "SELECT COUNT(*) FILTER (WHERE age > 3 FROM visits": "expected )",
    "SELECT ^COUNT(DISTINCT who) FILTER (WHERE age > 3) FROM visits": "not with FILTER",
    "SELECT COUNT(*) FROM visits GROUP BY ^1": "the place of a column in SELECT",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ^3": "the place of a column in SELECT",
    "SELECT ^YEAR(day), COUNT(*) FROM visits": "add 'year' to GROUP BY",
    "SELECT ^YEAR(day) AS age, COUNT(*) FROM visits GROUP BY 1": "there is a column 'age'",
    "SELECT YEAR(^cost), COUNT(*) FROM visits GROUP BY 1": "the year is a part of a date or a time",
    "SELECT HOUR(^day), COUNT(*) FROM visits GROUP BY 1": "a part of a time (pv.Time)",
    "SELECT EXTRACT(^DOW FROM day), COUNT(*) FROM visits GROUP BY 1": "weekdays are numbered differently",
    "SELECT EXTRACT(^EPOCH FROM day), COUNT(*) FROM visits GROUP BY 1": "the parts of a day or a time are YEAR",
    "SELECT EXTRACT(YEAR ^day), COUNT(*) FROM visits GROUP BY 1": "expected FROM",
    "SELECT COUNT(*) FROM visits WHERE YEAR(day ^+ 1) = 2": "expected )",
    "SELECT COUNT(*) FROM visits ^/* unfinished": "comment is not closed",
    "SELECT ^VAR_SAMP(cost) FROM visits": "VAR_POP",
    "SELECT ^QUANTILE(cost) FROM visits": "a column and a share",
    "SELECT ^QUANTILE(cost, 1.5) FROM visits": "strictly between 0 and 1",
    "SELECT ^NTILE(cost) FROM visits": "there is no aggregate NTILE",
    "SELECT COUNT(*) FROM ^visit": "this one is called 'visits'",
    "SELECT COUNT(*) FROM ^(SELECT 1)": "expected a table",
    "SELECT COUNT(*) FROM visits ^LEFT JOIN wards USING (ward)": "LEFT is not understood",
    "SELECT COUNT(*) FROM visits JOIN ^doctors USING (ward)": "no public table",
    "SELECT COUNT(*) FROM visits JOIN wards ON ^age = floor": "call the column alike",
    "SELECT COUNT(*) FROM visits JOIN wards ON ^wards.ward = wards.ward": "call the column alike",
    "SELECT COUNT(*) FROM visits JOIN wards USING (^floor)": "there is no column 'floor'",
    "SELECT COUNT(*) FROM visits WHERE ^who = 3": "COUNT(DISTINCT who)",
    "SELECT COUNT(*) FROM visits WHERE ^ward = 'Z'": "not among the values",
    "SELECT COUNT(*) FROM visits WHERE ^ward < 'B'": "no order",
    "SELECT COUNT(*) FROM visits WHERE age = ^NULL": "IS NULL",
    "SELECT COUNT(*) FROM visits WHERE age LIKE ^'x'": "of a category of texts",
    "SELECT COUNT(*) FROM visits WHERE city LIKE ^'R%'": "of a category of texts",
    "SELECT COUNT(*) FROM visits WHERE ward LIKE ^'%A'": "other patterns",
    "SELECT COUNT(*) FROM visits WHERE ward LIKE ^'Z%'": "begins so",
    "SELECT COUNT(*) FROM visits WHERE ^day = DATE '2024-13-01'": "DATE '2024-05-01'",
    "SELECT COUNT(*) FROM visits WHERE age > ^1e999": "too large",
    "SELECT COUNT(*) FROM visits WHERE ^x.age > 1": "no table 'x'",
    "SELECT COUNT(*) FROM visits WHERE ward = ^'A": "not closed",
    "SELECT COUNT(*) FROM visits WHERE age ^% 2 = 0": "'%' is not understood",
    "SELECT COUNT(*) FROM visits ^HAVING 1 = 1": "which costs nothing",
    "SELECT COUNT(*) FROM visits ^ORDER BY age": "sort it afterwards",
    "SELECT COUNT(*) FROM visits ^LIMIT 3": "private",
    "SELECT COUNT(*) FROM visits; ^DROP TABLE visits": "expected the end",
    "^DELETE FROM visits": "expected SELECT",
}


@pytest.mark.parametrize("marked", REFUSED)
def test_the_rest_is_refused_in_its_place(marked):
    text = marked.replace("^", "")
    place = marked.index("^") if "^" in marked else len(text)
    if "day = DATE" in text:  # the day itself is marked
        place = text.index("DATE")
    with pytest.raises(InvalidParameter) as refused:
        visits().sql(text, public=PUBLIC)
    first, line, mark = str(refused.value).split("\n")
    assert first.startswith(f"line 1, column {place + 1}: ")
    assert REFUSED[marked] in first
    assert line[2:] == text
    assert mark == " " * (place + 2) + "^"


def test_the_line_is_counted():
    with pytest.raises(InvalidParameter, match=r"^line 3, column 7: there is no column 'agee'"):
        visits().sql("SELECT COUNT(*)\nFROM visits\nWHERE agee > 3\nGROUP BY ward")


def test_persons_are_counted_where_there_are_some():
    with pytest.raises(InvalidParameter, match=r"there is no column 'who'"):
        visits(pv.Rows()).sql("SELECT COUNT(DISTINCT who) FROM visits")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits WHERE " + "(" * 5000 + "age > 3",
        "SELECT COUNT(*) FROM visits WHERE " + "NOT " * 4000 + "urgent",
        "SELECT COUNT(*) FROM visits WHERE " + " AND ".join(["age > 3"] * 1500),
        "SELECT COUNT(*) FROM visits WHERE age IN (" + ", ".join(["3"] * 3000) + ")",
        "SELECT COUNT(*) FROM visits WHERE age > " + "9" * 10_000,
        "S" * 100_000,
        "\0",
        "",
    ],
)
def test_what_is_too_large_is_refused(text):
    with pytest.raises(InvalidParameter):
        visits().sql(text)


WORDS = [
    *("SELECT", "FROM", "visits", "WHERE", "GROUP", "BY", "JOIN", "wards", "USING", "(", ")", ",", ".", "*", ";", "AS"),
    *("AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "TRUE", "DATE", "DISTINCT", "COUNT", "SUM", "AVG", "MEDIAN"),
    *(
        "QUANTILE",
        "age",
        "ward",
        "cost",
        "day",
        "urgent",
        "city",
        "floor",
        "who",
        '"Sum Of"',
        "'A'",
        "'2024-02-01'",
        "3",
    ),
    *(".5", "1e3", "-", "+", "=", "<>", "<", ">=", "HAVING", "ORDER", "LIMIT", "self", "'", '"', "\n", "%", "é"),
]
GOOD = (
    "SELECT ward , COUNT ( * ) AS n , SUM ( cost ) FROM visits JOIN wards USING ( ward ) "
    "WHERE age BETWEEN 3 AND 9 OR NOT urgent AND day >= DATE '2024-02-01' GROUP BY ward , floor"
)


def tried(text):
    """A query, or a refusal of our own: nothing else comes out."""
    try:
        visits().sql(text, public=PUBLIC).preview(epsilon=1.0)
    except InvalidParameter as refused:
        return str(refused)
    except PrivetError:
        return ""  # read, but not payable so
    return None


@settings(max_examples=150)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_words_are_read_or_refused(words):
    refusal = tried("SELECT " + " ".join(words))
    assert refusal is None or isinstance(refusal, str)


@settings(max_examples=150)
@given(st.data())
def test_damaged_queries_are_read_or_refused(data):
    words = GOOD.split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(words) - 1))
        words[place : place + data.draw(st.integers(0, 2))] = data.draw(st.lists(st.sampled_from(WORDS), max_size=2))
        words = words or ["SELECT"]
    refusal = tried(" ".join(words))
    assert not refusal or re.match(r"line \d+, column \d+: ", refusal)


@settings(max_examples=100)
@given(st.text(max_size=60))
def test_any_text_is_refused(text):
    assert tried(text)


def test_the_whole_query_of_the_fuzz_is_read():
    assert tried(GOOD) is None
