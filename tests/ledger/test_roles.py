"""Rights inside PostgreSQL: reading, spending and acting are three."""

import hashlib
import uuid

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidParameter, LedgerUnavailable
from privet.ledger import grant_roles
from privet.mechanisms import Release
from privet.privacy import PureLoss
from tests.ledger.coins import Coin

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def roles(postgres_url):
    """A ledger of its owner, and the addresses of a reader, a spender and a custodian."""
    word = uuid.uuid4().hex[:12]
    names = {right: f"{right}_{word}" for right in ("reader", "spender", "custodian")}
    with psycopg.connect(postgres_url, autocommit=True) as server:
        for name in names.values():
            server.execute(f"CREATE ROLE {name} LOGIN")
    url = f"{postgres_url}#r{word}"
    owner = pv.Ledger.create(url, budget=pv.Budget(1.0))
    owner.add_analyst("ann")
    owner.close()
    grant_roles(url, readers=[names["reader"]], spenders=[names["spender"]], custodians=[names["custodian"]])
    return {right: url.replace("privet@", f"{name}@") for right, name in names.items()}


def test_a_spender_spends_and_does_not_raise(roles):
    ledger = pv.Ledger.open(roles["spender"])
    made = ledger.release(Coin(), 1, key="k", analyst="ann")
    assert ledger.release(Coin(), 1, key="k", analyst="ann").value == made.value
    ledger.reserve_many([PureLoss(0.1)] * 3)
    for act in (
        lambda: ledger.raise_budget(pv.Budget(9.0), reason="more"),
        lambda: ledger.add_analyst("eve"),
        lambda: ledger.close_dataset("no"),
        lambda: ledger.open_partition("ward", ["a", "b"]),
    ):
        with pytest.raises(LedgerUnavailable, match="may not"):
            act()
    with pytest.raises(pv.errors.BudgetExceeded):
        ledger.reserve(PureLoss(0.7))
    assert ledger.verify().entries == 7
    ledger.close()


def test_a_value_outside_the_chain_is_kept_under_its_hash(roles, postgres_url):
    """Large values go through a function of their own, which names them by what they are."""
    address, _, schema = roles["spender"].partition("#")
    ledger = pv.Ledger.open(roles["spender"])
    large = np.arange(20_000.0)
    reservation = ledger.reserve(PureLoss(0.1), key="k")
    reservation.record(Release(large, loss=PureLoss(0.1)))
    assert ledger.verify(values=True).values == 1
    ledger.close()
    reader = pv.Ledger.open(roles["reader"], read_only=True)
    assert reader.verify(values=True).values == 1
    raw = b"somebody else's value"
    keep = f"SELECT {schema}.keep_value(%s, %s)"
    with psycopg.connect(address, autocommit=True) as server:
        with pytest.raises(psycopg.errors.RaiseException, match="named by its hash"):
            server.execute(keep, (hashlib.sha256(b"another").hexdigest(), raw))
        with pytest.raises(psycopg.errors.RaiseException, match="named by its hash"):
            server.execute(keep, (None, raw))
        server.execute(keep, (hashlib.sha256(raw).hexdigest(), raw))
        server.execute(keep, (hashlib.sha256(raw).hexdigest(), raw))  # what is there stays
        for statement in (
            f"UPDATE {schema}.value SET raw = 'x'",
            f"DELETE FROM {schema}.value",
            f"INSERT INTO {schema}.value VALUES ('a', 'x')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                server.execute(statement)
        assert server.execute(f"SELECT count(*) FROM {schema}.value").fetchone()[0] == 2
    with (
        psycopg.connect(roles["reader"].partition("#")[0], autocommit=True) as server,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        server.execute(keep, (hashlib.sha256(raw).hexdigest(), raw))
    reader.close()


def test_a_function_that_does_not_look_at_the_hash_is_caught(roles, postgres_url):
    """The planted bug: a value is kept under whatever name it is given, and verification sees another value."""
    schema = roles["spender"].partition("#")[2]
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(
            f"CREATE OR REPLACE FUNCTION {schema}.keep_value(a_digest text, a_raw bytea) RETURNS void LANGUAGE sql "
            f"SECURITY DEFINER AS $$ INSERT INTO {schema}.value VALUES (a_digest, 'x') ON CONFLICT DO NOTHING $$"
        )
    ledger = pv.Ledger.open(roles["spender"])
    ledger.reserve(PureLoss(0.1), key="k").record(Release(np.arange(20_000.0), loss=PureLoss(0.1)))
    with pytest.raises(pv.errors.LedgerTampered):
        ledger.verify(values=True)
    ledger.close()


def test_a_spender_runs_slices(roles):
    ledger = pv.Ledger.open(roles["spender"])
    run = ledger.start([PureLoss(0.1)] * 3, key="k", analyst="ann")
    assert [run.begin().index, run.begin().index] == [0, 1]
    run.repeat(1)
    assert ledger.start([PureLoss(0.1)] * 3, key="k", analyst="ann").begin().index == 1
    ledger.close()
    reader = pv.Ledger.open(roles["reader"])
    with pytest.raises(LedgerUnavailable):
        reader.start([PureLoss(0.1)] * 3, key="k", analyst="ann").begin()
    reader.close()


def test_a_custodian_raises_and_a_reader_only_looks(roles):
    custodian = pv.Ledger.open(roles["custodian"])
    custodian.raise_budget(pv.Budget(2.0), reason="the board")
    custodian.reserve(PureLoss(0.1))
    custodian.close()
    reader = pv.Ledger.open(roles["reader"], read_only=True)
    assert reader.spent["basic epsilon"] == 0.1
    assert reader.verify().underpriced == ()
    assert len(reader.export()["entries"]) == 4
    reader.close()
    writing = pv.Ledger.open(roles["reader"])
    with pytest.raises(LedgerUnavailable):
        writing.reserve(PureLoss(0.1))
    writing.close()


@pytest.mark.parametrize("right", ["reader", "spender", "custodian"])
def test_nobody_writes_a_row_by_hand(roles, right):
    address, _, schema = roles[right].partition("#")
    with psycopg.connect(address, autocommit=True) as server:
        for statement in (
            f"DELETE FROM {schema}.entry",
            f'UPDATE {schema}.balance SET sums = \'[["0","0"]]\'',
            f"INSERT INTO {schema}.entry SELECT seq + 1, hash, 'a', kind, '', NULL, NULL, '', '' FROM {schema}.entry",
            f"UPDATE {schema}.rights SET acts = true",
            f"DROP TRIGGER entry_no_change ON {schema}.entry",
            f"TRUNCATE {schema}.entry",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                server.execute(statement)
        call = f"SELECT {schema}.append_entry(2, 'x', 'y', 'budget', '', NULL, NULL, '', '', '{{}}', '{{}}')"
        with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.RaiseException)):
            server.execute(call)


def test_rights_can_be_taken_back(roles, postgres_url):
    schema = roles["spender"].partition("#")[2]
    name = roles["spender"].partition("//")[2].partition("@")[0]
    grant_roles(f"{postgres_url}#{schema}", readers=[name])
    ledger = pv.Ledger.open(roles["spender"])
    with pytest.raises(LedgerUnavailable):
        ledger.reserve(PureLoss(0.1))
    ledger.close()


def test_names_of_roles_are_plain(postgres_url):
    with pytest.raises(InvalidParameter, match="plain names"):
        grant_roles(f"{postgres_url}#x", spenders=['a"; DROP SCHEMA x; --'])
