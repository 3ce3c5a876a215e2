"""Clipping layer by layer."""

import math
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from privet import deep  # noqa: E402
from tests.deep import by_hand, models  # noqa: E402


def losses(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets, reduction="none")


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.LayerNorm(6), nn.Linear(6, 3)).double()


def batch(scale: float = 1.0):
    torch.manual_seed(1)
    return scale * torch.randn(6, 5, dtype=torch.float64), torch.tensor([0, 1, 2, 0, 1, 2])


def by_layer(model, inputs, targets, mask, clip_norm):
    total = {name: torch.zeros_like(each) for name, each in model.named_parameters()}
    layers = {name.rpartition(".")[0] for name in total}
    for index, keep in enumerate(mask.tolist()):
        found = by_hand.gradient(model, losses, inputs[index : index + 1], targets[index : index + 1])
        for layer in layers:
            part = {name: each for name, each in found.items() if name.rpartition(".")[0] == layer}
            factor = min(1.0, clip_norm / math.sqrt(len(layers)) / by_hand.norm(part)) if keep else 0.0
            for name, each in part.items():
                total[name] += factor * each
    return total


@pytest.mark.parametrize("way", ["bookkeeping", "vmapped", "microbatch"])
@pytest.mark.parametrize("clip_norm", [0.05, 0.7, 100.0])
def test_every_layer_is_clipped_by_itself(way, clip_norm):
    model, (inputs, targets) = network(), batch()
    mask = torch.tensor([True, True, False, True, True, True])
    engine = deep.make_engine(model, losses, deep.PerLayer(clip_norm), engine=way)
    found = engine(dict(model.named_parameters()), inputs, targets, mask)
    assert by_hand.furthest(found, by_layer(model, inputs, targets, mask, clip_norm)) < 1e-12


@pytest.mark.parametrize("way", ["bookkeeping", "vmapped", "microbatch"])
def test_one_record_is_no_longer_than_the_clip_in_all_layers_together(way):
    model, (inputs, targets) = network(), batch()
    engine = deep.make_engine(model, losses, deep.PerLayer(0.003), engine=way)
    alone = engine(dict(model.named_parameters()), inputs, targets, torch.arange(6) == 2)
    assert 0.99 * 0.003 < by_hand.norm(alone) <= 0.003 == engine.bound


def test_a_record_that_is_not_finite_in_one_layer_counts_in_none():
    """Only the first layer's gradient sees the input as a factor: the head's would be finite."""

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            return self.head(torch.tanh(self.body(x)).nan_to_num(0.0))

    torch.manual_seed(0)
    model = Two()
    inputs = torch.tensor([[1.0, 2.0], [torch.inf, 1.0]])
    targets, everyone = torch.tensor([0, 1]), torch.tensor([True, True])
    for way in ("bookkeeping", "vmapped"):
        engine = deep.make_engine(model, losses, deep.PerLayer(1.0), engine=way)
        parameters = dict(model.named_parameters())
        both = engine(parameters, inputs, targets, everyone)
        first = engine(parameters, inputs, targets, torch.tensor([True, False]))
        assert by_hand.furthest(both, first) == 0.0


def test_shares_add_up_to_no_more_than_the_whole():
    for groups in (1, 2, 3, 7, 10, 1000):
        for norm in (1.0, 0.1, 1 / 3):
            share = Fraction(deep.PerLayer(norm).share(groups).bound)
            assert groups * share**2 <= Fraction(norm) ** 2 < groups * (share * Fraction(1 + 1e-9)) ** 2


def test_plans_price_it_as_flat_clipping_and_remember_it():
    plan, flat = models.plan_of(clip=deep.PerLayer(0.5)), models.plan_of(clip_norm=0.5)
    assert plan.loss == flat.loss
    assert plan.step_noise(9).loss == flat.step_noise(9).loss
    assert deep.Plan.from_json(plan.to_json()) == plan != flat
    trained = models.trainer_of(models.plan_of(steps=2, clip=deep.PerLayer(0.5))).fit(models.data())
    assert trained.plan.clip == deep.PerLayer(0.5)


def test_a_clipped_sum_is_of_the_records_that_its_mask_keeps():
    model, (inputs, targets), mask = network(), batch(), torch.tensor([True, False, True, True, False, True])
    made = deep.clipped_sum(model, losses, deep.Flat(0.3))(inputs, targets, mask=mask).sums.exact_value
    assert by_hand.furthest(made, by_hand.clipped_sum(model, losses, inputs, targets, mask, 0.3)) < 1e-6
