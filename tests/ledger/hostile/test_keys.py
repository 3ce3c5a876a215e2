"""The same key with other data, and what is answered from an entry that was edited."""

import json
import re
import sqlite3
from datetime import date

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidParameter, KeyConflict, LedgerTampered
from privet.ledger.secret import digest_of
from tests.ledger.hostile.checks import SECRET, everything_about
from tests.ledger.hostile.conftest import Fresh
from tests.ledger.hostile.probe import Coin

BUDGET = pv.Budget(epsilon=1.0)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", "postgres"], indirect=True)
DURABLE = pytest.mark.parametrize("fresh", ["sqlite", "postgres"], indirect=True)
SQLITE = pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)


def begin(url: str, budget: pv.Budget = BUDGET) -> pv.Ledger:
    return getattr(pv.Ledger, "create", pv.Ledger.open)(url, budget=budget)


@EVERY
def test_the_same_key_with_other_data_is_a_conflict(fresh: Fresh):
    with begin(fresh()) as ledger:
        first = ledger.release(Coin(0.1), [SECRET, 1], key="k")
        assert ledger.release(Coin(0.1), [SECRET, 1], key="k").value == first.value
        before = ledger.spent.sums
        with pytest.raises(KeyConflict) as caught:
            ledger.release(Coin(0.1), [SECRET, 2], key="k")
        assert SECRET not in everything_about(caught.value)
        assert ledger.spent.sums == before
        ledger.verify()


@EVERY
def test_a_version_of_the_data_is_part_of_the_request(fresh: Fresh):
    with begin(fresh()) as ledger:
        first = ledger.release(Coin(0.1), [1], key="k", about="May")
        assert ledger.release(Coin(0.1), [2], key="k", about="May").value == first.value  # the caller's word counts
        for other in ("June", None):
            with pytest.raises(KeyConflict):
                ledger.release(Coin(0.1), [1], key="k", about=other)
        assert [entry.facts.get("about") for entry in ledger.entries()][1] == "May"
        assert all("data" not in entry.facts for entry in ledger.entries())


@EVERY
def test_a_crashed_key_with_other_data_is_a_conflict_too(fresh: Fresh):
    def fail(data):
        raise ValueError

    with begin(fresh()) as ledger:
        with pytest.raises(pv.errors.ReleaseFailed):
            ledger.release(Coin(0.1, before=fail), 1, key="k")
        with pytest.raises(KeyConflict):
            ledger.release(Coin(0.1), 2, key="k")
        ledger.release(Coin(0.1), 1, key="k")


@DURABLE
def test_the_digest_outlives_the_process_and_names_nobody(fresh: Fresh):
    url = fresh()
    table = np.arange(10.0)
    with begin(url) as ledger:
        first = ledger.release(Coin(0.1), table, key="k")
        ledger.release(Coin(0.1), table, key="other")
        ledger.close()
    again = pv.Ledger.open(url)
    assert again.release(Coin(0.1), table.copy(), key="k").value == first.value
    digests = [entry.facts["data"] for entry in again.entries() if "data" in entry.facts]
    assert digests[0] == digests[1]  # a reservation and its release
    assert digests[0] != digests[2]  # equal data under two keys cannot be told to be equal
    assert all(digest_of(table, bytes(32), *where) not in digests for where in [("", "", "k"), ("default", "", "k")])
    again.close()


@SQLITE
def test_the_secret_is_its_owners_and_in_no_export(fresh: Fresh):
    url = fresh()
    with begin(url) as ledger:
        ledger.release(Coin(0.1), 1, key="k")
        (found,) = [path for path in __import__("pathlib").Path(url).parent.iterdir() if path.name.endswith(".secret")]
        assert found.stat().st_mode & 0o777 == 0o600
        secret = found.read_bytes()
        assert len(secret) == 32
        assert secret.hex() not in json.dumps(ledger.export())
        ledger.close()
        found.unlink()
    with pytest.raises(KeyConflict, match="secret"):
        pv.Ledger.open(url).release(Coin(0.1), 1, key="k")  # nothing left to compare with: no silent answer


def test_the_delta_of_a_price_is_not_part_of_the_question():
    """Keys that were used before mechanisms knew their delta are still answered."""
    made = pv.mechanisms.Gaussian.for_budget(epsilon=0.1, delta=1e-9, sensitivity=1.0)
    plain = pv.mechanisms.Gaussian(scale=made.scale, sensitivity=made.sensitivity)
    assert plain.loss == made.loss
    ledger = begin("memory:", pv.Budget(1.0, 1e-6))
    first = ledger.release(plain, 5, key="k")
    assert ledger.release(made, 5, key="k").value == first.value


SAME = [
    (1, 1.0),
    (1, np.int8(1)),
    (True, 1),
    ([1, 2], (1, 2)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({1, 2}, {2, 1}),
    (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))),
    (np.arange(3, dtype=np.int8), np.arange(3)),
    (np.array([-0.0]), np.array([0.0])),
]
DIFFERENT = [
    (1, 2),
    (1, "1"),
    ([1, 2], [2, 1]),
    ([1, [2]], [[1], 2]),
    ([], None),
    (["ab", "c"], ["a", "bc"]),
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, [("a", 1)]),
    (np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)),
    (np.array([0.5]), np.array([0.5 + 1e-16 * 4])),
    (b"ab", "ab"),
    (date(2024, 5, 1), date(2024, 5, 2)),
    (float("nan"), float("inf")),
]


@pytest.mark.parametrize(("a", "b"), SAME, ids=str)
def test_equal_data_have_one_digest(a, b):
    assert digest_of(a, bytes(32), "k") == digest_of(b, bytes(32), "k")
    assert digest_of(a, bytes(32), "k") != digest_of(a, b"x" * 32, "k")


@pytest.mark.parametrize(("a", "b"), DIFFERENT, ids=str)
def test_different_data_have_two_digests(a, b):
    assert digest_of(a, bytes(32), "k") != digest_of(b, bytes(32), "k")


def test_frames_are_told_apart_too():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert digest_of(frame, bytes(32), "k") == digest_of(frame.copy(), bytes(32), "k")
    assert digest_of(frame, bytes(32), "k") != digest_of(frame.assign(a=[1, 3]), bytes(32), "k")


def test_data_without_a_form_need_a_version_before_anything_is_paid():
    ledger = begin("memory:")
    lines = (line for line in [SECRET])
    with pytest.raises(InvalidParameter, match="about=") as caught:
        ledger.release(Coin(0.1), lines, key="k")
    assert caught.value.__context__ is None
    assert list(lines) == [SECRET]  # nobody read them
    assert len(ledger.entries()) == 1
    ledger.release(Coin(0.1), lines, key="k", about="today")
    ledger.release(Coin(0.1), lines)


def edited(url: str, pattern: str, replacement: str) -> None:
    """Change a stored release in the file, behind the triggers, and put the triggers back."""
    with sqlite3.connect(url) as file:
        triggers = file.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            file.execute(f"DROP TRIGGER {name}")
        for seq, body in file.execute("SELECT seq, body FROM entry WHERE kind = 'release'").fetchall():
            file.execute("UPDATE entry SET body = ? WHERE seq = ?", (re.sub(pattern, replacement, body), seq))
        for _, sql in triggers:
            file.execute(sql)
    file.close()


@SQLITE
def test_an_edited_release_is_not_answered_or_exported(fresh: Fresh):
    url = fresh()
    with begin(url) as ledger:
        ledger.release(Coin(0.1, value=0.5), 1, key="k")
        ledger.release(Coin(0.1, value=0.5), 1, key="later")
        ledger.close()
    edited(url, r"0\.5", "9.5")
    with pytest.raises(LedgerTampered):
        pv.Ledger.open(url).release(Coin(0.1, value=0.5), 1, key="k")
    with pytest.raises(LedgerTampered):
        pv.Ledger.open(url).export()


@SQLITE
def test_an_entry_that_is_no_json_is_tampering_in_an_export(fresh: Fresh):
    url = fresh()
    with begin(url) as ledger:
        ledger.release(Coin(0.1), 1, key="k")
        ledger.reserve(pv.privacy.PureLoss(0.1))
        ledger.close()
    edited(url, r"^\{", "")
    with pytest.raises(LedgerTampered):
        pv.Ledger.open(url).export()
