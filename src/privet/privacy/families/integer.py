"""The pair of two-sided geometric laws, an integer apart."""

import math

import numpy as np

from privet._cache import remember
from privet.privacy.binary import binary_variable
from privet.privacy.variable import AtomicVariable, LossVariable

MOST_ATOMS = 200_000  # a list of them takes milliseconds; beyond, atoms are gathered
_CELLS = 2_048  # on each side of zero, where not every atom is listed
_WIDEST = 600.0  # beyond, exponentials overflow and the pure statement serves


def shifted_geometric(decay: float, shift: int) -> LossVariable:
    """Pr[x] proportional to exp(-decay |x|) against the same law moved by `shift` integers.

    Outcomes x <= 0 all show the largest loss and x >= shift the smallest; between them one integer is one atom. With a
    very large shift atoms are gathered at some thousands of places (an upper bound, right to a millionth).

    >>> shifted_geometric(0.5, 1).atoms().losses.tolist()
    [-0.5, 0.5]
    """
    if shift > MOST_ATOMS and decay * shift > _WIDEST:
        return binary_variable(decay * shift)
    found: LossVariable = _shifted(float(decay), shift) if shift <= MOST_ATOMS else _gathered(float(decay), shift)
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


@remember(1_000_000)
def _gathered(decay: float, shift: int) -> LossVariable:
    """The atoms between two places go to these so that P- and Q-mass are kept: what is gathered dominates what was there.

    Groups are counted from both ends, so that what is left over lies in the middle and the pair stays its own mirror image.
    """
    group = -(-shift // (2 * _CELLS))
    left = group * np.arange(shift // (2 * group) + 1)
    x = np.unique(np.concatenate((left, shift - left)))
    size = np.diff(x).astype(float)
    end = 1.0 / (1.0 + math.exp(-decay))
    own = np.full(len(x), end * -math.expm1(-decay))
    own[[0, -1]] = end
    # of the atoms between two places, in units of exp(-decay x), as much goes to the one as to the other
    half = end * math.exp(-decay) * -np.expm1(-decay * (size - 1.0)) / (1.0 + np.exp(-decay * size))
    own[:-1] += half
    own[1:] += half
    p = (own * np.exp(-decay * x))[::-1]
    return AtomicVariable(decay * (shift - 2.0 * x)[::-1], p, p[::-1].copy(), mirrors=True)
