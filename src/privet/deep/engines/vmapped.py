"""Per-example gradients by `vmap(grad)`, some records at a time: the engine that fits every model, and the oracle."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from privet.deep.engines.engine import Batch, Engine, batch_size, mapped, rows, slices
from privet.deep.engines.written_out import clipped, norms

_NUMBERS_AT_ONCE = 2**22  # of gradients: 16 MiB in float32; more is slower, since it leaves the caches


class Vmapped(Engine):
    """Gradients record by record in one vectorised call; examples cannot mix, since each is a batch of its own.

    Memory grows with chunk x parameters; `chunk` records are held at a time.
    """

    def _sums(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor) -> dict[str, Tensor]:
        size = batch_size(inputs)
        total: dict[str, Tensor] = {}
        for part in slices(size, self.chunk or self._suggested()):
            gradients = self.gradients(parameters, rows(inputs, part), rows(targets, part))
            factors, counts = self._factors(self._sizes(gradients), mask[part])
            sums = clipped(gradients, factors, counts)
            total = {name: total[name].add_(each) if total else each for name, each in sums.items()}
        return total

    def gradients(self, parameters: Mapping[str, Tensor], inputs: Batch, targets: Batch) -> dict[str, Tensor]:
        """The gradient of each record, unclipped."""

        def loss(parameters: dict[str, Tensor], *record: Batch) -> Tensor:
            return self._losses(parameters, *(mapped(lambda each: each.unsqueeze(0), part) for part in record)).sum()

        apart = (None, 0, None if targets is None else 0)
        each = torch.func.vmap(torch.func.grad(loss), in_dims=apart, randomness="different")
        with sdpa_kernel(
            SDPBackend.MATH
        ):  # the fused kernels of attention have no rule for `vmap`: one record at a time
            gradients: dict[str, Tensor] = each(dict(parameters), inputs, targets)
        return gradients

    def _sizes(self, gradients: Mapping[str, Tensor]) -> list[Tensor]:
        return [norms({name: gradients[name] for name in group}) for group in self.groups]

    def _suggested(self) -> int:
        return max(1, _NUMBERS_AT_ONCE // sum(shape.numel() for shape in self.shapes.values()))
