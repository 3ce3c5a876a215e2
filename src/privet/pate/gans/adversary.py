"""The public half of PATE-GAN: a generator, and a student that has seen generated points and released labels alone."""

from collections.abc import Sequence
from typing import final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from privet._numerics import Array
from privet.noise import KeyedStream
from privet.pate.gans.generator import Generator
from privet.pate.gans.nets import layers_from, outputs, size_of, uniforms, with_classes

_STUDENT = 4  # its domain of the stream; the generator has 1 to 3


@final
class Adversary:
    """A generator and its student discriminator. No private row comes here: points are the generator's own, labels are
    what an aggregator released. Labels are kept and used again, which costs nothing.
    """

    def __init__(
        self, generator: Generator, hidden: Sequence[int], stream: KeyedStream, *, rate: float, making: float
    ) -> None:
        self.generator, self._stream, self._step = generator, stream, 0
        self._classes = len(generator.shares)
        given = sum(head.width for head in generator.heads) + (self._classes if self._classes > 1 else 0)
        widths = (given, *hidden, 1)
        self.student = layers_from(uniforms(stream, _STUDENT, 0, size_of(widths)), widths, generator.device)
        self._learns = torch.optim.Adam(self.student, lr=rate, betas=(0.5, 0.9))
        self._making = making
        self._makes = torch.optim.Adam(generator.layers, lr=making, betas=(0.5, 0.9))
        self._seen: list[tuple[Tensor, Tensor]] = []

    def drawn(self, many: int) -> tuple[Tensor, Tensor]:
        """So many new points of the generator, and their classes."""
        self._step += 1
        return self.generator.drawn(self._stream, self._step, many)

    def centres(self, many: int) -> Tensor:
        """The mean of so many new points of each class, a row each."""
        self._step += 1
        return self.generator.centres(self._stream, self._step, many)

    def learn(self, points: Tensor, classes: Tensor, labels: Array, steps: int) -> None:
        """Train the student on its own points and their released labels, the earlier ones too."""
        told = torch.tensor(np.asarray(labels), device=points.device, dtype=torch.float32)
        self._seen.append((with_classes(points.detach(), classes, self._classes), told))
        rows, target = (torch.cat(each) for each in zip(*self._seen, strict=True))
        for _ in range(steps):
            self._learns.zero_grad()
            loss = functional.binary_cross_entropy_with_logits(outputs(self.student, rows)[..., 0], target)
            torch.autograd.backward(loss)
            self._learns.step()

    def teach(self, many: int, steps: int, share: float) -> None:
        """Train the generator to be taken for real by the student, by steps of this share of the first ones."""
        for group in self._makes.param_groups:
            group["lr"] = self._making * share
        for _ in range(steps):
            points, classes = self.drawn(many)
            self._makes.zero_grad()
            taken = outputs(self.student, with_classes(points, classes, self._classes))
            torch.autograd.backward(functional.softplus(-taken).mean())
            self._makes.step()
