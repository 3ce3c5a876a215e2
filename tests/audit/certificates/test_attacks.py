"""Certificates of attacks: they follow from their counts, and a changed figure is refused."""

import json

import numpy as np
import pytest

import privet as pv
from privet import audit, privacy, report
from privet.errors import SerialisationError
from tests.audit.membership.planted import records

X, Y = records(300)
WHO = audit.Suspects.of(members=(X[:150], Y[:150]), others=(X[150:], Y[150:]))
COINS = audit.Coins.draw(300, top=30, bottom=30)


def noisy(x, y):
    return 1.0 + np.abs(np.sin(1000.0 * x[:, 0]))


def by_coins():
    known = noisy(X, Y) - 3.0 * COINS.included + 3.0
    return audit.loss_attack(lambda x, y: known, audit.Suspects.by((X, Y), COINS, real=False), claim=0.5, alpha=1e-3)


def table():
    people = pv.Table({"age": [30, 30, 40], "sex": ["f", "m", "f"]}, columns={"age": pv.Int(0, 110), "sex": pv.Text()})
    return audit.exact_reidentification(people, quasi=["age"], sensitive="sex")


SECRETS = audit.exposure(np.zeros(20), np.ones((20, 1023)))
MADE = {
    "membership": lambda: audit.loss_attack(noisy, WHO, claim=1.0),
    "membership by coins": by_coins,
    "table": table,
    "exposure": lambda: SECRETS.test(bits=8.0, claim=privacy.PureLoss(1.0)),
    "exposure bound": lambda: SECRETS.lower(bits=8.0),
}


@pytest.mark.parametrize("name", MADE)
def test_a_certificate_is_read_back_and_has_a_page(name):
    made = audit.certify(MADE[name]())
    assert made.kind == name.split(" ")[0]
    again = audit.Certificate.from_json(made.to_json())
    assert again == made
    page = report.audit_page(again)
    assert "http" not in page.replace("http-equiv", "")
    told = "none: these are figures of a risk" if name == "table" else made.verdict  # no claim was tested
    assert dict(report.audit_facts(again))["Verdict"] == told


def test_the_verdicts():
    assert audit.certify(by_coins()).verdict == "violated"
    assert audit.certify(by_coins()).evidence["commitments"] == [COINS.commitment]
    assert audit.certify(MADE["exposure"]()).verdict == "violated"
    assert audit.certify(MADE["membership"]()).verdict == "not refuted"
    assert audit.certify(MADE["exposure bound"]()).lower > 4.0


def test_figures_of_real_people_carry_their_warning():
    assert "not releasable" in report.audit_page(audit.certify(MADE["membership"]()))
    assert "not releasable" in report.audit_page(audit.certify(table()))
    assert "not a guarantee" in report.audit_page(audit.certify(table()))
    assert "real people" not in report.audit_page(audit.certify(by_coins()))


def forged(name, change):
    document = json.loads(audit.certify(MADE[name]()).to_json())
    change(document)
    held = {key: value for key, value in document.items() if key not in ("digest", "signature")}
    claim = held.pop("claim")
    text = "null" if claim is None else privacy.to_json(privacy.from_json(json.dumps(claim)))
    return audit.Certificate(claim=text, **held)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("membership", lambda d: d["evidence"]["figures"]["area under the curve"].__setitem__(0, 0.99)),
        ("membership", lambda d: d["evidence"]["area"].__setitem__("doubled", 10**9)),
        ("membership", lambda d: d["evidence"]["rates"][0].__setitem__("hits", 151)),
        ("membership", lambda d: d["evidence"]["figures"].pop("found at 0.1")),
        ("membership", lambda d: d.__setitem__("verdict", "violated")),
        ("membership by coins", lambda d: d["findings"][0]["counts"].__setitem__("correct", 40)),
        ("membership by coins", lambda d: d.__setitem__("verdict", "not refuted")),
        ("table", lambda d: d["evidence"]["figures"].__setitem__("alone", [0.0])),
        ("table", lambda d: d["evidence"]["sizes"].__setitem__("0", 3)),
        ("exposure", lambda d: d["findings"][0]["counts"].__setitem__("chance", 0.5)),
        ("exposure bound", lambda d: d.__setitem__("lower", 9.0)),
        ("exposure bound", lambda d: d["evidence"]["bound"]["counts"].__setitem__("copies", 2)),
    ],
)
def test_what_does_not_follow_is_refused(name, change):
    assert audit.certify(MADE[name]()).follows()
    with pytest.raises(SerialisationError):
        forged(name, change).verify()
