"""`privet train`: previews cost nothing, mistakes are seen before paying, weights come out and are read back."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import privet as pv  # noqa: E402

PLAN = """
noise_multiplier = 1.0
delta = 1e-5
steps = 3
expected_batch = 4
clip_norm = 1.0
sampling = {kind = "poisson", q = 0.5}
"""
NET = """
import torch
from torch import nn

def make():
    model = nn.Linear(3, 1)
    with torch.no_grad():
        model.weight.fill_(0.1), model.bias.fill_(0.0)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), loss

def loss(outputs, targets):
    return (outputs[:, 0] - targets) ** 2

def two():
    return 1, 2

def broken():
    raise RuntimeError("no such layer")
"""


@pytest.fixture
def ask(tmp_path: Path, privet: Callable[..., Any]) -> Callable[..., Any]:
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "net.py").write_text(NET)
    rows = np.linspace(-1.0, 1.0, 24, dtype=np.float32).reshape(8, 3)
    np.savez(tmp_path / "data.npz", inputs=rows, targets=rows.sum(axis=1))
    privet("ledger", "init", tmp_path / "l.ledger", "--epsilon", 500, "--delta", 1e-3)

    def run(**given: object) -> Any:
        usual = {"model": f"{tmp_path}/net.py:make", "data": tmp_path / "data.npz", "ledger": tmp_path / "l.ledger"}
        named = {**usual, **given}
        plan = named.pop("plan", tmp_path / "plan.toml")
        flags = [word for name, each in named.items() if each is not None for word in (f"--{name}", each)]
        return privet("train", plan, *(each for each in flags if each is not True))

    return run


def spent(folder: Path) -> Any:
    return dict(pv.Ledger.open(str(folder / "l.ledger")).spent)


def test_weights_come_out_once_paid_and_are_read_back(ask: Any, tmp_path: Path) -> None:
    out = tmp_path / "weights.pt"
    made = ask(key="May", about="made up", checkpoint=tmp_path / "May.run", out=out, json=True)
    told = json.loads(made.out)
    assert made.code == 0, made.err
    assert told["weights"] == ["bias", "weight"]
    assert told["paid"]
    assert told["plan"]["noise_multiplier"] == 1.0
    kept = torch.load(out, weights_only=True)
    before = spent(tmp_path)
    assert before["basic epsilon"] > 0
    again = ask(key="May", about="made up", out=tmp_path / "again.pt")
    assert "torch.load" in again.out
    assert "float32" in again.out  # the report says what adding up does
    assert torch.equal(torch.load(tmp_path / "again.pt", weights_only=True)["weight"], kept["weight"])
    assert spent(tmp_path) == before


def test_a_preview_reads_and_pays_nothing(ask: Any, tmp_path: Path) -> None:
    made = ask(preview=True, model=None, data=None, ledger=None)
    assert made.code == 0, made.err
    assert "3 steps in 1 blocks, Poisson" in made.out
    assert "which is charged" in made.out
    assert json.loads(ask(preview=True, model=None, data=None, json=True).out)["epsilon"] > 0
    assert spent(tmp_path)["basic epsilon"] == 0


@pytest.mark.parametrize(("given", "says"), [
    ({"plan": "nowhere.toml"}, "cannot be read"),
    ({"plan": "wrong.toml"}, "epsylon"),
    ({"plan": "unit.toml"}, "Unit takes no"),
    ({"ledger": None}, "--ledger is missing"),
    ({"model": None}, "--model is missing"),
    ({"model": "net.py"}, "such as net.py:make"),
    ({"model": "NET:nothing"}, "has no function"),
    ({"model": "NET:two"}, "three things"),
    ({"model": "NET:broken"}, "no such layer"),
    ({"data": "nowhere.npz"}, "inputs and targets"),
    ({"data": "other.npz"}, "inputs and targets"),
    ({"data": "wide.npz"}, "cannot take records of these shapes"),
    ({"out": "."}, "cannot be written"),
    ({"checkpoint": "May.run"}, "key"),
])  # fmt: skip
def test_public_mistakes_are_seen_before_paying(ask: Any, tmp_path: Path, given: Any, says: str) -> None:
    (tmp_path / "wrong.toml").write_text("epsylon = 1.0\n" + PLAN)
    (tmp_path / "unit.toml").write_text(PLAN + 'unit = {kind = "replace"}\n')
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    np.savez(tmp_path / "wide.npz", inputs=np.zeros((4, 9), dtype=np.float32), targets=np.zeros(4))
    placed = {
        name: each if each is None or each[:1] == "." else each.replace("NET", f"{tmp_path}/net.py")
        if name == "model" else tmp_path / each
        for name, each in given.items()
    }  # fmt: skip
    made = ask(**{**placed, **({"out": tmp_path} if "out" in given else {})})
    assert made.code != 0
    assert says in made.err + made.out
    assert "Traceback" not in made.err
    assert spent(tmp_path)["basic epsilon"] == 0


class Called:
    """What runs code when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def test_a_file_of_data_is_neither_run_nor_quoted(ask: Any, tmp_path: Path) -> None:
    mark, head = tmp_path / "mark", b"{'descr': SECRET 12345}\n"
    np.savez(tmp_path / "code.npz", inputs=np.array([Called(mark)], dtype=object), targets=np.zeros(1))
    with zipfile.ZipFile(tmp_path / "broken.npz", "w") as file:
        for name in ("inputs.npy", "targets.npy"):
            file.writestr(name, b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
    for data in ("code.npz", "broken.npz"):
        made = ask(data=tmp_path / data)
        assert made.code != 0
        assert "inputs and targets" in made.err + made.out
        assert "SECRET" not in made.err + made.out
    assert not mark.exists()
    assert spent(tmp_path)["basic epsilon"] == 0


def test_another_version_of_the_data_under_a_used_key_is_refused(ask: Any) -> None:
    assert ask(key="May", about="2026-05").code == 0
    again = ask(key="May", about="2026-06")
    assert again.code != 0
    assert "May" in again.err + again.out
