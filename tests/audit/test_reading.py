"""No output is unread: whatever a mechanism returns, prints or raises, a leak in it is found, and noise in it is not."""

import collections
import dataclasses
import datetime
import io
import json
import logging
import pathlib
import secrets
import sys
import threading
import types
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sparse

from privet import audit, mechanisms, noise, privacy, testing
from privet.audit.search import Marks, read, reading
from privet.errors import InvalidParameter
from tests.firsts import slow

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
    "file in memory": lambda x: io.StringIO(f"{x} rows"),
    "written to a file in memory": lambda x: written(f"{x} rows"),
    "path": lambda x: pathlib.Path(f"/results/{x}.csv"),
    "namespace": lambda x: types.SimpleNamespace(total=x),
    "queue": lambda x: collections.deque([x]),
    "view of a dict": lambda x: {"total": x}.values(),
    "hexadecimal": lambda x: hex(x + 2**40),
    "sparse": lambda x: sparse.csr_array(np.array([[0, x, 0]])),
    "sparse and vast": lambda x: sparse.coo_array(([x], ([7], [9])), shape=(10**6, 10**6)),
    "beside a token": lambda x: {"id": uuid.uuid4().hex, "total": x},
    "beside a lock": lambda x: {"lock": threading.Lock(), "total": x},
    "holds itself": lambda x: held_by_itself({"total": x}),
    "deep": lambda x: deep(x, 20),
    "saved state": lambda x: np.random.Generator(np.random.PCG64(x + 1_000)),
}


def written(text):
    file = io.StringIO()
    file.write(text)  # its reader stands at the end
    return file


def held_by_itself(found):
    found["all"] = found
    return found


def deep(x, levels):
    return x if levels == 0 else [deep(x, levels - 1)]


def half(wrap):
    """Laplace noise with a third of the scale that epsilon 1 needs, in a wrapping."""
    ahead = []

    def run(value):
        if not ahead:
            ahead.extend(noise.discrete_laplace(scale=3, size=2_000).tolist())
        return wrap(value + ahead.pop())

    return run


# A sibling of each stays in every run: a frame, a sparse array, text, an object with fields, a list of lists, a file.
SIBLINGS = {
    "tensor of halves", "sparse tensor", "numpy text", "namedtuple", "fraction", "series", "arrow", "giant", "pairs",
    "mixed", "written to a file in memory", "namespace", "view of a dict", "sparse and vast", "beside a lock", "deep",
}  # fmt: skip


@pytest.mark.parametrize("wrapping", [slow(name) if name in SIBLINGS else name for name in WRAPPED])
def test_weak_noise_is_found_in_any_wrapping(wrapping):
    found = audit.mechanism(half(WRAPPED[wrapping]), claim=ONE, neighbours=[(100, 110)], runs=900, alpha=1e-4)
    assert found.verdict == "violated", str(found)


class Text(str):
    pass


class Real(float):
    pass


class Items(list):
    pass


class Array(np.ndarray):
    pass


class Slotted:
    __slots__ = ("__hidden", "total")

    def __init__(self, total, hidden):
        self.total, self.__hidden = total, hidden


class Walk:
    """Iterating over it shows nothing of what it holds."""

    def __init__(self, edges):
        self._edges = edges

    def __iter__(self):
        return iter([0, 0])


def carrying(value, told):
    value.rows = told
    return value


def failing(told, **how):
    problem = ValueError("refused")
    if "note" in how:
        problem.add_note(f"{told} rows")
    if "attribute" in how:
        problem.rows = told
    if "group" in how:
        raise ExceptionGroup("refused", [ValueError(str(told))])
    try:
        raise KeyError(told)
    except KeyError as inner:
        if "cause" in how:
            raise problem from inner
        if "context" in how:
            raise problem  # noqa: B904
    raise problem from None


def framed(told):
    frame = pd.DataFrame({"total": [0]})
    frame.attrs["rows"] = told
    return frame


def logged(told):
    logging.getLogger("tests.audit.reading").warning("%d rows", told)
    return 0


def odd_nan(told):
    return np.array([0x7FF8000000000000 + told], dtype=np.uint64).view(np.float64)


DAY = datetime.datetime(2020, 1, 1)
ASIDE = {
    "attribute of a text": lambda told: carrying(Text("x"), told),
    "attribute of a number": lambda told: carrying(Real(1.0), told),
    "attribute of a list": lambda told: carrying(Items([1.0]), told),
    "attribute of an array": lambda told: carrying(np.zeros(2).view(Array), told),
    "hidden slot": lambda told: Slotted(0, told),
    "behind an iterator": lambda told: Walk({(0, told)}),
    "attribute of a function": lambda told: carrying(lambda x: x, told),
    "constant of a function": lambda told: eval(f"lambda x: x + {told}"),
    "note on an exception": lambda told: failing(told, note=True),
    "attribute of an exception": lambda told: failing(told, attribute=True),
    "cause of an exception": lambda told: failing(told, cause=True),
    "context of an exception": lambda told: failing(told, context=True),
    "group of exceptions": lambda told: failing(told, group=True),
    "log": logged,
    "categories": lambda told: pd.Series(pd.Categorical(["0"], categories=["0", "1"][: told + 1])),
    "name of a column": lambda told: pd.Series([0], name=f"of {told}"),
    "notes of a frame": framed,
    "metadata of Arrow": lambda told: pa.table({"total": [0]}).replace_schema_metadata({"rows": str(told)}),
    "what a dict answers to other keys": lambda told: collections.defaultdict(lambda: told),
    "room of a queue": lambda told: collections.deque([0], maxlen=told + 1),
    "covered map of a chain": lambda told: collections.ChainMap({"total": 0}, {"total": told}),
    "steps of an index": lambda told: pd.Series([0], index=pd.DatetimeIndex(["2020-01-01"], freq=f"{told + 1}D")),
    "fold of a time": lambda told: DAY.replace(fold=told),
    "nanoseconds": lambda told: pd.Timestamp(DAY) + pd.Timedelta(nanoseconds=told),
    "nanoseconds of numpy": lambda told: np.array(["2020-01-01"], "M8[ns]") + np.timedelta64(told, "ns"),
    "bits of a NaN": odd_nan,
    "bits of a NaN alone": lambda told: float(odd_nan(told)[0]),
    "a stored zero": lambda told: sparse.csr_array(([0] * told, ([0] * told, [0] * told)), shape=(1, 3)),
}


@pytest.mark.parametrize("place", ASIDE)
def test_what_an_output_carries_aside_is_read(place):
    """The exact bit in some corner of the output; its twin carries a fair coin there."""
    tell = ASIDE[place]
    options = {"claim": ONE, "neighbours": [(0, 1)], "runs": 120, "alpha": STRICT}
    assert audit.mechanism(tell, **options).verdict == "violated"
    assert audit.mechanism(lambda _: tell(secrets.randbelow(2)), **options).verdict == "not refuted"


def test_every_place_of_a_long_number_in_a_text_is_read():
    """The last of forty digits, which a double forgets; its twin is a coin."""

    def written(last):
        return f"{secrets.randbelow(10**39)}{last}"

    options = {"claim": ONE, "neighbours": [(0, 1)], "runs": 2_000, "alpha": STRICT}
    assert audit.mechanism(written, **options).verdict == "violated"
    assert audit.mechanism(lambda _: written(secrets.randbelow(2)), **options).verdict == "not refuted"


def test_outputs_that_are_cut_say_so(monkeypatch):
    monkeypatch.setattr(reading, "MOST_LEAVES", 50)
    for parts, cut in ((40, True), (20, False)):
        found = audit.mechanism(lambda v, parts=parts: [[None]] * parts, claim=ONE, neighbours=[(0, 1)], runs=8)
        assert any("the rest is not read" in note for note in found.notes) == cut


async def later(value):
    return value


def test_an_asynchronous_mechanism_is_refused_with_the_call_that_is_meant():
    with pytest.raises(InvalidParameter, match=r"asyncio\.run"):
        audit.mechanism(later, claim=ONE, neighbours=[(0, 1)], runs=50)


def test_tensors_of_torch_are_read_as_their_numbers():
    torch = pytest.importorskip("torch")
    for tensor in (
        torch.tensor([1.0, 2.0], requires_grad=True),
        torch.tensor([1.0, 2.0], dtype=torch.bfloat16),
        torch.tensor([1.0, 2.0]).to_sparse(),
    ):
        assert read(tensor, Marks(b"key")).numbers[""].tolist() == [1.0, 2.0]
    assert read({"a": torch.tensor(3)}, Marks(b"key")).numbers["['a']"].tolist() == [3.0]


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


def test_beside_what_cannot_be_read_a_sound_number_is_not_called_not_refuted():
    def run(value):
        return {"id": uuid.uuid4().hex, "total": value + int(noise.discrete_laplace(scale=1.0))}

    with pytest.raises(InvalidParameter, match="I cannot read these outputs"):
        audit.mechanism(run, claim=ONE, neighbours=[(0, 1)], runs=1_000, alpha=STRICT)


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
