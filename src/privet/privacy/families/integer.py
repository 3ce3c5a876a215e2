"""The pair of two-sided geometric laws, an integer apart."""

import math

import numpy as np

from privet._cache import remember
from privet.privacy.binary import binary_variable
from privet.privacy.variable import AtomicVariable, LossVariable

MOST_ATOMS = 200_000


def shifted_geometric(decay: float, shift: int) -> LossVariable:
    """Pr[x] proportional to exp(-decay |x|) against the same law moved by `shift` integers.

    Outcomes x <= 0 all show the largest loss and x >= shift the smallest; between them one integer is one atom. With a
    very large shift the pair of the pure guarantee stands in (an upper bound).

    >>> shifted_geometric(0.5, 1).atoms().losses.tolist()
    [-0.5, 0.5]
    """
    if shift > MOST_ATOMS:
        return binary_variable(decay * shift)
    found: LossVariable = _shifted(float(decay), shift)
    return found


@remember(1_000_000)  # one question asks for the pair of a part a dozen times
def _shifted(decay: float, shift: int) -> LossVariable:
    x = np.arange(1, shift)
    norm = -math.expm1(-decay) / (1.0 + math.exp(-decay))  # tanh(decay/2): Pr[0]
    end = 1.0 / (1.0 + math.exp(-decay))  # Pr[x <= 0]
    inner = norm * np.exp(-decay * x)
    p = np.concatenate(([end * math.exp(-decay * shift)], inner[::-1], [end]))
    losses = decay * (2.0 * np.arange(shift + 1) - shift)
    return AtomicVariable(losses, p, p[::-1].copy(), 0.0, 0.0, (-decay * shift, 2.0 * decay))
