"""A key that comes again: it names a public question, and no data are compared. Edited entries are not answered."""

import json
import re
import sqlite3
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import privet as pv
from privet.errors import KeyConflict, LedgerTampered
from privet.ledger.places import carried
from privet.ledger.stores import draft
from privet.ledger.verify import _imported, verify_export
from tests.ledger.hostile.checks import SECRET
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin

BUDGET = pv.Budget(epsilon=1.0)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)
DURABLE = pytest.mark.parametrize("fresh", ["sqlite", SERVER], indirect=True)
SQLITE = pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)


def begin(url: str, budget: pv.Budget = BUDGET) -> pv.Ledger:
    return getattr(pv.Ledger, "create", pv.Ledger.open)(url, budget=budget)


@EVERY
def test_a_used_key_answers_whatever_data_are_handed_in(fresh: Fresh):
    with begin(fresh()) as ledger:
        first = ledger.release(Coin(0.1), [SECRET, 1], key="k")
        before = ledger.export()
        for data in ([SECRET, 1], [SECRET, 2], None, 0, np.arange(10.0), {SECRET}):
            again = ledger.release(Coin(0.1), data, key="k")
            assert again == first
        assert ledger.export() == before
        ledger.verify()


@EVERY
def test_a_stored_answer_says_so_with_the_number_of_its_entry(fresh: Fresh):
    with begin(fresh()) as ledger:
        first = ledger.release(Coin(0.1), 1, key="k")
        assert first.stored is None
        assert "stored" not in str(first)
        ledger.reserve(pv.privacy.PureLoss(0.1))
        again = ledger.release(Coin(0.1), 1, key="k")
        assert again.stored == 3
        assert ledger.entries()[again.stored - 1].kind == "release"
        assert "stored answer: entry 3" in str(again)
        assert "entry 3" in again._repr_html_()
        assert again == first
        assert again.to_json() == first.to_json()
        assert again.map(str).stored == 3


AGES = np.array([20, 30, 64, 66, 70, 80] * 50)


def told(ledger: pv.Ledger, mechanism, data, **asked) -> str:
    """What an analyst sees of a request that nothing is drawn for: the kind of the answer or the error, and its text."""
    try:
        release = ledger.release(mechanism, data, **asked)
    except pv.errors.PrivetError as error:
        return f"{type(error).__name__}: {error}"
    return f"stored {release.stored}"


def test_two_questions_under_one_key_do_not_tell_whether_their_answers_are_equal():
    """Somebody is 65 in one of the two neighbouring worlds, and in the other nobody: a comparison would tell."""
    seen = []
    for ages in (AGES, np.append(AGES, 65)):
        ledger = begin("memory:")
        count = pv.mechanisms.Count.for_budget(epsilon=0.1)
        ledger.release(count, ages >= 65, purpose="seniors", key="seniors 2026")
        seen.append(told(ledger, count, ages >= 66, purpose="seniors", key="seniors 2026"))
        assert (ledger.length, ledger.spent["basic epsilon"]) == (3, 0.1)
    assert seen == ["stored 3"] * 2


def test_guesses_under_a_used_key_are_worth_nothing():
    ledger = begin("memory:")
    laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.01, sensitivity=1.0)
    ledger.release(laplace, 37217, key="k")
    assert {told(ledger, laplace, guess, key="k") for guess in range(37117, 37317)} == {"stored 3"}


def test_membership_is_not_told_by_a_key():
    names = ["ada", "bob", "eve"]
    for sick in (names, names[:-1]):
        ledger = begin("memory:")
        count = pv.mechanisms.Count.for_budget(epsilon=0.1)
        ledger.release(count, [name in sick for name in names], key="k")
        seen = {told(ledger, count, [name in sick and name != other for name in names], key="k") for other in names}
        assert seen == {"stored 3"}


class Untouched:
    """Data that notice whoever looks at them, in whatever way."""

    def _seen(self, *args: object) -> NoReturn:
        raise AssertionError("somebody looked")

    __array__ = __iter__ = __len__ = __eq__ = __hash__ = __reduce_ex__ = __reduce__ = __getattr__ = _seen
    __bool__ = __float__ = __int__ = __index__ = __str__ = __repr__ = __getstate__ = __buffer__ = _seen


@EVERY
def test_a_used_key_does_not_even_read_the_data(fresh: Fresh):
    with begin(fresh()) as ledger:
        first = ledger.release(Coin(0.1), 1, key="k")
        assert ledger.release(Coin(0.1), Untouched(), key="k") == first
        lines = (line for line in [SECRET])
        assert ledger.release(Coin(0.1), lines, key="k") == first
        assert list(lines) == [SECRET]


def test_a_used_key_answers_also_for_data_that_its_mechanism_could_not_take():
    ledger = begin("memory:")
    laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.1, sensitivity=1.0)
    for key in (None, "k"):
        with pytest.raises(pv.errors.InvalidData):
            ledger.release(laplace, object(), key=key)
        assert ledger.length == 1
    ledger.release(laplace, 5, key="k")
    assert told(ledger, laplace, object(), key="k") == "stored 3"
    assert told(ledger, laplace, object(), key="k", about="May").startswith("KeyConflict")


@EVERY
def test_nothing_reads_the_data_before_they_are_paid_for(fresh: Fresh):
    with begin(fresh()) as ledger:
        for name in ({"key": "k"}, {}, {"key": "l", "about": "May"}):
            ledger.release(Coin(0.1), Untouched(), **name)
        with pytest.raises(KeyConflict):
            ledger.release(Coin(0.1, label="other"), Untouched(), key="k")
        with pytest.raises(pv.errors.BudgetExceeded):
            ledger.release(Coin(5.0), Untouched(), key="too much")


@EVERY
def test_a_version_of_the_data_is_part_of_the_request(fresh: Fresh):
    with begin(fresh()) as ledger:
        first = ledger.release(Coin(0.1), [1], key="k", about="May")
        assert ledger.release(Coin(0.1), [2], key="k", about="May").value == first.value  # the caller's word counts
        for other in ("June", None):
            with pytest.raises(KeyConflict):
                ledger.release(Coin(0.1), [1], key="k", about=other)
        assert [entry.facts.get("about") for entry in ledger.entries()][1] == "May"


@EVERY
def test_a_crashed_key_is_paid_again_whatever_the_data(fresh: Fresh):
    def fail(data):
        raise ValueError

    with begin(fresh()) as ledger:
        with pytest.raises(pv.errors.ReleaseFailed):
            ledger.release(Coin(0.1, before=fail), 1, key="k")
        ledger.release(Coin(0.1), 2, key="k")
        assert ledger.spent["basic epsilon"] == 0.2
        assert ledger.release(Coin(0.1), 1, key="k").stored == 4


@DURABLE
def test_a_key_outlives_the_process_and_leaves_nothing_of_the_data(fresh: Fresh):
    url = fresh()
    table = np.arange(10.0)
    with begin(url) as ledger:
        first = ledger.release(Coin(0.1), table, key="k")
        ledger.close()
    again = pv.Ledger.open(url)
    assert again.release(Coin(0.1), table + 1.0, key="k").value == first.value
    assert not any("data" in entry.facts for entry in again.entries())
    again.close()


@SQLITE
def test_no_secret_lies_beside_a_ledger(fresh: Fresh):
    url = fresh()
    with begin(url) as ledger:
        ledger.release(Coin(0.1), 1, key="k")
        assert not [path for path in Path(url).parent.iterdir() if "secret" in path.name]
        ledger.close()


GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "with_digests.json").read_text())


def old_ledger(url: str) -> pv.Ledger:
    """A ledger whose entries were written while data were still compared by a digest."""
    made = draft(url)
    for each in GOLDEN["entries"]:
        entry = _imported(each)
        made.append(entry, carried(entry))
    made.commit().close()
    return pv.Ledger.open(url)


@DURABLE
def test_ledgers_that_hold_digests_of_data_are_read_and_answer(fresh: Fresh):
    laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    assert verify_export(GOLDEN).entries == len(GOLDEN["entries"])
    ledger = old_ledger(fresh())
    assert ledger.verify().underpriced == ()
    before = ledger.spent.sums
    asked = {"key": "how many", "purpose": "visits of May"}
    assert {ledger.release(laplace, data, **asked).stored for data in (1234, 99, None)} == {3}
    assert ledger.release(laplace, 0, key="how many", analyst="ann").stored == 5
    assert ledger.release(laplace, 0, key="by version", about="May").stored == 7
    assert ledger.start([laplace.loss, pv.privacy.PureLoss(0.1)], key="training").position == 1
    assert ledger.spent.sums == before
    with pytest.raises(KeyConflict):
        ledger.release(laplace, 7, key="by version")
    assert any("data" in event.facts for event in ledger.history())
    ledger.release(laplace, 1, key="new")
    assert not any("data" in entry.facts for entry in ledger.entries()[-2:])
    ledger.verify()
    ledger.close()


def test_the_delta_of_a_price_is_not_part_of_the_question():
    """Keys that were used before mechanisms knew their delta are still answered."""
    made = pv.mechanisms.Gaussian.for_budget(epsilon=0.1, delta=1e-9, sensitivity=1.0)
    plain = pv.mechanisms.Gaussian(scale=made.scale, sensitivity=made.sensitivity)
    assert plain.loss == made.loss
    ledger = begin("memory:", pv.Budget(1.0, 1e-6))
    first = ledger.release(plain, 5, key="k")
    assert ledger.release(made, 5, key="k").value == first.value


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
        ledger.reserve(pv.privacy.PureLoss(0.1))  # the head is as it was
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
