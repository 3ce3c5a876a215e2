"""The price of training and the noise for it, in the words of a training script."""

import math

import pytest

from privet import accounting
from privet.errors import InvalidParameter
from privet.privacy import GaussianLoss, PoissonSampled, Repeated

WORDS = [
    ({"q": 0.25, "steps": 40}, 0.25, 40),
    ({"batch_size": 100, "n": 400, "steps": 40}, 0.25, 40),
    ({"batch_size": 100, "n": 400, "epochs": 10}, 0.25, 40),
    ({"q": 0.25, "epochs": 10}, 0.25, 40),
    ({"batch_size": 100, "n": 401, "epochs": 10}, 100 / 401, 50),  # a loader makes five batches of 401 records
    ({"batch_size": 3, "n": 3, "epochs": 0.5}, 1.0, 1),
]


@pytest.mark.parametrize(("words", "q", "steps"), WORDS)
def test_every_way_to_say_it_is_one_price(words, q, steps):
    wanted = accounting.epsilon(Repeated(PoissonSampled(GaussianLoss(2.0), q=q), steps), delta=1e-5)
    assert accounting.dp_sgd(noise_multiplier=2.0, delta=1e-5, **words) == wanted


@pytest.mark.parametrize(("words", "q", "steps"), WORDS[:5])
def test_the_noise_keeps_the_promise_and_a_little_less_would_not(words, q, steps):
    z = accounting.noise_for(epsilon=1.5, delta=1e-6, **words)
    assert accounting.dp_sgd(noise_multiplier=z, delta=1e-6, q=q, steps=steps).upper <= 1.5
    assert accounting.dp_sgd(noise_multiplier=z * 0.998, delta=1e-6, q=q, steps=steps).lower > 1.5 * (1 - 1e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"q": 0.1}, "steps, or epochs"),
        ({"q": 0.1, "steps": 3, "epochs": 1}, "steps, or epochs"),
        ({"steps": 3}, "batch_size and n"),
        ({"batch_size": 10, "steps": 3}, "batch_size and n"),
        ({"q": 0.1, "batch_size": 10, "n": 100, "steps": 3}, "batch_size and n"),
        ({"q": 0.1, "n": 100, "epochs": 3}, "batch_size and n"),
        ({"batch_size": 200, "n": 100, "epochs": 3}, "at most n"),
        ({"batch_size": 0, "n": 100, "epochs": 3}, "batch_size"),
        ({"batch_size": 10, "n": 100, "epochs": 0}, "epochs"),
        ({"batch_size": 10, "n": 100, "epochs": math.nan}, "epochs"),
        ({"q": 1.5, "epochs": 2}, "q"),
        ({"q": "a tenth", "epochs": 2}, "q"),
        ({"q": 0.0, "epochs": 2}, "q"),
    ],
)
def test_what_is_missing_or_said_twice_is_refused(words, said):
    with pytest.raises(InvalidParameter, match=said):
        accounting.dp_sgd(noise_multiplier=1.0, delta=1e-5, **words)
    with pytest.raises(InvalidParameter, match=said):
        accounting.noise_for(epsilon=1.0, delta=1e-5, **words)
