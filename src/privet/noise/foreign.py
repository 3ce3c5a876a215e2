"""The generators of other libraries, set to a stream of its own while foreign code runs, and put back after it.

Models of scikit-learn and torch draw from generators that everything in a process shares. They protect nobody, but what
one model draws must not depend on how much another one drew before: that depends on its rows.
"""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def own_stream(seed: int) -> Iterator[None]:
    """The shared generators of Python, numpy and torch (where it is loaded) begin at `seed` inside, and go on afterwards
    as if nothing had happened. No noise of this library comes from them.

    >>> with own_stream(1):
    ...     first = np.random.random()
    >>> with own_stream(1):
    ...     first == np.random.random()
    True
    """
    torch: Any = sys.modules.get("torch")
    before = random.getstate(), np.random.get_state(), None if torch is None else torch.get_rng_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    if torch is not None:
        torch.default_generator.manual_seed(seed)  # that of the processor alone: devices are not woken
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        if torch is not None:
            torch.set_rng_state(before[2])
