"""Per-example gradients one after the other: the slow engine for models that `vmap` cannot follow."""

import torch
from torch import Tensor

from privet._validate import above
from privet.deep.clipping import Clip
from privet.deep.engines.engine import Batch, Engine, ExampleLosses, batch_size, cast_down, rows
from privet.deep.engines.written_out import norms
from privet.deep.rules.use import sum_type


class Microbatch(Engine):
    """One backward pass a record.

    With a `grid` every clipped gradient is cut, towards zero, to whole steps of it before it is added, and the sum is
    exact: then `bound` holds for the sum as it is computed, rounding of all kinds included.
    """

    def __init__(self, losses: ExampleLosses, clip: Clip, chunk: int | None, grid: float | None = None) -> None:
        super().__init__(losses, clip, chunk)
        self.grid = None if grid is None else above("grid", grid, 0.0)

    def _sums(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor) -> dict[str, Tensor]:
        kind = torch.int64 if self.grid else None
        total = {name: each.new_zeros(each.shape, dtype=kind or sum_type(each)) for name, each in parameters.items()}
        for row in range(batch_size(inputs)):
            one = slice(row, row + 1)
            gradient = self.gradient(parameters, rows(inputs, one), rows(targets, one))
            sizes = [norms({name: gradient[name][None] for name in group}) for group in self.groups]
            factors, counts = self._factors(sizes, mask[one])
            for name, each in gradient.items():
                total[name] += self._scaled(each, factors[name], counts)
        return {name: each.to(torch.float64) * self.grid if self.grid else each for name, each in total.items()}

    def gradient(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch) -> dict[str, Tensor]:
        """The gradient of a batch of one record, unclipped."""
        leaves = {name: each.detach().requires_grad_() for name, each in parameters.items()}
        with torch.enable_grad():
            loss = self._losses(leaves, inputs, targets).sum()
        if not loss.requires_grad:
            return {name: torch.zeros_like(each) for name, each in parameters.items()}
        found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
        pairs = zip(parameters.items(), found, strict=True)
        return {name: torch.zeros_like(each) if given is None else given for (name, each), given in pairs}

    def _scaled(self, gradient: Tensor, factor: Tensor, counts: Tensor) -> Tensor:
        kept = torch.where(counts, gradient.to(sum_type(gradient)), 0.0)
        if self.grid is None:
            return cast_down(factor, kept.dtype) * kept
        # Products of float64 are cut below their exact value: the factor was shrunk by more than they can be rounded.
        return (cast_down(factor, torch.float64) * kept.to(torch.float64) / self.grid).trunc().to(torch.int64)
