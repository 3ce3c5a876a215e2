"""Networks for private training: what they compute, and that the engines follow them."""

import math

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from privet import deep  # noqa: E402
from privet.errors import InvalidParameter  # noqa: E402
from tests.deep import by_hand  # noqa: E402


def losses(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets, reduction="none")


def follows(model, loss, inputs, targets) -> float:
    """How far the usual engine is from the definition."""
    model = model.double()
    mask = torch.ones(len(targets), dtype=torch.bool)
    deep.check_isolation(model, loss, inputs, targets)
    found = deep.make_engine(model, loss, deep.Flat(0.1))(dict(model.named_parameters()), inputs, targets, mask)
    return by_hand.furthest(found, by_hand.clipped_sum(model, loss, inputs, targets, mask, 0.1))


def test_a_tempered_sigmoid_is_bounded_by_its_numbers():
    x = torch.linspace(-50.0, 50.0, 101)
    y = deep.TemperedSigmoid(1.58, 3.0, 0.71)(x)
    assert float(y.min()) >= -0.71
    assert float(y.max()) <= 0.87 + 1e-6
    assert math.isclose(float(y[50]), 0.79 - 0.71, abs_tol=1e-6)
    with pytest.raises(InvalidParameter, match="temperature"):
        deep.TemperedSigmoid(temperature=0.0)


def test_the_convnet_has_the_parameters_that_are_published():
    assert sum(each.numel() for each in deep.tempered_convnet().parameters()) == 26_010


def test_standardised_filters_do_not_depend_on_scale_and_shift_of_their_parameters():
    layer = deep.StandardisedConv2d(2, 3, 3)
    before = layer.standardised()
    with torch.no_grad():
        layer.weight.mul_(1000.0).add_(7.0)
    assert torch.allclose(before, layer.standardised(), atol=2e-3)
    assert torch.allclose(before.flatten(1).square().sum(1), torch.ones(3), atol=2e-2)


def test_engines_follow_standardised_convolutions():
    torch.manual_seed(0)
    model = nn.Sequential(
        deep.StandardisedConv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(64, 3)
    )
    inputs, targets = torch.randn(4, 1, 4, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 0])
    assert follows(model, losses, inputs, targets) < 1e-12


def test_engines_follow_the_transformer():
    torch.manual_seed(0)
    model = deep.SmallTransformer(words=7, layers=1, width=8, heads=2, length=5)
    ids = torch.randint(0, 7, (3, 6))
    assert follows(model, deep.next_word_loss, ids[:, :-1], ids[:, 1:]) < 1e-10


def test_the_transformer_does_not_look_ahead():
    torch.manual_seed(0)
    model = deep.SmallTransformer(words=7, layers=2, width=8, heads=2)
    ids = torch.randint(0, 7, (1, 6))
    other = ids.clone()
    other[0, -1] = (ids[0, -1] + 1) % 7
    assert torch.equal(model(ids)[0, :-1], model(other)[0, :-1])
    assert not torch.equal(model(ids)[0, -1], model(other)[0, -1])
    with pytest.raises(InvalidParameter, match="multiple of heads"):
        deep.SmallTransformer(words=7, width=10, heads=4)
