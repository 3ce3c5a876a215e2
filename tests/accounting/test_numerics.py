"""The numerical ground of the PLD engine: cell masses, grid laws, and cases that once went wrong."""

import math

import mpmath
import numpy as np
import pytest

from privet import accounting, errors, privacy
from privet._numerics import normal_cells
from privet.accounting.pld import engine, nodes
from privet.accounting.pld.rounding import lower_law, upper_law

CERTIFIED_ERROR = 2e-12  # what the engine charges for one cell mass


@pytest.mark.parametrize(("count", "reach"), [(50, 30.0), (4000, 36.0), (30000, 12.0)])
def test_cell_masses_keep_their_digits(count: int, reach: float) -> None:
    """Against 40 digits, in the bulk and far out in the tails, for wide and narrow cells."""
    rng = np.random.default_rng(count)
    x = np.sort(rng.uniform(-reach, reach, count))
    mass = normal_cells(x)
    with mpmath.workdps(40):
        for i in rng.integers(1, count, 150):
            low, high = (x[i - 1], x[i]) if x[i] <= 0 else (-x[i], -x[i - 1])
            truth = mpmath.ncdf(float(high)) - mpmath.ncdf(float(low))
            if truth > 1e-280:
                assert abs(mass[i] / truth - 1) < CERTIFIED_ERROR
    assert abs(mass.sum() - 1.0) < 1e-12


LAWS = {
    "gaussian": privacy.GaussianLoss(1.3),
    "laplace": privacy.LaplaceLoss(0.7),
    "sampled": privacy.PoissonSampled(privacy.GaussianLoss(0.6), q=0.01),
    "sampled laplace": privacy.PoissonSampled(privacy.LaplaceLoss(0.5), q=0.2),
    "fixed": privacy.FixedSampled(privacy.GaussianLoss(1.0, unit=privacy.Unit("replace")), m=1, n=20),
    "pair": privacy.FinitePairLoss((0.5, 0.2, 0.2, 0.1), (0.1, 0.3, 0.35, 0.25)),
}


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("step", [0.31, 0.04, 0.003])
@pytest.mark.parametrize("name", sorted(LAWS))
def test_grid_laws_enclose_the_profile(name: str, step: float, direction: privacy.Direction) -> None:
    """delta of the lower law <= delta of the variable <= delta of the upper law, at every epsilon."""
    variable = LAWS[name].variable(direction)
    epsilons = np.linspace(-3.0, 6.0, 91)
    truth = variable.delta(epsilons)
    upper = _profile_of(upper_law(LAWS[name], direction, step, 1e-14), epsilons)
    lower = _profile_of(lower_law(LAWS[name], direction, step, 1e-14), epsilons)
    assert np.all(upper >= truth - 1e-12)
    assert np.all(lower <= truth + 1e-12)
    assert np.max(upper - lower) < step  # and they come together


def _profile_of(law: object, epsilons: np.ndarray) -> np.ndarray:
    losses, mass = law.losses(), law.mass
    return np.array([law.infinite + float(np.sum(mass * np.maximum(-np.expm1(e - losses), 0.0))) for e in epsilons])


def test_a_law_rounded_the_wrong_way_is_seen() -> None:
    """The enclosure test above can fail: a lower law moved up by one step is no lower law any more."""
    law = lower_law(LAWS["gaussian"], "remove", 0.04, 1e-14)
    epsilons = np.linspace(0.0, 3.0, 31)
    moved = np.array([float(np.sum(law.mass * np.maximum(-np.expm1(e - law.losses() - 0.04), 0.0))) for e in epsilons])
    assert np.any(moved > LAWS["gaussian"].profile(epsilons) + 1e-12)


def test_wide_windows_do_not_overflow_into_a_small_answer() -> None:
    """Little noise and few steps: the window is hundreds wide. An overflow there once hid the remove direction."""
    loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(0.5), q=0.001), 100)
    bound = accounting.PLD().epsilon(loss, 1e-5)
    assert bound.lower <= 2.10866
    assert bound.upper >= 2.10864
    assert bound.slack < 1e-3


def test_one_release_alone_confirms_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant that very mistake (every answer too small) and see it caught instead of returned."""
    honest = nodes.NodeProfile.epsilon
    monkeypatch.setattr(nodes.NodeProfile, "epsilon", lambda self, delta: 0.03 * honest(self, delta))
    with pytest.raises(errors.InternalError, match="alone"):
        accounting.PLD().epsilon(
            privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(0.5), q=0.001), 100), 1e-5
        )


def test_passes_only_ever_narrow_the_interval() -> None:
    parts = [(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01), 1000)]
    wide, narrow = (engine.epsilon_interval(parts, 1e-5, tol) for tol in (1e-2, 1e-4))
    assert wide.lower <= narrow.lower <= 1.828236666517 <= narrow.upper <= wide.upper
    assert narrow.upper - narrow.lower < wide.upper - wide.lower


def test_asymmetric_pairs_are_sampled_in_both_directions() -> None:
    """Under replace either world may be the first: fixed-size sampling must price the worse direction of the base."""
    unit = privacy.Unit("replace")
    base = privacy.FinitePairLoss((0.5, 0.25, 0.25), (0.1, 0.4, 0.5), unit=unit)
    swapped = privacy.FinitePairLoss((0.1, 0.4, 0.5), (0.5, 0.25, 0.25), unit=unit)
    for epsilon in (0.0, 0.02, 0.05):
        worst = 0.1 * float(base.profile(math.log1p(math.expm1(epsilon) / 0.1)))
        for loss in (base, swapped):
            assert float(privacy.FixedSampled(loss, m=1, n=10).profile(epsilon)) >= worst - 1e-12
