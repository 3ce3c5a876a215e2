"""Units that clash, compositions of nothing and pairs that are none. (Nonsense in single parameters: the law
`check_refuses_nonsense`, over every registered kind.)"""

import math

import pytest

from privet import privacy, testing
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy import Unit

REPLACE = Unit("replace")
PURE = privacy.PureLoss(0.5)
LOCAL = privacy.KRRLoss(3, 1.0)


def test_other_public_calls_refuse_nonsense():
    testing.check_call_refuses_nonsense(privacy.RandomizedResponseLoss.from_lie_probability, lie=0.25)
    testing.check_call_refuses_nonsense(Unit, relation="replace", group_size=3)
    testing.check_call_refuses_nonsense(privacy.Guarantee, epsilon=1.0, delta=1e-6)
    testing.check_call_refuses_nonsense(privacy.Guarantee, rho=0.5)
    testing.check_call_refuses_nonsense(privacy.Guarantee, mu=0.5)


@pytest.mark.parametrize("lie", [0.0, 0.6, 1.0])
def test_a_report_that_lies_never_or_mostly_is_refused(lie):
    with pytest.raises(InvalidParameter):
        privacy.RandomizedResponseLoss.from_lie_probability(lie)


OUT_OF_RANGE = {
    "no noise, Laplace": lambda: privacy.LaplaceLoss(0.0),
    "no noise, Gaussian": lambda: privacy.GaussianLoss(0.0),
    "no noise, discrete Laplace": lambda: privacy.DiscreteLaplaceLoss(0.0),
    "no noise, discrete Gaussian": lambda: privacy.DiscreteGaussianLoss(0.0),
    "ratio zero": lambda: privacy.GeometricLoss(0.0),
    "ratio one": lambda: privacy.GeometricLoss(1.0),
    "delta one": lambda: privacy.ApproxLoss(1.0, 1.0),
    "delta above one": lambda: privacy.ApproxLoss(1.0, 1.0000001),
    "order one": lambda: privacy.RdpLoss((1.0,), (1.0,)),
    "delta0 above one": lambda: privacy.RdpLoss((2.0,), (1.0,), delta0=1.5),
    "rate above one": lambda: privacy.PoissonSampled(PURE, 1.0000001),
    "rate below zero": lambda: privacy.PoissonSampled(PURE, -1e-300),
    "less than one run": lambda: privacy.Selected(PURE, 0.5),
    "eta of minus one": lambda: privacy.Selected(PURE, 2.0, -1.0),
    "probabilities that miss one": lambda: privacy.FinitePairLoss((0.4, 0.5), (0.5, 0.5)),
    "infinite price": lambda: privacy.PureLoss(math.inf),
    "infinite sigma of integers": lambda: privacy.DiscreteGaussianLoss(math.inf),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_out_of_range_is_refused(name):
    with pytest.raises(InvalidParameter):
        OUT_OF_RANGE[name]()


@pytest.mark.parametrize("relation", ["friends", "", None, 3, ["replace"]])
def test_an_unknown_relation_is_refused(relation):
    with pytest.raises(InvalidParameter):
        Unit(relation)


@pytest.mark.parametrize("person", [3, ["name"], b"name"])
def test_a_person_is_named_by_a_column(person):
    with pytest.raises(InvalidParameter):
        Unit("replace", 1, person)


CONTRADICTIONS = {
    "Composed": lambda: privacy.Composed((PURE,), unit=REPLACE),
    "Parallel": lambda: privacy.Parallel((PURE,), unit=REPLACE),
    "Repeated": lambda: privacy.Repeated(PURE, 2, unit=REPLACE),
    "PoissonSampled": lambda: privacy.PoissonSampled(PURE, 0.5, unit=REPLACE),
    "FixedSampled": lambda: privacy.FixedSampled(LOCAL, 1, 2, unit=Unit()),
    "Grouped": lambda: privacy.Grouped(PURE, 2, unit=REPLACE),
    "Selected": lambda: privacy.Selected(PURE, 2.0, unit=REPLACE),
    "Grouped, back from replace": lambda: privacy.Grouped(LOCAL, 2, relation="replace"),
    "Grouped, to add_remove": lambda: privacy.Grouped(LOCAL, 2, relation="add_remove"),
    "Grouped, odd size to replace": lambda: privacy.Grouped(PURE, 3, relation="replace"),
    "add_remove with replace": lambda: privacy.Composed((PURE, LOCAL)),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictory_relations_are_refused(name):
    with pytest.raises(MixedUnits):
        CONTRADICTIONS[name]()


def test_empty_compositions_are_free_and_empty_parallels_are_refused():
    assert privacy.Composed(()).pure() == 0.0
    assert privacy.Composed(()) == privacy.Repeated(PURE, 0)
    with pytest.raises(InvalidParameter):
        privacy.Parallel(())


@pytest.mark.parametrize("pair", [((), ()), ((1.0,), (0.5, 0.5)), ((1.0,), ()), ((0.5, 0.6), (0.5, 0.5))])
def test_a_pair_is_two_distributions_over_the_same_outcomes(pair):
    with pytest.raises(InvalidParameter):
        privacy.FinitePairLoss(*pair)


def test_a_pair_with_one_outcome_is_free():
    loss = privacy.FinitePairLoss((1.0,), (1.0,))
    assert loss.pure() == 0.0
    assert float(loss.profile(0.0)) == 0.0


def test_a_pair_of_disjoint_worlds_has_no_privacy():
    loss = privacy.FinitePairLoss((1.0, 0.0), (0.0, 1.0))
    assert loss.pure() == math.inf
    assert float(loss.profile(50.0)) == 1.0
