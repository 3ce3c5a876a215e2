"""The custodian's commands, and what their exit codes say."""

import json
import sqlite3

import pytest

import privet as pv
from privet.ledger import new_signing_key
from privet.privacy import PureLoss


@pytest.fixture
def visits(tmp_path):
    url = str(tmp_path / "visits.ledger")
    ledger = pv.Ledger.create(url, budget=pv.Budget(3.0, 1e-6), dataset="visits")
    ledger.add_analyst("ann", budget=pv.Budget(1.0, 1e-6))
    laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    ledger.release(laplace, 100, analyst="ann", purpose="how many", key="n")
    ledger.close()
    return url


def test_show_begins_with_the_headline(privet, visits):
    assert "used 16.7%, 2.5 left (rule: basic)" in " ".join(privet("ledger", "show", visits).out.split())
    assert (
        json.loads(privet("ledger", "show", visits, "--json").out)["headline"] == "used 16.7%, 2.5 left (rule: basic)"
    )


def test_log_in_words_as_json_and_as_csv(privet, visits, tmp_path):
    words = privet("ledger", "log", visits).out
    assert "how many" in words
    assert "epsilon 0.5" in words
    assert "registered analyst ann" in words
    assert "registered" not in privet("ledger", "log", visits, "--charges").out
    assert json.loads(privet("ledger", "log", visits, "--json").out)[2]["purpose"] == "how many"
    out = tmp_path / "log.csv"
    assert privet("ledger", "log", visits, "--csv", "--out", out).code == 0
    assert out.read_text().startswith("seq,time,kind")
    assert out.stat().st_mode & 0o777 == 0o600


def test_report_writes_a_page_for_its_owner(privet, visits, tmp_path):
    page = tmp_path / "visits.html"
    assert privet("ledger", "report", visits, "--html", page).code == 0
    assert "So far: used 16.7%" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    assert privet("ledger", "report", visits, "--html", tmp_path / "no" / "page.html").code == 2


def test_preview_pays_nothing_and_says_no_with_3(privet, visits):
    before = len(pv.Ledger.open(visits).entries())
    told = privet("ledger", "preview", visits, "pure", "--epsilon0", 0.5)
    assert told.code == 0
    assert "such requests that fit: 5" in told.out
    ends = json.loads(privet("ledger", "preview", visits, "laplace", "--scale", 0.5, "--json").out)
    assert ends["ends"] == ["zCDP", "GDP"]
    plan = ("gaussian", "--noise-multiplier", 4, "--q", 0.01, "--steps", 1000, "--at", "1e-8")
    assert json.loads(privet("ledger", "preview", visits, *plan, "--json").out)["at"] == 1e-8
    refused = privet("ledger", "preview", visits, "pure", "--epsilon0", 5)
    assert refused.code == 3
    assert "refused" in refused.out
    assert privet("ledger", "preview", visits, "pure", "--epsilon0", 0.9, "--analyst", "ann").code == 3
    assert len(pv.Ledger.open(visits).entries()) == before


def test_suspend_resume_remove_and_lower(privet, visits):
    assert privet("ledger", "suspend", visits, "--analyst", "ann", "--reason", "leave").code == 0
    assert privet("ledger", "preview", visits, "pure", "--epsilon0", 0.1, "--analyst", "ann").code == 2
    assert privet("ledger", "suspend", visits, "--analyst", "ann", "--resume", "--reason", "back").code == 0
    lowered = privet("ledger", "budget", visits, "--analyst", "ann", "--epsilon", 0.6, "--delta", "1e-6", "--lower")
    assert lowered.code == 2  # why?
    again = ("--analyst", "ann", "--epsilon", 0.6, "--delta", "1e-6", "--lower", "--reason", "less")
    assert privet("ledger", "budget", visits, *again).code == 0
    assert (
        privet("ledger", "suspend", visits, "--analyst", "ann", "--remove", "--reason", "left").out == "ann: removed\n"
    )
    assert privet("ledger", "suspend", visits, "--reason", "nobody").code == 2
    assert pv.Ledger.open(visits).policy.removed == {"ann"}


def test_partition_and_close(privet, visits):
    done = privet("ledger", "partition", visits, "ward", "A", "B", "--per-person", 2)
    assert "which nobody checks" in done.out
    assert privet("ledger", "close", visits, "--reason", "ended").code == 0
    assert privet("ledger", "close", visits, "--reason", "ended").code == 2
    assert privet("ledger", "partition", visits, "age", "A", "B").code == 2


def test_backup_restore_and_migrate(privet, visits, tmp_path):
    copy = tmp_path / "copy.ledger"
    assert "4 entries, chain and sums agree" in privet("ledger", "backup", visits, copy).out
    assert privet("ledger", "backup", visits, copy).code != 0  # never over a file
    new = str(tmp_path / "new.ledger")
    back = privet("ledger", "restore", new, "--source", copy, "--reason", "disk failed", "--complete")
    assert back.out.startswith("used 16.7%")
    moved = str(tmp_path / "moved.ledger")
    assert privet("ledger", "migrate", visits, moved).code == 0
    assert pv.Ledger.open(moved).spent["basic epsilon"] == 0.5
    assert privet("ledger", "budget", visits, "--analyst", "eve").code == 2  # it has moved
    laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    opened = pv.Ledger.open(moved)
    assert opened.release(laplace, 100, analyst="ann", purpose="how many", key="n").error is not None
    assert opened.spent["basic epsilon"] == 0.5  # the key has moved along


def test_adopt_counts_an_anchor_as_spent(privet, visits, tmp_path):
    anchor = tmp_path / "a.anchor"
    assert privet("ledger", "checkpoint", visits, "--anchor", anchor).code == 0
    done = privet("ledger", "adopt", visits, "--known", anchor, "--anchor", anchor, "--reason", "to be safe")
    assert done.out.startswith("used 100%")
    assert privet("ledger", "adopt", visits, "--known", tmp_path / "none", "--reason", "x").code == 2


def test_a_custodians_key_on_the_command_line(privet, visits, tmp_path):
    key = tmp_path / "c.key"
    pv.Ledger.open(visits).appoint(new_signing_key(key))
    raised = ("budget", visits, "--epsilon", 4, "--delta", "1e-6", "--reason", "more")
    refused = privet("ledger", *raised)
    assert refused.code == 2
    assert "custodian" in refused.err
    assert privet("ledger", *raised, "--custodian", key).code == 0
    assert privet("ledger", "verify", visits).code == 0


# --- exports and exit codes -----------------------------------------------------------------------------------------


def test_an_export_is_verified_without_the_store(privet, visits, tmp_path):
    out = tmp_path / "visits.json"
    assert privet("ledger", "export", visits, "--out", out).code == 0
    assert out.stat().st_mode & 0o777 == 0o600
    head = pv.Ledger.open(visits).verify().head
    good = privet("ledger", "verify", out, "--head", head, "--json")
    assert (good.code, json.loads(good.out)["head"]) == (0, head)
    assert privet("ledger", "verify", out, "--head", "ab" * 32).code == 5
    text = out.read_text()
    for forged in (
        text.replace("how many", "how much"),
        text.replace('"analyst": "ann"', '"analyst": "bob"', 1),
        text[: len(text) // 2],
        "[]",
        "{}",
    ):
        out.write_text(forged)
        assert privet("ledger", "verify", out).code == 5
    document = json.loads(text)
    document["entries"].pop()
    out.write_text(json.dumps(document))
    assert privet("ledger", "verify", out).code == 5  # a cut tail, with the old head
    assert privet("ledger", "verify", tmp_path / "none.json").code == 2


def test_exit_codes_say_what_kind_of_no_it_is(privet, visits, tmp_path, monkeypatch):
    assert privet("ledger", "show", visits).code == 0
    assert privet("ledger", "show").code == 2
    assert privet("ledger", "explain", visits, 99).code == 2
    assert privet("ledger", "preview", visits, "pure", "--epsilon0", 9).code == 3
    assert privet("ledger", "init", tmp_path / "no" / "such" / "a.ledger", "--epsilon", 1).code == 4
    monkeypatch.setattr(pv.Ledger, "verify", lambda self, **asked: pv.ledger.Verified(9, "ab", 0, 0, (6,)))
    violated = privet("ledger", "verify", visits)
    assert violated.code == 1
    assert "Underpriced: entries 6" in violated.out


def test_tampering_is_5(privet, visits):
    with sqlite3.connect(visits) as file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        file.execute("UPDATE entry SET body = replace(body, 'how many', 'how much') WHERE kind = 'reserve'")
    file.close()
    done = privet("ledger", "verify", visits)
    assert done.code == 5
    assert done.err.startswith("privet: ")


def test_a_refusal_of_a_library_call_is_3(privet, visits, monkeypatch):
    def refuse(*_, **__):
        pv.Ledger.create("memory:", budget=pv.Budget(1.0)).reserve(PureLoss(2.0))

    monkeypatch.setattr(pv.Ledger, "backup", refuse)
    assert privet("ledger", "backup", visits, "x.ledger").code == 3
