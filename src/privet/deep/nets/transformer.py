"""A small causal transformer for sequences of words or characters."""

from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from privet._validate import count
from privet.errors import InvalidParameter


@final
class _Block(nn.Module):
    """Attention to what came before, then two layers, each behind a normalisation of its own position."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.first(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.second(x))))


@final
class SmallTransformer(nn.Module):
    """A language model: for each position of a sequence [B, T], scores of the word that comes next. Positions are told by
    fixed waves. Every layer has a rule of the book-keeping engine.

    >>> SmallTransformer(words=96, layers=1, width=32)(torch.zeros(2, 7, dtype=torch.int64)).shape
    torch.Size([2, 7, 96])
    """

    def __init__(self, words: int, *, layers: int = 4, width: int = 128, heads: int = 4, length: int = 64) -> None:
        super().__init__()
        words, width, heads = count("words", words, 1), count("width", width, 2), count("heads", heads, 1)
        if width % heads:
            raise InvalidParameter(f"width must be a multiple of heads, got {width} and {heads}")
        self.words = nn.Embedding(words, width)
        places = torch.arange(count("length", length, 1))[:, None] * torch.logspace(0, -4, width)
        self.register_buffer("places", torch.sin(places))
        self.blocks = nn.Sequential(*[_Block(width, heads) for _ in range(count("layers", layers, 1))])
        self.last, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, ids: Tensor) -> Tensor:
        """The scores [B, T, words]."""
        places: Tensor = self.places[: ids.shape[1]]  # type: ignore[index]
        scores: Tensor = self.head(self.last(self.blocks(self.words(ids) + places)))
        return scores


def next_word_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """One loss a record: the mean over its own positions, never over the words of a batch.

    >>> next_word_loss(torch.zeros(2, 3, 4), torch.zeros(2, 3, dtype=torch.int64)).shape
    torch.Size([2])
    """
    return F.cross_entropy(outputs.transpose(1, 2), targets, reduction="none").mean(1)
