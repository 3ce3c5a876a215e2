"""StatDP: choose the event with the smallest p-value on some runs, test it on others.

Written from Ding, Wang, Wang, Zhang & Kifer 2018, "Detecting violations of differential privacy", sections 4 and 5. The
pair of neighbours is given, so that its input generator has nothing to do. Where the paper leaves the search space to
the user it is made wide: half-lines and single values of every coordinate, the number of positives, whole answers, and
the Hamming distance to the answer without noise.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from rivals.subjects import Subject

CUTS = 200  # half-lines of each coordinate
MOST_ATOMS = 64


@dataclass(frozen=True)
class StatDP:
    """`share` of the runs choose the event; the paper has 100,000 of 600,000."""

    share: float = 1.0 / 6.0
    name: str = "StatDP"

    def p_value(self, subject: Subject, runs: int, rng: np.random.Generator) -> float:
        """One audit with so many runs of each input, those for choosing included."""
        first = max(1, int(self.share * runs))
        worlds = [_features(subject, subject.simulate(value, runs)) for value in (subject.left, subject.right)]
        chosen, tested = ([w[:first] for w in worlds], [w[first:] for w in worlds])
        column, test, swapped = _select(chosen, first, subject.epsilon, rng)
        counts = [int(test(world[:, column]).sum()) for world in tested]
        if swapped:
            counts.reverse()
        return float(_p_value(np.array(counts[:1]), np.array(counts[1:]), runs - first, subject.epsilon, rng)[0])

    def refutes(self, subject: Subject, runs: int, alpha: float, rng: np.random.Generator) -> bool:
        return self.p_value(subject, runs, rng) <= alpha


def _features(subject: Subject, outputs: np.ndarray) -> np.ndarray:
    """The coordinates, how many are positive, the whole answer as one number, and the Hamming distances of its signs to
    those without noise (which the paper has the user provide)."""
    values = outputs.reshape(len(outputs), -1).astype(float)
    if values.shape[1] == 1:
        return values
    whole = np.array([float(hash(row.tobytes()) % 2**52) for row in values])
    signs = [] if subject.truthful is None else [subject.truthful(value) for value in (subject.left, subject.right)]
    far = [np.sum((values > 0) != truth, axis=1) for truth in signs]
    return np.column_stack((values, np.sum(values > 0, axis=1), whole, *far))


def _select(worlds: list[np.ndarray], n: int, epsilon: float, rng: np.random.Generator):
    best = (2.0, 0, lambda column: column != column, False)
    for column in range(worlds[0].shape[1]):
        a, b = (world[:, column] for world in worlds)
        for test, left, right in _events(a, b):
            for swapped in (False, True):
                c1, c2 = (right, left) if swapped else (left, right)
                often = c1 + c2 >= 0.001 * n * np.exp(epsilon)  # the paper's guard against rare events
                p = np.where(often, _p_value(c1, c2, n, epsilon, rng), 2.0)
                index = int(np.argmin(p))
                if p[index] < best[0]:
                    best = (float(p[index]), column, test(index), swapped)
    return best[1:]


def _events(a: np.ndarray, b: np.ndarray):
    """Half-lines and single values, with their counts in both worlds."""
    values, times = np.unique(np.concatenate((a, b)), return_counts=True)
    cuts = values[np.unique(np.linspace(0, len(values) - 1, min(CUTS, len(values))).astype(int))]
    a, b = np.sort(a), np.sort(b)
    least = [len(s) - np.searchsorted(s, cuts, "left") for s in (a, b)]
    yield (lambda index: lambda column: column >= cuts[index]), *least
    most = [np.searchsorted(s, cuts, "right") for s in (a, b)]
    yield (lambda index: lambda column: column <= cuts[index]), *most
    atoms = values[np.argsort(-times, kind="stable")[:MOST_ATOMS]]
    equal = [np.searchsorted(s, atoms, "right") - np.searchsorted(s, atoms, "left") for s in (a, b)]
    yield (lambda index: lambda column: column == atoms[index]), *equal


def _p_value(c1: np.ndarray, c2: np.ndarray, n: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """The first count thinned by e^-epsilon beside the second, by Fisher's exact test (the paper's section 4.3)."""
    thinned = rng.binomial(c1, np.exp(-epsilon))
    return np.asarray(stats.hypergeom.sf(thinned - 1, 2 * n, n, thinned + c2))
