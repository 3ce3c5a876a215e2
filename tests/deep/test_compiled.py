"""The compiled engine: the sums of book-keeping, from a program that was recorded on made-up records."""

import warnings

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from privet import deep  # noqa: E402
from privet.deep.engines.compiled import Compiled  # noqa: E402
from privet.deep.engines.engine import ExampleLosses  # noqa: E402
from privet.deep.rules import conv  # noqa: E402
from privet.deep.rules.use import Use  # noqa: E402
from privet.errors import InvalidParameter  # noqa: E402
from tests.deep import by_hand  # noqa: E402


def losses(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets, reduction="none")


def compiled(model, loss=losses, clip=None) -> Compiled:
    return Compiled(ExampleLosses(model, loss), clip or deep.Flat(0.3), None, backend="eager")


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 2, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(18, 4), nn.LayerNorm(4), nn.Linear(4, 3)
    )


def batch(size: int, scale: float = 1.0):
    torch.manual_seed(size)
    return scale * torch.randn(size, 1, 7, 7), torch.randint(0, 3, (size,))


def test_every_batch_of_a_form_has_the_sums_of_the_definition():
    model, engine = network(), None
    engine = compiled(model)
    for scale, kept in ((1.0, [True] * 5), (30.0, [True, False, True, True, False]), (0.01, [False] * 5)):
        inputs, targets = batch(5, scale)
        mask = torch.tensor(kept)
        found = engine(dict(model.named_parameters()), inputs, targets, mask)
        wanted = by_hand.clipped_sum(model, losses, inputs, targets, mask, 0.3)
        assert by_hand.furthest(found, wanted) < 1e-5 or not any(kept)
        assert any(kept) or all(not each.any() for each in found.values())
    assert len(engine._programs) == 1


def test_a_program_is_not_made_of_the_records_that_it_first_meets():
    """A first batch in which nobody counts, or one that is not finite, must not be what the program is made for."""
    model = network()
    engine = compiled(model)
    inputs, targets = batch(4)
    spoilt = inputs.clone()
    spoilt[1] = torch.inf
    everyone = torch.ones(4, dtype=torch.bool)
    parameters = dict(model.named_parameters())
    first = engine(parameters, spoilt, targets, everyone)
    without = by_hand.clipped_sum(model, losses, inputs, targets, torch.tensor([True, False, True, True]), 0.3)
    assert by_hand.furthest(first, without) < 1e-5
    whole = engine(parameters, inputs, targets, everyone)
    assert by_hand.furthest(whole, by_hand.clipped_sum(model, losses, inputs, targets, everyone, 0.3)) < 1e-5


def test_parameters_are_given_and_not_recorded():
    model = network()
    engine, (inputs, targets), everyone = compiled(model), batch(4), torch.ones(4, dtype=torch.bool)
    engine(dict(model.named_parameters()), inputs, targets, everyone)
    with torch.no_grad():
        for each in model.parameters():
            each.mul_(1.7)
    moved = engine(dict(model.named_parameters()), inputs, targets, everyone)
    assert by_hand.furthest(moved, by_hand.clipped_sum(model, losses, inputs, targets, everyone, 0.3)) < 1e-5


def test_what_is_measured_is_what_is_added_up_whatever_a_compiler_does():
    """A compiler that is off by a hundredth in every number of a half: records are other records, and not too long."""
    halves = []

    def rough(graph, example):
        def spoilt(*given):
            found = graph(*given)
            if len(found) == 1:  # the sums
                return found
            waves = [1.0 + 0.01 * torch.sin(torch.arange(each.numel()).view(each.shape)) for each in found]
            return [each * wave if each.is_floating_point() else each for each, wave in zip(found, waves, strict=True)]

        halves.append(graph)
        return spoilt

    model = network()
    engine = Compiled(ExampleLosses(model, losses), deep.Flat(0.3), None, backend=rough)
    inputs, targets = batch(5, 30.0)
    for row in range(5):
        found = engine(dict(model.named_parameters()), inputs, targets, torch.arange(5) == row)
        assert 0.25 < by_hand.norm(found) <= 0.3
    assert len(halves) == 2


@pytest.mark.slow
def test_a_chunk_serves_batches_of_any_size():
    model = network()
    engine = Compiled(ExampleLosses(model, losses), deep.Flat(0.3), 2, backend="eager")
    (inputs, targets), mask = batch(5), torch.tensor([True, False, True, True, False])
    found = engine(dict(model.named_parameters()), inputs, targets, mask)
    assert by_hand.furthest(found, by_hand.clipped_sum(model, losses, inputs, targets, mask, 0.3)) < 1e-5
    assert len(engine._programs) == 2


def test_what_a_compiler_warns_of_is_not_said_to_the_user():
    """On a device with TensorFloat32 it recommends rough products, which sums must not have."""

    def warns(graph, example):
        warnings.warn("rough products are not enabled", stacklevel=2)
        return graph

    model, (inputs, targets) = network(), batch(5)
    engine = Compiled(ExampleLosses(model, losses), deep.Flat(0.3), None, backend=warns)
    everyone = torch.ones(5, dtype=torch.bool)
    found = engine(dict(model.named_parameters()), inputs, targets, everyone)  # no error
    assert by_hand.furthest(found, by_hand.clipped_sum(model, losses, inputs, targets, everyone, 0.3)) < 1e-5


def test_a_model_whose_way_depends_on_values_is_refused():
    class Forked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(x) if float(self.layer.bias.detach().sum()) > 0 else -self.layer(x)

    model = Forked()
    with pytest.raises(InvalidParameter, match="cannot be compiled"):
        compiled(model)(
            dict(model.named_parameters()), torch.ones(4, 3), torch.zeros(4, dtype=torch.int64), torch.ones(4) > 0
        )


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2}, {"padding": "same"}])
def test_gradients_by_patches_are_those_that_are_written_out(options):
    """The way of accelerators, computed here."""
    torch.manual_seed(1)
    given, shape = torch.randn(3, 2, 8, 8, dtype=torch.float64), torch.Size((4, 2, 3, 3))
    output = nn.functional.conv2d(given, torch.randn(shape, dtype=torch.float64), **options)
    use = Use("conv2d", given, "weight", None, options, torch.randn_like(output))
    assert torch.allclose(conv.by_patches(use, shape), conv.written(use, shape), rtol=1e-12, atol=1e-12)


def test_the_engine_is_chosen_by_name():
    assert isinstance(deep.make_engine(network(), losses, deep.Flat(1.0), engine="compiled"), Compiled)
