"""The trainer: one training whatever its pieces, its optimizer and its data set; what comes out is the state dict."""

import copy
import weakref

import numpy as np
import pytest

from tests.firsts import slow

pytest.importorskip("torch")

import torch
from torch import nn

import privet as pv
from privet import noise
from privet.deep import (
    BallsInBins,
    FixedOrder,
    FixedSize,
    Poisson,
    StepNoise,
    Trainer,
    TruncatedPoisson,
    stepping,
)
from privet.deep.batches import exact_sum
from privet.deep.records import Records
from privet.errors import InvalidData
from privet.mechanisms import Geometric
from privet.privacy import Unit
from tests.deep.models import Rows, against, data, linear, plan_of, squared, trainer_of


def weights(made) -> np.ndarray:
    return np.concatenate([each.reshape(-1) for _, each in sorted(made.release.value.items())])


def test_a_seeded_training_repeats_itself_and_begins_where_the_trainer_was_made():
    trainer = trainer_of()
    first = trainer.fit(data(), source=noise.Seeded(1))
    again = trainer.fit(data(), source=noise.Seeded(1))  # the live model has moved since; the start has not
    other = trainer.fit(data(), source=noise.Seeded(2))
    assert np.array_equal(weights(first), weights(again))
    assert not np.array_equal(weights(first), weights(other))
    assert first.release.insecure
    assert "INSECURE" in str(first)


def test_the_model_holds_what_was_released():
    model = linear()
    trainer = Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), squared, plan_of())
    made = trainer.fit(data())
    assert set(made.release.value) == {"weight", "bias"}
    for name, each in model.state_dict().items():
        assert np.array_equal(each.numpy(), made.release.value[name])
        assert each.dtype == torch.float32
    assert all(each.grad is None for each in model.parameters())


@pytest.mark.parametrize(
    ("sampling", "relation", "size"),
    [
        (Poisson(q=0.5), "add_remove", 8),
        (Poisson(q=0.5), "replace", 8),
        (TruncatedPoisson(q=0.5, batch=4, n=9), "zero_out", 8),
        (FixedSize(m=3, n=8), "replace", 8),
        (BallsInBins(steps=3), "add_remove", 8),
        (FixedOrder(batch=3, n=8), "zero_out", 8),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, str | int) else str(each),
)
def test_every_sampler_trains(sampling, relation, size):
    plan = plan_of(sampling=sampling, unit=Unit(relation), steps=6 * sampling.round_steps)
    made = trainer_of(plan).fit(data(size))
    assert made.release.loss == plan.loss
    assert np.isfinite(weights(made)).all()


@pytest.mark.parametrize("piece", [1, 7, 64, 200])
def test_how_many_records_are_computed_at_once_changes_nothing_else(piece):
    rows = torch.randn(200, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64).float()
    model = Rows(5)
    engine = plan_of().engine(model, against)
    parameters = {"weight": model.weight.detach()}
    ids = np.arange(0, 200, 2)
    whole = exact_sum(engine, parameters, Records((rows,)), ids, 100)
    pieces = exact_sum(engine, parameters, Records((rows,)), ids, piece)
    assert torch.allclose(whole, pieces, rtol=0.0, atol=1e-6 * float(whole.norm()))
    by_hand = -(rows[ids] / rows[ids].norm(dim=1, keepdim=True).clamp(min=1.0)).sum(dim=0)
    assert torch.allclose(whole, by_hand, atol=1e-4)


def test_an_empty_batch_is_a_step_of_noise_alone():
    plan = plan_of(sampling=Poisson(q=1e-9), steps=20)
    made = trainer_of(plan).fit(data())
    moved = weights(made) - weights_of(linear())
    assert np.abs(moved).max() > 0.0
    scale = 0.05 * 1.0 / 4.0 * np.sqrt(20)  # learning rate, noise over divisor, steps
    assert np.abs(moved).max() < 6.0 * scale


def weights_of(model: nn.Module) -> np.ndarray:
    return np.concatenate([each.detach().numpy().reshape(-1) for _, each in sorted(model.named_parameters())])


def test_a_record_that_is_not_finite_adds_nothing():
    rows, targets = data()
    bad = rows.clone()
    bad[3] = torch.nan
    kept = np.delete(np.arange(8), 3)
    model = Rows(3)
    engine = plan_of().engine(model, against)
    point = {"weight": model.weight.detach()}
    with_it = exact_sum(engine, point, Records((bad,)), np.arange(8), 8)
    without = exact_sum(engine, point, Records((rows,)), kept, 8)
    assert torch.isfinite(with_it).all()
    assert torch.allclose(with_it, without, atol=1e-6)
    assert np.isfinite(weights(trainer_of().fit((bad, targets)))).all()


class Spoiled:
    """A data set of single records, one of which has another shape and one of which cannot be read."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        if number == 2:
            raise OSError("a name that nobody must see")
        return torch.ones(4 if number == 4 else 3), torch.tensor(1.0)


def test_records_that_are_unlike_the_others_add_nothing_and_nobody_is_told():
    records = Records(Spoiled())
    batch, mask = records.exact_batch(np.arange(6), 8)
    assert mask.tolist() == [True, True, False, True, False, True, False, False]
    assert batch[0].shape == (8, 3)
    made = trainer_of().fit(Spoiled())
    assert np.isfinite(weights(made)).all()


class Foreign(torch.Tensor):
    """Tensors that could do anything when they are added up."""


def test_a_record_of_another_kind_of_tensor_adds_nothing():
    rows = [torch.ones(3), torch.ones(3).as_subclass(Foreign)]
    assert Records(rows).exact_batch(np.arange(2), 2)[1].tolist() == [True, False]


def test_batches_have_public_shapes():
    """Whatever was drawn, an engine sees batches of one shape: time and compilation do not follow the number of records."""
    seen = set()
    plan = plan_of()
    model = linear()
    engine = plan.engine(model, squared)

    def watched(parameters, inputs, targets, mask):
        seen.add((tuple(inputs.shape), tuple(targets.shape), tuple(mask.shape)))
        return engine(parameters, inputs, targets, mask)

    point = {name: each.detach() for name, each in model.named_parameters()}
    for many in (0, 1, 5, 8):
        exact_sum(watched, point, Records(data()), np.arange(many), 4)
    assert seen == {((4, 3), (4,), (4,))}


@pytest.mark.parametrize(
    ("optimizer", "settings"),
    [
        (torch.optim.SGD, {}),
        (torch.optim.SGD, {"momentum": 0.9}),
        slow((torch.optim.RMSprop, {})),
        slow((torch.optim.Adam, {})),
        (torch.optim.AdamW, {"weight_decay": 0.1}),
    ],
)
def test_any_optimizer_trains_alike_in_blocks_and_in_one_go(optimizer, settings):
    """The state of an optimizer survives the end of a block: three blocks of 20 equal one loop over the same noise."""
    model = linear()
    plan = plan_of()
    trainer = Trainer(model, optimizer(model.parameters(), lr=0.01, **settings), squared, plan)
    assert len(plan.blocks) == 3
    made = trainer.fit(data(), source=noise.Seeded(5))
    live = linear()
    own = Trainer(live, optimizer(live.parameters(), lr=0.01, **settings), squared, plan)
    source = noise.Seeded(5)
    for step in plan.steps(data()):
        own.step(step, source=source)
    assert np.allclose(weights(made), weights_of(live), rtol=0.0, atol=1e-6)


def test_dicts_keywords_and_several_optimizers():
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(2, 1), nn.Linear(2, 1)

        def forward(self, *, one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
            return self.left(one) + self.right(two)

    def whole(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return (model(one=batch["one"], two=batch["two"])[:, 0] - batch["labels"]) ** 2

    model = Two()
    before = weights_of(model)
    optimizers = [
        torch.optim.SGD(model.left.parameters(), lr=0.1),
        torch.optim.Adam(model.right.parameters(), lr=0.1),
    ]
    columns = {"one": torch.ones(8, 2), "two": torch.ones(8, 2), "labels": torch.zeros(8)}
    made = Trainer(model, optimizers, whole, plan_of()).fit(columns)
    assert (weights(made) != before).all()


def test_frozen_parts_and_tied_weights():
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
            self.two.weight = self.one.weight
            self.body.requires_grad_(False)
            self.register_buffer("mean", torch.ones(3))

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return self.two(self.one(self.body(rows) - self.mean))

    model = Tied()
    before = copy.deepcopy(model.state_dict())
    for each in model.body.parameters():
        each.grad = torch.ones_like(
            each
        )  # of the time before it was frozen: the optimizer, which has it, must not see that
    made = Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), squared, plan_of(), engine="vmapped").fit(data())
    assert set(made.release.value) == set(before)
    assert np.array_equal(made.release.value["one.weight"], made.release.value["two.weight"])
    assert not np.array_equal(made.release.value["one.weight"], before["one.weight"].numpy())
    for name in ("body.weight", "body.bias", "mean"):
        assert np.array_equal(made.release.value[name], before[name].numpy())


def test_nothing_of_a_step_is_held_while_the_next_is_computed(monkeypatch):
    """Neither its exact sum nor its noisy one: they are secret, or memory that the next step needs."""
    held, alive = [], []
    plain, summed = StepNoise.release, stepping.exact_sum

    def release(self, value, source=None):
        made = plain(self, value, source=source)
        held.extend(weakref.ref(each) for each in (value, made.value))
        return made

    def exact_sum(*given):
        alive.extend(each() is not None for each in held)
        return summed(*given)

    monkeypatch.setattr(StepNoise, "release", release)
    monkeypatch.setattr(stepping, "exact_sum", exact_sum)
    trainer_of(plan_of(steps=20)).fit(data())
    assert len(alive) > 20
    assert not any(alive)


def test_noise_is_in_the_width_of_the_parameters(monkeypatch):
    seen = []
    plain = StepNoise.release
    monkeypatch.setattr(
        StepNoise,
        "release",
        lambda self, value, source=None: seen.append(self.single) or plain(self, value, source=source),
    )
    trainer_of(plan_of(steps=20)).fit(data())
    model = linear().double()
    rows, targets = data()
    Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), squared, plan_of(steps=20)).fit(
        (rows.double(), targets.double())
    )
    assert seen == [True] * 20 + [False] * 20


def test_bfloat16_is_released_as_float32():
    model = linear().to(torch.bfloat16)

    def loss(outputs, targets):
        return (outputs[:, 0] - targets).float() ** 2

    rows, targets = data()
    trainer = Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), loss, plan_of(steps=25), engine="vmapped")
    made = trainer.fit((rows.to(torch.bfloat16), targets.to(torch.bfloat16)))
    assert made.release.value["weight"].dtype == np.float32
    assert model.weight.dtype == torch.bfloat16


def test_an_average_is_what_comes_out():
    last, mean = (trainer_of(average=each).fit(data(), source=noise.Seeded(4)) for each in (None, 0.9))
    assert not np.array_equal(weights(last), weights(mean))
    assert weights(mean).dtype == np.float32


def test_a_run_stops_at_a_public_block_and_nothing_is_refunded():
    seen = []

    def enough(steps, state):
        seen.append((steps, sorted(state)))
        return steps >= 40

    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-3))
    plan = plan_of()
    made = trainer_of(plan).fit(data(), ledger=ledger, key="early", stop=enough)
    assert seen == [(20, ["bias", "weight"]), (40, ["bias", "weight"])]
    assert made.release.loss == plan.loss
    assert ledger.spent["basic epsilon"] == pytest.approx(plan.price().upper, rel=1e-6)


def test_progress_tells_public_numbers():
    told = []
    plan = plan_of()
    trainer_of(plan).fit(data(), progress=told.append)
    assert [each.step for each in told] == [20, 40, 60]
    assert told[0].epsilon < told[1].epsilon < told[2].epsilon == pytest.approx(plan.price().upper)
    assert told[-1].seconds_left == 0.0
    words = str(told[0])
    assert words.startswith("step 20 of 60, epsilon ")
    assert "steps/s" in words
    assert set(vars(told[0])) == {"step", "plan", "steps_per_second"}


def test_a_noisy_count_stands_in_for_a_batch_that_is_not_given(monkeypatch):
    """It is released, and paid for, once: what it said is in the state that the second of three blocks begins with."""
    plan = plan_of(noise_multiplier=None, epsilon=8.0, expected_batch=None, count_epsilon=2.0)
    counted, plain = [], Geometric.release
    monkeypatch.setattr(Geometric, "release", lambda *given, **more: counted.append(1) or plain(*given, **more))
    made = trainer_of(plan).fit(data())
    assert (len(counted), len(plan.rounds)) == (1, 3)
    assert made.release.loss == plan.loss
    assert np.isfinite(weights(made)).all()


def test_a_strict_training_releases_exact_sums(monkeypatch):
    """What reaches the noise are whole steps: the same for every size of a piece, and each record within the clip."""
    plan = plan_of(steps=1, sampling=Poisson(q=1.0), clip_norm=0.5, strict=True)
    seen = []
    plain = StepNoise.release
    monkeypatch.setattr(
        StepNoise, "release", lambda self, value, source=None: seen.append(value) or plain(self, value, source=source)
    )
    for piece in (1, 7, 64):
        trainer_of(plan, physical_batch=piece).fit(data(9))
    assert all(each.dtype == np.int64 and (each == seen[0]).all() for each in seen)
    rows, targets = data(9)
    trainer_of(plan).fit((1e6 * rows[:1], targets[:1]))  # a gradient far beyond the clip
    own = seen[-1].astype(object)
    step = plan.step_noise(4)
    assert float(step._reach) ** 2 * (1.0 - 1e-6) < sum(own * own) <= step._reach**2


class Listed(list):
    """A data set that is read by number, whose first record may not be readable."""

    def __getitem__(self, number):
        found = super().__getitem__(number)
        if isinstance(found, Exception):
            raise found
        return found


FORM = (torch.zeros(3), torch.tensor(0.0))


@pytest.mark.parametrize("empty", [Listed(), (torch.ones(0, 3), torch.ones(0)), []], ids=["list", "columns", "plain"])
def test_no_records_and_one_record_are_trained_alike(empty):
    """Neighbours under add/remove: the same steps, the same price, and noise alone where nobody is."""
    plan = plan_of(sampling=Poisson(q=1.0))
    rows, targets = data(1)
    one = Listed([(rows[0], targets[0])]) if isinstance(empty, list) else (rows, targets)
    made = [trainer_of(plan).fit(each, form=FORM, source=noise.Seeded(4)) for each in (empty, one)]
    assert made[0].release.loss == made[1].release.loss
    assert made[0].release.provenance == made[1].release.provenance
    assert not np.array_equal(weights(made[0]), weights(made[1]))
    counted = plan_of(expected_batch=None, count_epsilon=0.5)
    assert np.isfinite(weights(trainer_of(counted).fit(empty, form=FORM))).all()


def test_with_a_form_the_first_record_is_as_private_as_the_others():
    """A first record that cannot be read, or has another shape, is a null record; the others still count."""
    rows, targets = data(4)
    plan, source = plan_of(sampling=Poisson(q=1.0), steps=1), noise.Seeded
    good = [(rows[each], targets[each]) for each in range(4)]
    ends = [
        weights(trainer_of(plan).fit(Listed([odd, *good[1:]]), form=FORM, source=source(2)))
        for odd in (ValueError("SECRET 12345"), (torch.zeros(7), targets[0]), (torch.full((3,), torch.nan), targets[0]))
    ]
    assert all(np.array_equal(ends[0], each) for each in ends)
    assert not np.array_equal(ends[0], weights(trainer_of(plan).fit(Listed(good), form=FORM, source=source(2))))


@pytest.mark.parametrize(("form", "says"), [
    ((torch.zeros(4), torch.tensor(0.0)), "other shapes"), (torch.zeros(3), "other shapes"), (object(), "made-up record"),
])  # fmt: skip
def test_a_form_that_columns_do_not_have_is_refused(form, says):
    with pytest.raises(InvalidData, match=says):
        trainer_of().fit(data(), form=form)
