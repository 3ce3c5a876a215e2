"""Tied weights: one table that is an embedding at the bottom of a model and a linear layer at its top.

The two shares meet in the same numbers, so their squared norms do not add: the cross term does not vanish.
"""

import torch
from torch import Tensor

from privet.deep.rules.embedding import EmbeddingGhost
from privet.deep.rules.linear import LinearGhost
from privet.deep.rules.use import Term, compounded, roundoff


class TiedGhost(Term):
    """The shares of an embedding and of linear layers with the same weight, and twice what they have in common."""

    def __init__(self, embedding: EmbeddingGhost, linear: LinearGhost) -> None:
        self.parts = (embedding, linear)
        ids, unit = embedding.ids, roundoff(linear.a)
        # a padded position trains no row, though the head trains the row of that word: its gradient is zero in `back`
        heads = linear.g.gather(2, ids.clamp(min=0)[:, None, :].expand(-1, linear.g.shape[1], -1))
        common = torch.bmm(linear.a, embedding.back.transpose(1, 2)).mul_(heads)
        cross = common.sum(2).to(torch.float64).sum(1)
        terms = linear.a.shape[2] + ids.shape[1] + 6
        margin = compounded(terms, unit) * embedding.reach * linear.reach
        self.square = embedding.square + linear.square + 2.0 * (cross + margin)
        self.slack = (embedding.slack.sqrt() + linear.slack.sqrt()).square()

    def total(self, factors: Tensor, counts: Tensor) -> Tensor:
        embedding, linear = self.parts
        return embedding.total(factors, counts) + linear.total(factors, counts)
