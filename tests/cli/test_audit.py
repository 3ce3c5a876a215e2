"""`privet audit` as a privacy engineer meets it."""

import json

import pytest

from privet import audit


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


@pytest.mark.parametrize("bugs", ["99", "one", "1,,2"])
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
