"""The clipped sum of one step, in pieces of a public size, which changes speed and memory and nothing else."""

import math
from collections.abc import Mapping
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from privet._numerics import Array
from privet.deep.clipping import AdaptiveQuantile
from privet.deep.engines.engine import Engine, mapped
from privet.deep.records import Records, split
from privet.deep.step_noise import StepNoise

_WIDTHS = 4.0  # standard deviations of a Poisson batch above its mean that one piece holds
_MOST = 4096


def piece_size(expected: float | None, largest: int | None) -> int:
    """The number of records that are computed at once, from public numbers: a batch of usual size in one piece.

    >>> piece_size(64.0, None), piece_size(None, 100)
    (96, 100)
    """
    usual = 64.0 if expected is None else expected
    wanted = largest if largest is not None else math.ceil(usual + _WIDTHS * math.sqrt(usual))
    return max(1, min(wanted, _MOST))


def exact_sum(engine: Engine, parameters: Mapping[str, Tensor], records: Records, ids: Array, piece: int) -> Tensor:
    """The clipped gradients of these records, added up, all parameters in one vector: not releasable, it has no noise.

    The last piece is filled up with null records, and an empty batch is one piece of them: shapes do not follow how many
    records were drawn.
    """
    total: Tensor | None = None
    device = next(iter(parameters.values())).device
    for start in range(0, max(1, len(ids)), piece):
        batch, mask = records.exact_batch(ids[start : start + piece], piece)
        inputs, targets = split(mapped(lambda each: each.to(device), batch))
        sums = engine(parameters, inputs, targets, mask.to(device))
        flat = joined(sums)
        total = flat if total is None else total.add_(flat)
    assert total is not None
    return total


def joined(sums: dict[str, Tensor]) -> Tensor:
    """Sums in one vector, in the order of their names. They are taken out of the dictionary: each is given up once it was
    copied.

    >>> joined({"b": torch.ones(1, 2), "a": torch.zeros(1)}).tolist()
    [0.0, 1.0, 1.0]
    """
    names = sorted(sums)
    if len(names) == 1:
        return sums.pop(names[0]).reshape(-1)
    kind = reduce(torch.promote_types, (each.dtype for each in sums.values()))
    flat = torch.empty(sum(each.numel() for each in sums.values()), dtype=kind, device=next(iter(sums.values())).device)
    for name, place in zip(names, torch.split(flat, [sums[name].numel() for name in names]), strict=True):
        place.copy_(sums.pop(name).reshape(-1))
    return flat


def protected_mean(noisy: Array, divisor: float) -> Tensor:
    """A protected sum over a public number, in the type of the sum.

    >>> protected_mean(np.array([1.0, 3.0], dtype=np.float32), 2.0)
    tensor([0.5000, 1.5000])
    """
    return torch.from_numpy(np.divide(noisy, float(divisor)))


def exact_value(total: Tensor, noise: StepNoise) -> Array:
    """A clipped sum as the noise of a step takes it: numbers, or whole steps of its grid where the plan is strict. Whole
    steps are doubles up to here, which are exact below 2^53: so many steps take 2^23 records in one batch.
    """
    if not noise.strict:
        return total.cpu().numpy()
    return np.rint(total.double().cpu().numpy() / noise.grid.width).astype(np.int64)


def exact_value_and_votes(total: Tensor, engine: Engine) -> Array:
    """A clipped sum over the clip that its engine followed, and the votes, weighted, behind it: one row of numbers."""
    over_clip = total.cpu().numpy().astype(np.float64) / engine.clip.clip_norm
    return np.append(over_clip, AdaptiveQuantile.VOTE * engine.exact_votes())


def spread(flat: Tensor, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A vector cut into tensors of the parameters' shapes, in the order of their names."""
    names = sorted(parameters)
    pieces = torch.split(flat, [parameters[name].numel() for name in names])
    return {name: each.view_as(parameters[name]).to(parameters[name]) for name, each in zip(names, pieces, strict=True)}
