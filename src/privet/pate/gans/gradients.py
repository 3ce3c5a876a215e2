"""The votes of teachers on gradients: each projects its own on public directions, and votes for a bin of each."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from privet._numerics import Array
from privet.noise import KeyedStream
from privet.pate.gans.nets import Layers, outputs, uniforms
from privet.pate.votes import Votes

Dress = Callable[[Tensor], Tensor]

_DIRECTIONS = 5  # domain of the stream; the generator has 1 to 3, a student 4
_PIECE = 2**24  # numbers of gradients that are held at once


def directions(stream: KeyedStream, number: int, dimensions: int, shape: tuple[int, ...], blur: float) -> Array:
    """Public random directions of unit length, one a row, new in every round. Those of images of a `shape` may be blurred:
    neighbouring pixels then move together.

    >>> directions(KeyedStream(bytes(32)), 1, 3, (4, 4), 1.0).shape
    (3, 16)
    """
    width = math.prod(shape)
    # a sum of uniform numbers is normal enough: any public matrix would do
    words = uniforms(stream, _DIRECTIONS, number, 4 * dimensions * width).reshape(4, dimensions, *shape)
    drawn = words.sum(axis=0)
    if blur > 0.0 and len(shape) >= 2:
        drawn = np.apply_along_axis(_blurred, 1, drawn, blur)
        drawn = np.apply_along_axis(_blurred, 2, drawn, blur)
    rows = drawn.reshape(dimensions, width)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _blurred(line: Array, blur: float) -> Array:
    reach = np.arange(-int(3 * blur) - 1, int(3 * blur) + 2)
    kernel = np.exp(-0.5 * (reach / blur) ** 2)
    return np.convolve(line, kernel / kernel.sum(), mode="full")[len(reach) // 2 :][: len(line)]


def exact_bins(
    layers: Layers, given: Tensor, along: Tensor, bins: int, reach: float, dressed: Dress = lambda points: points
) -> Votes:
    """The number of teachers that put the way to what they take for real in each bin, for each point (a row of `given`)
    and each direction (a row of `along`): private.

    Every teacher votes once for each point and direction, as `counted` says. `dressed` are points as teachers are given
    them.
    """

    def taken_for_real(own: Layers, points: Tensor) -> Tensor:
        return -functional.softplus(-outputs(own, dressed(points))).sum()

    each = torch.func.vmap(torch.func.grad(taken_for_real, argnums=1), in_dims=(0, None))
    teachers = len(layers[0])
    counts = torch.zeros(len(given) * len(along), bins, dtype=torch.int64, device=given.device)
    piece = max(1, _PIECE // max(dressed(given).numel(), 1))
    for start in range(0, teachers, piece):
        own = [layer[start : start + piece].detach() for layer in layers]
        counts += counted(each(own, given), along, bins, reach, start).reshape(-1, bins)
    return Votes(counts.cpu().numpy().astype(np.int32), teachers=teachers, adaptive=True)


def counted(ways: Tensor, along: Tensor, bins: int, reach: float, first: int = 0) -> Tensor:
    """The number of teachers in each bin, for each point and direction: `ways` are (teachers, points, numbers).

    A way is divided by its own length; what lies further than `reach` is in the last bin. One that is no number, or leads
    nowhere, is in a middle bin: of two, by turns of the teachers, of whom the `first` has that number.
    """
    told = torch.nan_to_num((ways / (ways.norm(dim=-1, keepdim=True) + 1e-30)) @ along.T, nan=0.0)
    numbers = [torch.arange(size, device=told.device) for size in told.shape]
    turns = (numbers[0][:, None, None] + first + numbers[1][:, None] + numbers[2]) % 2
    told = torch.where(told == 0.0, (turns - 0.5) * (1e-6 * reach), told).contiguous()
    inner = torch.linspace(-reach, reach, bins + 1, device=told.device)[1:-1].contiguous()
    return functional.one_hot(torch.bucketize(told, inner), bins).sum(dim=0)


def middles(bins: int, reach: float) -> Array:
    """The middles of the bins, and 0 for what was not answered: it comes last, where -1 finds it.

    >>> middles(2, 1.0).tolist()
    [-0.5, 0.5, 0.0]
    """
    edges = np.linspace(-reach, reach, bins + 1)
    return np.append((edges[1:] + edges[:-1]) / 2.0, 0.0)
