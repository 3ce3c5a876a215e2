"""Passwords, private values in frames, exits and warnings: nothing of them leaves."""

import asyncio
import pickle
import sys
import threading
import types
import warnings

import numpy as np
import pytest

import privet as pv
from privet.errors import (
    BudgetExceeded,
    InvalidData,
    KeyConflict,
    LedgerUnavailable,
    NotPrivate,
    PrivetError,
    ReleaseFailed,
)
from privet.ledger.url import parse_url, secrets_for
from tests.ledger.hostile.checks import SECRET, everything_about
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin

BUDGET = pv.Budget(epsilon=1.0)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)


def begin(url: str, budget: pv.Budget = BUDGET, **others) -> pv.Ledger:
    return getattr(pv.Ledger, "create", pv.Ledger.open)(url, budget=budget, **others)


def held_by(error: BaseException, skip: types.CodeType) -> list[object]:
    """Every local of every frame of our code that the error keeps alive."""
    found = []
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code is not skip and "/privet/" in frame.f_code.co_filename:
            found += [(name, value) for name, value in frame.f_locals.items()]
        trace = trace.tb_next
    return found


class Table:
    """Private data: easy to find by identity."""

    def __reduce__(self):
        return (Table, ())


def refusals(ledger: pv.Ledger, table: Table):
    def fail(data):
        raise ValueError(SECRET)

    def leave(data):
        raise KeyboardInterrupt(SECRET)

    yield ReleaseFailed, lambda: ledger.release(Coin(0.01, before=fail), table)
    yield KeyboardInterrupt, lambda: ledger.release(Coin(0.01, before=leave), table)
    yield BudgetExceeded, lambda: ledger.release(Coin(7.0), table)
    yield KeyConflict, lambda: ledger.release(Coin(0.02), table, key="k")
    yield PrivetError, lambda: ledger.release(Coin(0.02), table, analyst=7)
    yield PrivetError, lambda: ledger.release(object(), table)
    laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.01, sensitivity=1.0)
    for key in (None, "another"):
        yield InvalidData, lambda key=key: ledger.release(laplace, table, key=key)
    yield PrivetError, lambda: ledger.release(Coin(0.01, value=object()), table)


@EVERY
def test_no_error_keeps_the_data_in_a_frame(fresh: Fresh):
    with begin(fresh()) as ledger:
        table = Table()
        ledger.release(Coin(0.01), table, key="k")
        for kind, ask in refusals(ledger, table):
            with pytest.raises(kind) as caught:
                ask()
            held = held_by(caught.value, ask.__code__)
            assert held, "there are frames to look at"
            assert all(value is not table for _, value in held), [name for name, value in held if value is table]
            assert SECRET not in everything_about(caught.value)
            if kind in (ReleaseFailed, KeyboardInterrupt):
                assert caught.value.__context__ is None


def test_no_error_of_an_ambient_release_keeps_the_data(monkeypatch):
    table = np.arange(7.0)
    large = pv.mechanisms.Laplace.for_budget(epsilon=9.0, sensitivity=1.0)
    small = pv.mechanisms.Laplace.for_budget(epsilon=0.1, sensitivity=1.0)

    def fail(*_, **__):
        raise ValueError(SECRET)

    with begin("memory:"):
        for kind, mechanism in ((BudgetExceeded, large), (ReleaseFailed, small)):
            if kind is ReleaseFailed:
                monkeypatch.setattr(type(mechanism), "_draw", fail)
            with pytest.raises(kind) as caught:
                mechanism.release(table)
            held = held_by(caught.value, test_no_error_keeps_the_data_in_a_frame.__code__)
            assert len(held) > 5
            assert all(value is not table for _, value in held), [name for name, value in held if value is table]
            assert SECRET not in everything_about(caught.value)


def test_twin_that_keeps_its_locals_is_caught():
    def twin(data):
        raise ReleaseFailed("paid")

    table = Table()
    code = twin.__code__.replace(co_filename="/src/privet/twin.py")
    with pytest.raises(ReleaseFailed) as caught:
        types.FunctionType(code, {"ReleaseFailed": ReleaseFailed})(table)
    assert any(value is table for _, value in held_by(caught.value, test_no_error_keeps_the_data_in_a_frame.__code__))


class Own(BaseException):
    pass


@EVERY
@pytest.mark.parametrize(
    "stop", [KeyboardInterrupt, SystemExit, GeneratorExit, Own, asyncio.CancelledError], ids=lambda stop: stop.__name__
)
def test_an_exit_passes_no_text(fresh: Fresh, stop):
    def leave(data):
        if stop is SystemExit:
            sys.exit(f"the value is {data}")
        raise stop(f"the value is {data}")

    with begin(fresh()) as ledger:
        with pytest.raises((stop, ReleaseFailed)) as caught:
            ledger.release(Coin(0.1, before=leave), SECRET)
        error = caught.value
        assert SECRET not in everything_about(error)
        assert (error.__cause__, error.__context__) == (None, None)
        assert SECRET not in str(getattr(error, "code", ""))
        if stop is SystemExit:
            assert error.code == 1
        assert ledger.spent["basic epsilon"] == 0.1


@pytest.mark.parametrize("action", ["default", "always", "error", "once"])
def test_warnings_of_a_mechanism_are_not_heard(action, capsys):
    def warn(data):
        warnings.warn(f"the value is {data}", RuntimeWarning, stacklevel=1)

    ledger = begin("memory:")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter(action)
        ledger.release(Coin(0.1, before=warn), SECRET)
        assert [str(each.message) for each in heard] == []
        before = list(warnings.filters)
        ledger.release(Coin(0.1, before=warn), SECRET)
        assert list(warnings.filters) == before  # nothing stays behind
        if action != "error":
            warnings.warn("after it", RuntimeWarning, stacklevel=1)
            assert len(heard) == 1
    assert SECRET not in str(globals().get("__warningregistry__"))
    assert SECRET not in "".join(capsys.readouterr())


def test_two_threads_leave_the_filters_as_they_were():
    begun, going = threading.Barrier(2), threading.Barrier(2)
    ledger = begin("memory:")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        before = list(warnings.filters)

        def both(data):
            begun.wait(200)
            going.wait(200)

        threads = [threading.Thread(target=ledger.release, args=(Coin(0.1, before=both), 1)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert list(warnings.filters) == before


# --- passwords ----------------------------------------------------------------------------------------------------

WORD = "open" + "sesame"
ADDRESSES = [
    "postgresql://ann:{}@127.0.0.1:1/db",
    "postgresql://ann:{}/and/more@127.0.0.1:1/db",
    "postgresql://ann:{}?and#more@127.0.0.1:1/db#visits",
    "postgresql://ann:p@{}@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?user=ann&password={}",
    "postgresql://127.0.0.1:1/db?PassWord={}&user=ann",
    "postgresql://127.0.0.1:1/db?pass%77ord={}&user=ann",
    "postgresql://ann@127.0.0.1:1/db?sslpassword={}#visits",
    "postgres://ann:{}@127.0.0.1:1/db?sslmode=prefer",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_password_is_in_nothing_that_is_shown_or_travels(address):
    parsed = parse_url(address.format(WORD))
    assert WORD not in repr(parsed)
    assert WORD in str(secrets_for(parsed.url))
    assert parse_url(parsed.url) == parsed
    with pytest.raises(LedgerUnavailable) as caught:
        begin(address.format(WORD), timeout=2.0)
    assert WORD not in everything_about(caught.value)
    held = held_by(caught.value, test_no_error_keeps_the_data_in_a_frame.__code__)
    assert all(WORD not in repr(value) for _, value in held if isinstance(value, str | tuple | list | dict)), held


def test_a_password_with_every_mark_reaches_the_driver():
    assert secrets_for(parse_url("postgresql://ann:a/b?c#d@e:f@db/v").url) == {"password": "a/b?c#d@e:f"}
    assert secrets_for(parse_url("postgresql://ann:a%2Fb@db/v").url) == {"password": "a/b"}
    assert secrets_for(parse_url("postgresql://ann@other/v").url) == {}


def test_a_handle_and_its_entries_hold_no_password(postgres_url, tmp_path):
    with_word = postgres_url.replace("privet@", f"privet:{WORD}@") + "#secret_word"
    ledger = begin(with_word)
    assert WORD not in repr(ledger) + str(pickle.dumps(ledger)) + ledger.url
    copy = pickle.loads(pickle.dumps(ledger))
    assert copy.reserve(pv.privacy.PureLoss(0.1)).seq == 2
    moved = begin(str(tmp_path / "a.ledger")).migrate(postgres_url + f"?password={WORD}#moved_word")
    source = pv.Ledger.open(str(tmp_path / "a.ledger"))
    assert WORD not in str(source.export()) + str(moved.export()) + str(ledger.export())
    for each in (ledger, copy, moved, source):
        each.close()


def test_seeded_noise_is_still_refused_without_the_data(tmp_path):
    ledger = begin(str(tmp_path / "a.ledger"))
    table = Table()
    with pytest.raises(NotPrivate) as caught:
        ledger.release(Coin(0.1, insecure=True), table)
    assert all(value is not table for _, value in held_by(caught.value, Table.__reduce__.__code__))


def test_files_are_for_their_owner(tmp_path):
    ledger = begin(str(tmp_path / "a.ledger"))
    ledger.release(Coin(0.1), 1, key="k")
    ledger.backup(str(tmp_path / "b.ledger"))
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir() if path.is_file()}
    assert {"a.ledger", "b.ledger"} <= set(modes)
    assert set(modes.values()) == {"0o600"}, modes
