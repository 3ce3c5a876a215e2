"""The epsilon of DP-SGD, and the noise that an epsilon needs, from the parameters that a training script has."""

import math

from privet._calls import door
from privet._validate import above, count, fraction
from privet.accounting.accountant import Accountant
from privet.accounting.bound import Bound
from privet.accounting.calibrate import calibrate
from privet.accounting.tightest import epsilon as epsilon_of
from privet.errors import InvalidParameter
from privet.privacy import GaussianLoss, PoissonSampled, PrivacyLoss, Repeated

_RATE_MISSING = "say how much of the data a step sees: q, or batch_size and n (the public number of records)"
_LENGTH_MISSING = "say how long the training is: steps, or epochs"


@door
def dp_sgd(
    *,
    noise_multiplier: float,
    delta: float,
    q: float | None = None,
    steps: int | None = None,
    batch_size: int | None = None,
    n: int | None = None,
    epochs: float | None = None,
    accountant: Accountant | None = None,
) -> Bound:
    """The epsilon of DP-SGD at `delta`: each step looks at every record with probability `q`, clips gradients and adds
    Gaussian noise of `noise_multiplier` times the clipping norm.

    In place of `q`, `batch_size` and `n` may be given: q = batch_size/n. In place of `steps`, `epochs` may be given: an
    epoch has as many steps as a data loader makes, n/batch_size rounded up, or 1/q where `q` is given. The product of
    epochs and steps for each is rounded up.

    **Guarantee:** that of `epsilon` for `Repeated(PoissonSampled(GaussianLoss(noise_multiplier), q=q), steps)`, under
    adding or removing a record. Batches that are shuffled instead of sampled cost more: see docs/sharp-edges.md.

    >>> f"{dp_sgd(noise_multiplier=4.0, q=0.01, steps=10_000, delta=1e-5):.3f}"
    '0.947'
    >>> f"{dp_sgd(noise_multiplier=1.1, batch_size=256, n=60_000, epochs=60, delta=1e-5):.3f}"
    '2.386'
    """
    rate = _rate(q, batch_size, n)
    length = _steps(steps, epochs, fraction("q", rate), batch_size, n)
    return epsilon_of(_training(noise_multiplier, rate, length), delta=delta, accountant=accountant)


@door
def noise_for(
    *,
    epsilon: float,
    delta: float,
    q: float | None = None,
    steps: int | None = None,
    batch_size: int | None = None,
    n: int | None = None,
    epochs: float | None = None,
    accountant: Accountant | None = None,
) -> float:
    """The least `noise_multiplier` with which DP-SGD costs at most `epsilon`. All other parameters are those of `dp_sgd`.

    **Guarantee:** `dp_sgd(noise_multiplier=noise_for(...), ...)` is at most epsilon. **Error:** that of `calibrate`.

    >>> round(noise_for(epsilon=2.0, delta=1e-5, batch_size=256, n=60_000, epochs=60), 2)
    1.23
    """
    rate = _rate(q, batch_size, n)
    length = _steps(steps, epochs, fraction("q", rate), batch_size, n)
    return calibrate(lambda z: _training(z, rate, length), epsilon=epsilon, delta=delta, accountant=accountant)


def _training(noise_multiplier: float, q: float, steps: int) -> PrivacyLoss:
    """The loss of the whole training."""
    return Repeated(PoissonSampled(GaussianLoss(noise_multiplier), q=q), steps)


def _rate(q: float | None, batch_size: int | None, n: int | None) -> float:
    """The sampling rate, as given or as batch_size/n. The caller checks that it is from 0 to 1."""
    if q is not None and batch_size is None and n is None:
        return q
    if q is not None or batch_size is None or n is None:
        raise InvalidParameter(_RATE_MISSING)
    if count("batch_size", batch_size, 1) > count("n", n, 1):
        raise InvalidParameter(f"batch_size must be at most n = {n:,}, got {batch_size:,}")
    return batch_size / n


def _steps(steps: int | None, epochs: float | None, q: float, batch_size: int | None, n: int | None) -> int:
    """The number of steps, as given or from epochs, rounded up."""
    if steps is not None and epochs is None:
        return steps
    if steps is not None or epochs is None:
        raise InvalidParameter(_LENGTH_MISSING)
    # with a batch size n/batch_size is rounded up in whole numbers, by the floor of its negative
    steps_per_epoch = 1.0 / above("q", q, 0.0) if batch_size is None or n is None else -(-n // batch_size)
    return math.ceil(above("epochs", epochs, 0.0) * steps_per_epoch)
