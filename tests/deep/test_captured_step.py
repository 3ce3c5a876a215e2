"""Steps that are captured on a CUDA device: what would spoil their noise is refused before any device is asked."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

from privet import deep  # noqa: E402
from privet.deep.captured_step import CapturedStep  # noqa: E402
from privet.deep.rules.use import compounded  # noqa: E402
from privet.deep.step_noise import StepNoise  # noqa: E402
from privet.deep.stream import NoiseOnDevice  # noqa: E402
from privet.errors import InvalidParameter  # noqa: E402
from privet.noise import Grid  # noqa: E402


def step_of(*, kind=torch.float32, dimension=8, more=()):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), *more).to(kind)
    parameters = {name: each.detach() for name, each in model.named_parameters()}
    plan = deep.Plan(noise_multiplier=1.0, delta=1e-5, steps=1, sampling=deep.Poisson(q=0.5), expected_batch=4.0)
    engine = plan.engine(model, lambda outputs, targets: (outputs.sum(1) - targets) ** 2, way="compiled")
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    noise = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=dimension)
    return CapturedStep(engine, parameters, optimizer, noise, 4.0, torch.zeros(4, 3), torch.zeros(4))


def test_an_autocast_around_it_is_refused():
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(InvalidParameter, match="autocast around a private step"):
        step_of()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "captured on a CUDA device"),
        ({"dimension": 7}, "the noise is for 7 numbers, and the model has 8"),
        ({"kind": torch.bfloat16}, "in float32"),
        ({"more": (torch.nn.Dropout(0.5),)}, "no dropout"),
    ],
)
def test_what_would_spoil_it_is_refused(given, words):
    with pytest.raises(InvalidParameter, match=words):
        step_of(**given)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_is_not_copied(way):
    with pytest.raises(InvalidParameter, match="the same noise"):
        way(object.__new__(CapturedStep))


def test_what_was_left_without_noise_is_not_left_in_the_gradients():
    made = object.__new__(CapturedStep)
    made._batch, made._step, made._stream = [], 0, None
    made._flat = torch.ones(3)

    class Broken:
        def replay(self):
            raise KeyboardInterrupt

    made._sums = Broken()
    with pytest.raises(KeyboardInterrupt):
        _run(made)
    assert made._flat.tolist() == [0.0, 0.0, 0.0]
    made._step = 2**32 - 1
    with pytest.raises(InvalidParameter, match="32 bits"):
        _run(made)


def _run(made):
    made._batch = [torch.ones(1), torch.ones(1), torch.ones(1, dtype=torch.bool)]
    made(torch.ones(1), torch.ones(1), torch.ones(1, dtype=torch.bool))


def test_places_beyond_32_bits_are_refused():
    with pytest.raises(InvalidParameter, match="2\\^32 numbers"):
        NoiseOnDevice(2**20, Grid(0), 2**32 + 1)


def test_roundings_that_are_too_many_to_bound_clip_to_nothing():
    assert compounded(2**24 - 1, 2.0**-24) < float("inf")
    assert compounded(2**24, 2.0**-24) == compounded(3 * 2**24, 2.0**-24) == float("inf")
