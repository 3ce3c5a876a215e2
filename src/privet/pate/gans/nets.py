"""Small networks as lists of layers: one, or as many as there are teachers in one stack."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from privet._numerics import Array
from privet.noise import KeyedStream
from privet.pate.gans.task import Head

Layers = list[Tensor]  # weights and biases in turn; a stack has one more dimension in front

_SLOPE = 0.2  # of the leaky rectifier below 0, usual for GANs: quality only


def uniforms(stream: KeyedStream, domain: int, step: int, size: int) -> Array:
    """Numbers from -1 to 1 from the words of a domain and a step: no generator of torch or numpy is asked.

    >>> uniforms(KeyedStream(bytes(32)), 0, 0, 3).shape
    (3,)
    """
    words = stream.words(domain << 4, step, size)  # domains whose last bits are 0 belong to nobody else
    return np.asarray((words >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0)


def latents(stream: KeyedStream, domain: int, step: int, shape: tuple[int, int]) -> Array:
    """The law of what a generator is given: uniform on a cube, in training and in sampling alike."""
    return uniforms(stream, domain, step, shape[0] * shape[1]).reshape(shape).astype(np.float32)


def size_of(widths: Sequence[int]) -> int:
    """The number of numbers that a network with layers of these widths has.

    >>> size_of((3, 2, 1))
    11
    """
    return sum((a + 1) * b for a, b in pairwise(widths))


def layers_from(drawn: Array, widths: Sequence[int], device: str = "cpu") -> Layers:
    """Layers at the beginning, from uniform numbers: `drawn` has a row for each network of a stack, or is one row."""
    made, start = Layers(), 0
    for a, b in pairwise(widths):
        for rows in (a, 1):
            part = drawn[..., start : start + rows * b].reshape(*drawn.shape[:-1], rows, b) / np.sqrt(a)
            start += rows * b
            made.append(torch.tensor(part, dtype=torch.float32, device=device, requires_grad=True))
    return made


def outputs(layers: Layers, points: Tensor) -> Tensor:
    """The outputs of a network, or of each of a stack: its rows are then (networks, points, numbers)."""
    for place in range(0, len(layers), 2):
        points = torch.matmul(points, layers[place]) + layers[place + 1]
        if place + 2 < len(layers):
            points = functional.leaky_relu(points, _SLOPE)
    return points


def with_classes(points: Tensor, classes: Tensor, many: int) -> Tensor:
    """Points with a column for each class, where there are several."""
    if many == 1:
        return points
    return torch.cat([points, functional.one_hot(classes, many).to(points.dtype)], dim=-1)


def written(raw: Tensor, heads: Sequence[Head]) -> Tensor:
    """Points as private rows are written: choices are made, not mixed. Gradients pass as if they were mixed."""
    made, start = [], 0
    for kind, width in heads:
        part = raw[..., start : start + width]
        start += width
        if kind == "numbers":
            made.append(torch.tanh(part))
            continue
        soft = torch.sigmoid(part) if kind == "yes" else torch.softmax(part, dim=-1)
        hard = (soft > 0.5).to(soft) if kind == "yes" else functional.one_hot(soft.argmax(-1), width).to(soft)
        made.append(hard + soft - soft.detach())
    return torch.cat(made, dim=-1)
