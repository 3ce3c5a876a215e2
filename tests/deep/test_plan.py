"""Plans: price, noise, blocks and words follow from public numbers alone."""

import dataclasses
import json

import pytest

pytest.importorskip("torch")

from privet import accounting
from privet.deep import Automatic, FixedOrder, FixedSize, Flat, Plan, Poisson, StepNoise
from privet.errors import InvalidParameter, MixedUnits, NoGuarantee, PrivetError
from privet.privacy import Composed, GaussianLoss, PoissonSampled, Repeated, Unit
from tests.deep.models import linear, plan_of, squared

MNIST = {"sampling": Poisson(q=256 / 60_000), "steps": 14_062, "delta": 1e-5, "expected_batch": 256}


@pytest.mark.parametrize(
    ("epsilon", "golden"),
    [(1.0, 1.8429), (3.0, 0.9304), (8.0, 0.6434)],
)
def test_the_noise_is_that_of_the_handbook(epsilon, golden):
    plan = Plan(epsilon=epsilon, delta=1e-5, steps=2000, sampling=Poisson(q=0.01), expected_batch=600)
    assert plan.noise_multiplier == pytest.approx(golden, rel=3e-4)
    assert plan.price().upper <= epsilon  # rounded up: never a hair beyond the promise


def test_the_price_is_that_of_its_steps():
    plan = Plan(noise_multiplier=1.1, **MNIST)
    assert plan.loss == Repeated(PoissonSampled(GaussianLoss(1.1), 256 / 60_000), 14_062)
    assert plan.price().upper == pytest.approx(2.3817, rel=2e-4)
    assert plan.at == plan.delta == 1e-5


@pytest.mark.parametrize("steps", [1, 19, 20, 21, 100, 799, 800, 801, 2000, 14_062, 50_000])
def test_blocks_compose_to_the_loss_and_have_20_to_500_steps(steps):
    plan = Plan(noise_multiplier=1.0, delta=1e-5, steps=steps, sampling=Poisson(q=0.01), expected_batch=6)
    assert sum(plan.rounds) == steps
    assert Composed(plan.blocks).parts() == plan.loss.parts()
    assert all(20 <= each <= 500 for each in plan.rounds[:-1])


def test_epochs_are_not_cut_into_blocks():
    order = FixedOrder(batch=2, n=99)
    plan = Plan(noise_multiplier=1.0, delta=1e-5, steps=300, sampling=order, unit=Unit("zero_out"))
    assert plan.rounds == (1,) * 6
    assert Composed(plan.blocks).parts() == plan.loss.parts()
    with pytest.raises(InvalidParameter, match="multiple of 50"):
        Plan(noise_multiplier=1.0, delta=1e-5, steps=301, sampling=order, unit=Unit("zero_out"))


def test_without_an_expected_batch_the_number_of_records_is_counted_within_the_promise():
    plan = Plan(epsilon=3.0, delta=1e-5, steps=200, sampling=Poisson(q=0.01), clip_norm=1.0)
    assert plan.count is not None
    assert plan.count.loss.pure() <= 0.03
    assert plan.divisor() is None
    assert plan.divisor(60_000) is None  # protected: not even where somebody knows it
    assert 2.99 < accounting.epsilon(plan.loss, delta=1e-5).upper <= 3.0
    assert plan.blocks[0].parts() != plan.blocks[1].parts()
    told = Plan(epsilon=3.0, delta=1e-5, steps=200, sampling=Poisson(q=0.01), expected_batch=600)
    assert told.count is None
    assert told.noise_multiplier < plan.noise_multiplier  # the count is not free


def test_a_group_is_counted_with_noise_for_all_of_it():
    plan = Plan(epsilon=3.0, delta=1e-5, steps=20, sampling=Poisson(q=0.01), unit=Unit(group_size=4))
    assert plan.count is not None
    assert plan.count.sensitivity.value == 4
    assert plan.count.unit == plan.loss.unit == Unit(group_size=4)


def test_where_the_number_of_records_is_public_nothing_is_counted():
    plan = Plan(epsilon=3.0, delta=1e-5, steps=20, sampling=Poisson(q=0.01), unit=Unit("replace"))
    assert plan.count is None
    assert plan.divisor(500) == 5.0
    fixed = Plan(epsilon=3.0, delta=1e-5, steps=20, sampling=FixedSize(m=5, n=50), unit=Unit("replace"))
    assert fixed.divisor() == 5.0


def test_noise_that_breaks_the_promise_is_refused():
    with pytest.raises(NoGuarantee, match="costs more than epsilon"):
        Plan(epsilon=2.0, noise_multiplier=1.0, delta=1e-5, steps=2000, sampling=Poisson(q=0.01), expected_batch=6)
    kept = Plan(epsilon=3.0, noise_multiplier=1.0, delta=1e-5, steps=2000, sampling=Poisson(q=0.01), expected_batch=6)
    assert kept.noise_multiplier == 1.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"delta": 0.0},
        {"delta": 1.0},
        {"steps": 0},
        {"steps": 2.5},
        {"sampling": "poisson"},
        {"noise_multiplier": 0.0},
        {"noise_multiplier": None},
        {"clip_norm": -1.0},
        {"clip_norm": 2.0, "clip": Flat(1.0)},
        {"clip": "flat"},
        {"epsilon": -1.0},
        {"unit": "replace"},
        {"expected_batch": 0},
        {"expected_batch": None},
        {"count_epsilon": 0.1},
        {"sampling": FixedOrder(batch=1, n=2)},
        {"unit": Unit(person="name")},
    ],
)
def test_what_is_no_plan_is_refused(wrong):
    given = {"noise_multiplier": 1.0, "delta": 1e-5, "steps": 4, "sampling": Poisson(q=0.5), "expected_batch": 6}
    with pytest.raises((InvalidParameter, MixedUnits)) as caught:
        Plan(**{**given, **wrong})
    assert isinstance(caught.value, PrivetError)
    assert str(caught.value)


def test_a_plan_is_frozen_and_survives_json():
    plan = Plan(epsilon=2.0, delta=1e-5, steps=30, sampling=Poisson(q=0.1), clip=Automatic(0.5), unit=Unit("replace"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.noise_multiplier = 0.1  # type: ignore[misc]
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert again.loss == plan.loss
    assert again.clip == Automatic(0.5)
    assert json.loads(plan.to_json())["clip"]["clip"] == "automatic"
    cheaper = {**plan.to_dict(), "noise_multiplier": plan.noise_multiplier / 2}
    with pytest.raises(NoGuarantee):
        Plan.from_dict(cheaper)
    with pytest.raises(InvalidParameter):
        Plan.from_json("[")


def test_the_four_analyses_stand_beside_ours():
    plan = Plan(noise_multiplier=4.0, delta=1e-5, steps=10_000, sampling=Poisson(q=0.01), expected_batch=600)
    rungs = {rung.name: rung for rung in plan.ladder()}
    assert [rungs[name].claimed for name in ("naive", "advanced", "amplified", "moments")] == [12_000, 360, 10, 1.25]
    assert rungs["RDP today"].sound.upper == pytest.approx(1.0355, abs=2e-4)
    assert 0.9468 < plan.price().upper < 0.9471
    words = plan.explain()
    for told in (
        "naive",
        "advanced",
        "amplified",
        "moments",
        "ours",
        "0.9469",
        "12,000",
        "adding or removing one record",
    ):
        assert told in words
    assert plan.describe() == "noise 4, delta 1e-05, 10,000 steps of Poisson"


def test_the_noise_of_a_plan_is_on_a_grid_that_is_charged():
    plan = plan_of(noise_multiplier=2.0, clip_norm=0.5)
    step = plan.step_noise(100)
    assert isinstance(step, StepNoise)
    assert (step.clip, step.noise_multiplier, step.dimension, step.strict) == (0.5, 2.0, 100, False)
    assert step.sensitivity.value > step.clip  # sqrt(100) steps of the grid
    assert step.sigma > 2.0 * 0.5
    group = plan_of(unit=Unit(group_size=3))
    assert group.step_noise(4).unit == Unit()  # what a group makes of it is in the price


def test_a_strict_plan_adds_up_whole_steps_and_says_so():
    plain, strict = plan_of(), plan_of(strict=True)
    assert Plan.from_json(strict.to_json()) == strict != plain
    assert "strict" not in plain.to_dict()
    assert "float32" in plain.explain()
    assert "exact" in strict.explain()
    assert "float32" not in strict.explain()
    assert strict.step_noise(3).strict
    engine = strict.engine(linear(), squared)
    assert engine.grid == strict.step_noise(4).grid.width
    with pytest.raises(InvalidParameter, match="only the engine 'microbatch'"):
        strict.engine(linear(), squared, way="vmapped")
    with pytest.raises(InvalidParameter, match="strict"):
        plan_of(strict=1)
