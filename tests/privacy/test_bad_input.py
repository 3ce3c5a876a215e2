"""Every constructor meets bad and odd parameters: one clear error, or a correct price; never silence."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import privacy
from privet.errors import InvalidParameter, MixedUnits, PrivetError
from privet.privacy import Unit

REPLACE = Unit("replace")
PURE = privacy.PureLoss(0.5)
LOCAL = privacy.KRRLoss(3, 1.0)

NO_NUMBERS = [None, "1.0", b"1", True, False, np.True_, [1.0], (1.0,), {1.0}, 1j, (), np.array([1.0]), math.nan]
NUMBERS = {
    "PureLoss.epsilon": privacy.PureLoss,
    "ApproxLoss.epsilon": lambda x: privacy.ApproxLoss(x, 1e-6),
    "ApproxLoss.delta": lambda x: privacy.ApproxLoss(1.0, x),
    "LaplaceLoss.scale": privacy.LaplaceLoss,
    "GaussianLoss.noise_multiplier": privacy.GaussianLoss,
    "DiscreteLaplaceLoss.scale": privacy.DiscreteLaplaceLoss,
    "DiscreteGaussianLoss.sigma": privacy.DiscreteGaussianLoss,
    "GeometricLoss.ratio": privacy.GeometricLoss,
    "ExponentialLoss.epsilon": privacy.ExponentialLoss,
    "PermuteAndFlipLoss.epsilon": privacy.PermuteAndFlipLoss,
    "RandomizedResponseLoss.epsilon": privacy.RandomizedResponseLoss,
    "RandomizedResponseLoss.lie": privacy.RandomizedResponseLoss.from_lie_probability,
    "KRRLoss.epsilon": lambda x: privacy.KRRLoss(3, x),
    "AboveThresholdLoss.epsilon": privacy.AboveThresholdLoss,
    "ZcdpLoss.rho": privacy.ZcdpLoss,
    "RdpLoss.alphas": lambda x: privacy.RdpLoss((x,), (1.0,)),
    "RdpLoss.values": lambda x: privacy.RdpLoss((2.0,), (x,)),
    "RdpLoss.delta0": lambda x: privacy.RdpLoss((2.0,), (1.0,), delta0=x),
    "GdpLoss.mu": privacy.GdpLoss,
    "FinitePairLoss.p": lambda x: privacy.FinitePairLoss((x, 0.5), (0.5, 0.5)),
    "FinitePairLoss.q": lambda x: privacy.FinitePairLoss((0.5, 0.5), (0.5, x)),
    "PoissonSampled.q": lambda x: privacy.PoissonSampled(PURE, x),
    "Selected.mean": lambda x: privacy.Selected(PURE, x),
    "Selected.eta": lambda x: privacy.Selected(PURE, 2.0, x),
}
COUNTS = {
    "DiscreteLaplaceLoss.sensitivity": lambda n: privacy.DiscreteLaplaceLoss(1.0, n),
    "DiscreteGaussianLoss.sensitivity": lambda n: privacy.DiscreteGaussianLoss(1.0, n),
    "DiscreteGaussianLoss.dimension": lambda n: privacy.DiscreteGaussianLoss(1.0, 1, n),
    "GeometricLoss.sensitivity": lambda n: privacy.GeometricLoss(0.5, n),
    "KRRLoss.k": lambda n: privacy.KRRLoss(n, 1.0),
    "AboveThresholdLoss.positives": lambda n: privacy.AboveThresholdLoss(1.0, n),
    "Repeated.times": lambda n: privacy.Repeated(PURE, n),
    "FixedSampled.m": lambda n: privacy.FixedSampled(LOCAL, n, 10),
    "FixedSampled.n": lambda n: privacy.FixedSampled(LOCAL, 1, n),
    "Grouped.size": lambda n: privacy.Grouped(PURE, n),
    "Unit.group_size": lambda n: privacy.PureLoss(1.0, unit=Unit("replace", n)),
}
INFINITE_NOISE = {"LaplaceLoss.scale", "GaussianLoss.noise_multiplier"}  # infinite noise is free, on purpose


def shown(value):
    return repr(value)[:30]


@pytest.mark.parametrize("value", [*NO_NUMBERS, -1.0, -math.inf, 10**400, -(10**400), Fraction(10**400)], ids=shown)
@pytest.mark.parametrize("parameter", NUMBERS)
def test_what_is_no_number_is_refused(parameter, value):
    if parameter.startswith("FinitePairLoss") and value == "1.0":
        value = "one"  # exact rationals may be given as text
    with pytest.raises(InvalidParameter):
        NUMBERS[parameter](value)


@pytest.mark.parametrize("parameter", sorted(set(NUMBERS) - INFINITE_NOISE))
def test_infinity_is_refused(parameter):
    with pytest.raises(InvalidParameter):
        NUMBERS[parameter](math.inf)


@pytest.mark.parametrize("value", [*NO_NUMBERS, -1, 1.5, "3", math.inf, -math.inf, Fraction(1, 2)], ids=shown)
@pytest.mark.parametrize("parameter", COUNTS)
def test_what_is_no_count_is_refused(parameter, value):
    with pytest.raises(InvalidParameter):
        COUNTS[parameter](value)


@pytest.mark.parametrize("value", [10**9, 10**12, 10**30, 10**400, Fraction(10**400)], ids=shown)
@pytest.mark.parametrize("parameter", COUNTS)
def test_a_huge_count_is_a_price_or_is_refused(parameter, value):
    try:
        loss = COUNTS[parameter](value)
        answers = [loss.pure(), *loss.approximate(), *loss.zcdp(), loss.gdp()]
    except PrivetError:
        return
    assert not any(math.isnan(answer) or answer < 0.0 for answer in answers)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("LaplaceLoss.scale", 0.0),
        ("GaussianLoss.noise_multiplier", 0.0),
        ("DiscreteLaplaceLoss.scale", 0.0),
        ("DiscreteGaussianLoss.sigma", 0.0),
        ("GeometricLoss.ratio", 0.0),
        ("GeometricLoss.ratio", 1.0),
        ("ApproxLoss.delta", 1.0),
        ("ApproxLoss.delta", 1.0000001),
        ("RandomizedResponseLoss.lie", 0.0),
        ("RandomizedResponseLoss.lie", 0.6),
        ("RdpLoss.alphas", 1.0),
        ("RdpLoss.delta0", 1.5),
        ("PoissonSampled.q", 1.0000001),
        ("PoissonSampled.q", -1e-300),
        ("Selected.mean", 0.5),
        ("Selected.eta", -1.0),
        ("FinitePairLoss.p", 0.4),
    ],
)
def test_out_of_range_is_refused(parameter, value):
    with pytest.raises(InvalidParameter):
        NUMBERS[parameter](value)


@pytest.mark.parametrize("value", [np.float64(0.5), np.float32(0.5), np.float16(0.5), Fraction(1, 2)], ids=shown)
@pytest.mark.parametrize("parameter", sorted(set(NUMBERS) - {"RdpLoss.alphas", "Selected.mean"}))
def test_any_real_number_will_do(parameter, value):
    loss, plain = NUMBERS[parameter](value), NUMBERS[parameter](0.5)
    if not (parameter.startswith("FinitePairLoss") and isinstance(value, Fraction)):  # kept exact, as text
        assert loss == plain
    assert loss.pure() == plain.pure()


@pytest.mark.parametrize("value", [np.int64(3), np.int8(3), np.uint64(3), 3.0, np.float64(3.0), Fraction(3)], ids=shown)
@pytest.mark.parametrize("parameter", COUNTS)
def test_any_whole_number_will_do(parameter, value):
    loss, plain = COUNTS[parameter](value), COUNTS[parameter](3)
    assert loss == plain
    assert hash(loss) == hash(plain)
    assert privacy.to_json(loss) == privacy.to_json(plain)


FLAGS = {
    "ExponentialLoss.monotonic": lambda x: privacy.ExponentialLoss(1.0, monotonic=x),
    "Selected.poisson": lambda x: privacy.Selected(PURE, 2.0, poisson=x),
    "Parallel.fixed_blocks": lambda x: privacy.Parallel((PURE,), fixed_blocks=x),
}


@pytest.mark.parametrize("value", ["no", "false", "", None, 2, 0.0, [], math.nan], ids=shown)
@pytest.mark.parametrize("flag", FLAGS)
def test_a_truth_value_is_true_or_false(flag, value):
    """'no' is not False: taken as true it would halve a price."""
    with pytest.raises(InvalidParameter):
        FLAGS[flag](value)


# --- units and nested losses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["replace", 3, (), Unit, None], ids=shown)
@pytest.mark.parametrize("make", [privacy.PureLoss, privacy.GaussianLoss, privacy.RandomizedResponseLoss])
def test_a_unit_is_a_unit(make, unit):
    with pytest.raises(InvalidParameter):
        make(1.0, unit=unit)


@pytest.mark.parametrize("relation", ["friends", "", None, 3, ["replace"]], ids=shown)
def test_an_unknown_relation_is_refused(relation):
    with pytest.raises(InvalidParameter):
        Unit(relation)


@pytest.mark.parametrize("person", [3, ["name"], b"name"], ids=shown)
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


NESTING = {
    "Composed": privacy.Composed,
    "Composed of one": lambda x: privacy.Composed((x,)),
    "Parallel": privacy.Parallel,
    "Parallel of one": lambda x: privacy.Parallel((x,)),
    "Repeated": lambda x: privacy.Repeated(x, 2),
    "PoissonSampled": lambda x: privacy.PoissonSampled(x, 0.5),
    "FixedSampled": lambda x: privacy.FixedSampled(x, 1, 2),
    "Grouped": lambda x: privacy.Grouped(x, 2),
    "Selected": lambda x: privacy.Selected(x, 2.0),
    "RdpLoss.alphas": lambda x: privacy.RdpLoss(x, (1.0,)),
    "RdpLoss.values": lambda x: privacy.RdpLoss((2.0,), x),
    "FinitePairLoss.p": lambda x: privacy.FinitePairLoss(x, (1.0,)),
}


@pytest.mark.parametrize("value", [None, 5, 0.5, "gaussian", 1j, [None], privacy.PureLoss], ids=shown)
@pytest.mark.parametrize("name", NESTING)
def test_what_is_no_loss_or_sequence_is_refused(name, value):
    with pytest.raises(InvalidParameter):
        NESTING[name](value)


def test_empty_compositions_are_free_and_empty_parallels_are_refused():
    assert privacy.Composed(()).pure() == 0.0
    assert privacy.Composed(()) == privacy.Repeated(PURE, 0)
    with pytest.raises(InvalidParameter):
        privacy.Parallel(())


@pytest.mark.parametrize("pair", [((), ()), ((1.0,), (0.5, 0.5)), ((1.0,), ()), ((0.5, 0.6), (0.5, 0.5))], ids=shown)
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


# --- odd but legal parameters: every question has an honest answer --------------------------------------------------

EXTREME = [1e-59, 1e-40, 1e-17, 1e-9, 30.0, 699.0, 710.0, 800.0, 1e5, 1e40]


@pytest.mark.parametrize("value", EXTREME, ids=shown)
@pytest.mark.parametrize("parameter", sorted(set(NUMBERS) - {"FinitePairLoss.p", "FinitePairLoss.q"}))
def test_extreme_parameters_get_honest_answers(parameter, value):
    """No NaN, nothing negative, no warning, no foreign error: a number, infinity for "none known", or a refusal."""
    try:
        loss = NUMBERS[parameter](value)
    except PrivetError:
        return
    curve = loss.rdp(np.array([1.5, 2.0, 64.0]))
    answers = [loss.pure(), *loss.approximate(), *loss.zcdp(), loss.gdp(), *curve.values, curve.delta0]
    assert not any(math.isnan(answer) or answer < 0.0 for answer in answers)


@pytest.mark.parametrize("value", EXTREME, ids=shown)
@pytest.mark.parametrize(
    "parameter", sorted(set(NUMBERS) - {"FinitePairLoss.p", "FinitePairLoss.q", "DiscreteGaussianLoss.sigma"})
)
def test_extreme_parameters_have_legal_profiles(parameter, value):
    try:
        loss = NUMBERS[parameter](value)
        profile = loss.profile(np.array([-1.0, 0.0, 1.0, 700.0, 1e4]))
    except PrivetError:
        return
    assert np.all(profile >= np.maximum(0.0, -np.expm1(np.array([-1.0, 0.0, 1.0, 700.0, 700.0]))) - 1e-12)
    assert np.all(profile <= 1.0)
    assert np.all(np.diff(profile) <= 1e-12)
