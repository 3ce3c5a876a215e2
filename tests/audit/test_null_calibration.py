"""Sound mechanisms with ragged, textual and tabular outputs: whole audits, search included, stay within their level."""

import numpy as np
import pytest
from scipy import stats

from privet import audit, noise, privacy
from privet.testing.zoo.entry import Simulated

LEVEL = 0.2
RUNS = 240


def noisy(value, size):
    return value + noise.discrete_laplace(scale=10, size=size)


def ragged(value, runs):
    """Noise alone, in a list of random length, then the answer: both worlds have lists of every length."""
    lengths = noise.uniform_int(bound=5, size=runs).tolist()
    return [[*noise.discrete_laplace(scale=3, size=n).tolist(), int(noisy(value, 1)[0])] for n in lengths]


def textual(value, runs):
    return [f"about {x} people" + " or so" * int(x > 20) for x in noisy(value, runs).tolist()]


def keyed(value, runs):
    """Keys that appear when their noisy counts pass a threshold."""
    counts = noisy(np.array([value, 5, 12]), (runs, 3)).tolist()
    return [{name: n for name, n in zip("abc", row, strict=True) if n > 8} for row in counts]


def tabular(value, runs):
    """Rows of a made-up table, as many as a noisy count says."""
    sizes = np.clip(noisy(value, runs) // 5, 0, 6).tolist()
    return [
        [(int(noise.uniform_int(bound=4)), "xyz"[int(noise.uniform_int(bound=3))]) for _ in range(n)] for n in sizes
    ]


LAWS = (ragged, textual, keyed, tabular)


def alarms(audits: int, level: float = LEVEL) -> int:
    found = 0
    for place in range(audits):
        law = LAWS[place % len(LAWS)]
        verdict = audit.mechanism(
            Simulated(law.__name__, law), claim=privacy.PureLoss(1.0), neighbours=[(0, 10)], runs=RUNS, alpha=level
        ).verdict
        assert verdict != "depends on more than its input"
        found += verdict == "violated"
    return found


def test_a_few_audits_stay_within_the_level():
    assert alarms(24) <= stats.binom.isf(1e-6, 24, LEVEL)


@pytest.mark.slow
def test_a_thousand_audits_stay_within_the_level():
    assert alarms(1_000) <= stats.binom.isf(1e-6, 1_000, LEVEL)


def test_an_accusing_referee_would_be_noticed():
    """The planted bug: a claim that is not true of these laws, so that what is counted are true alarms."""
    found = 0
    for law in LAWS[:3] * 4:
        found += (
            audit.mechanism(
                Simulated(law.__name__, law), claim=privacy.PureLoss(0.01), neighbours=[(0, 60)], runs=RUNS, alpha=LEVEL
            ).verdict
            == "violated"
        )
    assert found > stats.binom.isf(1e-6, 12, LEVEL)
