"""Noise of numpy, added as it is: what many programs do."""

from collections.abc import Iterator

import numpy as np

from exhibits.base import Bulk, Exhibit
from privet import privacy


def numpy_exhibits() -> Iterator[Exhibit]:
    rng = np.random.default_rng()
    yield Exhibit(
        "laplace",
        Bulk(lambda value, runs: value + rng.laplace(0.0, 1.0, runs)),
        privacy.PureLoss(1.0),
        [(0.0, 1.0)],
        "value + rng.laplace(0, 1)",
        note="1 + x is always a multiple of 2^-53, 0 + x is not",
    )
    yield Exhibit(
        "normal",
        Bulk(lambda value, runs: value + rng.normal(0.0, 4.0, runs)),
        privacy.GaussianLoss(noise_multiplier=4.0),
        [(0.0, 1.0)],
        "value + rng.normal(0, 4)",
        note="as for laplace",
    )
