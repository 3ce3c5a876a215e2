"""Pitfalls of private training, each with a twin that falls into it and is caught."""

import dataclasses
import re

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from privet import audit, noise, testing
from privet._private import Private
from privet.deep import FixedOrder, Flat, Plan, Poisson, Trainer, Training, stepping as body
from privet.deep.records import Records
from privet.deep.sampling import Sampling
from privet.deep.start import Start
from privet.deep.training import training_of
from privet.errors import InvalidParameter
from privet.mechanisms import Example
from privet.noise import KeyedStream
from privet.privacy import PoissonSampled, Unit
from tests.deep.models import data, linear, plan_of, squared, trainer_of

ROWS = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])


def example(**given) -> Example:
    plan = plan_of(steps=2, noise_multiplier=2.0, **given)
    return Example(training_of(plan, 2), Records((ROWS,)), Records((ROWS[:2],)), cost="costly")


def replayed(one: Example):
    return audit.replay(one.mechanism.release, one.left, one.right)


class Divided:
    """The sum as it is, and a twin that divides it by the number of records that were drawn."""

    def __init__(self, by_realised_size: bool) -> None:
        self.plain, self.by_realised_size = body.exact_sum, by_realised_size

    def __call__(self, engine, parameters, records, ids, piece):
        total = self.plain(engine, parameters, records, ids, piece)
        drawn = len(ids[ids < records.exact_count()])
        return 2.0 * total / max(1, drawn) if self.by_realised_size else total


@pytest.mark.parametrize("by_realised_size", [False, True])
def test_1_the_divisor_is_a_public_constant(monkeypatch, by_realised_size):
    """Two records and one: 2 S/2 against 2 S'/1, which lie farther apart than one clipped record."""
    monkeypatch.setattr(body, "exact_sum", Divided(by_realised_size))
    rows = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    plan = plan_of(sampling=Poisson(q=1.0), steps=1)
    pair = Example(training_of(plan, 2), Records((rows,)), Records((rows[:1],)))
    assert replayed(pair).refuted == by_realised_size
    assert plan.divisor(10**6) == 4.0  # whatever the size of the data


def test_2_noise_follows_the_clip():
    for clip in (0.5, 1.0, 8.0):
        plan = plan_of(clip_norm=clip, noise_multiplier=3.0)
        assert plan.step_noise(4).sigma == pytest.approx(3.0 * clip, rel=1e-5)
        assert plan.step_noise(4).sigma >= 3.0 * clip
        assert plan.engine(linear(), squared).bound == plan.clip.bound == clip
        assert plan.step_noise(4).loss.noise_multiplier == 3.0


def test_2_a_missing_clip_is_refuted():
    class Unclipped(Flat):
        def factors(self, norms):
            return torch.ones_like(norms)

    plan = plan_of(steps=2, noise_multiplier=2.0, sampling=Poisson(q=1.0), clip=Unclipped(1.0))
    twin = Example(training_of(plan, 2), Records((ROWS,)), Records((ROWS[:2],)))
    found = replayed(twin)
    assert found.refuted
    assert "inputs are 3 apart, declared 1" in str(found)


def test_2_half_the_noise_is_noticed(monkeypatch):
    sound = example()
    testing.check_parts_are_the_price(sound)
    plain = Plan.step_noise
    monkeypatch.setattr(Plan, "step_noise", lambda self, size: plain(_with(self, self.noise_multiplier / 2), size))
    with pytest.raises(AssertionError, match="not charged"):
        testing.check_parts_are_the_price(example())


def _with(plan: Plan, noise_multiplier: float) -> Plan:
    return Plan.from_dict({**plan.to_dict(), "noise_multiplier": noise_multiplier})


def test_3_a_price_of_another_sampler_is_noticed(monkeypatch):
    unsampled = example(sampling=Poisson(q=1.0))
    testing.check_parts_are_the_price(unsampled)
    assert abs(share_drawn(Poisson(q=0.5)) - 0.5) < 0.1  # a false alarm has a chance below 1e-8
    plain = Poisson.drawn
    monkeypatch.setattr(Poisson, "drawn", lambda self, *more: plain(Poisson(q=1.0), *more))
    assert share_drawn(Poisson(q=0.5)) == 1.0  # everybody, always: the same look at the coins sees it
    assert priced_without_amplification(FixedOrder(batch=2, n=8))


def share_drawn(sampling: Sampling) -> float:
    """The share of a thousand records that take part in a step, by the coins that trainings draw."""
    return len(sampling.drawn(1_000, KeyedStream.fresh(), 0)[0]) / 1_000


def priced_without_amplification(sampling: Sampling) -> bool:
    return not isinstance(sampling.round_price(1.0, Unit("zero_out")), PoissonSampled)


def test_4_plans_hold_public_numbers_only():
    plan = Plan(epsilon=3.0, delta=1e-5, steps=20, sampling=Poisson(q=0.5))
    small, large = (trainer_of(plan)._algorithm(plan.divisor(None)) for _ in range(2))
    assert small.to_dict() == large.to_dict()
    made = [trainer_of(plan).fit(data(size)).release for size in (8, 9)]
    assert made[0].loss == made[1].loss
    assert made[0].provenance == made[1].provenance


def test_5_the_relation_is_said_everywhere():
    plan = plan_of(unit=Unit("replace"))
    assert plan.loss.unit == plan.step_noise(4).loss.unit == Unit("replace")
    assert "replacing one record" in plan.explain()
    assert "replacing one record" in str(trainer_of(plan).fit(data()))


def test_7_noise_a_piece_is_noticed(monkeypatch):
    """A twin that adds noise to each piece releases more than it pays for."""

    def twice(self, index, state, prepared, source):
        added = self.plan.step_noise(2)
        for _ in range(self.plan.rounds[index]):
            with self._priced(lambda parts: self.plan.sampling.folded(parts, self.plan.unit)):
                for _ in range(2):
                    added.release(np.zeros(2), source=source)
        return state

    testing.check_parts_are_the_price(example())
    monkeypatch.setattr(Training, "_block", twice)
    with pytest.raises(AssertionError, match="not charged"):
        testing.check_parts_are_the_price(example())


def test_8_records_that_meet_are_refused_with_a_remedy():
    class Centred(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(3, 1)

        def forward(self, rows):
            return self.last(rows - rows.mean(dim=0))

    model = Centred()
    with pytest.raises(InvalidParameter, match="records meet"):
        Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), squared, plan_of()).fit(data())


def test_9_nothing_that_is_shown_holds_a_loss_a_norm_or_a_size():
    """Everything that a user can print, whatever the data: equal for two data sets of other sizes and values."""
    told = []
    for size in (8, 11):
        trainer = trainer_of()
        seen = []
        made = trainer.fit(data(size), progress=seen.append)
        steps = plan_of().steps(data(size))
        step = next(iter(steps))
        shown = [repr(made.plan), str(made), repr(step), repr(Records(data(size))), repr(steps._held)]
        told.append([*shown, *(public(each) for each in seen)])
    assert told[0] == told[1]
    assert isinstance(steps._held, Private)


def public(progress) -> str:
    return re.sub(r"[\d.]+ steps/s.*", "", str(progress))


def test_10_no_seed_of_torch_reaches_noise_or_coins():
    ends = []
    for _ in range(2):
        torch.manual_seed(0)
        ends.append(trainer_of().fit(data()).release.value["weight"])
    assert not np.array_equal(*ends)


def test_12_calibration_rounds_up():
    for epsilon in (0.5, 1.0, 3.0):
        plan = Plan(epsilon=epsilon, delta=1e-5, steps=100, sampling=Poisson(q=0.1), expected_batch=5)
        assert 0.999 * epsilon < plan.price().upper <= epsilon


def test_an_average_of_gradients_before_the_noise_is_no_option():
    """Momentum is applied behind the noise: an optimizer never sees an unprotected value."""
    seen = []

    class Watching(torch.optim.SGD):
        def step(self, closure=None):
            seen.append([each.grad.clone() for group in self.param_groups for each in group["params"]])
            return super().step()

    model = linear()
    start = Start(model, Watching(model.parameters(), lr=0.1, momentum=0.9), squared)
    training = Training(plan=plan_of(steps=1), start=start, divisor=4.0)
    released = []
    plain = type(training.plan.step_noise(4)).release

    def release(self, value, *, source=None):
        made = plain(self, value, source=source)
        released.append(made.value)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(training.plan.step_noise(4)), "release", release)
        training.release(Records(data()), source=noise.Seeded(1))
    got = np.concatenate([each.numpy().reshape(-1) for each in reversed(seen[0])])
    assert np.allclose(got, released[0] / 4.0, atol=1e-6)  # in the order of names: bias, weight
    assert model.weight.grad is None


def test_frozen_fields():
    training = training_of(plan_of(steps=1), 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        training.divisor = 0.001  # type: ignore[misc]
