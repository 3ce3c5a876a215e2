"""Prices live in `privacy`, whatever room uses them: every ledger reads every price back, with no other room loaded."""

import json
import subprocess
import sys
from dataclasses import dataclass
from unittest.mock import patch

import pytest

import privet as pv
from privet import privacy, testing
from privet.privacy import serial

READER = """
import json, sys
import privet.ledger
from privet import privacy
rooms = ("tables", "workloads", "queries", "synth", "learn", "deep", "pate", "local", "audit", "testing")
others = sorted(name for name in sys.modules if name.startswith("privet.") and name.split(".")[1] in rooms)
losses = [privacy.from_json(text) for text in json.load(sys.stdin)]
ledger = privet.ledger.Ledger.open(sys.argv[1])
ledger.verify()
total = float(ledger.total(delta=1e-6))
told = {"others": others, "kinds": [type(loss).__name__ for loss in losses], "total": total}
print(json.dumps(told | {"equal": [privacy.to_json(loss) for loss in losses]}))
"""


def test_every_registered_price_lives_there():
    testing.assert_every_price_lives_in_privacy()
    homes = {cls.__module__.rpartition(".")[0] for cls in privacy.registered_kinds().values()}
    assert homes <= {"privet.privacy"}


def test_a_price_of_another_room_is_caught():
    @dataclass(frozen=True, eq=False)
    class Strayed(privacy.PureLoss):
        kind = "strayed_price_of_the_tests"

    Strayed.__module__ = "privet.deep.strayed"
    with patch.dict(serial._KINDS):
        privacy.register(Strayed)
        with pytest.raises(AssertionError, match=r"lives in privet\.deep\.strayed"):
            testing.assert_every_price_lives_in_privacy()
    testing.assert_every_price_lives_in_privacy()


def test_a_price_from_outside_is_its_authors_business():
    @dataclass(frozen=True, eq=False)
    class Foreign(privacy.PureLoss):
        kind = "foreign_price_of_the_tests"

    with patch.dict(serial._KINDS):
        privacy.register(Foreign)
        testing.assert_every_price_lives_in_privacy()
        assert "foreign_price_of_the_tests" in privacy.registered_kinds()


def test_every_kind_and_a_ledger_read_back_where_only_the_ledger_is_known(tmp_path):
    url = str(tmp_path / "some.ledger")
    with pv.Ledger.create(url, budget=pv.Budget(epsilon=10.0, delta=1e-2)) as ledger:
        for loss in (privacy.GaussianLoss(5.0), privacy.PureLoss(0.5), privacy.LaplaceLoss(9.0)):
            ledger.reserve(loss)
    losses = [loss for examples in testing.example_losses().values() for loss in examples]
    assert {loss.kind for loss in losses} == set(privacy.registered_kinds())
    texts = [privacy.to_json(loss) for loss in losses]
    run = subprocess.run(
        [sys.executable, "-c", READER, url], input=json.dumps(texts), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["others"] == []
    assert told["kinds"] == [type(privacy.from_json(text)).__name__ for text in texts]
    assert "OpaqueLoss" not in told["kinds"]
    assert told["equal"] == texts
    assert 0.5 < told["total"] < 3.0
