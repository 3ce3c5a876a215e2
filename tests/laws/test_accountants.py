"""Every law of a loss and an accountant, over every registered kind, every accountant and every family."""

import pytest
from hypothesis import given, settings

from privet import privacy, testing
from tests.firsts import first_of_each


def short(loss):
    return loss.key[:60]


ACCOUNTANTS = [pytest.param(accountant, id=type(accountant).__name__) for accountant in testing.accountants()]
EXAMPLES = first_of_each(
    (loss for losses in testing.example_losses().values() for loss in losses),
    lambda loss: loss.kind,
    lambda loss, number: f"{loss.kind}-{number}",
)
FAMILIES = [pytest.param(family, id=family.name) for family in testing.example_families()]

SMALL = privacy.Unit("replace")
# Short compositions whose exact value can be enumerated; each has bitten an accountant somewhere.
ENUMERABLE = [
    privacy.Repeated(privacy.RandomizedResponseLoss(1.3862943611198906), 12),  # a peer ignores this count
    privacy.Repeated(privacy.KRRLoss(3, 1.3862943611198906), 5),
    privacy.Repeated(privacy.ApproxLoss(0.5, 1e-6), 7),
    privacy.Repeated(privacy.LaplaceLoss(2.0), 2),
    privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.1), 2),
    privacy.Repeated(privacy.PoissonSampled(privacy.FinitePairLoss((0.9, 0.1), (0.4, 0.6)), q=0.3), 6),
    privacy.Repeated(privacy.FixedSampled(privacy.GaussianLoss(1.0, unit=SMALL), m=1, n=4), 2),
    privacy.Repeated(privacy.DiscreteLaplaceLoss(2.0, sensitivity=2), 6),
    privacy.Repeated(privacy.FinitePairLoss((0.7, 0.2, 0.1), (0.1, 0.3, 0.6)), 5),
    privacy.Repeated(privacy.FinitePairLoss((0.999999, 1e-6, 0.0), (0.75, 0.2499, 1e-4)), 4),
    privacy.Composed((privacy.LaplaceLoss(3.0), privacy.KRRLoss(3, 0.7, unit=privacy.Unit()), privacy.PureLoss(0.4))),
    privacy.Composed((privacy.PoissonSampled(privacy.LaplaceLoss(0.5), q=0.2), privacy.ApproxLoss(0.3, 1e-7))),
]
LONG = [
    privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01), 1000),
    privacy.Repeated(privacy.LaplaceLoss(50.0), 100),
    privacy.Repeated(privacy.ApproxLoss(0.1, 1e-9), 100),
    privacy.Repeated(privacy.PoissonSampled(privacy.PureLoss(0.5), q=0.1), 50),
    privacy.Repeated(privacy.FixedSampled(privacy.LaplaceLoss(1.0, unit=SMALL), m=1, n=10), 30),
    privacy.Composed(
        (
            privacy.Repeated(privacy.LaplaceLoss(50.0), 100),
            privacy.Repeated(privacy.GaussianLoss(30.0), 50),
            privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01), 200),
        )
    ),
]
FREE = [
    privacy.Composed(()),
    privacy.Repeated(privacy.PureLoss(1.0), 0),
    privacy.Repeated(privacy.ApproxLoss(1.0, 0.01), 0),
    privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.0),
    privacy.PoissonSampled(privacy.ApproxLoss(1.0, 0.01), q=0.0),
    privacy.FixedSampled(privacy.GaussianLoss(1.0, unit=SMALL), m=0, n=10),
    privacy.GaussianLoss(float("inf")),
    privacy.LaplaceLoss(float("inf")),
    privacy.Repeated(privacy.GaussianLoss(float("inf")), 100),
    privacy.PureLoss(0.0),
    privacy.GdpLoss(0.0),
    privacy.ZcdpLoss(0.0),
    privacy.FinitePairLoss((1.0,), (1.0,)),
    privacy.PoissonSampled(privacy.LaplaceLoss(float("inf")), q=0.5),
]


def over_all_accountants(law, *arguments):
    """Run one law with each accountant; report every one that breaks it."""
    broken = []
    for accountant in testing.accountants():
        try:
            law(*arguments, accountant)
        except AssertionError as error:
            broken.append(str(error))
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("law", testing.ACCOUNTANT_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("loss", EXAMPLES)
def test_law(loss, law):
    """One test per loss and law, over all accountants."""
    assert law in testing.ACCOUNTANT_LAWS
    over_all_accountants(law, loss)


@pytest.mark.parametrize("loss", ENUMERABLE, ids=short)
def test_sound_against_enumeration(loss):
    assert testing.enclose_delta(loss, 0.5) is not None
    over_all_accountants(testing.check_sound, loss)


@pytest.mark.parametrize("loss", LONG, ids=short)
def test_no_accountant_is_below_pld_on_long_compositions(loss):
    testing.check_not_below_pld(loss)


@pytest.mark.parametrize("family", FAMILIES)
def test_never_costs_more(family):
    assert len(family.parameters) > 1
    over_all_accountants(testing.check_never_costs_more, family.make, family.parameters)


@pytest.mark.parametrize("loss", FREE, ids=short)
def test_free_is_free(loss):
    assert loss.pure() == 0.0
    over_all_accountants(testing.check_costs_nothing, loss)


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_counts_on_random_losses(accountant):
    @settings(max_examples=4 if hasattr(accountant, "tol") else 15)
    @given(testing.loss_strategy())
    def check_random(loss):
        testing.check_counts(loss, accountant, times=2)

    check_random()


@settings(max_examples=20)
@given(testing.loss_strategy())
def test_closed_forms_are_sound_on_random_losses(loss):
    for accountant in testing.accountants()[:6]:
        testing.check_sound(loss, accountant, epsilons=(0.0, 0.3))


@pytest.mark.slow
@settings(max_examples=40)
@given(testing.loss_strategy())
def test_all_are_sound_on_random_losses(loss):
    for accountant in testing.accountants():
        testing.check_sound(loss, accountant, epsilons=(0.0, 0.3))
        testing.check_bounds(loss, accountant)
