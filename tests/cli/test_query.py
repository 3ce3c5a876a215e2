"""`privet query`, `privet table draft` and `privet table check`: from a file and a schema to a paid answer."""

import csv
import io
import json

import pytest

import privet as pv
from privet.tables.engines import duckdb

SQL = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE age >= 65 GROUP BY ward"
SCHEMA = """\
[unit]
kind = "person"
column = "patient"
max_rows = 2

[columns.age]
kind = "int"
lower = 0
upper = 110

[columns.ward]
kind = "category"
values = ["A", "B", "C"]

[columns.cost]
kind = "float"
lower = 0.0
upper = 100.0

[columns.day]
kind = "date"
lower = 2024-01-01
upper = 2024-01-03

[columns.city]
kind = "text"
"""


@pytest.fixture
def ask(privet, tmp_path):
    """The command with a file, its schema and a ledger; options come after."""
    lines = [f"{i % 150},{i % 100},{'AB'[i % 2]},{i % 7}.5,2024-01-0{1 + i % 3},Rome" for i in range(300)]
    (tmp_path / "visits.csv").write_text("patient,age,ward,cost,day,city\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "visits.toml").write_text(SCHEMA, encoding="utf-8")
    budget = pv.Budget(epsilon=100.0, delta=1e-3)
    pv.Ledger.create(tmp_path / "visits.ledger", budget=budget, unit=pv.privacy.Unit(person="patient")).close()
    paying = ["--ledger", tmp_path / "visits.ledger"]

    def asked(*options, sql=SQL, pays=True):
        place = [tmp_path / "visits.csv", "--schema", tmp_path / "visits.toml", "--sql", sql]
        return privet("query", *place, *(paying if pays else []), *options)

    asked.folder = tmp_path
    asked.entries = lambda: [each.kind for each in pv.Ledger.open(tmp_path / "visits.ledger").entries()]
    return asked


def test_an_answer_in_words(ask):
    done = ask("--epsilon", 40)
    assert (done.code, done.err) == (0, "")
    assert done.out.split()[:3] == ["ward", "n", "cost"]
    assert "60 left" in done.out
    assert ask.entries().count("reserve") == 1


def test_an_answer_as_json_and_again_under_its_key(ask):
    done = ask("--epsilon", 40, "--json", "--key", "May", "--purpose", "a test")
    document = json.loads(done.out)
    assert [row["ward"] for row in document["rows"]] == ["A", "B", "C"]
    for row, exact in zip(document["rows"], (53, 52, 0), strict=True):
        assert abs(row["n"] - exact) <= 8  # far beyond what noise of scale 1/20 can do
        assert row["n_low"] <= row["n"] <= row["n_high"]
    again = ask("--epsilon", 40, "--json", "--key", "May", "--purpose", "a test")
    assert document["stored"] is None
    assert json.loads(again.out) == {**document, "stored": 3}
    assert "stored answer of entry 3" in ask("--epsilon", 40, "--key", "May", "--purpose", "a test").out
    assert ask.entries().count("reserve") == 1
    other = ask("--epsilon", 40, "--key", "May", "--purpose", "a test", "--about", "2026-06")
    assert other.code != 0
    assert "another request" in other.err


def test_an_answer_as_csv_with_days(ask):
    done = ask("--epsilon", 40, "--csv", sql="SELECT day, COUNT(*) AS n FROM visits GROUP BY day")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["day"] for row in rows] == ["2024-01-01", "2024-01-02", "2024-01-03"]
    assert set(rows[0]) == {"day", "n", "n_low", "n_high"}


def test_a_public_table_and_discovered_keys(ask):
    (ask.folder / "wards.csv").write_text("ward,floor\nA,1\nB,2\nC,2\n", encoding="utf-8")
    sql = "SELECT floor, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY floor"
    done = ask("--epsilon", 20, "--json", "--public", ask.folder / "wards.csv", sql=sql)
    assert [row["floor"] for row in json.loads(done.out)["rows"]] == [1, 2]
    sql = "SELECT city, COUNT(DISTINCT patient) AS n FROM visits GROUP BY city"
    done = ask("--epsilon", 20, "--delta", "1e-6", "--discover", "--json", sql=sql)
    assert [row["city"] for row in json.loads(done.out)["rows"]] == ["Rome"]


def test_a_preview_reads_nothing_and_pays_nothing(ask):
    (ask.folder / "visits.csv").unlink()
    before = (ask.folder / "visits.ledger").read_bytes()
    done = ask("--epsilon", 0.5, "--preview")
    assert done.code == 0
    assert "n: +-" in done.out
    assert "each of 3 groups" in done.out
    assert json.loads(ask("--epsilon", 0.5, "--preview", "--json").out)["allowed"] is True
    assert ask("--epsilon", 0.5, "--preview", pays=False).code == 0
    assert ask("--epsilon", 500, "--preview").code == 3
    told = ask("--explain", pays=False)
    assert told.code == 0
    assert "group by ward (3 public keys)" in told.out
    assert (ask.folder / "visits.ledger").read_bytes() == before


def test_what_is_not_understood_is_marked(ask):
    done = ask("--epsilon", 1, sql="SELECT COUNT(*) FROM visits LIMIT 3")
    assert done.code == 2
    first, text, mark = done.err.rstrip("\n").split("\n")
    assert first.startswith("privet: line 1, column 29: LIMIT is not understood here")
    assert text.index("LIMIT") == mark.index("^")


def test_a_ledger_and_a_promise_are_needed(ask):
    refused = ask("--epsilon", 1, pays=False)
    assert refused.code == 2
    assert "privet ledger init FILE --epsilon 3 --person patient" in refused.err
    assert ask().code == 2
    assert ask("--epsilon", 1, "--json", "--csv").code == 2
    assert ask("--epsilon", 500).code == 3
    assert ask.entries() == ["open"]


def test_a_ledger_about_somebody_else_refuses(ask):
    (ask.folder / "visits.toml").write_text(SCHEMA.split("[columns", 1)[1].join(["[columns", ""]), encoding="utf-8")
    done = ask("--epsilon", 1)
    assert done.code == 2
    assert ask.entries() == ["open"]


def test_ctrl_c_keeps_the_charge(ask, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(duckdb, "cancellable", stopped)
    done = ask("--epsilon", 1)
    assert done.code == 130
    assert "what was paid stays paid" in done.err
    assert ask.entries().count("reserve") == 1


def test_what_cannot_be_read_is_an_error_of_ours(ask):
    for public in ("", "a,a\n1,2\n", "a,b\n1\n"):
        (ask.folder / "wards.csv").write_text(public, encoding="utf-8")
        assert ask("--epsilon", 1, "--public", ask.folder / "wards.csv").code == 2
    assert ask("--epsilon", 1, "--public", ask.folder / "none.csv").code == 2
    (ask.folder / "visits.csv").unlink()
    assert ask("--epsilon", 1).code == 2
    (ask.folder / "visits.toml").unlink()
    assert ask("--epsilon", 1).code == 2
    assert ask.entries() == ["open"]


def test_a_draft_is_written_once_and_must_be_filled_in(privet, ask):
    place = ask.folder / "draft.toml"
    assert privet("table", "draft", ask.folder / "visits.csv", "--out", place).code == 0
    assert "[columns.age]" in place.read_text(encoding="utf-8")
    assert privet("table", "draft", ask.folder / "visits.csv", "--out", place).code == 2
    assert "[columns.city]" in privet("table", "draft", ask.folder / "visits.csv").out
    plain, looked = (privet("table", "draft", ask.folder / "visits.csv", *more).out for more in ((), ("--look",)))
    assert 'kind = "int"' not in plain
    assert 'kind = "int"' in looked
    assert "Rome" not in place.read_text(encoding="utf-8")
    assert privet("table", "draft", ask.folder / "none.csv").code == 2
    place.write_text('[columns.age]\nkind = "int"\nlower = "FILL IN"\nupper = 3\n', encoding="utf-8")
    with pytest.raises(pv.errors.InvalidParameter, match="fill in lower"):
        pv.Table(ask.folder / "visits.csv", schema=place)
    place.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(pv.errors.InvalidParameter, match="cannot be read"):
        pv.Table(ask.folder / "visits.csv", schema=place)


def test_a_draft_says_what_to_do_where_all_is_text(privet, ask):
    place = ask.folder / "visits.csv"
    assert "--look" in privet("table", "draft", place).err
    assert "--look" not in privet("table", "draft", place, "--look").err
    told = privet("table", "draft", place, "--out", ask.folder / "texts.toml").err
    assert "set the kinds and bounds" in told
    assert "--look" in told


def test_other_separators_on_the_command_line(privet, ask):
    place = ask.folder / "semicolons.csv"
    place.write_text("age;cost\n31;1,5\n47;2,5\n", encoding="utf-8")
    refused = privet("table", "draft", place)
    assert refused.code == 2
    assert "split at semicolons" in refused.err
    for word in ("semicolon", ";"):
        drafted = privet("table", "draft", place, "--separator", word, "--decimal", "comma", "--look")
        assert drafted.code == 0
        assert drafted.out.count("FILL IN") == 4
    schema = ask.folder / "semicolons.toml"
    schema.write_text(
        '[columns.age]\nkind = "int"\nlower = 0\nupper = 110\n[columns.cost]\nkind = "float"\nlower = 0.0\nupper = 9.0\n',
        encoding="utf-8",
    )
    more = ("--separator", "semicolon", "--decimal", "comma")
    assert privet("table", "check", place, "--schema", schema, *more).code == 0
    ledger = ask.folder / "semicolons.ledger"
    assert privet("ledger", "init", ledger, "--epsilon", "1e9").code == 0
    asked = ("--sql", "SELECT SUM(cost) AS s FROM semicolons", "--epsilon", "1e6", "--ledger", ledger, "--json")
    found = privet("query", place, "--schema", schema, *asked, *more)
    assert json.loads(found.out)["rows"][0]["s"] == pytest.approx(4.0, abs=0.01)
    assert privet("table", "draft", place, "--table", "x").code == 2
    pay = ("--schema", schema, "--ledger", ledger, "--epsilon", "1e6")
    fitted = privet("fit", place, *pay, "--target", "cost", "--model", "linear", "--json", *more)
    assert fitted.code == 0, fitted.err
    made = privet("synth", place, *pay, "--out", ask.folder / "made.csv", "--model", "Independent", "--json", *more)
    assert made.code == 0, made.err
    risk = privet("audit", "table", place, "--schema", schema, "--quasi", "age", "--json", *more)
    assert risk.code == 0, risk.err
    assert json.loads(risk.out)["evidence"]["figures"]["rows"] == [2]
    for refused in (privet("fit", place, *pay, "--target", "cost", "--model", "linear"), privet("synth", place, *pay)):
        assert refused.code == 2
        assert "semicolons" in refused.err


def test_a_check_counts_what_does_not_fit(privet, ask):
    place = ask.folder / "visits.csv"
    place.write_text(
        place.read_text(encoding="utf-8") + 'short,1\n7,"A,1,2,3\n,1,A,1.5,2024-01-01,Rome\n', encoding="utf-8"
    )
    given = ["table", "check", place, "--schema", ask.folder / "visits.toml"]
    told = privet(*given).out
    assert "none of this may be released" in told
    assert "1 line left out: fewer fields" in told
    found = json.loads(privet(*given, "--json").out)
    assert (found["rows"], found["nobody"], found["lines"]["quotes"], found["releasable"]) == (301, 1, 1, False)
    assert found["columns"]["ward"] == {"missing": 0, "not_read": 0, "moved": 0}
    assert privet("table", "check", ask.folder / "none.csv", "--schema", ask.folder / "visits.toml").code == 2
    assert ask.entries() == ["open"]
