"""A clipped sum that stays on its device: noise is added there, and only the protected sum comes out of it."""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, final

import torch
from torch import Tensor

from privet._numerics import Array
from privet.deep.stream import NoiseOnDevice
from privet.errors import InvalidData
from privet.noise import Grid, KeyedStream


class SumOnDevice(ABC):
    """A sum of clipped gradients on a device, with the noise for it: what `StepNoise.release` takes in the place of an
    array. A copy of it is the sum as an array on the host, which is what an audit keeps.

    **Guarantee:** none: what it holds is exact.
    """

    def __init__(self, noise: NoiseOnDevice) -> None:
        self.noise = noise

    @abstractmethod
    def exact_sum(self) -> Tensor:  # not releasable
        """The sum without noise."""

    @abstractmethod
    def _protected(self, stream: KeyedStream) -> Tensor:
        """The sum on the grid with the noise of step 0 of this stream, in memory that is used again for the next one."""

    @final
    def protected(self, sigma: Fraction, grid: Grid, stream: KeyedStream) -> Tensor:
        """The protected sum, where the noise that was made ready is the one that is asked for."""
        if (self.noise.sigma, self.noise.grid) != (sigma, grid):
            raise InvalidData("this sum came with noise of another size than that of the step")
        return self._protected(stream)

    def exact_array(self) -> Array:  # not releasable
        """The sum on the host."""
        found: Array = self.exact_sum().cpu().numpy()
        return found

    def __copy__(self) -> Array:
        return self.exact_array()

    def __deepcopy__(self, memo: object) -> Array:
        return self.exact_array()

    def __reduce__(self) -> Any:
        raise InvalidData("a sum without noise is not pickled")


@final
class ComputedSum(SumOnDevice):
    """A sum that is at hand.

    >>> held = ComputedSum(torch.zeros(2), NoiseOnDevice(2**20, Grid(-20), 2))
    >>> held.protected(Fraction(2**20), Grid(-20), KeyedStream(bytes(32))).shape
    torch.Size([2])
    """

    def __init__(self, total: Tensor, noise: NoiseOnDevice) -> None:
        super().__init__(noise)
        self._total = total

    def exact_sum(self) -> Tensor:
        return self._total

    def _protected(self, stream: KeyedStream) -> Tensor:
        total = self._total.detach()
        return self.noise.added(total, torch.empty_like(total), stream, 0)
