"""No output is unread: whatever a mechanism returns, prints or raises, a leak in it is found, and noise in it is not."""

import collections
import dataclasses
import json
import sys
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet import audit, mechanisms, noise, privacy, testing
from privet.audit.search import Marks, read
from privet.errors import InvalidParameter

ONE = privacy.PureLoss(1.0)
STRICT = testing.alarm_level("audit", of=2000)


@dataclasses.dataclass
class Report:
    total: float
    label: str


Named = collections.namedtuple("Named", "total label")


class Plain:
    def __init__(self, total):
        self.total = total


class Tensor:
    """What a tensor of a library that need not be there can do: numbers only after detach and cpu, and only plain ones."""

    def __init__(self, numbers, *, where="device", grad=True, half=False, sparse=False):
        self._numbers, self._state = np.asarray(numbers), (where, grad, half, sparse)
        self.is_sparse = sparse

    def _like(self, *state):
        where, grad, half, sparse = state
        return Tensor(self._numbers, where=where, grad=grad, half=half, sparse=sparse)

    def detach(self):
        return self._like(self._state[0], False, *self._state[2:])

    def cpu(self):
        return self._like("memory", *self._state[1:])

    def to_dense(self):
        return self._like(*self._state[:3], False)

    def float(self):
        return self._like(*self._state[:2], False, self._state[3])

    def numpy(self):
        if self._state != ("memory", False, False, False):
            raise TypeError("cannot be converted")
        return self._numbers


WRAPPED = {
    "tensor": lambda x: Tensor([0.0, x]),
    "tensor of halves": lambda x: Tensor([0.0, x], half=True),
    "sparse tensor": lambda x: {"a": Tensor([[0.0, x]], sparse=True)},
    "text": lambda x: f"about {x} people",
    "numpy text": lambda x: np.str_(f"about {x} people"),
    "json": lambda x: json.dumps({"total": x, "label": "a"}),
    "dataclass": lambda x: Report(x, "a"),
    "namedtuple": lambda x: Named(x, "a"),
    "decimal": lambda x: Decimal(x),
    "fraction": lambda x: Fraction(x, 7),
    "object": Plain,
    "release": lambda x: mechanisms.Release(x, loss=ONE),
    "frame": lambda x: pd.DataFrame({"total": [x], "label": ["a"]}),
    "series": lambda x: pd.Series([x], index=["total"]),
    "polars": lambda x: pl.DataFrame({"total": [x]}),
    "arrow": lambda x: pa.table({"total": [x]}),
    "bytes": lambda x: bytes([x % 256]),
    "complex": lambda x: complex(0, x),
    "giant": lambda x: x + 2**80,
    "beyond doubles": lambda x: np.array([x + 2**60]),
    "set": lambda x: {x},
    "nested": lambda x: {"a": [{"b": (None, x)}]},
    "pairs": lambda x: [("total", x), ("other", 1)],
    "generator": lambda x: (i for i in [x]),
    "closure": lambda x: lambda y: x + y,
    "mixed": lambda x: [None, float("nan"), x],
}


def half(wrap):
    """Laplace noise with a third of the scale that epsilon 1 needs, in a wrapping."""
    ahead = []

    def run(value):
        if not ahead:
            ahead.extend(noise.discrete_laplace(scale=3, size=2_000).tolist())
        return wrap(value + ahead.pop())

    return run


@pytest.mark.parametrize("wrapping", WRAPPED)
def test_weak_noise_is_found_in_any_wrapping(wrapping):
    found = audit.mechanism(half(WRAPPED[wrapping]), claim=ONE, neighbours=[(100, 110)], runs=900, alpha=1e-4)
    assert found.verdict == "violated", str(found)


def test_tensors_of_torch_are_read_as_their_numbers():
    torch = pytest.importorskip("torch")
    for tensor in (
        torch.tensor([1.0, 2.0], requires_grad=True),
        torch.tensor([1.0, 2.0], dtype=torch.bfloat16),
        torch.tensor([1.0, 2.0]).to_sparse(),
    ):
        assert read(tensor, Marks(b"key")).numbers[""].tolist() == [1.0, 2.0]
    assert sorted(read({"a": torch.tensor(3)}, Marks(b"key")).single.values())[-1] == 3.0


def test_a_stand_in_for_a_tensor_refuses_what_a_tensor_refuses():
    with pytest.raises(TypeError):
        Tensor([1.0]).numpy()
    with pytest.raises(TypeError):
        Tensor([1.0], half=True).detach().cpu().numpy()
    assert read(Tensor([1.0], half=True, sparse=True), Marks(b"key")).numbers[""].tolist() == [1.0]


def flip(value, act):
    if value and noise.bernoulli(p=0.5):
        return act()
    return 1


def leave():
    sys.exit(3)


def whisper():
    warnings.warn("a word", UserWarning, stacklevel=1)
    return 1


@pytest.mark.parametrize("act", [lambda: print("x") or 1, lambda: print("x", file=sys.stderr) or 1, leave, whisper])
def test_what_is_printed_warned_or_ended_is_an_output(act):
    found = audit.mechanism(lambda v: flip(v, act), claim=ONE, neighbours=[(0, 1)], runs=400, alpha=STRICT)
    assert found.verdict == "violated"


@pytest.mark.parametrize("unread", [lambda v: uuid.uuid4().hex, lambda v: object()], ids=["token", "object"])
def test_what_cannot_be_read_is_refused_and_a_view_helps(unread):
    with pytest.raises(InvalidParameter, match="I cannot read these outputs"):
        audit.mechanism(unread, claim=ONE, neighbours=[(0, 1)], runs=300)
    found = audit.mechanism(unread, claim=ONE, neighbours=[(0, 1)], runs=300, view=lambda output: 1.0)
    assert found.verdict == "not refuted"


@pytest.mark.parametrize(
    "own", [{"features": lambda out: [out % 2]}, {"score": lambda out: out % 2}], ids=["features", "score"]
)
def test_features_and_a_score_of_the_user_are_looked_at(own):
    """The leak is in a last digit that the view hides."""

    def run(value):
        return 2 * int(noise.uniform_int(bound=500_000)) + value

    options = {"claim": ONE, "neighbours": [(0, 1)], "runs": 600, "alpha": STRICT, "view": lambda out: 0.0}
    assert audit.mechanism(run, **options).verdict == "not refuted"
    assert audit.mechanism(run, **options, **own).verdict == "violated"


def test_a_text_is_known_by_its_mark_alone():
    marks = Marks(b"key")
    found = read("a secret", marks)
    assert "secret" not in repr(found)
    assert found.marks[""] == marks.of("a secret") != Marks(b"other").of("a secret")
