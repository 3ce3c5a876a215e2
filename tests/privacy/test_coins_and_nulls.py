"""Whose coin a sampler tosses, and what a null record may not do: where prices of samples end."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import norm

from privet import accounting, privacy
from privet.errors import MixedUnits
from privet.privacy import PrivacyLoss, Unit

NORMAL = privacy.GaussianLoss(1.0)
SAMPLERS = {
    "Poisson": lambda loss, **coin: privacy.PoissonSampled(loss, 0.01, **coin),
    "truncated": lambda loss, **coin: privacy.TruncatedPoissonSampled(loss, 0.01, 150, 10_000, **coin),
    "allocation": lambda loss, **coin: privacy.RandomAllocation(loss, 100, **coin),
    "fixed": lambda loss, **coin: privacy.FixedSampled(loss, 1, 100, **coin),
    "drawn": lambda loss, **coin: privacy.WithReplacementSampled(loss, 1, 100, **coin),
}
REPLACED = ("fixed", "drawn")


def about_persons(name: str) -> PrivacyLoss:
    if name in REPLACED:
        return privacy.GaussianLoss(0.25, unit=Unit("replace", person="id"))
    return privacy.per_person(NORMAL, person="id", rows=4)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_price_about_persons_needs_a_coin_for_each_person(name: str):
    loss = about_persons(name)
    with pytest.raises(MixedUnits, match='coin="person"'):
        SAMPLERS[name](loss)
    assert SAMPLERS[name](loss, coin="person").unit == loss.unit


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_coin_for_each_person_needs_a_price_about_persons(name: str):
    loss = privacy.GaussianLoss(1.0, unit=Unit("replace" if name in REPLACED else "add_remove"))
    with pytest.raises(MixedUnits, match="per_person"):
        SAMPLERS[name](loss, coin="person")


@pytest.mark.parametrize("name", SAMPLERS)
def test_stored_prices_stay_readable_and_equal(name: str):
    """The unit says whose coin it was: nothing is added to the form, and a form of before, which has no coin, is read."""
    for loss in (
        SAMPLERS[name](about_persons(name), coin="person"),
        SAMPLERS[name](privacy.GaussianLoss(1.0, unit=Unit("replace" if name in REPLACED else "add_remove"))),
    ):
        text = privacy.to_json(loss)
        assert "coin" not in json.loads(text)
        again = privacy.from_json(text)
        assert again == loss
        assert again.coin == loss.coin


def test_a_coin_for_each_row_costs_a_person_more():
    """What was accepted: 0.0095 claimed where rows have their own coins and 0.0152 is true."""
    together = privacy.PoissonSampled(privacy.per_person(NORMAL, person="id", rows=4), 0.01, coin="person")
    by_row = privacy.per_person(privacy.PoissonSampled(NORMAL, 0.01), person="id", rows=4)
    assert float(together.profile(0.0)) == pytest.approx(0.0095, abs=1e-4)
    assert float(by_row.profile(0.0)) == pytest.approx(0.0152, abs=1e-4)


# --- the null record ------------------------------------------------------------------------------------


def told_size(rate: float, epsilon: float) -> float:
    """delta of a release that shows the size of its batch: it tells when the record, or the null record, takes part."""
    return rate * (norm.sf(epsilon - 0.5) - math.exp(epsilon) * norm.sf(epsilon + 0.5))


@pytest.mark.parametrize(
    ("name", "rate", "truth"),
    [
        ("Poisson", 0.01, 2.4e-3),
        ("truncated", 0.01, 2.4e-3),
        pytest.param("allocation", 1.0, 0.238, marks=pytest.mark.slow),
    ],
)
def test_a_release_that_shows_the_size_of_its_batch_is_not_covered(name: str, rate: float, truth: float):
    """The limit of these prices: noise of multiplier 1 on a sum, under zero-out, with the size of the batch beside it.

    With M(S + null) = M(S) broken, the observer knows in which batches the record or its null record takes part: the
    release is as good as one without sampling there, far above the claim, which rests on the null record being absent.
    """
    loss = SAMPLERS[name](privacy.GaussianLoss(1.0, unit=Unit("zero_out")))
    assert told_size(rate, 0.5) == pytest.approx(truth, rel=0.02)
    assert told_size(rate, 0.5) > 1000.0 * accounting.delta(loss, epsilon=0.5).upper


@pytest.mark.parametrize("name", ["Poisson", "truncated", "allocation"])
def test_the_limit_is_said_where_the_price_is(name: str):
    kind = type(SAMPLERS[name](NORMAL))
    assert "null record" in kind.__doc__
    assert "size of its batch is not covered" in " ".join(kind.__doc__.split())
    assert "M(S + null) = M(S)" in Unit.__doc__


def test_an_absent_record_is_covered():
    """A sum of noise 1 whose null record adds nothing: the sampled pair is the truth under zero-out as under add/remove."""
    q, epsilon = 0.01, 0.1
    grid = np.linspace(-12.0, 12.0, 400_001)
    without = norm.pdf(grid)
    mixed = (1.0 - q) * without + q * norm.pdf(grid, 1.0)
    truth = np.maximum(mixed - math.exp(epsilon) * without, 0.0).sum() * (grid[1] - grid[0])
    loss = privacy.PoissonSampled(privacy.GaussianLoss(1.0, unit=Unit("zero_out")), q)
    assert accounting.delta(loss, epsilon=epsilon).upper == pytest.approx(truth, rel=1e-5)
