"""Mixtures of Gaussians and truncated samples beside dp-accounting, which has both.

At the nodes of its grid the other library connects dots without error, so a coarse grid is exact there, and quick.
"""

import pytest
from dp_accounting.pld import privacy_loss_distribution as peer

from privet import privacy

EPSILONS = (0.0, 0.25, 0.5, 1.0, 2.0)


@pytest.mark.parametrize(
    ("sigma", "sensitivities", "probabilities"),
    [
        (1.0, (0.0, 1.0), (0.9, 0.1)),
        (2.0, (0.0, 1.0, 2.0), (0.6, 0.3, 0.1)),
        (1.0, (0.0, 0.5, 3.0), (0.98, 0.015, 0.005)),
        (0.7, (0.2, 1.0), (0.5, 0.5)),
    ],
)
def test_mixtures_of_gaussians(sigma, sensitivities, probabilities):
    theirs = peer.from_mixture_gaussian_mechanism(
        sigma, list(sensitivities), list(probabilities), value_discretization_interval=0.25
    )
    ours = privacy.MixtureOfGaussiansLoss(sigma, sensitivities, probabilities)
    for epsilon in EPSILONS:
        assert float(ours.profile(epsilon)) == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=1e-9, abs=1e-14)
    wrong = privacy.MixtureOfGaussiansLoss(sigma, (*sensitivities[:-1], 1.001 * sensitivities[-1]), probabilities)
    assert float(wrong.profile(1.0)) != pytest.approx(theirs.get_delta_for_epsilon(1.0), rel=1e-4)


@pytest.mark.parametrize(
    ("n", "q", "batch", "z"),
    [(100, 0.1, 15, 1.0), (1000, 0.05, 70, 2.0), (1000, 0.05, 60, 1.0), (10_000, 0.01, 100, 1.0)],
)
def test_truncated_samples(n, q, batch, z):
    """Theirs is for exactly n records, ours for at most n: of the same size, and never below plain sampling."""
    theirs = peer.from_truncated_subsampled_gaussian_mechanism(n, q, batch, z, value_discretization_interval=0.25)
    base = privacy.GaussianLoss(z)
    ours, plain = privacy.TruncatedPoissonSampled(base, q, batch, n), privacy.PoissonSampled(base, q)
    for epsilon in EPSILONS:
        assert 0.75 < float(ours.profile(epsilon)) / theirs.get_delta_for_epsilon(epsilon) < 1.25
        assert float(ours.profile(epsilon)) > float(plain.profile(epsilon))
