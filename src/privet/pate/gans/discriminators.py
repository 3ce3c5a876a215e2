"""Teacher discriminators: one small network for each part of the private points, all in one stack."""

from collections.abc import Sequence
from typing import NoReturn, final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from privet.errors import SerialisationError
from privet.noise import KeyedStream
from privet.pate.gans.gradients import exact_bins
from privet.pate.gans.nets import Layers, layers_from, outputs, size_of, uniforms, with_classes
from privet.pate.gans.parts import Parts
from privet.pate.votes import Votes


@final
class Discriminators:
    """Networks that tell the points of their own part from generated ones: private, and asked for votes alone.

    Each has a stream of its own under a secret key, by its part and the round; steps have as many private points in each
    part, drawn from it, so that no computation of one teacher has a shape that follows the rows of another. A teacher
    whose part is empty learns from generated points alone; one whose numbers are no numbers votes "generated".

    They are not pickled, exported or served.
    """

    def __init__(
        self,
        parts: Parts,
        classes: int,
        hidden: Sequence[int],
        stream: KeyedStream,
        *,
        rate: float,
        device: str = "cpu",
    ) -> None:
        self._parts, self._classes, self._stream, self._device = parts, classes, stream, device
        self.teachers = len(parts.starts) - 1
        widths = (parts.points.shape[1] + (classes if classes > 1 else 0), *hidden, 1)
        drawn = np.stack([uniforms(stream, i, 0, size_of(widths)) for i in range(self.teachers)])
        self._layers = layers_from(drawn, widths, device)
        self._optimizer = torch.optim.Adam(self._layers, lr=rate, betas=(0.5, 0.9))
        self._points = torch.tensor(parts.points, device=device)
        self._classes_of = torch.tensor(parts.classes, device=device)

    def train(self, rounds: int, batches: Sequence[tuple[Tensor, Tensor]], size: int) -> None:
        """A step for each of the batches of generated points with their classes, against `size` private ones of each
        part. `rounds` numbers the round, from 1 on.
        """
        starts = self._parts.starts
        sizes = np.diff(starts)
        drawn = np.stack([uniforms(self._stream, i, rounds, len(batches) * size) for i in range(self.teachers)])
        places = np.minimum(((drawn + 1.0) / 2.0 * sizes[:, None]).astype(np.int64), np.maximum(sizes - 1, 0)[:, None])
        chosen = torch.tensor(np.minimum(starts[:-1, None] + places, max(len(self._parts.points) - 1, 0)))
        there = torch.tensor(sizes > 0, device=self._device).to(torch.float32)
        for step, (points, classes) in enumerate(batches):
            picked = chosen[:, step * size : (step + 1) * size].to(self._device)
            self._step(picked, there, self._given(points, classes))

    def _given(self, points: Tensor, classes: Tensor) -> Tensor:
        return with_classes(points.detach().to(self._device), classes.to(self._device), self._classes)

    def _step(self, picked: Tensor, there: Tensor, generated: Tensor) -> None:
        self._optimizer.zero_grad()
        loss = functional.softplus(outputs(self._layers, generated)).mean(dim=(1, 2))
        if len(self._points):
            own = with_classes(self._points[picked], self._classes_of[picked], self._classes)
            own = torch.where(there[:, None, None] > 0.0, own, 0.0)  # an empty part picks rows of another: none is seen
            loss = loss + there * functional.softplus(-outputs(self._layers, own)).mean(dim=(1, 2))
        torch.autograd.backward(loss.sum())
        self._optimizer.step()

    def exact_votes(self, points: Tensor, classes: Tensor) -> Votes:
        """The number of teachers that take each point for generated (0) or real (1): private."""
        with torch.no_grad():
            real = (outputs(self._layers, self._given(points, classes))[..., 0] > 0.0).sum(dim=0).cpu().numpy()
        return Votes(np.stack([self.teachers - real, real], axis=1), teachers=self.teachers, adaptive=True)

    def exact_bins(self, points: Tensor, classes: Tensor, along: Tensor, bins: int, reach: float) -> Votes:
        """The number of teachers whose way to what they take for real lies in each bin of each direction: private."""
        told = classes.to(self._device)

        def dressed(given: Tensor) -> Tensor:
            return with_classes(given, told, self._classes)

        return exact_bins(self._layers, points.detach().to(self._device), along.to(self._device), bins, reach, dressed)

    def exact_layers(self) -> Layers:
        """The numbers of all teachers, for tests of their isolation: not releasable."""
        return self._layers

    def __repr__(self) -> str:
        return f"<{self.teachers} private discriminators>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SerialisationError("teachers remember private rows: they are not pickled, exported or served")
