"""What the lectures say about private training, as code: what holds, and what has to be read with care."""

import math

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from privet import accounting
from privet.deep import FixedOrder, FixedSize, Plan, Poisson, Trainer, private
from privet.deep.batches import exact_sum
from privet.deep.records import Records
from privet.errors import InvalidParameter
from privet.privacy import GaussianLoss, Repeated, Unit
from tests.deep.models import Rows, against, data, linear, plan_of, squared


def test_sgd_with_privacy_clips_adds_up_adds_noise_and_scales_all_of_it_by_the_learning_rate():
    """The slide's w - eta g + noise leaves out the clip, and that the noise is scaled by eta: w - eta (S + zC N)/m."""
    rows = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    ends = []
    for rate in (1.0, 0.01):
        model = Rows(2)
        plan = plan_of(sampling=Poisson(q=1.0), steps=1, expected_batch=2, noise_multiplier=1e-3)
        Trainer(model, torch.optim.SGD(model.parameters(), lr=rate), against, plan).fit((rows,))
        ends.append(model.weight.detach().numpy() / rate)
    clipped = np.array([0.6 + 0.3, 0.8 + 0.4]) / 2
    assert np.allclose(ends[0], clipped, atol=0.01)
    assert np.allclose(ends[1], clipped, atol=0.01)  # noise that were not scaled would be a hundred times as large here


def test_four_analyses_of_one_run_and_ours():
    plan = Plan(noise_multiplier=4.0, delta=1e-5, steps=10_000, sampling=Poisson(q=0.01), expected_batch=600)
    printed = {rung.name: rung.claimed for rung in plan.ladder() if rung.claimed is not None}
    assert (printed["naive"], printed["advanced"], printed["amplified"], printed["moments"]) == (12_000, 360, 10, 1.25)
    assert accounting.Rdp().epsilon(plan.loss, 1e-5).upper == pytest.approx(1.0355, abs=2e-4)
    assert 0.9468 < accounting.epsilon(plan.loss, delta=1e-5).upper < 0.9471


def test_the_moments_accountant_prices_every_plan():
    fixed, order = FixedSize(m=2, n=20), FixedOrder(batch=2, n=20)
    for sampling, unit in ((Poisson(q=0.1), Unit()), (fixed, Unit("replace")), (order, Unit("zero_out"))):
        plan = plan_of(sampling=sampling, unit=unit, steps=20, noise_multiplier=2.0)
        moments = accounting.Rdp().epsilon(plan.loss, plan.delta).upper
        assert plan.price().upper <= moments < math.inf


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.RMSprop, torch.optim.Adam, torch.optim.AdamW])
def test_any_optimizer_is_wrapped(kind):
    plan, model = plan_of(steps=3), linear()
    optimizer = private(kind)(model, squared, plan, lr=0.01)
    before = model.weight.detach().clone()
    for step in plan.steps(data()):
        optimizer.step(step)
    assert not torch.equal(model.weight, before)


def test_an_optimizer_that_asks_for_the_loss_again_is_not():
    with pytest.raises(InvalidParameter, match="closure"):
        private(torch.optim.LBFGS)


def test_2c_is_the_figure_of_replacing_a_record_and_c_that_of_adding_one():
    rows = torch.tensor([[5.0, 0.0], [-7.0, 0.0], [0.0, 1.0]])
    model = Rows(2)
    engine = plan_of().engine(model, against)
    point = {"weight": model.weight.detach()}

    def total(ids):
        return exact_sum(engine, point, Records((rows,)), np.array(ids), 4).double().numpy()

    assert np.linalg.norm(total([0, 2]) - total([2])) == pytest.approx(1.0, abs=1e-5)
    assert np.linalg.norm(total([0, 2]) - total([1, 2])) == pytest.approx(2.0, abs=1e-5)
    one = plan_of(sampling=FixedOrder(batch=3, n=3), steps=1, noise_multiplier=2.0, unit=Unit("zero_out"))
    other = plan_of(sampling=FixedOrder(batch=3, n=3), steps=1, noise_multiplier=2.0, unit=Unit("replace"))
    assert one.price().upper == pytest.approx(1.99309, abs=1e-4)
    assert other.price().upper == pytest.approx(4.37718, abs=1e-4)
    assert one.step_noise(9).sigma == other.step_noise(9).sigma  # the noise is zC; the price carries the relation


def test_the_noise_of_the_lecture_is_priced_too_high():
    """sigma^2 = 8 D^2 T ln(1/delta)/(n^2 epsilon^2), D = 2C, on the mean gradient of all records."""
    n, steps, delta = 60_000, 14_062, 1e-5
    sigma = math.sqrt(8.0 * 4.0 * steps * math.log(1.0 / delta)) / n
    assert sigma == pytest.approx(0.037935, rel=1e-4)
    run = Repeated(GaussianLoss(sigma * n / 2.0, unit=Unit("replace")), steps)
    true = accounting.epsilon(run, delta=delta).upper
    assert true == pytest.approx(0.35628, rel=1e-3)
    assert 1.0 / true == pytest.approx(2.8, abs=0.01)
