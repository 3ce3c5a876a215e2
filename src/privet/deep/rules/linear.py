"""Linear layers: the gradient of record i is the product of output gradients and inputs over its positions.

With a of shape [B, T, d] and g of shape [B, T, p], the gradient is g^T a, and its squared norm is the sum over pairs of
positions of (a a^T)(g g^T): two small Gram matrices in place of a p x d matrix a record. Numbers of bfloat16 are multiplied
as they are on CUDA, where products are exact and added up in float32; elsewhere they are widened first.
"""

import torch
from torch import Tensor

from privet.deep.rules.use import Term, Use, compounded, floor, kept, roundoff, sum_type, widened

_NARROW = tuple(int(each) for each in torch.__version__.split(".")[:2]) >= (2, 9)  # products with another type of sum
_ROUNDED = 2.0**-8  # a number as bfloat16, relative
_BLOCKS = (
    80  # roundings of sums in blocks: products of a block are added with up to four roundings each, 8 and more to it
)


def positions(use: Use) -> tuple[Tensor, Tensor]:
    """Inputs [B, T, d] and output gradients [B, T, p]: whatever lies between records and features is a position."""
    given, back = use.given, use.gradient
    assert back is not None
    if not narrow(given, back):
        given, back = use.input, use.back
    return given.reshape(len(given), -1, given.shape[-1]), back.reshape(len(back), -1, back.shape[-1])


def joined(uses: list[Use]) -> tuple[Tensor, Tensor]:
    """All uses of one weight as one: a layer that is used again has more positions."""
    pairs = [positions(use) for use in uses]
    if len(pairs) == 1:
        return pairs[0]
    if len({each.dtype for pair in pairs for each in pair}) > 1:
        pairs = [(widened(a), widened(g)) for a, g in pairs]
    return torch.cat([a for a, _ in pairs], 1), torch.cat([g for _, g in pairs], 1)


def written(uses: list[Use]) -> Tensor:
    """The gradient of each record, written out: [B, p, d]."""
    a, g = joined(uses)
    return product(g.transpose(1, 2), a)


def product(left: Tensor, right: Tensor) -> Tensor:
    """The product of matrices, or of one of each record, in float32 or better: those of bfloat16 numbers are exact, and
    are added up in float32.
    """
    multiplied = torch.mm if left.ndim == 2 else torch.bmm
    if left.dtype != torch.bfloat16:
        return multiplied(left, right)
    if left.device.type != "cuda":
        return multiplied(left.float(), right.float())
    return multiplied(left, right, out_dtype=torch.float32)


def narrow(given: Tensor, back: Tensor) -> bool:
    """True where numbers are multiplied as they are: on tensor cores, where sums of exact products are float32."""
    return _NARROW and given.device.type == "cuda" and given.dtype == back.dtype == torch.bfloat16


class LinearGhost(Term):
    """A linear layer's share by Gram matrices.

    The margin is that of any order of summation: `docs/proofs/deep/clipped_sums.md`.
    """

    def __init__(self, a: Tensor, g: Tensor) -> None:
        self.a, self.g = a, g
        count, width = a.shape[1], a.shape[2] + g.shape[2]
        unit, blocks = roundoff(a), _BLOCKS if a.dtype == torch.bfloat16 else 0
        if count == 1:
            inner = outer = None
            kind = sum_type(a)
            sizes = [torch.linalg.vector_norm(each, dim=2, dtype=kind).to(torch.float64).square() for each in (a, g)]
        else:
            inner, outer = product(a, a.transpose(1, 2)), product(g, g.transpose(1, 2))
            sizes = [each.diagonal(dim1=1, dim2=2).to(torch.float64) for each in (inner, outer)]
        lengths = [
            (size + each.shape[2] * floor(each)).sqrt() * (1 + compounded(each.shape[2] + 4 + blocks, unit))
            for size, each in zip(sizes, (a, g), strict=True)
        ]
        slack = None
        if a.dtype == torch.bfloat16:  # the weighted sum rounds factor times gradient, number by number
            unseen = compounded(width + count + 6 + 2 * blocks, unit)
            slack = _ROUNDED * lengths[1].square().sum(1).sqrt() * _stretch(inner, lengths[0], unseen)
        self.reach = (lengths[0] * lengths[1]).sum(1)  # no smaller than the sum over positions of |a||g|
        if inner is None or outer is None:
            self.square = self.reach.square()
        else:
            found = inner.mul_(outer).sum(2).to(torch.float64).sum(1)
            margin = compounded(width + count + 6 + 2 * blocks, unit) * self.reach.square() + count**2 * floor(a)
            self.square = found + margin
        added = compounded(count + 4 + blocks, unit) * self.reach
        self.slack = (added if slack is None else 1.01 * (added + slack)).square()

    def total(self, factors: Tensor, counts: Tensor) -> Tensor:
        if self.a.dtype == torch.bfloat16:
            scaled = (kept(self.g, counts).float() * factors[:, None, None]).to(torch.bfloat16)
            return product(scaled.flatten(0, 1).T, kept(self.a, counts).flatten(0, 1))
        a, g = kept(self.a, counts), kept(self.g, counts)
        scale = factors.to(a.dtype)[:, None, None]
        a, g = (a * scale, g) if a.shape[2] < g.shape[2] else (a, g * scale)
        return g.flatten(0, 1).T @ a.flatten(0, 1)


def _stretch(gram: Tensor | None, lengths: Tensor, unseen: float) -> Tensor:
    """An upper bound on the spectral norm of each record's inputs [T, d], from their Gram matrix: the root of its largest
    sum of a row, signs apart, with what rounding may have taken from that.
    """
    if gram is None:  # one position
        return lengths[:, 0]
    lost = 2.0 * unseen * lengths * lengths.sum(1, keepdim=True)
    return (gram.abs().sum(2).to(torch.float64) + lost).amax(1).sqrt()
