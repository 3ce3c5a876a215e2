"""Rights in PostgreSQL: who reads, who spends, who acts. Nobody but the owner of the schema touches its tables."""

import re
from collections.abc import Iterable
from typing import Any

from privet.errors import InvalidParameter
from privet.ledger.stores.postgres import PostgresStore
from privet.ledger.stores.postgres_link import connected, plainly
from privet.ledger.url import parse_url

_ROLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_SPENDING = "('reserve', 'slice', 'release', 'checkpoint')"
_FUNCTIONS = """
CREATE TABLE IF NOT EXISTS {s}.rights (role text PRIMARY KEY, acts boolean NOT NULL);
CREATE TABLE IF NOT EXISTS {s}.value (digest text PRIMARY KEY, raw bytea NOT NULL);
CREATE OR REPLACE FUNCTION {s}.keep_value(a_digest text, a_raw bytea) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  IF a_digest IS DISTINCT FROM encode(sha256(a_raw), 'hex') THEN RAISE EXCEPTION 'a value is named by its hash'; END IF;
  INSERT INTO {s}.value VALUES (a_digest, a_raw) ON CONFLICT DO NOTHING;
END $$;
CREATE OR REPLACE FUNCTION {s}.take_turn() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
AS $$ BEGIN PERFORM id FROM {s}.lock FOR UPDATE; END $$;
CREATE OR REPLACE FUNCTION {s}.append_entry(a_seq bigint, a_prev bytea, a_hash bytea, a_kind text, a_analyst text,
  a_key text, a_loss text, a_amounts text, a_body text, scopes text[], totals text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  PERFORM id FROM {s}.lock FOR UPDATE;
  IF a_kind NOT IN {spending} AND NOT EXISTS (SELECT 1 FROM {s}.rights WHERE role = session_user AND acts) THEN
    RAISE EXCEPTION 'this is an act of the custodian' USING ERRCODE = '42501';
  END IF;
  IF a_prev IS DISTINCT FROM (SELECT hash FROM {s}.entry ORDER BY seq DESC LIMIT 1) THEN
    RAISE EXCEPTION 'an entry follows the last one';
  END IF;
  INSERT INTO {s}.entry (seq, prev, hash, kind, analyst, key, loss, amounts, body)
  VALUES (a_seq, a_prev, a_hash, a_kind, a_analyst, a_key, a_loss, a_amounts, a_body);
  INSERT INTO {s}.balance SELECT scope, total, a_seq FROM unnest(scopes, totals) AS changed(scope, total)
  ON CONFLICT (scope) DO UPDATE SET sums = excluded.sums, upto_seq = excluded.upto_seq;
END $$;
REVOKE ALL ON FUNCTION {s}.take_turn() FROM PUBLIC;
REVOKE ALL ON FUNCTION {s}.keep_value(text, bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION {s}.append_entry(bigint, bytea, bytea, text, text, text, text, text, text, text[], text[])
  FROM PUBLIC;
"""


def grant_roles(
    url: object, *, readers: Iterable[str] = (), spenders: Iterable[str] = (), custodians: Iterable[str] = ()
) -> None:
    """Give roles of the server their rights on a ledger; call it as the owner of the schema. Names exist already.

    Readers show, verify and export. Spenders charge and record, through a function that appends and does nothing else.
    Custodians also raise, ration and close. None of them can insert, change or delete a row by hand. Calling it again
    changes what a role may do.

    **Guarantee:** an account of a spender cannot write an act of the custodian, whatever program it runs.

    >>> grant_roles("memory:", readers=["ann"])
    Traceback (most recent call last):
    privet.errors.InvalidParameter: roles belong to a PostgreSQL server; a file has a custodian's key (appoint)
    """
    address = parse_url(url)
    if address.store != "postgres":
        raise InvalidParameter("roles belong to a PostgreSQL server; a file has a custodian's key (appoint)")
    dsn, s = PostgresStore.schema_of(address.target)
    named = {"read": list(readers), "spend": list(spenders), "act": list(custodians)}
    if not all(isinstance(role, str) and _ROLE.fullmatch(role) for roles in named.values() for role in roles):
        raise InvalidParameter("roles are plain names of letters, digits and underscores")
    with plainly("no right was changed"):
        connection = connected(dsn, 60.0)
        try:
            with connection.transaction():
                connection.execute(_FUNCTIONS.format(s=s, spending=_SPENDING))
                for right, roles in named.items():
                    for role in roles:
                        _grant(connection, s, role, right)
        finally:
            connection.close()


def _grant(connection: Any, s: str, role: str, right: str) -> None:
    quoted = f'"{role}"'
    append = f"{s}.append_entry(bigint, bytea, bytea, text, text, text, text, text, text, text[], text[])"
    connection.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {s} FROM {quoted}")
    keep = f"{s}.keep_value(text, bytea)"
    connection.execute(f"REVOKE ALL ON FUNCTION {s}.take_turn(), {keep}, {append} FROM {quoted}")
    connection.execute(f"GRANT USAGE ON SCHEMA {s} TO {quoted}")
    connection.execute(f"GRANT SELECT ON {s}.entry, {s}.balance, {s}.lock, {s}.value TO {quoted}")
    connection.execute(
        f"INSERT INTO {s}.rights VALUES (%s, %s) ON CONFLICT (role) DO UPDATE SET acts = excluded.acts",
        (role, right == "act"),
    )
    if right != "read":
        connection.execute(f"GRANT EXECUTE ON FUNCTION {s}.take_turn(), {keep}, {append} TO {quoted}")
