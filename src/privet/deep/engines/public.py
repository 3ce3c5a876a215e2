"""Public inputs for start-up checks: numbers that no record has a part in, in the shape of a record."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from privet.deep.engines.engine import Batch, mapped

_TURN = 0.6180339887498949  # multiples of it, taken modulo 1, fall evenly and never repeat

_PIECE = 2**15  # numbers made at a time: doubles on the way take no memory to speak of

_COINS = (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout, F.feature_alpha_dropout, torch.dropout)


def public_like(batch: Batch, size: int, *, turn: int = 0, scale: float = 1.0, words: int = 2) -> Batch:
    """A batch of `size` made-up records, of the shapes and types of `batch` and nothing else of it.

    Floats look like normal numbers times `scale`; whole numbers lie below `words`: 0 or 1, which names a word of any
    vocabulary and any class, unless more are known. `turn` tells several such batches apart.

    >>> public_like(torch.zeros(9, 2, dtype=torch.int64), 3).tolist()
    [[0, 1], [1, 0], [1, 0]]
    """
    return mapped(lambda each: _spread(each, size, turn, scale, words), batch)


def _spread(like: Tensor, size: int, turn: int, scale: float, words: int) -> Tensor:
    shape = (size, *like.shape[1:])
    count = torch.Size(shape).numel()
    out = torch.empty(count, dtype=like.dtype, device=like.device)
    for start in range(0, count, _PIECE):
        stop = min(start + _PIECE, count)
        even = torch.arange(start + 1, stop + 1, dtype=torch.float64) * _TURN + (turn + 1) * 0.7548776662466927
        even = (even % 1.0).clamp(1e-6, 1 - 1e-6)
        if like.dtype.is_floating_point or like.dtype.is_complex:
            out[start:stop] = scale * torch.special.ndtri(even)
        else:
            most = 2 if like.dtype == torch.bool else min(words, torch.iinfo(like.dtype).max)
            out[start:stop] = (even * most).floor().clamp(max=most - 1)
    return out.view(shape)


class NoCoins(TorchFunctionMode):
    """A region in which dropout passes everything on, so that two passes can be compared."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _COINS:
            return args[0] if args else kwargs["input"]
        if func is F.scaled_dot_product_attention:
            kwargs = {**kwargs, "dropout_p": 0.0}
            args = args[:4]
        return func(*args, **kwargs)
