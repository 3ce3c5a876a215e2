"""The public half of G-PATE: a generator that is moved by what was released about its own points."""

from typing import NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from privet._numerics import Array
from privet.noise import KeyedStream
from privet.pate.gans.generator import LATENTS, Generator
from privet.pate.gans.gradients import directions, middles
from privet.pate.gans.nets import latents


class Asked(NamedTuple):
    """Generated points that teachers are asked about, and the directions in which they may go."""

    latent: Tensor
    points: Tensor
    classes: Tensor
    along: Tensor


@final
class Follower:
    """A generator, and where its points were told to go. No private row comes here."""

    def __init__(self, generator: Generator, grid: tuple[int, ...], stream: KeyedStream, *, rate: float) -> None:
        self.generator, self._grid, self._stream, self._step, self._round = generator, grid, stream, 0, 0
        self._makes = torch.optim.Adam(generator.layers, lr=rate, betas=(0.5, 0.9))

    def drawn(self, many: int) -> tuple[Tensor, Tensor]:
        """So many new points of the generator, and their classes."""
        self._step += 1
        return self.generator.drawn(self._stream, self._step, many)

    def ask(self, many: int, dimensions: int, blur: float) -> Asked:
        """The points of a round with their latent points, and its directions."""
        self._round += 1
        points, classes = self.drawn(many)
        latent = latents(self._stream, LATENTS, self._step, (many, self.generator.latent))
        along = directions(self._stream, self._round, dimensions, self._grid, blur)
        given, ways = (torch.tensor(each, device=self.generator.device) for each in (latent, along))
        return Asked(given, points.detach(), classes, ways)

    def centres(self, many: int) -> Tensor:
        """The mean of so many new points of each class, a row each."""
        self._step += 1
        return self.generator.centres(self._stream, self._step, many)

    def follow(self, asked: Asked, told: Array, bins: int, reach: float, move: float, steps: int) -> None:
        """Train the generator to make the points of a round where they were told to be."""
        values = middles(bins, reach)[np.array(told)].reshape(len(asked.points), len(asked.along))
        way = torch.tensor(values.astype(np.float32), device=self.generator.device) @ asked.along
        wanted = asked.points + move * way / (way.norm(dim=1, keepdim=True) + 1e-12)
        for _ in range(steps):
            self._makes.zero_grad()
            made = self.generator.points(asked.latent, asked.classes)
            torch.autograd.backward((made - wanted).square().sum(dim=1).mean())
            self._makes.step()
