"""Networks and recipes over a grid of what users type: a thing, or one sentence; never an error of torch or Python."""

import inspect
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from privet import deep  # noqa: E402
from privet.errors import InvalidParameter, PrivetError  # noqa: E402
from tests.deep.models import squared  # noqa: E402

BAD = [
    float("nan"), float("inf"), -1, 0, 0.5, 3, 1e308, True, "x", None, [], {}, b"k", 1 + 2j, np.float32(1), object(),
    np.array([1.0, 2.0]), torch.tensor(1.0), torch.ones(2), lambda *given: None, int,
]  # fmt: skip
MADE = [
    deep.TemperedSigmoid, deep.tempered_convnet, deep.StandardisedConv2d, deep.SmallTransformer, deep.Scattering,
    deep.views, deep.shifted, deep.LowRank, deep.with_low_rank, deep.merge_low_rank, deep.train_only, deep.train_biases,
]  # fmt: skip
MANY = inspect.Parameter.VAR_POSITIONAL


def usual():
    return {
        "model": nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)),
        "layer": nn.Linear(4, 3),
        "images": torch.ones(2, 1, 4, 4),
        "augment": deep.shifted,
        "per_example_loss": squared,
    }


def needed(made):
    """What a call must have, by name."""
    taken = inspect.signature(made).parameters.values()
    return {each.name: usual().get(each.name, 3) for each in taken if each.default is each.empty and each.kind != MANY}


def odd_calls(made):
    for name, each in inspect.signature(made).parameters.items():
        for value in BAD:
            if each.kind == MANY:
                yield partial(made, usual()["model"], value)
            else:
                yield partial(made, **{**needed(made), name: value})


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_every_odd_argument_is_taken_or_refused_in_a_sentence(made):
    refused = []
    for call in odd_calls(made):
        try:
            call()
        except PrivetError as problem:
            refused.append(str(problem))
    assert len(refused) > len(BAD) / 2
    assert max(map(len, refused)) < 400


@pytest.mark.parametrize("made", [each for each in MADE if each is not deep.train_only], ids=lambda made: made.__name__)
def test_what_is_usual_is_taken(made):
    assert made(**needed(made)) is not None


@pytest.mark.parametrize("side", [14, 15, 16, 17, 28, 29, 32, 1024])
def test_a_network_for_images_of_any_side_fits_them(side):
    model = deep.tempered_convnet(3, channels=2, side=side)
    if side < 100:
        assert model(torch.zeros(2, 2, side, side)).shape == (2, 3)


@pytest.mark.parametrize("side", [13, 1025])
def test_images_too_small_or_too_large_are_named(side):
    with pytest.raises(InvalidParameter, match="side must be"):
        deep.tempered_convnet(side=side)
