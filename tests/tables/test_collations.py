"""Columns in which texts are equal that differ: refused wherever they are compared, unpaid, with the view that is meant."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest

import privet as pv
from privet.errors import InvalidData
from privet.tables.engines import PostgresTable

SPELLINGS = ["bob", "Bob", "BOB", "bOb"]
WORDS = "has a collation in which texts are equal that differ"


def refused(data: Any, column: str, quoted: str) -> list[bool]:
    """As a person, a group, a condition, a link and a public key: whether nothing is spent, and the view is named."""
    text, number = {column: pv.Text()}, {"v": pv.Int(0, 1)}
    person = pv.Table(data, columns=number, unit=pv.Person(column, max_rows=1))
    rows = pv.Table(data, columns={**text, **number})
    listed = pv.Table(data, columns={column: pv.Category(["bob"]), **number})
    link = pv.Table(data, columns=text, unit=pv.Person("other", max_rows=1), name="link")
    public, described = {column: ["bob"], "w": [1]}, {column: pv.Category(["bob"]), "w": pv.Int(0, 1)}
    asked = [
        (person.agg(n=pv.count()), person.unit),
        (rows.group_by(column, discover=True).agg(n=pv.count()), rows.unit),
        (rows.where(rows[column] == "bob").agg(n=pv.count()), rows.unit),
        (listed.group_by(column).agg(n=pv.count()), listed.unit),
        (listed.join_public(public, on=column, columns=described).agg(n=pv.count()), listed.unit),
        (rows.linked(link, on=column).agg(n=pv.count()), link.unit),
    ]
    made = []
    for query, unit in asked:
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0, delta=1e-4), unit=unit)
        with pytest.raises(InvalidData, match=WORDS) as caught:
            ledger.release(query, epsilon=0.5, delta=1e-6)
        unpaid = [entry.kind for entry in ledger.entries()] == ["open"]
        made.append(unpaid and f"lower({quoted})" in str(caught.value))
    return made


def exact_persons(data: Any, column: str) -> int:
    from privet.tables.bounded import Bounded
    from privet.tables.engines import exact_aggregates
    from privet.tables.keys import KeySet
    from privet.tables.plan import Source

    plan = Bounded(Source("t", (), pv.Person(column, max_rows=1)), (), KeySet((), ((),)))
    return int(exact_aggregates(plan, {"t": data}, (1, 2, 3, 4, 5)).persons[0])


# --- DuckDB ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def connection() -> Iterator[Any]:
    with duckdb.connect() as made:
        yield made


def filled(connection: Any, type_: str) -> Any:
    connection.execute(f"CREATE OR REPLACE TABLE t (who {type_}, other VARCHAR, v INTEGER)")
    for each in SPELLINGS:
        connection.execute("INSERT INTO t VALUES (?, ?, 1)", [each, each])
    return connection.table("t")


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NFC", "NOCASE.NOACCENT"])
def test_collations_of_duckdb(connection: Any, collation: str) -> None:
    relation = filled(connection, f"VARCHAR COLLATE {collation}")
    for held in (relation, connection.sql("SELECT * FROM t"), relation.filter("v > 0"), relation.order("v")):
        with pytest.raises(InvalidData, match=WORDS):
            exact_persons(held, "who")
    assert exact_persons(relation, "other") == 4


def test_wherever_duckdb_compares(connection: Any) -> None:
    assert refused(filled(connection, "VARCHAR COLLATE NOCASE"), "who", '"who"') == [True] * 6
    connection.execute("CREATE VIEW w AS SELECT other COLLATE NOCASE AS who, other, v FROM t")
    assert refused(connection.table("w"), "who", '"who"') == [True] * 6


def test_a_collation_of_the_whole_connection(connection: Any) -> None:
    relation = filled(connection, "VARCHAR")
    assert exact_persons(relation, "who") == 4
    connection.execute("PRAGMA default_collation = NOCASE")
    with pytest.raises(InvalidData, match=WORDS):
        exact_persons(relation, "who")


def test_the_views_that_duckdb_is_told(connection: Any) -> None:
    relation = filled(connection, "VARCHAR COLLATE NOCASE")
    with pytest.raises(InvalidData) as caught:
        exact_persons(relation, "who")
    one, two = (part.split(" if ")[0] for part in str(caught.value).split(" with ")[1:])
    assert exact_persons(connection.sql(f"SELECT {one} FROM t"), "who") == 1
    assert exact_persons(connection.sql(f"SELECT {two} FROM t"), "who") == 4


# --- PostgreSQL --------------------------------------------------------------------------------------------------------


@pytest.fixture
def put(clinic: Any, postgres_url: str) -> Callable[..., PostgresTable]:
    """A table whose column `who` has a type; {s} in a statement is its name."""
    clinic.execute("CREATE EXTENSION IF NOT EXISTS citext")
    clinic.execute(
        "CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )

    def made(type_: str, *more: str, view: str | None = None) -> PostgresTable:
        name = f"t_{uuid.uuid4().hex[:12]}"
        for each in more:
            clinic.execute(each.replace("{s}", name))
        clinic.execute(f"CREATE TABLE {name} (who {type_.replace('{s}', name)}, other text, v int)")
        for each in SPELLINGS:
            clinic.execute(f"INSERT INTO {name} VALUES (%s, %s, 1)", (each, each))
        if view is not None:
            clinic.execute(f"CREATE VIEW v_{name} AS SELECT {view} AS who, other, v FROM {name}")
        return PostgresTable(postgres_url, name if view is None else f"v_{name}")

    return made


DOMAINS = ("CREATE DOMAIN d_{s} AS citext", "CREATE DOMAIN e_{s} AS d_{s} CHECK (value <> '')")
LOOSE = ("CREATE DOMAIN d_{s} AS text COLLATE loose",)


@pytest.mark.parametrize(
    ("type_", "more", "view"),
    [
        ("citext", (), None),
        ("text COLLATE loose", (), None),
        ("varchar(9) COLLATE loose", (), None),
        ("char(3) COLLATE loose", (), None),
        ("d_{s}", DOMAINS, None),
        ("e_{s}", DOMAINS, None),
        ("d_{s}", LOOSE, None),
        ("text", (), "who COLLATE loose"),
        ("text", (), "who::citext"),
        ("citext", (), "coalesce(who, 'x')"),
    ],
)
def test_types_and_collations_of_postgres(put: Any, type_: str, more: tuple[str, ...], view: str | None) -> None:
    table = put(type_, *more, view=view)
    with pytest.raises(InvalidData, match=WORDS):
        exact_persons(table, "who")
    assert exact_persons(table, "other") == 4


@pytest.mark.parametrize("type_", ["text", 'text COLLATE "C"', "varchar(9)", "d_{s}", "e_{s}"])
def test_texts_of_postgres_that_are_equal_by_their_bytes(put: Any, type_: str) -> None:
    """The collation of a database, which such columns have, tells all texts apart that differ."""
    more = ("CREATE DOMAIN d_{s} AS text", "CREATE DOMAIN e_{s} AS d_{s} CHECK (value <> '')")
    assert exact_persons(put(type_, *more), "who") == 4


def test_wherever_postgres_compares(put: Any) -> None:
    assert refused(put("citext"), "who", '"who"') == [True] * 6


def test_the_views_that_postgres_is_told(put: Any) -> None:
    with pytest.raises(InvalidData) as caught:
        exact_persons(put("citext"), "who")
    one, two = (part.split(" AS ")[0] for part in str(caught.value).split(" with ")[1:])
    for type_ in ("citext", "text COLLATE loose"):
        assert exact_persons(put(type_, view=one), "who") == 1
        assert exact_persons(put(type_, view=two), "who") == 4


def test_collated_strings_of_spark() -> None:
    from privet.tables.engines import spark

    for type_ in ("string collate UTF8_LCASE", "varchar(9) collate UTF8_LCASE", "string collate UNICODE_CI"):
        assert spark.raw_kind(type_) == "collated"
    assert spark.raw_kind("varchar(9)") == "text"
