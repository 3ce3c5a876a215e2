"""Models that compute in bfloat16 by autocast: norms and sums stay in float32, and one record stays within the clip."""

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from privet import deep
from privet.deep import Flat, make_engine
from privet.deep.engines.bookkeeping import Bookkeeping
from privet.deep.engines.compiled import Compiled
from privet.deep.engines.engine import Engine, ExampleLosses
from privet.deep.rules import linear, term
from privet.errors import InvalidParameter
from tests.deep.models import data, linear as small, plan_of, squared

CLIP = 0.5


class Narrow(nn.Module):
    """A model whose products are those of bfloat16; its parameters are float32."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, rows):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            outputs = self.model(rows)
        return outputs.float()


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.LayerNorm(24), nn.Linear(24, 4))


def loss(outputs, targets):
    return nn.functional.cross_entropy(outputs.float(), targets, reduction="none")


def batch(size: int = 6):
    torch.manual_seed(1)
    return 5.0 * torch.randn(size, 12), torch.randint(0, 4, (size,))


def sums(engine: Engine, model: nn.Module, mask: torch.Tensor) -> dict:
    return engine({name: each.detach() for name, each in model.named_parameters()}, *batch(len(mask)), mask)


def length(found: dict) -> float:
    return float(sum(each.double().square().sum() for each in found.values()).sqrt())


def alone(size: int, row: int) -> torch.Tensor:
    return torch.arange(size) == row


@pytest.mark.parametrize("way", ["bookkeeping", "microbatch"])
def test_a_record_of_a_narrow_model_stays_within_the_clip(way):
    model = Narrow(network())
    engine = make_engine(model, loss, Flat(CLIP), engine=way)
    sizes = [length(sums(engine, model, alone(6, row))) for row in range(6)]
    assert max(sizes) <= CLIP
    assert max(sizes) > 0.9 * CLIP
    assert all(each.dtype == torch.float32 for each in sums(engine, model, alone(6, 0)).values())


def test_sums_of_a_narrow_model_are_near_those_of_float32():
    narrow, wide = Narrow(network()), network()
    everyone = torch.ones(6, dtype=torch.bool)
    found = sums(make_engine(narrow, loss, Flat(CLIP)), narrow, everyone)
    wanted = sums(make_engine(wide, loss, Flat(CLIP)), wide, everyone)
    apart = {name: found[f"model.{name}"] - each for name, each in wanted.items()}
    assert length(apart) < 0.05 * length(wanted)


@pytest.mark.parametrize("way", ["bookkeeping", "vmapped", "microbatch"])
def test_autocast_around_a_step_is_refused(way):
    """There the Gram matrices and the weighted sum would be rounded to 8 bits as well."""
    model = network()
    engine = make_engine(model, loss, Flat(CLIP), engine=way)
    with (
        pytest.raises(InvalidParameter, match="inside the model's forward"),
        torch.autocast("cpu", dtype=torch.bfloat16),
    ):
        sums(engine, model, alone(6, 0))


@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_the_autocast_of_either_device_is_refused(place, monkeypatch):
    model = network()
    engine = make_engine(model, loss, Flat(CLIP))
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: device == place)
    with pytest.raises(InvalidParameter, match="inside the model's forward"):
        sums(engine, model, alone(6, 0))


@pytest.mark.parametrize("model", [Narrow(network()), network().to(torch.bfloat16)], ids=["autocast", "bfloat16"])
def test_a_narrow_model_is_compiled_in_two_halves_and_stays_within_the_clip(model):
    """A compiler leaves roundings to bfloat16 out where it likes: in one piece, a record was 1.0007 clips long."""
    engine = Compiled(ExampleLosses(model, loss), Flat(CLIP), None, backend="eager")
    rows, targets = batch()
    rows = rows.to(next(model.parameters()).dtype)
    point = {name: each.detach() for name, each in model.named_parameters()}
    sizes = [length(engine(point, rows, targets, alone(6, row))) for row in range(6)]
    assert 0.9 * CLIP < max(sizes) <= CLIP
    plain, everyone = make_engine(model, loss, Flat(CLIP)), torch.ones(6, dtype=torch.bool)
    found, wanted = engine(point, rows, targets, everyone), plain(point, rows, targets, everyone)
    assert length({name: found[name] - each for name, each in wanted.items()}) < 0.02 * length(wanted)


def test_the_input_of_a_layer_is_taken_as_autocast_narrows_it():
    """Else inputs would be kept in float32, and norms would be those of other numbers than the layer has met."""
    model = Narrow(network())
    engine = Bookkeeping(ExampleLosses(model, loss), Flat(CLIP), None)
    uses, written = engine.met({name: each.detach() for name, each in model.named_parameters()}, *batch())
    assert {use.given.dtype for use in uses} == {torch.bfloat16}
    assert set(written) == {f"model.{name}" for name in ("0.bias", "2.weight", "2.bias", "3.bias")}


def on_tensor_cores(monkeypatch) -> None:
    """The way of CUDA on this machine: narrow numbers are multiplied as they are, and scaled ones are rounded again."""
    monkeypatch.setattr(linear, "narrow", lambda given, back: given.dtype == back.dtype == torch.bfloat16)
    monkeypatch.setattr(term, "writes_out", lambda *shape: False)


def family():
    """Inputs [B, T, d] and gradients [B, T, 1]: of 8 records all positions are equal, and are rounded the same way."""
    torch.manual_seed(4)
    near, back = torch.randn(8, 1, 32).expand(-1, 4, -1), torch.randn(8, 1, 1).expand(-1, 4, -1)
    return torch.cat([near, torch.randn(4, 4, 32)]), torch.cat([back, torch.randn(4, 4, 1)])


def longest() -> tuple[float, float]:
    model = nn.Linear(32, 1, bias=False).to(torch.bfloat16)
    engine = make_engine(model, lambda out, given: (out * given).flatten(1).sum(1), Flat(1.0), engine="bookkeeping")
    rows, back = (each.to(torch.bfloat16) for each in family())
    point = {"weight": model.weight.detach()}
    sizes = [length(engine(point, rows, back, alone(12, row))) for row in range(12)]
    return max(sizes), min(sizes[8:])


def test_factors_that_are_rounded_with_the_gradient_are_paid_for_in_the_norm(monkeypatch):
    on_tensor_cores(monkeypatch)
    most, plain = longest()
    assert most <= 1.0
    assert plain > 0.93  # the price, where nothing cancels


def test_without_that_a_record_would_be_longer(monkeypatch):
    on_tensor_cores(monkeypatch)
    monkeypatch.setattr(linear, "_ROUNDED", 0.0)
    assert longest()[0] > 1.0001


def test_a_narrow_record_that_is_not_finite_leaves_the_others_alone(monkeypatch):
    on_tensor_cores(monkeypatch)
    model = nn.Linear(32, 1, bias=False).to(torch.bfloat16)
    engine = make_engine(model, lambda out, given: (out * given).flatten(1).sum(1), Flat(1.0), engine="bookkeeping")
    rows, back = (each.to(torch.bfloat16) for each in family())
    point, first = {"weight": model.weight.detach()}, torch.arange(12) != 3
    wanted = engine(point, rows, back, first)
    rows[3, 2, 1] = torch.inf
    found = engine(point, rows, back, torch.ones(12, dtype=torch.bool))
    assert (found["weight"] == wanted["weight"]).all()


def test_without_the_refusal_a_record_would_be_longer_than_the_clip(monkeypatch):
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *device: False)
    torch.manual_seed(2)
    model = nn.Linear(30, 4, bias=False)
    rows, targets = torch.randn(12, 8, 30) * 3.0, torch.zeros(12, 8, dtype=torch.long)

    def mean(outputs, targets):
        return nn.functional.cross_entropy(outputs.float().transpose(1, 2), targets, reduction="none").mean(1)

    engine, point = make_engine(model, mean, Flat(CLIP)), {"weight": model.weight.detach()}
    sound = [length(engine(point, rows, targets, alone(12, row))) for row in range(12)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        broken = [engine(point, rows, targets, alone(12, row)) for row in range(12)]
    assert max(sound) <= CLIP < max(map(length, broken))
    assert {each["weight"].dtype for each in broken} == {torch.bfloat16}


def test_a_training_in_autocast_is_refused_before_it_is_paid():
    model = small()
    trainer = deep.Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), squared, plan_of(steps=1))
    with pytest.raises(InvalidParameter, match="autocast"), torch.autocast("cpu", dtype=torch.bfloat16):
        trainer.fit(data())
