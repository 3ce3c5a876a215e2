"""What a model draws itself: never by the seed of a script, and without a trace in the shared generators."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from privet import deep, noise
from privet.deep.protected import ProtectedGradients
from tests.deep.models import Rows, against

MASKS: list[list[float]] = []


class Watched(nn.Dropout):
    """Dropout that notes what it let through."""

    def forward(self, x):
        out = super().forward(x)
        MASKS.append((out != 0).float().flatten().tolist())
        return out


def loss(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets, reduction="none")


def model():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 64), Watched(0.5), nn.Linear(64, 2))


def masks_of_a_training(source=None):
    net = model()
    plan = deep.Plan(
        noise_multiplier=1.0, delta=1e-5, steps=2, sampling=deep.Poisson(q=1.0), clip_norm=1.0, expected_batch=3
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    trainer = deep.Trainer(net, optimizer, loss, plan, engine="microbatch", physical_batch=3)  # three passes a step
    torch.manual_seed(0)  # as scripts do
    MASKS.clear()
    trainer.fit((torch.ones(3, 4), torch.tensor([0, 1, 0])), source=source)
    return MASKS[-6:]


def masks_of_a_sum():
    net = model()
    summed = deep.clipped_sum(net, loss, deep.Flat(1.0), engine="microbatch")
    torch.manual_seed(0)
    MASKS.clear()
    summed(torch.ones(3, 4), torch.tensor([0, 1, 0]))
    return MASKS[-3:]


@pytest.mark.parametrize("drawn", [masks_of_a_training, masks_of_a_sum])
def test_the_seed_of_a_script_decides_no_mask(drawn):
    first, second = drawn(), drawn()
    assert first != second
    assert len({tuple(each) for each in first}) == len(first)  # no two records and no two steps share one


def test_a_seeded_training_repeats_its_masks():
    assert masks_of_a_training(noise.Seeded(1)) == masks_of_a_training(noise.Seeded(1))
    assert masks_of_a_training(noise.Seeded(1)) != masks_of_a_training(noise.Seeded(2))


def test_a_loop_of_ones_own_draws_its_masks_likewise():
    found = []
    for _ in range(2):
        net = model()
        plan = deep.Plan(
            noise_multiplier=1.0, delta=1e-5, steps=2, sampling=deep.Poisson(q=1.0), clip_norm=1.0, expected_batch=3
        )
        gradients = ProtectedGradients(net, loss, plan, engine="microbatch", physical_batch=3)
        torch.manual_seed(0)
        MASKS.clear()
        for step in plan.steps((torch.ones(3, 4), torch.tensor([0, 1, 0]))):
            gradients.noisy(step)
        found.append(MASKS[-6:])
    assert found[0] != found[1]
    assert all(len({tuple(each) for each in masks}) == 6 for masks in found)


class Thinned(Rows):
    """A model whose gradient at a record is a part of that record, drawn by lot."""

    def forward(self, rows):
        return super().forward(nn.functional.dropout(rows, 0.5))


@pytest.mark.parametrize("engine", ["vmapped", "bookkeeping", "microbatch"])
def test_every_record_of_a_batch_has_a_mask_of_its_own(engine):
    net = Thinned(64)
    made = deep.clipped_sum(net, against, deep.Flat(1e3), engine=engine)(torch.ones(2, 64), torch.zeros(2))
    kept = (made.sums.exact_value["weight"].abs() / 2.0).round().int()
    assert set(kept.tolist()) == {0, 1, 2}  # by nobody, by one of the two, by both


def test_shared_generators_go_on_as_if_nothing_had_been_drawn():
    torch.manual_seed(5)
    np.random.seed(5)
    with noise.own_stream(7):
        inside = torch.rand(2).tolist(), np.random.random(2).tolist()
    outside = torch.rand(2).tolist(), np.random.random(2).tolist()
    torch.manual_seed(5)
    np.random.seed(5)
    assert outside == (torch.rand(2).tolist(), np.random.random(2).tolist())
    with noise.own_stream(7):
        assert inside == (torch.rand(2).tolist(), np.random.random(2).tolist())
