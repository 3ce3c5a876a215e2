"""Squared errors beside the formulas.

The mean of 1,024 squared errors has a relative standard deviation of sqrt(2/1024), 4.4%: eight runs make 5% more than three
of them. Reports that take long to draw are those of 200,000 people, the others of a million; the formulas are exact in n.
"""

import numpy as np
import pytest

from privet import local

K, EPSILON, RUNS = 1024, 2.0, 8
MILLION, FEWER = 1_000_000, 200_000
pytestmark = pytest.mark.slow


def people(n: int) -> np.ndarray:
    weights = np.arange(1, K + 1) ** -1.1
    counts = np.floor(n * weights / weights.sum()).astype(np.int64)
    counts[0] += n - counts.sum()
    return counts


@pytest.mark.parametrize(
    ("protocol", "n", "by_reports"),
    [
        (local.KRR(k=K, epsilon=EPSILON), MILLION, False),
        (local.KRR(k=K, epsilon=EPSILON), MILLION, True),
        (local.UnaryEncoding(k=K, epsilon=EPSILON), MILLION, False),
        (local.UnaryEncoding(k=K, epsilon=EPSILON, symmetric=True), MILLION, False),
        (local.UnaryEncoding(k=K, epsilon=EPSILON), FEWER, True),
        (local.HadamardResponse(k=K, epsilon=EPSILON), MILLION, True),
        (local.OLH(k=K, epsilon=EPSILON), FEWER, True),
        (local.SubsetSelection(k=K, epsilon=EPSILON), FEWER, True),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_the_measured_error_is_within_five_per_cent(protocol, n, by_reports):
    counts = people(n)
    values = np.repeat(np.arange(K), counts)
    errors = []
    for _ in range(RUNS):
        state = protocol.new_state()
        if by_reports:
            for part in np.array_split(values, 10):
                state.add(protocol.privatize(part))
        else:
            state = protocol.simulate_counts(counts)
        errors.append(np.mean((protocol.estimate(state).raw - counts / n) ** 2))
    expected = float(np.mean(protocol.variance(counts / n, n=n)))
    assert np.mean(errors) == pytest.approx(expected, rel=0.05)
