"""What stores refuse to rest on, clocks that go back, and sums that never round down."""

import sys
from fractions import Fraction

import pytest

import privet as pv
from privet.errors import InvalidParameter, LedgerError, LedgerTampered, LedgerUnavailable, MissingExtra
from privet.ledger import session
from privet.ledger.account import plain_sums, read_sums, sums_text
from privet.ledger.entry import Entry, canonical, hash_of, linked, object_text
from privet.ledger.stores.postgres import PostgresStore
from privet.ledger.stores.postgres_link import require_durable
from privet.privacy import GaussianLoss, PureLoss


class Server:
    """A connection that answers as a server with these settings would."""

    def __init__(self, **settings):
        self.settings = {
            "SHOW fsync": "on",
            "SHOW full_page_writes": "on",
            "SELECT count(*) FROM pg_stat_replication": 0,
            "SHOW synchronous_standby_names": "",
            "SELECT pg_is_in_recovery()": False,
        } | settings

    def execute(self, sql):
        self.sql = sql
        return self

    def fetchone(self):
        return (self.settings[self.sql],)


@pytest.mark.parametrize(
    ("sql", "value", "words"),
    [
        ("SHOW fsync", "off", "fsync"),
        ("SHOW full_page_writes", "off", "full_page_writes"),
        ("SELECT count(*) FROM pg_stat_replication", 1, "asynchronous standbys"),
        ("SELECT pg_is_in_recovery()", True, "standby"),
    ],
)
def test_a_server_that_may_lose_charges_is_refused(sql, value, words):
    require_durable(Server())
    with pytest.raises(LedgerUnavailable, match=words):
        require_durable(Server(**{sql: value}))


def test_synchronous_standbys_are_welcome():
    settings = {"SELECT count(*) FROM pg_stat_replication": 2, "SHOW synchronous_standby_names": "ANY 1 (a, b)"}
    assert require_durable(Server(**settings)) is None


def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"privet\[postgres\]"):
        pv.Ledger.create("postgresql://nowhere/db", budget=pv.Budget(1.0))


@pytest.mark.parametrize("schema", ["A", "a b", 'a"b', "x" * 60, "1a"])
def test_a_schema_is_a_plain_name(schema):
    with pytest.raises(InvalidParameter, match="schema"):
        PostgresStore.schema_of(f"postgresql://db/people#{schema}")


def test_a_server_that_is_not_there_is_said(tmp_path):
    with pytest.raises(LedgerUnavailable):
        pv.Ledger.create("postgresql://127.0.0.1:1/db", budget=pv.Budget(1.0), timeout=2.0)


def test_two_ledgers_live_in_two_schemas(postgres_url):
    pytest.importorskip("psycopg")
    one = pv.Ledger.create(f"{postgres_url}#one_schema", budget=pv.Budget(1.0), dataset="one")
    with pytest.raises(LedgerError, match="no ledger"):
        pv.Ledger.open(f"{postgres_url}#other_schema")
    assert one.dataset == "one"


def test_a_commit_that_its_standby_did_not_confirm_releases_nothing(postgres_url, monkeypatch):
    from tests.ledger.coins import Coin

    ledger = pv.Ledger.create(f"{postgres_url}#unconfirmed", budget=pv.Budget(1.0))
    real = ledger._store._connection

    class Warning:
        severity_nonlocalized = "WARNING"

    class Connection:
        closed = False

        def execute(self, sql, *values):
            done = real.execute(sql, *values)
            if sql == "COMMIT":
                ledger._store._notice(Warning())
            return done

        def close(self):
            real.close()

    ledger._store._connection = Connection()
    drawn = []
    with pytest.raises(LedgerUnavailable, match="standby"):
        ledger.release(Coin(says=drawn.append), 0)
    assert drawn == []
    assert ledger.spent.sums[0][0] == 10**39  # the charge stands


def test_a_clock_that_goes_back_changes_nothing(place, monkeypatch):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    times = iter(10**18 - 10**12 * i for i in range(10))
    monkeypatch.setattr(session, "time_ns", lambda: next(times))
    for _ in range(3):
        ledger.reserve(PureLoss(0.1))
    stamps = [entry.facts["time"] for entry in ledger.entries()[1:]]
    assert stamps == sorted(stamps, reverse=True)
    assert [entry.seq for entry in ledger.entries()] == [1, 2, 3, 4]
    assert ledger.verify().entries == 4


def test_sums_never_fall_below_the_exact_ones(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    count = 50 if "postgres" in place else 500  # the sums are made here, whoever stores them
    for epsilon in (1e-9, 0.1 + 0.2 - 0.3 + 1e-17, 1 / 3 * 1e-7):
        before = ledger.spent.sums[0][0]
        ledger.reserve_many([PureLoss(epsilon)] * count)
        charged = Fraction(ledger.spent.sums[0][0] - before, 10**40)
        decimal = min(Fraction(epsilon), Fraction(repr(epsilon)))  # a short decimal is meant as it is written
        assert count * decimal <= charged <= count * decimal * (1 + Fraction(1, 10**12))


def test_texts_made_by_hand_are_the_encoder_s():
    sums = ((0, None), (12345678901234567890123456789012345678901, 7))
    assert sums_text(sums) == canonical(plain_sums(sums))
    assert read_sums(plain_sums(sums)) == sums
    values = {"ß": "[1]", '"': "{}", "a": "null"}
    assert object_text(values) == canonical({"ß": [1], '"': {}, "a": None})
    assert object_text({"ß": "[]"}) == canonical({"ß": []})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6))
    ledger.open_partition("ward", ["a", "b"])
    ledger.reserve(GaussianLoss(50.0), analyst="Zoë", purpose='a "b"', key="k", part="a")
    for entry in ledger.entries():
        assert entry.body == canonical(entry.facts)
        assert entry.amounts == canonical(entry.charged)


@pytest.mark.parametrize("plain", [[["-1"]], [["01"]], [["1.0"]], [[1]], [["1 "]], "1", None, [["x"]]])
def test_sums_that_no_ledger_wrote_are_tampering(plain):
    with pytest.raises(LedgerTampered):
        read_sums(plain)


def test_every_field_is_in_the_hash():
    entry = linked(None, "reserve", body='{"a":"1"}', analyst="ann", key="k", loss="{}", amounts='{"b":"2"}')
    others = {
        "seq": 2,
        "prev": b"x" * 32,
        "kind": "release",
        "analyst": "bob",
        "key": None,
        "loss": None,
        "amounts": "{}",
        "body": "{}",
    }
    hashes = {hash_of(entry._replace(**{name: value})) for name, value in others.items()} | {hash_of(entry)}
    assert len(hashes) == len(others) + 1
    bare = entry._replace(loss=None)
    assert len({hash_of(bare._replace(loss=loss)) for loss in (None, "", "null", '"null"', "{}")}) == 5
    moved = Entry(1, entry.prev, b"", "reserve", "ann", "k", '{}\n{"b":"2"}', '{"a":"1"}', "")
    assert hash_of(moved) != hash_of(entry)  # a boundary that moves is seen too


def test_bodies_that_are_no_objects_are_tampering():
    for body in ("", "[]", "{", '{"a":1}x', "null", "[" * 100_000):
        with pytest.raises(LedgerTampered, match="entry 1"):
            _ = linked(None, "open", body=body).facts
