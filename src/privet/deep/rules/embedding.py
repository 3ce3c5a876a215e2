"""Embeddings: each position adds its output gradient to the row of its word, so equal words meet."""

import torch
from torch import Tensor

from privet.deep.rules.use import Term, Use, compounded, floor, kept, roundoff

NO_WORD = -1  # in place of the padding word, which has no gradient: no word has this number


def words(uses: list[Use], rows: int) -> tuple[Tensor, Tensor]:
    """Words [B, T] and their gradients [B, T, d]; positions that train nothing (`padding_idx`) name no word."""
    found = []
    for use in uses:
        ids, back = use.given, use.back
        ids, back = ids.reshape(len(ids), -1), back.reshape(len(back), -1, back.shape[-1])
        padding = use.options.get("padding_idx")
        if padding is not None:
            ids = torch.where(ids == (padding + rows if padding < 0 else padding), NO_WORD, ids)
        found.append((ids, back))
    return torch.cat([ids for ids, _ in found], 1), torch.cat([back for _, back in found], 1)


def written(uses: list[Use], shape: torch.Size) -> Tensor:
    """The gradient of each record, written out: [B, rows, d]. For small tables only."""
    ids, back = words(uses, shape[0])
    back = torch.where((ids == NO_WORD)[:, :, None], 0.0, back)
    out = back.new_zeros(len(ids), *shape)
    return out.scatter_add_(1, ids.clamp(min=0)[:, :, None].expand_as(back), back)


class EmbeddingGhost(Term):
    """An embedding's share: products of gradients over the pairs of positions that hold the same word."""

    def __init__(self, ids: Tensor, back: Tensor, shape: torch.Size) -> None:
        self.ids, self.shape = ids, shape
        real = ids != NO_WORD
        self.back = back = torch.where(real[:, :, None], back, 0.0)
        count, unit = ids.shape[1], roundoff(back)
        gram = torch.bmm(back, back.transpose(1, 2))
        sizes = gram.diagonal(dim1=1, dim2=2).to(torch.float64)
        lengths = (sizes + back.shape[2] * floor(back)).sqrt() * (1 + compounded(back.shape[2] + 4, unit))
        self.reach = (lengths * real).sum(1)
        same = (ids[:, :, None] == ids[:, None, :]) & real[:, :, None]
        found = gram.mul_(same).sum(2).to(torch.float64).sum(1)
        self.square = found + compounded(back.shape[2] + count + 6, unit) * self.reach.square()
        self.slack = (compounded(count + 4, unit) * self.reach).square()

    def total(self, factors: Tensor, counts: Tensor) -> Tensor:
        back = kept(self.back, counts) * factors.to(self.back.dtype)[:, None, None]
        out = back.new_zeros(self.shape)
        return out.index_add_(0, self.ids.clamp(min=0).flatten(), back.flatten(0, 1))
