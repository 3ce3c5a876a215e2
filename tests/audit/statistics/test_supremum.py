"""The supremum test of a curve: its size by enumeration of all counts, at every pair of rates that the curve allows."""

import numpy as np
import pytest
from scipy import stats

from privet import accounting, audit, privacy
from privet.audit.statistics import curve, supremum

CLAIMS = [privacy.PureLoss(1e-9), privacy.PureLoss(0.7), privacy.ApproxLoss(0.5, 0.1), privacy.GaussianLoss(1.0)]
LEVELS = (0.3, 0.05, 0.002)
FULL = ((0.0, 1.0), (0.0, 1.0))  # all rates


def sizes(claim: privacy.PrivacyLoss, n: int, n_out: int) -> list[float]:
    """The largest probability of rejection over the curve, divided by the level, for each level."""

    def tradeoff(rates):
        return np.asarray(accounting.tradeoff(claim, np.asarray(rates)))

    p = np.array(
        [
            [
                supremum.supremum_p_value(audit.Counts(tp=n - fn, fp=fp, n=n, n_out=n_out), tradeoff)
                for fn in range(n + 1)
            ]
            for fp in range(n_out + 1)
        ]
    )
    rates = np.sin(np.linspace(0.0, np.pi / 2, 121)) ** 2
    across = stats.binom.pmf(np.arange(n_out + 1), n_out, rates[:, None])
    down = stats.binom.pmf(np.arange(n + 1), n, tradeoff(rates)[:, None])
    return [float(np.max(np.einsum("ri,ij,rj->r", across, p <= level, down)) / level) for level in LEVELS]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: type(claim).__name__)
@pytest.mark.parametrize(("n", "n_out"), [(7, 7), (11, 6)])
def test_the_size_never_exceeds_the_level(claim, n, n_out):
    assert max(sizes(claim, n, n_out)) <= 1.0


def test_the_size_comes_near_the_level():
    """The box of two bounds has a tenth of its level here."""
    assert sizes(privacy.PureLoss(0.5), 20, 20)[1] > 0.7


def test_rates_at_one_place_only_are_noticed(monkeypatch):
    """The planted bug: the supremum is taken where the counts are, not over all rates that the curve allows."""
    monkeypatch.setattr(supremum, "_confined", lambda k, n: ((k + 0.5) / (n + 1.0), (k + 0.5) / (n + 1.0) + 1e-9))
    assert max(sizes(privacy.PureLoss(0.7), 11, 6)) > 1.0


def test_a_region_too_small_is_noticed(monkeypatch):
    """The planted bug: counts exactly as far away as the observed ones are left out."""
    healthy = supremum.distance
    monkeypatch.setattr(supremum, "distance", lambda *args: healthy(*args) * 1.05)
    assert max(sizes(privacy.PureLoss(0.7), 11, 6)) > 1.0


def test_counts_inside_the_claim_say_nothing():
    assert audit.curve_test(audit.Counts(tp=50, fp=50, n=100), claim=privacy.PureLoss(0.1)).p_value == 1.0


def test_the_p_value_is_smaller_than_that_of_the_box_and_never_zero():
    claim = privacy.PureLoss(0.5)
    for tp, fp in ((1250, 641), (10, 0), (1500, 125)):
        counts = audit.Counts(tp=tp, fp=fp, n=2_500)
        found = audit.curve_test(counts, claim=claim).p_value
        assert 0.0 < found < curve.box_p_value(claim, counts) or found < 1e-11


def test_rates_outside_the_confined_ones_are_paid_for():
    """However extreme the counts: the intervals of the rates fail with probability up to LEAST."""
    extreme = audit.Counts(tp=5_000, fp=0, n=5_000)
    assert supremum.supremum_p_value(extreme, lambda rates: 1.0 - rates) >= supremum.LEAST
    assert supremum.LEAST > 0.0


def test_a_laplace_scale_a_quarter_too_small_is_seen_in_2500_tested_runs():
    """Expected counts of the obvious event, epsilon 0.5: the box needs a level a hundred times larger."""
    counts = audit.Counts(tp=1250, fp=round(1250 * np.exp(-2.0 / 3.0)), n=2_500)
    assert audit.curve_test(counts, claim=privacy.PureLoss(0.5), alpha=1e-3).verdict == "violated"
    assert audit.statistics.curve.box_test(counts, claim=privacy.PureLoss(0.5), alpha=1e-3).verdict == "not refuted"


def nearest_left_out(claim: privacy.PrivacyLoss, counts: audit.Counts, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a p-value that says anything left out the point of the curve that is nearest to the counts: its region may
    then be too small."""

    def tradeoff(rates):
        return np.asarray(accounting.tradeoff(claim, np.asarray(rates)))

    seen, whole = [], supremum.reference
    with monkeypatch.context() as patch:
        patch.setattr(supremum, "reference", lambda *args: seen.append(whole(*args)) or seen[-1])
        p = supremum.supremum_p_value(counts, tradeoff)
    if not seen:  # the counts lie inside the claim
        return False
    every = whole(tradeoff, counts.n, counts.n_out, *FULL)
    sizes = counts.n, counts.n_out
    near, nearer = (
        supremum.distance(np.array(counts.tp), np.array(counts.fp), *sizes, points) for points in (seen[0], every)
    )
    return bool(near > nearer * (1.0 + 1e-12)) and p > supremum.LEAST * (1.0 + 1e-9)


def far_counts(claim: privacy.PrivacyLoss) -> list[audit.Counts]:
    """Counts below the curve, from a little to very far."""
    rng, found = np.random.default_rng(5), []
    for n, n_out in [(5, 5), (20, 1000), (1000, 20), (1000, 1000), (30_000, 1000), (30_000, 30_000)]:
        for share in (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98):
            x = rng.random() ** 3
            y = float(accounting.tradeoff(claim, np.array([x]))[0]) * share
            found.append(audit.Counts(tp=n - int(rng.binomial(n, y)), fp=int(rng.binomial(n_out, x)), n=n, n_out=n_out))
    return found


@pytest.mark.parametrize("claim", CLAIMS[1:], ids=lambda claim: type(claim).__name__)
def test_the_nearest_point_stays_where_it_matters(claim, monkeypatch):
    assert not any(nearest_left_out(claim, counts, monkeypatch) for counts in far_counts(claim))


def test_a_window_too_narrow_is_noticed(monkeypatch):
    """The planted bug: points are kept only to the left of the counts."""
    whole = supremum.reference
    narrow = lambda curve, n, n_out, x, y: whole(curve, n, n_out, (0.0, 0.7 * x[0]), (0.0, 0.7 * y[0]))  # noqa: E731
    monkeypatch.setattr(supremum, "reference", lambda *args: (whole if args[3:] == FULL else narrow)(*args))
    assert any(nearest_left_out(CLAIMS[3], counts, monkeypatch) for counts in far_counts(CLAIMS[3]))
