"""What replay compares of a result: everything that an observer can read of it, printed or not."""

import threading
from collections import defaultdict, deque
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import privet as pv
from privet import audit
from privet._private import Private
from privet.audit.observed import differing, text_of

LEFT = np.random.default_rng(0).normal(size=(50, 3))
RIGHT = LEFT[:-1]


@dataclass
class Kept:
    held: Any


class Printed:
    """An object that prints its settings alone, as fitted models do."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __repr__(self) -> str:
        return "Printed()"


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __repr__(self) -> str:
        return "Slotted()"


class Named(dict):
    """A dict with attributes."""

    def __init__(self, held: Any) -> None:
        super().__init__(a=1)
        self.held = held


def noted(secret: float) -> pd.DataFrame:
    frame = pd.DataFrame({"x": [1.0]})
    frame.attrs["held"] = secret
    return frame


def knowing(secret: float) -> Any:
    class Model:
        def predict(self, x: float) -> float:
            return secret * x

    return Model()


def long(secret: float) -> np.ndarray:
    """An array that is cut when it is printed."""
    return np.r_[np.zeros(1_000), secret, np.zeros(1_000)]


HIDDEN = {
    "array": long,
    "array in a list in a dict": lambda s: {"a": [{"b": long(s)}]},
    "object array": lambda s: long(s).astype(object),
    "under a mask": lambda s: np.ma.MaskedArray([s, 1.0], mask=[True, False]),
    "column of pandas": lambda s: pd.Series(long(s)),
    "index of pandas": lambda s: pd.DataFrame({"x": [1.0]}, index=[s]),
    "frame of pandas": lambda s: pd.DataFrame({"x": long(s)}),
    "frame of Polars": lambda s: pl.DataFrame({"x": long(s)}),
    "column of Polars": lambda s: pl.Series(long(s)),
    "table of Arrow": lambda s: pa.table({"x": long(s)}),
    "sparse": lambda s: scipy.sparse.csr_matrix(([s], ([2_000], [1])), shape=(5_000, 3)),
    "record": lambda s: Kept(Kept(s)),
    "attribute": Printed,
    "slot": Slotted,
    "deque": lambda s: deque(long(s)),
    "set": lambda s: {s},
    "attribute of a dict": Named,
    "what a dict answers to other keys": lambda s: defaultdict(lambda: s),
    "notes of a frame": noted,
    "name of an index": lambda s: pd.DataFrame({"x": [1.0]}, index=pd.Index([0], name=str(s))),
    "categories of pandas": lambda s: pd.Series(pd.Categorical(["a"], categories=["a", str(s)])),
    "categories of Polars": lambda s: pl.Series(["a"], dtype=pl.Enum(["a", str(s)])),
    "metadata of Arrow": lambda s: pa.table({"x": [1.0]}).replace_schema_metadata({"held": str(s)}),
    "constant of a function": lambda s: eval(f"lambda x: x + {s}"),
    "closure": lambda s: lambda x: x + s,
    "method of a local class": knowing,
    "file in memory": lambda s: BytesIO(str(s).encode()),
    "deep": lambda s: [[[[[[[[[[[[[[[[Printed(s)]]]]]]]]]]]]]]]],
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_number_that_is_not_printed_is_seen(kind):
    assert audit.replay(lambda data: HIDDEN[kind](float(data.sum())), LEFT, RIGHT).verdict == "violated"
    assert text_of(HIDDEN[kind](1.5)) != text_of(HIDDEN[kind](2.5))
    assert text_of(HIDDEN[kind](1.5)) == text_of(HIDDEN[kind](1.5))


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_number_that_is_public_is_not_held_against_it(kind):
    assert audit.replay(lambda data: HIDDEN[kind](0.5), LEFT, RIGHT).verdict == "not refuted"


@pytest.mark.parametrize("model", [LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0)])
def test_a_fitted_model_is_looked_into(model):
    found = audit.replay(lambda data: model.fit(data[:, :2], data[:, 2]), LEFT, RIGHT)
    assert found.verdict != "not refuted"


def test_tensors_and_networks_are_looked_into():
    torch = pytest.importorskip("torch")

    def network(secret: float) -> Any:
        made = torch.nn.Linear(2, 1)
        with torch.no_grad():
            made.weight.fill_(secret)
            made.bias.zero_()
        return made

    for kind in (torch.float32, torch.bfloat16):
        assert text_of(torch.tensor(long(1.0)).to(kind)) != text_of(torch.tensor(long(2.0)).to(kind))
        assert text_of(torch.tensor(long(1.0)).to(kind)) == text_of(torch.tensor(long(1.0)).to(kind))
    assert differing(network(1.0), network(1.0)) == []
    assert [where for where in differing(network(1.0), network(2.0)) if "weight" in where]


def test_what_holds_itself_comes_to_an_end():
    left, right = Printed(1.0), Printed(1.0)
    left.me, right.me = left, right
    assert differing(left, right) == []
    right.held = 2.0
    assert differing(left, right) == ["result.held"]
    assert text_of(left) != text_of(right)


def test_locks_and_figures_of_the_custodian_are_no_difference():
    held = [{"lock": threading.Lock(), "figure": Private(each), "kind": Printed} for each in (1.0, 2.0)]
    assert differing(*held) == []


def test_a_private_fit_is_not_refuted_when_the_model_is_returned():
    table = pd.DataFrame(np.clip(LEFT, -1.0, 1.0), columns=["a", "b", "y"])

    def fitted(frame: pd.DataFrame) -> Any:
        model = pv.learn.LinearRegression(epsilon=1.0, bounds=(-1.0, 1.0), bounds_y=(-1.0, 1.0))
        return model.fit(frame[["a", "b"]], frame["y"])

    assert audit.replay(fitted, table, table.iloc[:-1]).verdict == "not refuted"


class Unreadable:
    """An object that answers to every name, and fails when it is asked, as a frame on a cluster may."""

    def __init__(self, secret: float) -> None:
        self.secret = secret

    def to_numpy(self) -> None:
        raise RuntimeError("the cluster is gone")

    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_what_cannot_be_read_is_not_called_equal():
    found = audit.replay(lambda data: Unreadable(float(data.sum())), LEFT, RIGHT)
    assert found.verdict not in ("not refuted", "violated")
