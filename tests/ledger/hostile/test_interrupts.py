"""Ctrl-C at any moment: no lock stays behind, no transaction stays open, what was returned was paid."""

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import LedgerBusy
from privet.ledger.signals import HeldSignals, give_way
from privet.privacy import PureLoss
from tests.effort import tries
from tests.ledger.hostile import nursery
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin, check_books, impatient
from tests.ledger.hostile.test_unavailable import another_writer

STEP = PureLoss(0.001)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)
DURABLE = pytest.mark.parametrize("fresh", ["sqlite", SERVER], indirect=True)


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C means what it means to a person, also where the tests were started with it ignored (`nohup`, some runners)."""
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, inherited)


@contextmanager
def pressed(after: float) -> Iterator[None]:
    """Ctrl-C, a little later."""
    timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.join(200)


@DURABLE
def test_ctrl_c_while_waiting_for_another_writer(fresh: Fresh):
    url = fresh()
    with closing(pv.Ledger.create(url, budget=pv.Budget(epsilon=1.0), timeout=200.0)) as ledger:
        start = time.monotonic()
        with another_writer(url), pytest.raises(KeyboardInterrupt), pressed(0.3):
            ledger.reserve(STEP)
        assert time.monotonic() - start < 100.0, "it waited for the lock, not for Ctrl-C"
        ledger.reserve(STEP)  # the handle is whole
        with closing(pv.Ledger.open(url)) as other:
            other.reserve(STEP)  # and holds nothing
        assert len(check_books(ledger, BasicFilter(1.0)).reserved) == 2


@EVERY
def test_ctrl_c_while_another_thread_writes(fresh: Fresh):
    with closing(pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0), timeout=200.0)) as ledger:
        held, done = threading.Event(), threading.Event()

        def hold() -> None:
            with ledger._store.transaction():
                held.set()
                done.wait(200)

        holder = threading.Thread(target=hold)
        holder.start()
        assert held.wait(200)
        with pytest.raises(KeyboardInterrupt), pressed(0.2):
            ledger.reserve(STEP)
        done.set()
        holder.join(200)
        assert not holder.is_alive()
        ledger.reserve(STEP)
        assert len(check_books(ledger, BasicFilter(1.0)).reserved) == 1


def break_a_transaction(ledger: pv.Ledger, kind: type[BaseException]) -> None:
    with ledger._writing() as session:
        session.append("checkpoint", time="now")
        raise kind


@EVERY
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, RuntimeError])
def test_what_breaks_a_transaction_rolls_it_back(fresh: Fresh, kind: type[BaseException]):
    url = fresh()
    with closing(pv.Ledger.create(url, budget=pv.Budget(epsilon=1.0))) as ledger:
        with pytest.raises(kind):
            break_a_transaction(ledger, kind)
        ledger.reserve(STEP)
        assert [entry.kind for entry in ledger.entries()] == ["open", "reserve"]


def test_signals_wait_and_are_handled_once():
    told: list[str] = []
    old = signal.signal(signal.SIGUSR1, lambda number, frame: told.append("handled"))
    try:
        with HeldSignals():
            with HeldSignals():
                signal.raise_signal(signal.SIGUSR1)
                assert told == []
                give_way()
                assert told == ["handled"]
                signal.raise_signal(signal.SIGUSR1)
            assert told == ["handled"]
        assert told == ["handled", "handled"]
        signal.raise_signal(signal.SIGUSR1)
        assert len(told) == 3
    finally:
        signal.signal(signal.SIGUSR1, old)
    with pytest.raises(KeyboardInterrupt), HeldSignals():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def check_storm(url: str, *, interrupts: int) -> dict[str, Any]:
    if url != "memory:":
        pv.Ledger.create(url, budget=pv.Budget(epsilon=1000.0)).close()
    told: dict[str, Any] = nursery.run("storm", timeout=900, url=url, interrupts=interrupts, seconds=600.0)
    assert told["interrupts"] >= interrupts, told  # counted where they happen, not guessed from presses
    assert told["stuck"] == 0, "a lock or a transaction stayed behind"
    assert told["missing"] == 0, "a value was returned and is not in the log"
    assert told["verified"]
    return told


@EVERY
def test_a_storm(fresh: Fresh):
    check_storm(fresh(), interrupts=15)


@pytest.mark.slow
@EVERY
def test_a_long_storm(fresh: Fresh):
    check_storm(fresh(), interrupts=tries(150))


@pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)
def test_the_check_sees_a_transaction_that_stays_open(fresh: Fresh):
    """The broken twin: somebody's transaction that nobody ends makes everybody else wait in vain."""
    url = fresh()
    with closing(pv.Ledger.create(url, budget=pv.Budget(epsilon=1.0))) as ledger:
        with closing(sqlite3.connect(url, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerBusy), impatient(ledger):
                ledger.reserve(Coin().loss)
        ledger.reserve(Coin().loss)
