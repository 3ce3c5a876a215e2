"""Per-example gradients that are written out: their norms, and their clipped sum."""

from collections.abc import Mapping

import torch
from torch import Tensor

from privet.deep.engines.engine import cast_down
from privet.deep.rules.use import sum_type


def norms(gradients: Mapping[str, Tensor]) -> Tensor:
    """An upper bound on the norm of each record's gradient over all parameters, in float64.

    Squares of float32 numbers are exact in float64; what adding d of them can lose is put on top.
    """
    sizes = [
        torch.linalg.vector_norm(each.reshape(len(each), -1), dim=1, dtype=torch.float64) for each in gradients.values()
    ]
    count = sum(each[0].numel() for each in gradients.values())
    return torch.linalg.vector_norm(torch.stack(sizes), dim=0) * (1.0 + (count + 8) * 2.0**-52)


def clipped(gradients: Mapping[str, Tensor], factors: Mapping[str, Tensor], counts: Tensor) -> dict[str, Tensor]:
    """The weighted sums. Records that do not count are set to zero themselves: 0 * inf would be NaN."""
    whole = bool(counts.all())
    sums = {}
    for name, each in gradients.items():
        rows = each.reshape(len(each), -1).to(sum_type(each))
        kept = rows if whole else torch.where(counts[:, None], rows, 0.0)
        sums[name] = (cast_down(factors[name], kept.dtype) @ kept).view(each.shape[1:])
    return sums
