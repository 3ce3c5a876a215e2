"""`privet audit` as a privacy engineer meets it."""

import io
import json
import sys

import pytest

from privet import audit, privacy


def test_the_zoo_prints_a_score_card(privet):
    done = privet("audit", "zoo", "--runs", 20_000, "--bugs", "1,7,42")
    assert (done.code, done.err) == (0, "")
    for words in ("halved", "threshold", "profile", "3 of 3 bugs caught", "0 of 3 sound"):
        assert words in " ".join(done.out.split())


def test_the_zoo_as_json(privet):
    document = json.loads(privet("audit", "zoo", "--runs", 20_000, "--bugs", "20", "--json").out)
    assert (document["entries"], document["caught"], document["own"], document["accused"]) == (1, 1, 1, 0)
    assert document["verdicts"][0]["name"] == "zero counted twice"


def test_a_bug_that_gets_away_is_an_exit_code(privet):
    done = privet("audit", "zoo", "--runs", 40, "--bugs", "37")
    assert done.code == 1
    assert "MISSED" in done.out


@pytest.mark.parametrize("bugs", ["999", "one", "1,,2"])
def test_unknown_numbers_are_refused(privet, bugs):
    done = privet("audit", "zoo", "--bugs", bugs)
    assert (done.code, done.out) == (2, "")
    assert "--bugs" in done.err


def test_a_mechanism_for_a_budget_with_page_and_certificate(privet, tmp_path):
    page, certificate = tmp_path / "a.html", tmp_path / "a.json"
    arguments = ("--epsilon", 1, "--runs", 4_000, "--alpha", "1e-6", "--html", page, "--certificate", certificate)
    done = privet("audit", "mechanism", "laplace", *arguments)
    assert done.code == 0
    assert "not refuted is not private" in done.out
    assert audit.Certificate.from_json(certificate.read_text()).verdict == "not refuted"
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["gaussian", "discrete_laplace", "discrete_gaussian", "geometric"])
def test_other_noise_for_a_budget(privet, name):
    delta = ("--delta", "1e-6") if "gaussian" in name else ()
    arguments = ("--epsilon", 1, *delta, "--sensitivity", 2, "--runs", 2_000, "--alpha", "1e-6", "--json")
    done = privet("audit", "mechanism", name, *arguments)
    assert done.code == 0
    assert json.loads(done.out)["audits"][0]["verdict"] == "not refuted"


def test_other_mechanisms_are_audited_on_their_examples(privet):
    done = privet("audit", "mechanism", "exponential", "--runs", 1_000, "--alpha", "1e-6", "--json")
    audits = json.loads(done.out)["audits"]
    assert len(audits) == 3
    assert sum(each["alpha"] for each in audits) == pytest.approx(1e-6)
    shown = privet("audit", "mechanism", "exponential", "--runs", 1_000, "--alpha", "1e-6")
    assert "3 examples of exponential" in shown.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing",), "laplace"),
        (("exponential", "--epsilon", "1"), "leave --epsilon out"),
        (("geometric", "--epsilon", "1", "--sensitivity", "0.5"), "whole number"),
        (("laplace", "--epsilon", "-1"), "epsilon"),
        (("laplace", "--epsilon", "1", "--runs", "1"), "runs"),
        (("laplace", "--epsilon", "1", "--runs", "100", "--html", "no/such/folder/a.html"), "cannot write"),
    ],
)
def test_refusals_are_one_clear_line(privet, arguments, words):
    done = privet("audit", "mechanism", *arguments)
    assert done.code == 2
    assert words in done.err
    assert done.err.startswith("privet: ")


# --- somebody's own code ------------------------------------------------------------------------------------------------

CODE = """
from privet import mechanisms
_LAPLACE = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
PAIRS = [([1], [1, 1])]

def sound(rows):
    return _LAPLACE.release(float(len(rows))).value

def broken(rows):
    return _LAPLACE.release(4.0 * len(rows)).value
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_code.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("own_code", None)


def test_a_function_of_ones_own_is_held_to_a_claim(privet, own):
    pair = ("--left", "[1]", "--right", "[1, 1]", "--runs", 3_000, "--alpha", "1e-6")
    done = privet("audit", "function", "own_code:sound", "--epsilon", 1, *pair)
    assert (done.code, "not refuted" in done.out) == (0, True)
    done = privet("audit", "function", "own_code:broken", "--epsilon", 1, *pair, "--certificate", own / "c.json")
    assert done.code == 1
    assert audit.Certificate.from_json((own / "c.json").read_text()).name == "own_code:broken"
    listed = ("--neighbours", "own_code:PAIRS", "--runs", 3_000)
    claim = privacy.to_json(privacy.PureLoss(1.0))
    assert privet("audit", "function", "own_code:broken", "--claim", claim, *listed, "--json").code == 1


def test_time_processes_and_an_early_end_are_asked_for(privet, own):
    pair = ("--epsilon", 1, "--left", "[1]", "--right", "[1, 1]", "--alpha", "1e-6", "--json")
    done = privet("audit", "function", "own_code:broken", *pair, "--runs", 4_000, "--stop")
    assert done.code == 1
    assert json.loads(done.out)["findings"][0]["test"] == "betting"
    done = privet("audit", "function", "own_code:broken", *pair, "--runs", 100_000_000, "--seconds", 2)
    assert done.code == 1
    assert json.loads(done.out)["runs"] < 1_000_000
    refused = privet("audit", "function", "own_code:broken", *pair, "--runs", 1_000, "--jobs", 0)
    assert (refused.code, "jobs" in refused.err) == (2, True)


def test_how_far_an_audit_has_come_is_shown_on_a_terminal(monkeypatch):
    from privet.cli import output

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for screen, words in ((Terminal(), "audit"), (io.StringIO(), "")):
        monkeypatch.setattr(sys, "stderr", screen)
        with output.progress():
            audit.mechanism(lambda value: value, claim=privacy.PureLoss(1.0), neighbours=[(0, 1)], runs=40)
        assert words in screen.getvalue()
        assert bool(screen.getvalue()) == bool(words)


def test_a_pipeline_is_replayed(privet, own):
    pair = ("--left", "[1]", "--right", "[1, 1]")
    assert privet("audit", "replay", "own_code:sound", *pair).code == 0
    done = privet("audit", "replay", "own_code:broken", *pair, "--json")
    assert (done.code, json.loads(done.out)["kind"]) == (1, "replay")


@pytest.mark.parametrize(
    "arguments",
    [
        ("function", "own_code:sound", "--left", "[1]", "--right", "[]"),  # no claim
        ("function", "own_code:sound", "--epsilon", "1"),  # no inputs
        ("function", "own_code:sound", "--epsilon", "1", "--left", "[1", "--right", "2"),
        ("function", "own_code", "--epsilon", "1", "--left", "1", "--right", "2"),
        ("function", "own_code:nothing", "--epsilon", "1", "--left", "1", "--right", "2"),
        ("function", "no_such_module:x", "--epsilon", "1", "--left", "1", "--right", "2"),
        ("replay", "own_code:sound", "--left", "[1]"),
        ("verify", "no-such-file.json"),
        ("one-run", "own_code.py", "--top", "1", "--bottom", "1"),
        ("exact", "own_code.py", "--epsilon", "1"),
    ],
)
def test_what_is_missing_is_said(privet, own, arguments):
    done = privet("audit", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_certificate_is_verified_and_a_forged_one_refused(privet, tmp_path):
    secret, other, file = tmp_path / "a.key", tmp_path / "b.key", tmp_path / "c.json"
    public = privet("audit", "key", secret).out.strip()
    assert len(public) == 64
    assert privet("audit", "key", secret).code == 2
    strangers = privet("audit", "key", other).out.strip()
    (tmp_path / "laws.json").write_text(
        json.dumps({"left": {"a": "3/4", "b": "1/4"}, "right": {"a": "1/4", "b": 0.75}})
    )
    made = privet("audit", "exact", tmp_path / "laws.json", "--epsilon", 2, "--certificate", file, "--sign", secret)
    assert made.code == 0
    assert privet("audit", "verify", file, "--key", public).code == 0
    assert privet("audit", "verify", file, "--key", strangers).code == 2
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | {"verdict": "violated"}))
    done = privet("audit", "verify", file)
    assert (done.code, done.out) == (2, "")
    assert privet("audit", "exact", tmp_path / "laws.json", "--epsilon", 1).code == 1


def test_one_training_run_from_a_file(privet, tmp_path):
    coins = audit.Coins.draw(400, top=50, bottom=50)
    lines = [f"{float(coin)},{int(coin)}" for coin in coins.included]
    (tmp_path / "s.csv").write_text("score,included\n" + "\n".join(lines) + "\n")
    (tmp_path / "o.txt").write_text(coins.opening() + "\n")
    fixed = ("--commitment", coins.commitment, "--opening", tmp_path / "o.txt")
    done = privet("audit", "one-run", tmp_path / "s.csv", *fixed, "--delta", "1e-5", "--json")
    document = json.loads(done.out)
    assert (done.code, document["kind"], document["lower"] > 2.0) == (0, "one run", True)
    assert privet("audit", "one-run", tmp_path / "s.csv", *fixed, "--epsilon", 1).code == 1
    assert privet("audit", "one-run", tmp_path / "s.csv", *fixed, "--top", 3, "--bottom", 3).code == 2
    wrong = ("--commitment", "00" * 32, "--opening", tmp_path / "o.txt")
    assert privet("audit", "one-run", tmp_path / "s.csv", *wrong).code == 2
    assert privet("audit", "one-run", tmp_path / "s.csv", "--top", 50, "--bottom", 50).code == 0


@pytest.mark.parametrize("command", ["verify", "function", "one-run", "exact", "replay", "key"])
def test_every_command_has_help_and_an_example(privet, command):
    done = privet("audit", command, "--help")
    assert done.code == 0
    assert f"privet audit {command}" in " ".join(done.out.replace("│", " ").split())
