"""One use of a parameter: the call in which a layer met its weight, and the gradient that came back to its output."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode


@dataclass
class Use:
    """A call of a layer: its input, what else it was told, and the gradient at its output, all with records first."""

    kind: str
    given: Tensor
    weight: str | None
    bias: str | None
    options: dict[str, Any] = field(default_factory=dict)
    gradient: Tensor | None = None

    @property
    def back(self) -> Tensor:
        """The gradient at the output, in float32 or better: what is narrower is exact there."""
        assert self.gradient is not None
        return widened(self.gradient)

    @property
    def back_as_is(self) -> Tensor:
        """The gradient at the output, as the pass has found it."""
        assert self.gradient is not None
        return self.gradient

    @property
    def input(self) -> Tensor:
        """The input, in float32 or better where it is a float."""
        return widened(self.given) if self.given.is_floating_point() else self.given


class Term(ABC):
    """One parameter's share of every record's gradient: a bound on its norm, and the weighted sum.

    `square` bounds the squared norm of the share from above, the rounding of its own computation included; `slack` is the
    square of what computing the weighted sum can add to the norm. Both are in float64, one number a record, and not finite
    where the record is not.
    """

    square: Tensor
    slack: Tensor

    @abstractmethod
    def total(self, factors: Tensor, counts: Tensor) -> Tensor:
        """The sum over records of factor times gradient; records that do not count must not touch it."""


class Written(Term):
    """A share that is written out, record by record: what is summed is what was measured, so nothing is slack."""

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows
        flat = rows.reshape(len(rows), -1)
        size = torch.linalg.vector_norm(flat, dim=1, dtype=torch.float64)
        # squares of float32 are exact in float64; adding d of them loses at most d + 4 of its last places
        self.square = size.square() * (1.0 + (flat.shape[1] + 6) * 2.0**-52)
        self.slack = torch.zeros_like(self.square)

    def total(self, factors: Tensor, counts: Tensor) -> Tensor:
        rows = kept(self.rows, counts).reshape(len(counts), -1)
        return (factors.to(rows.dtype) @ rows).view(self.rows.shape[1:])


def kept(tensor: Tensor, counts: Tensor) -> Tensor:
    """The same with zeros for records that do not count: a factor of zero would leave NaN where there is infinity.

    Where all count nothing is copied. That is not asked on an accelerator, which would have to be waited for, nor while a
    program is recorded, which must serve all batches.
    """
    if tensor.device.type == "cpu" and get_proxy_mode() is None and bool(counts.all()):
        return tensor
    nothing = torch.zeros((), dtype=tensor.dtype, device=tensor.device)
    return torch.where(counts.view(-1, *[1] * (tensor.ndim - 1)), tensor, nothing)


def widened(tensor: Tensor) -> Tensor:
    """The tensor in float32, or in float64 if it is that."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.to(torch.float32)


def roundoff(tensor: Tensor) -> float:
    """The relative error of one operation: 2^-24 for float32 and what is added up in it, 2^-53 for float64."""
    return torch.finfo(sum_type(tensor)).eps / 2


def sum_type(tensor: Tensor) -> torch.dtype:
    """The type in which gradients of a parameter are scaled and summed: float32 or better."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def compounded(count: int, unit: float) -> float:
    """The most that `count` roundings after each other add, relative to the terms: gamma of the textbooks. Of more than it
    holds for nothing is known: whatever is measured so is clipped to nothing.

    >>> compounded(4, 0.125), compounded(8, 0.125)
    (1.0, inf)
    """
    return count * unit / (1.0 - count * unit) if count * unit < 1.0 else math.inf


def floor(tensor: Tensor) -> float:
    """The amount that sums of squares are raised by for each term, to cover products below the smallest number."""
    kind = torch.finfo(sum_type(tensor))
    return kind.tiny / (kind.eps / 2)
