"""The generator: a small network from a latent point and a class to a point that is written as private rows are."""

from collections.abc import Sequence
from typing import final

import numpy as np
import torch
from torch import Tensor

from privet._numerics import Array
from privet.noise import KeyedStream
from privet.pate.gans.nets import Layers, latents, layers_from, outputs, size_of, uniforms, with_classes, written
from privet.pate.gans.task import Head

NETWORK, CLASSES, LATENTS = 1, 2, 3  # domains of the stream


@final
class Generator:
    """Points from latent points: public, since it is trained by what was released.

    >>> made = Generator.begun((Head("numbers", 2),), np.ones(1), 4, (8,), KeyedStream(bytes(32)))
    >>> tuple(made.drawn(KeyedStream(bytes(32)), 0, 5)[0].shape)
    (5, 2)
    """

    def __init__(self, layers: Layers, heads: Sequence[Head], shares: Array, latent: int, device: str = "cpu") -> None:
        self.layers, self.heads, self.shares, self.latent, self.device = layers, tuple(heads), shares, latent, device

    @classmethod
    def begun(
        cls,
        heads: Sequence[Head],
        shares: Array,
        latent: int,
        hidden: Sequence[int],
        stream: KeyedStream,
        device: str = "cpu",
        gains: tuple[float, float] = (1.0, 1.0),
    ) -> "Generator":
        """The generator before its first step. `gains` multiply what it makes of latent points, and its last layer: with
        both at 1 the points of a class begin close to each other.
        """
        given = latent + (len(shares) if len(shares) > 1 else 0)
        widths = (given, *hidden, sum(head.width for head in heads))
        layers = layers_from(uniforms(stream, NETWORK, 0, size_of(widths)), widths, device)
        with torch.no_grad():
            layers[0][:latent] *= gains[0]
            layers[-2].mul_(gains[1])
        return cls(layers, heads, shares, latent, device)

    def drawn(self, stream: KeyedStream, step: int, many: int) -> tuple[Tensor, Tensor]:
        """So many points and their classes, by the words of a step of a stream: the same law in training and sampling."""
        edges = np.cumsum(self.shares)[:-1] / self.shares.sum()
        told = np.searchsorted(edges, (uniforms(stream, CLASSES, step, many) + 1.0) / 2.0, side="right")
        classes = torch.tensor(told.astype(np.int64), device=self.device)
        given = torch.tensor(latents(stream, LATENTS, step, (many, self.latent)), device=self.device)
        return self.points(given, classes), classes

    def points(self, given: Tensor, classes: Tensor) -> Tensor:
        """The points of latent points."""
        return written(outputs(self.layers, with_classes(given, classes, len(self.shares))), self.heads)

    def centres(self, stream: KeyedStream, step: int, many: int) -> Tensor:
        """The mean of so many points of each class, a row each, by the words of a step of a stream."""
        classes = len(self.shares)
        given = torch.tensor(latents(stream, LATENTS, step, (many, self.latent)), device=self.device)
        told = torch.arange(classes, device=self.device).repeat_interleave(many)
        with torch.no_grad():
            made = self.points(given.repeat(classes, 1), told)
        return made.reshape(classes, many, -1).mean(dim=1)

    def numbers(self) -> list[Array]:
        """The weights as arrays."""
        return [each.detach().cpu().numpy().copy() for each in self.layers]

    @classmethod
    def of_numbers(cls, numbers: Sequence[Array], heads: Sequence[Head], shares: Array, latent: int) -> "Generator":
        """Back from `numbers`."""
        return cls([torch.tensor(each) for each in numbers], heads, shares, latent)
