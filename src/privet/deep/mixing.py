"""Sums of several steps, mixed by a public matrix before noise is added: the noise of gradients then hangs together."""

from abc import ABC, abstractmethod

from privet._numerics import Array


class Mixing(ABC):
    """A triangular matrix C, row by row: step t releases (C x)_t with fresh noise, and is told as (C^-1 y)_t.

    x_t is the clipped sum of step t, y = C x + z the releases. So C^-1 y = x + C^-1 z is the sums again, with noise that is
    a public combination of fresh ones: what one step had too much, later steps take back. Past sums are secrets, like past
    noise. They live here alone, for as long as one block runs: no state, no checkpoint and no pickle holds them, and the
    next block begins with a new one.
    """

    @abstractmethod
    def exact_mixed(self, total: Array) -> Array:
        """(C x)_t, from the sum of this step and those before it: not releasable."""

    @abstractmethod
    def read(self, noisy: Array) -> Array:
        """(C^-1 y)_t, from what this step and those before it have released."""
