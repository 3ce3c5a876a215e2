"""Clipped sums as the definition has them: one record at a time, plain autograd, nothing of the engines."""

import math

import torch
from torch import Tensor, nn


def gradient(model: nn.Module, loss, inputs, targets) -> dict[str, Tensor]:
    """The gradient of one record, given as a batch of one."""
    model.zero_grad()
    given = inputs if isinstance(inputs, dict | tuple) else (inputs,)
    outputs = model(**given) if isinstance(given, dict) else model(*given)
    loss(outputs, targets).sum().backward()
    found = {
        name: torch.zeros_like(each) if each.grad is None else each.grad.clone()
        for name, each in model.named_parameters()
        if each.requires_grad
    }
    model.zero_grad()
    return found


def rows(batch, index):
    if isinstance(batch, dict):
        return {name: each[index : index + 1] for name, each in batch.items()}
    return tuple(each[index : index + 1] for each in batch) if isinstance(batch, tuple) else batch[index : index + 1]


def norm(gradients: dict[str, Tensor]) -> float:
    return math.sqrt(sum(float(each.double().square().sum()) for each in gradients.values()))


def clipped_sum(model, loss, inputs, targets, mask, clip_norm) -> dict[str, Tensor]:
    total = {name: torch.zeros_like(each) for name, each in model.named_parameters() if each.requires_grad}
    for index, keep in enumerate(mask.tolist()):
        found = gradient(model, loss, rows(inputs, index), rows(targets, index))
        size = norm(found)
        if keep and math.isfinite(size):
            for name, each in found.items():
                total[name] += each * min(1.0, clip_norm / size if size else 1.0)
    return total


def furthest(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    """The largest difference, as a share of the largest entry."""
    assert one.keys() == other.keys()
    scale = max(float(each.abs().max()) for each in other.values())
    return max(float((one[name].double() - other[name].double()).abs().max()) for name in one) / max(scale, 1e-30)
