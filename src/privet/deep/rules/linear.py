"""Linear layers: the gradient of record i is the product of output gradients and inputs over its positions.

With a of shape [B, T, d] and g of shape [B, T, p], the gradient is g^T a, and its squared norm is the sum over pairs of
positions of (a a^T)(g g^T): two small Gram matrices in place of a p x d matrix a record.
"""

import torch
from torch import Tensor

from privet.deep.rules.use import Term, Use, compounded, floor, kept, roundoff


def positions(use: Use) -> tuple[Tensor, Tensor]:
    """Inputs [B, T, d] and output gradients [B, T, p]: whatever lies between records and features is a position."""
    given, back = use.input, use.back
    return given.reshape(len(given), -1, given.shape[-1]), back.reshape(len(back), -1, back.shape[-1])


def joined(uses: list[Use]) -> tuple[Tensor, Tensor]:
    """All uses of one weight as one: a layer that is used again has more positions."""
    pairs = [positions(use) for use in uses]
    if len(pairs) == 1:
        return pairs[0]
    return torch.cat([a for a, _ in pairs], 1), torch.cat([g for _, g in pairs], 1)


def written(uses: list[Use]) -> Tensor:
    """The gradient of each record, written out: [B, p, d]."""
    a, g = joined(uses)
    return torch.bmm(g.transpose(1, 2), a)


class LinearGhost(Term):
    """A linear layer's share by Gram matrices.

    The margin is that of any order of summation: `docs/proofs/deep/clipped_sums.md`.
    """

    def __init__(self, a: Tensor, g: Tensor) -> None:
        self.a, self.g = a, g
        count, width = a.shape[1], a.shape[2] + g.shape[2]
        unit = roundoff(a)
        if count == 1:
            inner = outer = None
            sizes = [torch.linalg.vector_norm(each, dim=2).to(torch.float64).square() for each in (a, g)]
        else:
            inner, outer = torch.bmm(a, a.transpose(1, 2)), torch.bmm(g, g.transpose(1, 2))
            sizes = [each.diagonal(dim1=1, dim2=2).to(torch.float64) for each in (inner, outer)]
        lengths = [
            (size + each.shape[2] * floor(each)).sqrt() * (1 + compounded(each.shape[2] + 4, unit))
            for size, each in zip(sizes, (a, g), strict=True)
        ]
        self.reach = (lengths[0] * lengths[1]).sum(1)  # no smaller than the sum over positions of |a||g|
        if inner is None or outer is None:
            self.square = self.reach.square()
        else:
            found = inner.mul_(outer).sum(2).to(torch.float64).sum(1)
            margin = compounded(width + count + 6, unit) * self.reach.square() + count**2 * floor(a)
            self.square = found + margin
        self.slack = (compounded(count + 4, unit) * self.reach).square()

    def total(self, factors: Tensor, counts: Tensor) -> Tensor:
        a, g = kept(self.a, counts), kept(self.g, counts)
        scale = factors.to(a.dtype)[:, None, None]
        a, g = (a * scale, g) if a.shape[2] < g.shape[2] else (a, g * scale)
        return g.flatten(0, 1).T @ a.flatten(0, 1)
