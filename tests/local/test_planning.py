"""The choice of a protocol and the number of people."""

import math

import numpy as np
import pytest

from privet import local
from privet.errors import InvalidParameter


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (5, 0.5), (30, 2.0), (1024, 2.0), (1024, 6.0)])
def test_the_best_protocol_has_the_smallest_variance(k, epsilon):
    offers = local.offers(k=k, epsilon=epsilon, n=1000)
    variances = [offer.variance for offer in offers]
    assert variances == sorted(variances)
    assert local.best(k=k, epsilon=epsilon, n=1000) == offers[0].protocol
    for offer in offers:
        pooled = offer.protocol.shared_hashes  # counts at its worst: all hold one other value
        most = 0.0 if pooled is None else pooled.collisions
        assert offer.variance == pytest.approx(offer.protocol.variance(0.0, n=1000) + most)
        assert offer.report_bytes == offer.protocol.report_bytes
        assert offer.deviation == pytest.approx(math.sqrt(offer.variance))


def test_equal_variances_are_decided_by_bytes_and_cost():
    assert isinstance(local.best(k=4, epsilon=2.0), local.KRR)  # subset selection with one chosen value is the same
    assert isinstance(local.best(k=1024, epsilon=2.0), local.SubsetSelection)


def test_reports_fit_into_the_bytes_that_are_given():
    for most in (1, 2, 16, 20, 200):
        chosen = local.offers(k=1024, epsilon=2.0, max_bytes=most) if most > 1 else None
        assert chosen is None or all(offer.report_bytes <= most for offer in chosen)
    with pytest.raises(InvalidParameter, match="max_bytes must be at least 2: no protocol"):
        local.best(k=1024, epsilon=2.0, max_bytes=1)
    assert isinstance(local.best(k=2**30, epsilon=2.0, max_bytes=8), local.FLH)


@pytest.mark.parametrize(
    "protocol", [local.Warner(epsilon=1.0), local.KRR(k=20, epsilon=2.0), local.OLH(k=9, epsilon=1.0)]
)
@pytest.mark.parametrize("radius", [0.01, 0.05])
def test_so_many_people_are_needed_and_no_fewer(protocol, radius):
    n = local.required_n(protocol, radius=radius)

    def worst(people):
        a, b = protocol._line(people)
        z = 1.959963984540054
        return max(z * math.sqrt(a + b * f + (z * b) ** 2 / 4) for f in (0.0, 1.0))

    assert worst(n) <= radius * (1 + 1e-9)
    assert worst(n - 1) > radius
    assert local.required_n(protocol, radius=radius, confidence=0.99) > n
    assert local.required_n(protocol, radius=radius, share=0.5) <= n


def test_a_pool_of_hashes_is_never_off_by_less_than_its_collisions():
    """1,000 hashes of 8 cells: 1/7,000 of the square of a share, 0.0234 on each side."""
    protocol = local.FLH(k=1024, epsilon=2.0)
    n = local.required_n(protocol, radius=0.025)
    z = 1.959963984540054
    assert z * math.sqrt(protocol.variance(0.0, n=n) + 1 / 7000) < 0.025 + 1e-5
    assert local.required_n(protocol, radius=0.001, share=1.0) > 10_000  # nobody else to collide with
    for radius in (0.0234, 0.001):
        with pytest.raises(InvalidParameter, match="pool of hashes alone"):
            local.required_n(protocol, radius=radius)
    assert local.best(k=1024, epsilon=2.0, n=100, max_bytes=20).name == "local_olh"
    assert protocol.error(people=10**9).radius > 0.02


def test_the_simulated_interval_is_as_narrow_as_planned():
    protocol = local.KRR(k=5, epsilon=1.0)
    n = local.required_n(protocol, radius=0.02)
    people = np.array([n - 400, 100, 100, 100, 100])
    low, high = protocol.estimate(protocol.simulate_counts(people)).interval
    assert (high - low).max() < 2 * 0.0205
