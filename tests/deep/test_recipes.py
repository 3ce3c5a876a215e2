"""Recipes: features, views, and training a part of a model."""

import math

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from privet import deep  # noqa: E402
from privet.errors import InvalidData, InvalidParameter  # noqa: E402
from tests.deep import by_hand, models  # noqa: E402


def losses(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets, reduction="none")


# --- scattering -------------------------------------------------------------------------------------------------------


def test_scattering_has_as_many_features_as_the_formula_says():
    for scales, angles, side in ((2, 8, 28), (1, 4, 12), (3, 2, 32)):
        made = deep.Scattering(scales, angles)
        found = made(torch.zeros(2, 3, side, side))
        assert found.shape == (2, 3 * made.features, side >> scales, side >> scales)
    assert deep.Scattering().features == 81


def test_constant_images_have_their_value_as_the_only_feature():
    found = deep.Scattering()(torch.full((1, 1, 16, 16), 2.5))
    assert torch.allclose(found[0, 0], torch.full((4, 4), 2.5), atol=1e-5)
    assert float(found[0, 1:].abs().max()) < 1e-5


def test_first_order_features_are_averages_of_absolute_values_of_wavelets():
    """By plain convolution with the wavelet in pixels, in place of its spectrum."""
    torch.manual_seed(0)
    image = torch.randn(1, 1, 32, 32)
    made = deep.Scattering()
    found = made(image)
    framed = nn.functional.pad(image, (4,) * 4, mode="reflect")
    wavelets, low = made._made(40, 40, torch.device("cpu"))
    wave, bell = torch.fft.ifft2(wavelets[1, 3]), torch.fft.ifft2(low).real

    def around(signal, kernel):
        turned = torch.roll(torch.flip(kernel, (0, 1)), (1, 1), (0, 1))
        rows = [[(signal * torch.roll(turned, (y, x), (0, 1))).sum() for x in range(40)] for y in range(40)]
        return torch.stack([torch.stack(row) for row in rows])

    signal = around(framed[0, 0].to(wave.dtype), wave).abs()
    averaged = around(signal, bell)[::4, ::4][1:-1, 1:-1]
    assert torch.allclose(found[0, 1 + 8 + 3], averaged, atol=1e-4)


def test_features_of_a_record_are_a_function_of_that_record():
    torch.manual_seed(0)
    images = torch.randn(3, 1, 8, 8)
    other = images.clone()
    other[0] = 100.0
    made = deep.Scattering()
    assert torch.equal(made(images)[1:], made(other)[1:])
    with pytest.raises(InvalidData, match="multiples of 4"):
        made(torch.zeros(1, 1, 10, 10))


# --- views ------------------------------------------------------------------------------------------------------------


def test_a_record_with_views_moves_a_sum_by_no_more_than_the_clip():
    """The mean over views comes before the clip: clipping each view and adding them would be as many times as much."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(18, 3)).double()
    inputs, targets = 50.0 * torch.randn(4, 1, 5, 5, dtype=torch.float64), torch.tensor([0, 1, 2, 0])
    loss = deep.views(losses, deep.shifted, number=4)
    engine = deep.make_engine(model, loss, deep.Flat(0.1))
    parameters, mask = dict(model.named_parameters()), torch.tensor([True, False, False, False])
    alone = engine(parameters, inputs, targets, mask)
    assert by_hand.norm(alone) <= 0.1

    def by_definition(outputs, targets):
        return outputs

    class Averaged(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x, y):
            return torch.stack([losses(model(deep.shifted(x, view)), y) for view in range(4)]).mean(0)

    everyone = torch.ones(4, dtype=torch.bool)
    found = {f"model.{name}": each for name, each in engine(parameters, inputs, targets, everyone).items()}
    wanted = by_hand.clipped_sum(Averaged(), by_definition, (inputs, targets), targets, everyone, 0.1)
    assert by_hand.furthest(found, wanted) < 1e-12


def test_views_pass_the_check_of_isolation_and_train():
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))
    loss = deep.views(losses, lambda images, view: deep.shifted(images, view, mirror=True), number=3)
    plan = models.plan_of(steps=2)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    trained = deep.Trainer(model, sgd, loss, plan).fit((torch.zeros(6, 1, 4, 4), torch.zeros(6, dtype=torch.int64)))
    assert trained.release.loss == plan.loss


def test_views_differ_and_come_back():
    image = torch.arange(49.0).view(1, 1, 7, 7)
    seen = [deep.shifted(image, view, reach=1) for view in range(10)]
    assert torch.equal(seen[0], image)
    assert len({tuple(each.flatten().tolist()) for each in seen[1:]}) == 9
    assert torch.equal(deep.shifted(image, 1, mirror=True), deep.shifted(image, 1).flip(-1))


def test_an_augmentation_that_drops_records_is_refused():
    loss = deep.views(losses, lambda inputs, view: inputs[1:], number=2)
    with pytest.raises(InvalidParameter, match="one view a record"):
        loss(nn.Linear(2, 2), (torch.ones(3, 2), torch.zeros(3, dtype=torch.int64)))
    with pytest.raises(InvalidParameter, match="one tensor"):
        loss(nn.Linear(2, 2), {"x": torch.ones(3, 2)})


# --- parts of a model -------------------------------------------------------------------------------------------------


def body() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


@pytest.mark.parametrize(
    "made",
    [
        lambda: deep.train_only(body(), "2."),
        lambda: deep.train_biases(body()),
        lambda: deep.train_biases(body(), "2."),
        lambda: deep.with_low_rank(body(), rank=1),
        lambda: deep.with_low_rank(body(), "2", rank=2, scale=0.5),
    ],
)
def test_only_the_chosen_part_is_trained_and_clipped(made):
    model = made()
    inputs, targets = torch.randn(5, 3), torch.tensor([0, 1, 0, 1, 1])
    mask = torch.ones(5, dtype=torch.bool)
    found = deep.make_engine(model, losses, deep.Flat(0.05))(dict(model.named_parameters()), inputs, targets, mask)
    assert by_hand.furthest(found, by_hand.clipped_sum(model, losses, inputs, targets, mask, 0.05)) < 1e-5
    plan = models.plan_of(steps=2)
    before = {name: each.clone() for name, each in model.state_dict().items()}
    chosen = {name for name, each in model.named_parameters() if each.requires_grad}
    sgd = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=1.0)
    deep.Trainer(model, sgd, losses, plan).fit((inputs, targets))
    changed = {name for name, each in model.state_dict().items() if not torch.equal(each, before[name])}
    assert changed == chosen != set(before)


def test_low_rank_begins_as_the_model_and_merges_to_its_structure():
    model, inputs = body(), torch.randn(5, 3)
    thin = deep.with_low_rank(model, rank=2)
    assert torch.equal(thin(inputs), model(inputs))
    with torch.no_grad():
        for each in thin.parameters():
            if each.requires_grad:
                each.add_(0.3)
    merged = deep.merge_low_rank(thin)
    assert merged.state_dict().keys() == model.state_dict().keys()
    assert torch.allclose(merged(inputs), thin(inputs), atol=1e-6)
    assert not torch.allclose(merged(inputs), model(inputs), atol=1e-2)
    assert isinstance(deep.with_low_rank(nn.Linear(2, 2)), deep.LowRank)


def test_names_that_no_part_has_are_refused():
    with pytest.raises(InvalidParameter, match="no parameter"):
        deep.train_only(body(), "head")
    with pytest.raises(InvalidParameter, match="no linear layer"):
        deep.with_low_rank(body(), "head")
    with pytest.raises(InvalidParameter, match="no linear layer"):
        deep.with_low_rank(nn.Sequential(nn.Conv2d(1, 1, 1)))


def test_a_running_mean_of_weights_is_post_processing():
    """It changes what comes out, and neither price nor coins."""
    from privet.noise import Seeded

    plain, averaged = models.trainer_of(), models.trainer_of(average=0.9)
    one = plain.fit(models.data(), source=Seeded(1))
    two = averaged.fit(models.data(), source=Seeded(1))
    assert one.release.loss == two.release.loss
    assert not torch.equal(one.state_dict()["weight"], two.state_dict()["weight"])
    assert math.isfinite(float(two.state_dict()["weight"].sum()))
