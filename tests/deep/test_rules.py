"""Every rule gives the gradients of the definition: each layer, tied, reused, frozen, on 2 to 4 axes, and all at once."""

import pytest

torch = pytest.importorskip("torch")

from privet import deep  # noqa: E402
from privet.deep.rules import conv  # noqa: E402
from privet.deep.rules.use import Use  # noqa: E402
from tests.deep import by_hand  # noqa: E402
from tests.deep.zoo import beasts, coins  # noqa: E402

# torch says that such a padding costs a copy
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")
NAMES = list(beasts())
TARGETS = coins(5, seed=20)


def found(beast, inputs, clip_norm=0.2, mask=None, kind=torch.float64):
    engine = deep.make_engine(beast.model, beast.loss, deep.Flat(clip_norm), engine="bookkeeping")
    mask = torch.tensor([True, True, False, True, True]) if mask is None else mask
    sums = engine(dict(beast.model.named_parameters()), inputs, TARGETS[: len(mask)].to(kind), mask)
    return engine, sums


@pytest.mark.parametrize("name", NAMES)
def test_the_sum_is_that_of_the_definition(name):
    beast = beasts()[name]
    mask = torch.tensor([True, True, False, True, True])
    engine, sums = found(beast, beast.inputs)
    expected = by_hand.clipped_sum(beast.model, beast.loss, beast.inputs, TARGETS, mask, 0.2)
    assert by_hand.furthest(sums, expected) < 1e-12
    assert engine.apart == beast.apart


@pytest.mark.parametrize("name", NAMES)
def test_in_single_precision_it_is_close_and_no_record_is_longer_than_the_clip(name):
    beast = beasts()[name]
    beast.model.float()
    inputs = beast.inputs.float() if beast.inputs.is_floating_point() else beast.inputs
    targets = TARGETS.float()
    expected = by_hand.clipped_sum(beast.model, beast.loss, inputs, targets, torch.ones(5, dtype=torch.bool), 0.01)
    engine, sums = found(beast, inputs, 0.01, torch.ones(5, dtype=torch.bool), torch.float32)
    assert by_hand.furthest(sums, expected) < 1e-4
    parameters = dict(beast.model.named_parameters())
    for row in range(5):
        mask = torch.arange(5) == row
        assert by_hand.norm(engine(parameters, inputs, targets, mask)) <= 0.01


@pytest.mark.parametrize("name", NAMES)
def test_a_record_that_is_not_finite_leaves_the_others_as_they_are(name):
    beast = beasts()[name]
    if not beast.inputs.is_floating_point():
        beast.inputs = beast.inputs.clone()  # words are always finite: the target is not
    poisoned, targets = beast.inputs.clone(), TARGETS.clone()
    if beast.inputs.is_floating_point():
        poisoned[2] = float("inf")
    targets[2] = float("nan")
    engine = deep.make_engine(beast.model, beast.loss, deep.Flat(0.2), engine="bookkeeping")
    parameters = dict(beast.model.named_parameters())
    everyone = torch.ones(5, dtype=torch.bool)
    with_it = engine(parameters, poisoned, targets, everyone)
    without = engine(parameters, beast.inputs, TARGETS, torch.arange(5) != 2)
    assert by_hand.furthest(with_it, without) < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_batch_has_zero_sums(name):
    beast = beasts()[name]
    engine = deep.make_engine(beast.model, beast.loss, deep.Flat(0.2), engine="bookkeeping")
    sums = engine(dict(beast.model.named_parameters()), beast.inputs[:0], TARGETS[:0], torch.ones(0, dtype=torch.bool))
    assert by_hand.norm(sums) == 0.0
    assert {name: each.shape for name, each in sums.items()} == engine.shapes


@pytest.mark.parametrize("uses", [1, 2])
def test_patches_of_one_use_are_not_copied(uses, monkeypatch):
    """Patches are the largest tensors of a convolution: a second copy of them was the peak of a step."""
    made, measured = [], []
    cut, ghost = conv.patches, conv.LinearGhost
    monkeypatch.setattr(conv, "patches", lambda *given: made.append(cut(*given)) or made[-1])
    monkeypatch.setattr(conv, "LinearGhost", lambda *given: measured.append(given) or ghost(*given))
    use = Use("conv2d", coins(3, 2, 6, 6, seed=1), "weight", None, {}, coins(3, 4, 5, 5, seed=2))
    conv.ConvGhost([use] * uses, torch.Size((4, 2, 2, 2)))
    for mine, theirs in zip(made[0], measured[0], strict=True):
        assert (mine.data_ptr() == theirs.data_ptr()) == (uses == 1)
        assert theirs.shape[1] == uses * mine.shape[1]
