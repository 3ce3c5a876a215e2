"""`verify` reads the most frequent entries by their text. It must judge every forgery as the slow way does."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

import privet as pv
from privet.errors import LedgerTampered
from privet.ledger.entry import Entry, linked
from privet.ledger.verify import Auditor
from privet.privacy import GaussianLoss, PureLoss


def entries() -> list[Entry]:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0, 1e-6))
    ledger.reserve(PureLoss(0.01), purpose='it says ,"sums":{} and \\')
    ledger.reserve(GaussianLoss(40.0), at=1e-9)
    ledger.reserve(PureLoss(0.01), key="k", about="v1")
    ledger.reserve(PureLoss(0.02), analyst="ann")
    ledger.raise_budget(pv.Budget(2.0, 2e-6), reason="more")
    ledger.reserve(PureLoss(0.01))
    ledger.open_partition("ward", ["a", "b"])
    ledger.reserve(PureLoss(0.02), part="a")
    ledger.reserve(PureLoss(0.01))
    return ledger.entries()


def relinked(all_entries: list[Entry], at: int, **change: Any) -> list[Entry]:
    """One entry changed, and every hash from there on made good again."""
    made: list[Entry] = []
    for i, entry in enumerate(all_entries):
        new = entry._replace(**change) if i == at else entry
        fields = {name: getattr(new, name) for name in ("body", "analyst", "key", "loss", "amounts")}
        made.append(linked(made[-1] if made else None, new.kind, **fields))
    return made


class Slow(Auditor):
    def _read_quickly(self, entry: Entry) -> bool:
        return False


def judged(kind: type[Auditor], some: list[Entry]) -> Any:
    auditor = kind()
    try:
        for entry in some:
            auditor.read(entry)
    except LedgerTampered as found:
        return str(found)
    return auditor.sums, auditor.upto, auditor.open_reserves, auditor.underpriced, auditor.policy


def in_body(edit: Callable[[dict[str, Any]], Any]) -> Callable[[Entry, random.Random], dict[str, str]]:
    def change(entry: Entry, dice: random.Random) -> dict[str, str]:
        facts = json.loads(entry.body)
        edit(facts)
        return {"body": json.dumps(facts, separators=(",", ":"), sort_keys=True)}

    return change


def one_letter(entry: Entry, dice: random.Random) -> dict[str, str]:
    where, text = dice.randrange(len(entry.body)), entry.body
    return {"body": text[:where] + dice.choice('019a",:[]{} \\') + text[where + 1 :]}


def one_digit(entry: Entry, dice: random.Random) -> dict[str, str]:
    places = [i for i, letter in enumerate(entry.body) if letter.isdigit()]
    where = dice.choice(places)
    return {"body": entry.body[:where] + dice.choice("0123456789") + entry.body[where + 1 :]}


def twice(entry: Entry, dice: random.Random) -> dict[str, str]:
    return {"body": entry.body[:-1] + ',"sums":{"dataset":[["0","0"]]}}'}


def nested(entry: Entry, dice: random.Random) -> dict[str, str]:
    return {"body": entry.body.replace('{"', '{"about":{"x":"y","sums":1},"', 1)}


CHANGES = [
    one_letter,
    one_digit,
    twice,
    nested,
    lambda entry, dice: {"amounts": entry.amounts.replace("1", "0")},
    lambda entry, dice: {"amounts": "{}"},
    lambda entry, dice: {"loss": '{"loss":"pure"}'},
    lambda entry, dice: {"analyst": "bob"},
    lambda entry, dice: {"body": entry.body + " "},
    lambda entry, dice: {"body": entry.body.replace('"time":"', '"time":"x')},
    in_body(lambda facts: facts.pop("time", None)),
    in_body(lambda facts: facts.update(time=5)),
    in_body(lambda facts: facts.update(zzz="later")),
    in_body(lambda facts: facts.update(policy="9")),
    in_body(lambda facts: facts.update(part=["ward", "a"])),
    in_body(lambda facts: facts.pop("sums")),
    in_body(lambda facts: facts["sums"].update({"analyst:ann": [["1", "0"]]})),
]


def check_same(kind: type[Auditor], rounds: int) -> int:
    """How many of the forgeries were noticed; each is judged in the same words both ways."""
    dice, good, noticed = random.Random(11), entries(), 0
    assert judged(kind, good) == judged(Slow, good)
    for i in range(rounds):
        at = dice.randrange(1, len(good))
        forged = relinked(good, at, **CHANGES[i % len(CHANGES)](good[at], dice))
        quick, slow = judged(kind, forged), judged(Slow, forged)
        assert quick == slow
        noticed += isinstance(slow, str)
    return noticed


def test_both_ways_judge_alike():
    assert check_same(Auditor, 8 * len(CHANGES)) >= 2 * len(CHANGES)


def test_most_entries_are_read_by_their_text():
    auditor, usual = Auditor(), 0
    for entry in entries():
        usual += entry.kind == "reserve" and auditor.policy is not None and _peek(auditor, entry)
        auditor.read(entry)
    assert usual == 5, "all but the charge of an analyst and that of a part"


def _peek(auditor: Auditor, entry: Entry) -> bool:
    kept = dict(auditor.sums), dict(auditor.upto), dict(auditor.open_reserves)
    found = auditor._read_quickly(entry)
    auditor.sums, auditor.upto, auditor.open_reserves = kept
    return found


def test_the_check_sees_an_auditor_that_believes_the_text():
    class Believing(Auditor):
        def _read_quickly(self, entry: Entry) -> bool:
            return entry.kind == "reserve" and not entry.analyst and self.policy is not None and entry.seq > 2

    with pytest.raises(AssertionError):
        check_same(Believing, len(CHANGES))
