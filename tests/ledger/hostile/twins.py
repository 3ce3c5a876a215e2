"""Broken twins of the ledger: each is one mistake that a ledger could well contain, planted in the real code.

A planter takes a function like `setattr`, so that a twin can live in one test or in a whole process.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import privet.ledger.ledger as ledger_module
import privet.ledger.session as session_module
import privet.ledger.spending as spending_module
from privet.accounting.filters.amounts import to_amount, to_float
from privet.errors import ReleaseFailed
from privet.ledger.account import FilterAccount, add_sums
from privet.ledger.entry import DATASET
from privet.ledger.ledger import Ledger
from privet.ledger.policy import read_balance
from privet.ledger.stores import postgres as postgres_module, sqlite as sqlite_module, sqlite_file, turn as turn_module
from privet.ledger.verify import Auditor

Plant = Callable[[Any, str, Any], None]
PLANTS: dict[str, Callable[[Plant], None]] = {}


def twin(name: str) -> Callable[[Callable[[Plant], None]], Callable[[Plant], None]]:
    def register(plant: Callable[[Plant], None]) -> Callable[[Plant], None]:
        PLANTS[name] = plant
        return plant

    return register


@twin("the check is outside the transaction")
def _(put: Plant) -> None:
    looked, real_release, real_plus = threading.local(), Ledger.release, FilterAccount.plus

    def release(self: Ledger, *arguments: Any, **options: Any) -> Any:
        looked.sums = self.spent.sums
        time.sleep(0.005)
        return real_release(self, *arguments, **options)

    def plus(self: FilterAccount, sums: Any, price: Any) -> Any:
        real_plus(self, getattr(looked, "sums", sums), price)
        return add_sums(sums, price)

    put(Ledger, "release", release)
    put(FilterAccount, "plus", plus)


@twin("the draw comes before the charge")
def _(put: Plant) -> None:
    real = Ledger.release

    def release(self: Ledger, mechanism: Any, data: Any, **options: Any) -> Any:
        mechanism.release(None)
        return real(self, mechanism, data, **options)

    put(Ledger, "release", release)


@twin("a failure is refunded")
def _(put: Plant) -> None:
    real = spending_module.run

    def run(mechanism: Any, data: Any, reservation: Any) -> Any:
        try:
            return real(mechanism, data, reservation)
        except ReleaseFailed:
            store = reservation.ledger._store
            store._entries.pop()
            reservation.ledger._tip = None
            head = store._entries[-1]
            store._balances[DATASET] = (sqlite_text(head.facts["sums"][DATASET]), head.seq)
            raise

    put(spending_module, "run", run)


def sqlite_text(plain: Any) -> str:
    return session_module.canonical(plain)


@twin("sums are floats")
def _(put: Plant) -> None:
    real = FilterAccount.plus

    def plus(self: FilterAccount, sums: Any, price: Any) -> Any:
        real(self, sums, price)
        return tuple(
            tuple(to_amount(to_float(a) + to_float(b), up=False) for a, b in zip(x, y, strict=True))
            for x, y in zip(sums, price, strict=True)
        )

    put(FilterAccount, "plus", plus)


@twin("the chain does not cover the order")
def _(put: Plant) -> None:
    real = Auditor.read

    def read(self: Auditor, entry: Any) -> None:
        placed = entry._replace(seq=self.seq + 1, prev=self.hash)
        real(self, placed._replace(hash=session_module.hash_of(placed)))

    put(Auditor, "read", read)
    put(session_module, "check_hash", lambda entry: None)


@twin("the cached balance is trusted")
def _(put: Plant) -> None:
    real = session_module.read_tip

    def read_tip(store: Any, head: Any, known: Any) -> Any:
        text = store.balances()[DATASET][0]
        return real(store, head, known)._replace(spent=read_balance(text), text=text)

    put(session_module, "read_tip", read_tip)
    put(ledger_module, "read_tip", read_tip)


@twin("entries can be replaced")
def _(put: Plant) -> None:
    put(sqlite_file, "SCHEMA", {k: v for k, v in sqlite_file.SCHEMA.items() if k != "entry_in_order"})


@twin("charges are not synced")
def _(put: Plant) -> None:
    def relaxed(self: Any, connection: Any, word: str, level: int) -> None:
        connection.execute("PRAGMA synchronous = NORMAL")

    put(sqlite_module.SqliteStore, "_synchronous", relaxed)


@twin("lock and read in one statement")
def _(put: Plant) -> None:
    store, txn = postgres_module.PostgresStore, postgres_module.PostgresTxn

    def begin(self: Any, connection: Any, synchronous: str) -> None:
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")

    def head(self: Any) -> Any:
        row = self._one(
            f"SELECT {postgres_module._COLUMNS} FROM {{s}}.entry, (SELECT id FROM {{s}}.lock FOR UPDATE) AS held "
            "ORDER BY seq DESC LIMIT 1"
        )
        return None if row is None else postgres_module._entry(row)

    put(store, "_begin", begin)
    put(txn, "head", head)


@twin("who finds the lock taken comes back later")
def _(put: Plant) -> None:
    class Later(Exception):
        pass

    real = turn_module.Turn._try

    def leave(turn: Any, deadline: float) -> None:
        raise Later

    def poll(self: Any, deadline: float) -> bool:
        try:
            return real(self, deadline)
        except Later:
            time.sleep(0.6)
            return False

    put(turn_module, "_wait", leave)
    put(turn_module.Turn, "_try", poll)
