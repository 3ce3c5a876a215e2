"""Clipped sums that know their sensitivity: the building block of training loops of one's own."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor, nn

from privet._calls import door
from privet._private import Private
from privet.deep.clipping import Clip
from privet.deep.engines.engine import Batch, Engine, batch_size, leaves
from privet.deep.engines.make import Way, make_engine
from privet.deep.isolation import check_isolation
from privet.errors import InvalidData
from privet.mechanisms import Sensitivity
from privet.noise import own_stream, uniform_int
from privet.privacy import Unit, as_unit


@dataclass(frozen=True)
class ClippedSum:
    """A sum of clipped gradients, and what one record can move it by.

    **Guarantee:** none: the sum has no noise yet, and comes out as `sums.exact_value` only.
    **Sensitivity:** `sensitivity(unit)`, derived from the clipping that was done; what accumulation in float32 adds, some
    1e-4 of it with thousands of equal records, is stated in `docs/proofs/deep/clipped_sums.md`.
    """

    sums: Private[dict[str, Tensor]]
    bound: float

    def sensitivity(self, unit: Unit | None = None) -> Sensitivity:
        """The distance that the sum moves, in l2 over all parameters together: the bound, twice for an exchanged record.

        >>> ClippedSum(Private({}), 0.5).sensitivity(Unit("replace")).value
        Fraction(1, 1)
        """
        unit = as_unit(unit)
        records = (2 if unit.relation == "replace" else 1) * unit.group_size
        return Sensitivity(records * Fraction(self.bound), norm="l2", unit=unit)


@dataclass(frozen=True)
class ClippedSums:
    """A function from batches to `ClippedSum`s, under the model's present parameters."""

    model: nn.Module
    per_example_loss: Callable[[Any, Any], Tensor]
    engine: Engine

    def __call__(self, inputs: Batch, targets: Batch, *, mask: Tensor | None = None) -> ClippedSum:
        """The clipped sum of a batch; with a `mask`, of the records that it keeps."""
        size = batch_size(inputs)
        if any(len(each) != size for each in leaves(targets) if each.ndim) or (
            mask is not None and mask.shape != (size,)
        ):
            raise InvalidData("inputs, targets and mask must be of as many records: their first axes must be equal")
        check_isolation(self.model, self.per_example_loss, inputs, targets)
        if mask is None:
            mask = torch.ones(size, dtype=torch.bool, device=leaves(inputs)[0].device)
        # Masks of dropout go by the place in a batch: by a known seed one record would change those of others.
        with own_stream(int(uniform_int(bound=2**63))):
            sums = self.engine(dict(self.model.named_parameters()), inputs, targets, mask)
        return ClippedSum(Private(sums), self.engine.bound)


@door
def clipped_sum(
    model: nn.Module,
    per_example_loss: Callable[[Any, Any], Tensor],
    clip: Clip,
    *,
    engine: Way = "auto",
    chunk: int | None = None,
) -> ClippedSums:
    """A function that sums clipped gradients over a batch, and says what one record can move them by.

    >>> from privet import deep
    >>> from privet.privacy import Unit
    >>> model = nn.Linear(3, 2)
    >>> def loss(outputs: Tensor, targets: Tensor) -> Tensor:
    ...     return nn.functional.cross_entropy(outputs, targets, reduction="none")
    >>> summed = clipped_sum(model, loss, deep.Flat(0.5))(torch.eye(3), torch.tensor([0, 1, 0]))
    >>> summed.sums, float(summed.sensitivity()), float(summed.sensitivity(Unit("replace")))
    (Private(...), 0.5, 1.0)
    """
    return ClippedSums(model, per_example_loss, make_engine(model, per_example_loss, clip, engine=engine, chunk=chunk))
