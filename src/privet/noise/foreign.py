"""The generators of other libraries, set to a stream of its own while foreign code runs, and put back after it.

Models of scikit-learn and torch draw from generators that everything in a process shares. They protect nobody, but what
one model draws must not depend on how much another one drew before: that depends on its rows.
"""

import pickle
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_TURN = threading.RLock()  # generators are shared by threads: one that put them back would take them from another


@contextmanager
def own_stream(seed: int) -> Iterator[None]:
    """The shared generators of Python, numpy and torch (where it is loaded, and of the device that it uses) begin at `seed`
    inside, and go on afterwards as if nothing had happened. Threads take turns. No noise of this library comes from them.

    >>> with own_stream(1):
    ...     first = np.random.random()
    >>> with own_stream(1):
    ...     first == np.random.random()
    True
    """
    with _TURN:
        before = random.getstate(), np.random.get_state()
        generators = _generators(sys.modules.get("torch"))
        states = [each.get_state() for each in generators]
        random.seed(seed)
        np.random.seed(seed % 2**32)
        for each in generators:
            each.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])
            for each, state in zip(generators, states, strict=True):
                each.set_state(state)


def shared_state() -> bytes:
    """The places at which the shared generators stand: they differ once something has drawn from one of them.

    >>> before = shared_state()
    >>> with own_stream(1):
    ...     drawn = np.random.random(), before == shared_state()
    >>> drawn[1], before == shared_state()
    (False, True)
    """
    torch = [each.get_state().cpu().numpy() for each in _generators(sys.modules.get("torch"))]
    return pickle.dumps((random.getstate(), np.random.get_state(), torch))


def _generators(torch: Any) -> list[Any]:
    """Torch's own generators; devices that nobody has used yet are not woken."""
    if torch is None:
        return []
    return [torch.default_generator, *(torch.cuda.default_generators if torch.cuda.is_initialized() else ())]
