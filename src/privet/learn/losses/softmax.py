"""The softmax loss of several classes: multinomial logistic regression."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.learn.losses import double_double as wide
from privet.learn.losses.double_double import Pair
from privet.learn.losses.loss import Loss, LossExample, register


@final
@register
@dataclass(frozen=True)
class Softmax(Loss):
    """log(sum of e^m_k) - m_y for margins m of `classes` columns, three or more, and labels y of 0, 1, 2, ...

    The gradient of a record is (p - e_y) x^T, whose length is at most sqrt(2); its Hessian, (diag p - p p^T) times x x^T,
    is at most 1/2.

    >>> Softmax(3).slope(np.zeros((1, 3)), np.array([2.0])).round(3).tolist()
    [[0.333, 0.333, -0.667]]
    """

    shape = "softmax"

    classes: int

    def __post_init__(self) -> None:
        set_frozen(self, classes=count("classes", self.classes, 2))
        if self.classes == 2:  # the same model with twice the coefficients, and more noise on each
            raise InvalidParameter("two classes have one margin: take Logistic()")

    @property
    def outputs(self) -> int:
        return self.classes

    @property
    def lipschitz(self) -> float:
        return 1.4142135623730952

    @property
    def smoothness(self) -> float:
        return 0.5

    def value(self, margins: Array, targets: Array) -> Array:
        top = margins.max(axis=1)
        chosen = np.take_along_axis(margins, targets.astype(np.int64)[:, None], axis=1)[:, 0]
        return np.asarray(np.log(np.exp(margins - top[:, None]).sum(axis=1)) + top - chosen)

    def slope(self, margins: Array, targets: Array) -> Array:
        shares = self._shares(margins)
        shares[np.arange(len(targets)), targets.astype(np.int64)] -= 1.0
        return shares

    def wide_slope(self, margins: Pair, targets: Array) -> Pair:
        rows = np.arange(len(targets))
        first = margins[0].argmax(axis=1)
        top = margins[0][rows, first][:, None], margins[1][rows, first][:, None]
        powers = wide.power(wide.add(margins, wide.negative(top)))
        total = wide.pair(np.zeros(len(targets)))
        for k in range(self.classes):
            total = wide.add(total, (powers[0][:, k], powers[1][:, k]))
        shares = wide.over(powers, (total[0][:, None], total[1][:, None]))
        chosen = np.zeros_like(margins[0])
        chosen[rows, targets.astype(np.int64)] = 1.0
        return wide.add(shares, wide.pair(-chosen))

    def curvature(self, margins: Array, targets: Array) -> Array:
        """p_k (1 - p_k): the diagonal of the Hessian in the margins."""
        shares = self._shares(margins)
        return shares * (1.0 - shares)

    def bent(self, margins: Array, targets: Array, moved: Array) -> Array:
        """(diag p - p p^T) times `moved`: the whole Hessian in the margins."""
        shares = self._shares(margins)
        return np.asarray(shares * (moved - np.sum(shares * moved, axis=1, keepdims=True)))

    def _shares(self, margins: Array) -> Array:
        powers = np.exp(margins - margins.max(axis=1)[:, None])
        total = np.zeros(len(powers))
        for column in powers.T:  # in a fixed order: a record's shares must not depend on where it stands
            total = total + column
        return np.asarray(powers / total[:, None])

    @classmethod
    def examples(cls) -> Iterable[LossExample]:
        yield LossExample(cls(3), (0.0, 1.0, 2.0))
        yield LossExample(cls(10), (0.0, 1.0, 2.0))
