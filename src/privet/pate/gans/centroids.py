"""Teachers that are linear rules: each compares the mean of its own points of a class with that of generated ones."""

from typing import NoReturn, final

import numpy as np
import torch
from torch import Tensor

from privet.errors import SerialisationError
from privet.pate.gans.gradients import counted
from privet.pate.gans.parts import Parts
from privet.pate.votes import Votes


@final
class Centroids:
    """Linear discriminators of each class without training: their weights are the mean of the own points less that of
    generated points, which is where one step from zero on the logistic loss goes. Private, and asked for votes alone.

    Trained linear rules lag behind a generator that moves, and on images a step of theirs is longer than the way that is
    left (docs/develop/decisions.md). These are new in every round, and nothing in them follows the rows of another part. A
    teacher without a point of a class votes for a middle bin there, by turns where there are two.
    """

    def __init__(self, parts: Parts, classes: int, *, device: str = "cpu") -> None:
        self.teachers, self._classes, self._device = len(parts.starts) - 1, classes, device
        owner = np.repeat(np.arange(self.teachers), np.diff(parts.starts))
        places = owner * classes + parts.classes
        # each cell adds up its own rows in their order: sums of another part are no part of it, not even by rounding
        sums = np.zeros((self.teachers * classes, parts.points.shape[1]))
        np.add.at(sums, places, parts.points)
        many = np.bincount(places, minlength=len(sums))
        means = (sums / np.maximum(many, 1)[:, None]).astype(np.float32)
        self._means = torch.tensor(means.reshape(self.teachers, classes, -1), device=device)
        self._there = torch.tensor((many > 0).reshape(self.teachers, classes), device=device)

    def exact_bins(self, centres: Tensor, classes: Tensor, along: Tensor, bins: int, reach: float) -> Votes:
        """The number of teachers whose way from the mean of generated points (a row of `centres` for each class) to that
        of their own lies in each bin of each direction, for points of these classes: private.
        """
        centres, along = centres.to(self._device), along.to(self._device)
        by_class = []
        for each in range(self._classes):
            ways = torch.where(self._there[:, each, None], self._means[:, each] - centres[each], 0.0)
            by_class.append(counted(ways[:, None], along, bins, reach))
        votes = torch.stack(by_class)[classes.to(self._device)].reshape(-1, bins)
        return Votes(votes.cpu().numpy().astype(np.int32), teachers=self.teachers, adaptive=True)

    def exact_votes(self, points: Tensor, classes: Tensor, centres: Tensor) -> Votes:
        """The number of teachers that take each point for generated (0) or real (1): private.

        Real is what lies further than the mean of generated points of its class (a row of `centres`) on the way from there
        to the mean of the own ones. Half of the way would be the border of a rule that is trained; nothing that is
        generated reaches it as long as own points are far, and all labels are then the same. A teacher without a point of a
        class says "generated" there.
        """
        points, centres, told = (each.detach().to(self._device) for each in (points, centres, classes))
        real = torch.zeros(len(points), dtype=torch.int64, device=self._device)
        for each in range(self._classes):
            asked = told == each
            ways = self._means[:, each] - centres[each]
            said = ((points[asked] - centres[each]) @ ways.T > 0.0) & self._there[:, each]
            real[asked] = said.sum(dim=1)
        counts = real.cpu().numpy()
        return Votes(np.stack([self.teachers - counts, counts], axis=1), teachers=self.teachers, adaptive=True)

    def exact_means(self) -> Tensor:
        """The means of all teachers, for tests of their isolation: not releasable."""
        return self._means

    def __repr__(self) -> str:
        return f"<{self.teachers} private linear rules>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SerialisationError("teachers remember private rows: they are not pickled, exported or served")
