"""A small network as the model of a student: public rows and released labels, nothing else."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import above, count, items
from privet.errors import InvalidData, InvalidParameter
from privet.noise import KeyedStream

if TYPE_CHECKING:  # torch takes seconds to load: where a network is made, not with the room
    import torch

    from privet.pate.gans.nets import Layers

_SEEDS = 2**64  # torch's generators take 64 bits
_DECAY = 1e-3  # of all weights: a student has few labels


@final
class StudentNetwork:
    """A network with `fit`, `predict` and `predict_proba` for `Student` (`pip install 'privet[torch]'`).

    All labelled rows are in each of `steps` steps of Adam. `seed` is where weights begin: the same seed, rows and labels
    make the same network, and it protects nobody, for nothing here is private.

    >>> from privet.pate.student import Student
    >>> pool = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> student = Student(StudentNetwork(hidden=(8,)), classes=["low", "high"]).fit(pool, [0, -1, -1, 1])
    >>> student.predict([[2.0], [8.0]]).tolist()
    ['low', 'high']
    """

    def __init__(self, hidden: Sequence[int] = (64,), *, steps: int = 300, rate: float = 0.01, seed: int = 0) -> None:
        self.hidden = tuple(count("hidden", each, 1) for each in items("hidden", hidden))
        self.steps, self.rate, self.seed = count("steps", steps, 1), above("rate", rate, 0.0), count("seed", seed, 0)
        if self.seed >= _SEEDS:
            raise InvalidParameter("seed must be below 2**64")
        self._layers: Layers = []

    def fit(self, X: Any, y: Any) -> "StudentNetwork":
        """The network after its steps. Columns are scaled by what these public rows are."""
        import torch
        from torch.nn import functional

        from privet.pate.gans.nets import layers_from, outputs, size_of, uniforms

        rows = _rows(X)
        self.classes_, told = np.unique(np.asarray(y), return_inverse=True)
        if len(told) != len(rows) or len(self.classes_) < 2:
            raise InvalidData("y must be a class for each row, of two classes or more")
        self._middle, width = rows.mean(axis=0), rows.std(axis=0)
        self._width = np.where(width > 0.0, width, 1.0)
        widths = (rows.shape[1], *self.hidden, len(self.classes_))
        drawn = uniforms(KeyedStream(self.seed.to_bytes(32, "big")), 1, 0, size_of(widths))
        self._layers = layers_from(drawn, widths)
        optimizer = torch.optim.Adam(self._layers, lr=self.rate, weight_decay=_DECAY)
        given, target = self._scaled(rows), torch.tensor(told)
        for _ in range(self.steps):
            optimizer.zero_grad()
            torch.autograd.backward(functional.cross_entropy(outputs(self._layers, given), target))
            optimizer.step()
        return self

    def predict_proba(self, X: Any) -> Array:
        """The chance of each class in each row."""
        import torch

        from privet.pate.gans.nets import outputs

        if not self._layers:
            raise InvalidParameter("the network is not trained: call fit first")
        rows = _rows(X)
        if rows.shape[1] != len(self._middle):
            raise InvalidData(f"rows must have {len(self._middle)} columns, as those that it was trained on")
        with torch.no_grad():
            return np.asarray(torch.softmax(outputs(self._layers, self._scaled(rows)), dim=1).numpy(), dtype=float)

    def predict(self, X: Any) -> Array:
        """The likeliest class of each row."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[chances.argmax(axis=1)])

    def _scaled(self, rows: Array) -> "torch.Tensor":
        import torch

        return torch.tensor((rows - self._middle) / self._width, dtype=torch.float32)


def _rows(X: Any) -> Array:
    try:
        rows = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        rows = np.zeros(0)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InvalidData("a network takes rows of finite numbers")
    return rows
