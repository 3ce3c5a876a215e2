"""`privet ledger` as a custodian meets it."""

import json

import pytest

import privet as pv
from privet.privacy import GaussianLoss, PureLoss


@pytest.fixture
def visits(tmp_path):
    url = str(tmp_path / "visits.ledger")
    ledger = pv.Ledger.create(url, budget=pv.Budget(3.0, 1e-6), dataset="visits")
    ledger.add_analyst("ann", budget=pv.Budget(1.0))
    laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    ledger.release(laplace, 100, analyst="ann", purpose="how many", key="n")
    ledger.reserve(PureLoss(0.1))
    ledger.close()
    return url


def test_init_begins_a_ledger_once(privet, tmp_path):
    url = tmp_path / "new.ledger"
    done = privet("ledger", "init", url, "--epsilon", 3, "--delta", "1e-6", "--dataset", "visits", "--person", "id")
    assert (done.code, done.err) == (0, "")
    assert "(3, 1e-06)-DP" in done.out
    assert "column id" in done.out
    assert pv.Ledger.open(url).budget == pv.Budget(3.0, 1e-6)
    again = privet("ledger", "init", url, "--epsilon", 5)
    assert again.code == 2
    assert "already" in again.err
    assert pv.Ledger.open(url).verify().entries == 1


def test_init_needs_a_budget_and_leaves_nothing(privet, tmp_path):
    done = privet("ledger", "init", tmp_path / "new.ledger")
    assert done.code == 2
    assert "--epsilon" in done.err
    assert list(tmp_path.iterdir()) == []
    document = privet("ledger", "init", tmp_path / "rho.ledger", "--rho", 0.1, "--json")
    assert json.loads(document.out)["promise"].startswith("0.1-zCDP")


def test_show_tells_what_a_custodian_needs(privet, visits):
    shown = privet("ledger", "show", visits, "--total", "1e-6")
    assert shown.code == 0
    for words in (
        "visits",
        "more count",
        "at 95%",
        "1 paid without",
        "analyst ann",
        "fixed in advance",
        "Anchor",
    ):
        assert words in shown.out
    document = json.loads(privet("ledger", "show", visits, "--json").out)
    assert document["orphans"] == 1
    assert document["accounts"]["analyst:ann"]["balances"][0]["spent"] == 0.5
    assert document["total"] is None


def test_show_draws_the_budget_over_time(privet, visits, tmp_path):
    picture = tmp_path / "budget.png"
    assert privet("ledger", "show", visits, "--plot", picture).code == 0
    assert picture.stat().st_size > 5000


def test_show_names_raises_and_closing(privet, visits):
    ledger = pv.Ledger.open(visits)
    ledger.reserve(GaussianLoss(100.0))
    ledger.raise_budget(pv.Budget(4.0, 1e-6), reason="the board")
    ledger.close_dataset("study ended")
    shown = privet("ledger", "show", visits)
    assert "no longer stands" in " ".join(shown.out.split())
    assert "study ended" in shown.out
    assert "∞" not in shown.out
    assert privet("ledger", "show", visits, "--json").code == 0


def test_verify_and_anchors(privet, visits, tmp_path):
    anchor, key = tmp_path / "a.anchor", tmp_path / "c.key"
    made = privet("ledger", "checkpoint", visits, "--anchor", anchor, "--key", key, "--new-key", "--json")
    public = json.loads(made.out)["public_key"]
    good = privet("ledger", "verify", visits, "--anchor", anchor, "--public-key", public, "--json")
    assert json.loads(good.out)["anchored"] == 7
    assert "signed" in privet("ledger", "show", visits, "--anchor", anchor).out
    wrong = privet("ledger", "verify", visits, "--anchor", anchor, "--public-key", "00" * 32)
    assert (wrong.code, wrong.out) == (5, "")
    assert "expected key" in wrong.err
    assert privet("ledger", "verify", visits, "--head", "ab" * 32).code == 5
    assert "chain and sums agree" in privet("ledger", "verify", visits).out


def test_export_and_explain(privet, visits, tmp_path):
    assert len(json.loads(privet("ledger", "export", visits).out)["entries"]) == 5
    out = tmp_path / "visits.json"
    assert privet("ledger", "export", visits, "--out", out).code == 0
    assert json.loads(out.read_text())["dataset"] == "visits"
    told = privet("ledger", "explain", visits, 3)
    for words in ("laplace (scale 2)", "analyst:ann: basic epsilon 0.5", "how many", "secure", "privet "):
        assert words in told.out
    assert json.loads(privet("ledger", "explain", visits, 3, "--json").out)["cost"]["dataset"]["basic epsilon"] == 0.5
    assert privet("ledger", "explain", visits, 99).code == 2


def test_budget_registers_raises_and_shows(privet, visits):
    assert "group team" in privet("ledger", "budget", visits, "--group", "team", "--epsilon", 2).out
    privet("ledger", "budget", visits, "--analyst", "bob", "--group", "team")
    assert pv.Ledger.open(visits).policy.analysts["bob"].group == "team"
    refused = privet("ledger", "budget", visits, "--analyst", "ann", "--epsilon", 2)
    assert refused.code == 2
    assert "why" in refused.err
    raised = privet("ledger", "budget", visits, "--analyst", "ann", "--epsilon", 2, "--reason", "new study", "--json")
    assert json.loads(raised.out)["analyst:ann"]["promise"] == "2-DP by basic"
    assert privet("ledger", "budget", visits, "--next").code == 2
    assert pv.Ledger.open(visits).verify().entries == 8


def test_a_missing_ledger_is_one_clear_line(privet, tmp_path):
    done = privet("ledger", "show", tmp_path / "nothing.ledger")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("privet: there is no ledger")
