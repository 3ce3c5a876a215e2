"""Loss variables that lie between -epsilon and epsilon."""

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, Array


class WithinEpsilon:
    """A mixin for variables of pure guarantees, whose cells are differences of exponentials."""

    epsilon: float

    def _pieces(self, nodes: Array) -> tuple[Array, Array]:
        """The lower end and the width of each cell between the nodes, cut to the range of the loss."""
        edges = np.clip(np.concatenate(([-np.inf], nodes, [np.inf])), -self.epsilon, self.epsilon)
        return edges[:-1], np.diff(edges)

    @property
    def mass_error(self) -> float:
        """Exponentials of numbers up to epsilon."""
        return UNIT_ROUNDOFF * (32.0 + 4.0 * self.epsilon)

    def span(self, tail: float) -> tuple[float, float]:
        """All of the law."""
        return -self.epsilon, self.epsilon

    @property
    def least(self) -> float:
        """Below this, a delta is as good as none."""
        return 1e-250
