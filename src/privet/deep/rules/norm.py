"""Normalisation layers: scale and shift meet the normalised input number by number, so shares are small and written out."""

import torch
import torch.nn.functional as F
from torch import Tensor

from privet.deep.rules.use import Use, widened


def written(use: Use) -> Tensor:
    """The gradient of the scale, record by record."""
    given, back = widened(use.given), use.back
    if use.kind == "group_norm":
        normal = F.group_norm(given, use.options["num_groups"], eps=use.options.get("eps", 1e-5))
        return (normal * back).flatten(2).sum(2)
    shape = tuple(use.options["normalized_shape"])
    if use.kind == "layer_norm":
        normal = F.layer_norm(given, shape, eps=use.options.get("eps", 1e-5))
    else:
        normal = F.rms_norm(given, shape, eps=use.options.get("eps"))
    return summed(normal * back, shape)


def shift(use: Use) -> Tensor:
    """The gradient of the shift, record by record."""
    if use.kind == "group_norm":
        return use.back.flatten(2).sum(2)
    return summed(use.back, tuple(use.options["normalized_shape"]))


def summed(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The sum over all positions of a record."""
    if values.ndim == 1 + len(shape):
        return values
    return torch.sum(values, dim=tuple(range(1, values.ndim - len(shape))))
