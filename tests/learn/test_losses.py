"""The constants that privacy rests on, held against the functions themselves, over wide ranges."""

import dataclasses
import math

import mpmath
import numpy as np
import pytest

from privet import testing
from privet.errors import InvalidParameter
from privet.learn.losses import (
    Huber,
    HuberHinge,
    Logistic,
    Loss,
    LossExample,
    Pinball,
    Softmax,
    Squared,
    double_double as wide,
    registered_losses,
)
from privet.learn.solvers.exact_gradient import scale_of

EVERY = [example for kind in registered_losses().values() for example in kind.examples()]
SMALL = [example for example in EVERY if example.loss.outputs == 1 and math.isfinite(example.loss.lipschitz)]


def names(examples):
    return [repr(each.loss) for each in examples]


@pytest.mark.parametrize("check_law", testing.laws_of("training loss"), ids=lambda law: law.__name__)
@pytest.mark.parametrize("example", EVERY, ids=names(EVERY))
def test_law(check_law, example):
    check_law(example)


def test_every_loss_is_registered():
    """What is not registered is met by no law."""
    testing.load_rooms()
    made = [each for each in Loss.__subclasses__() if each.__module__.startswith("privet")]
    assert sorted(each.__name__ for each in made) == sorted(each.__name__ for each in registered_losses().values())


@dataclasses.dataclass(frozen=True)
class Broken(Loss):
    """Huber's loss with something changed: what a law must see."""

    lipschitz: float = 1.0
    smoothness: float = 1.0
    shape: str = "general"
    change: str = ""
    outputs: int = 1

    def value(self, margins, targets):
        return Huber(1.0).value(margins, targets) * (1.5 if self.change == "value" else 1.0)

    def slope(self, margins, targets):
        found = Huber(1.0).slope(margins, targets)
        return found * np.maximum(1.0, np.abs(targets)) if self.change == "slope of large targets" else found

    def wide_slope(self, margins, targets):
        high, low = Huber(1.0).wide_slope(margins, targets)
        return (high * 0.9, low) if self.change == "wide slope" else (high, low)

    def curvature(self, margins, targets):
        found = Huber(1.0).curvature(margins, targets)
        return -found if self.change == "curvature" else found

    @classmethod
    def examples(cls):
        return ()


BROKEN = [
    (Broken(lipschitz=0.1), testing.check_slope_stays_within_lipschitz),
    (Broken(lipschitz=0.999), testing.check_slope_stays_within_lipschitz),
    (Broken(change="slope of large targets"), testing.check_slope_stays_within_lipschitz),
    (Broken(smoothness=0.5), testing.check_bend_stays_within_smoothness),
    (Broken(change="curvature"), testing.check_bend_stays_within_smoothness),
    (Broken(change="value"), testing.check_slope_is_the_derivative),
    (Broken(change="curvature"), testing.check_slope_is_the_derivative),
    (Broken(change="wide slope"), testing.check_wide_slope_is_the_slope),
    (Broken(shape="fixed_sign"), testing.check_shape_is_kept),
]


@pytest.mark.parametrize(("loss", "check_law"), BROKEN, ids=lambda each: getattr(each, "__name__", "loss"))
def test_a_broken_loss_is_seen(loss, check_law):
    with pytest.raises(AssertionError):
        check_law(LossExample(loss, (-1.0, 0.0, 1.0)))


def test_what_is_not_broken_passes():
    for check_law in testing.laws_of("training loss"):
        check_law(LossExample(Broken(), (-1.0, 0.0, 1.0)))


def test_two_classes_have_one_margin():
    with pytest.raises(InvalidParameter, match=r"take Logistic\(\)"):
        Softmax(2)


def exact_slope(loss, m, y):
    """psi' in 60 digits."""
    exact = [mpmath.mpf(float(each)) for each in vars(loss).values()]
    if isinstance(loss, Logistic):
        return -y / (1 + mpmath.exp(y * m))
    if isinstance(loss, HuberHinge):
        return -y * min(max((1 + exact[0] - y * m) / (2 * exact[0]), 0), 1)
    if isinstance(loss, Huber):
        return min(max(m - y, -exact[0]), exact[0])
    if isinstance(loss, Pinball):
        return min(max((m - y) / (2 * exact[1]) + mpmath.mpf("0.5") - exact[0], -exact[0]), 1 - exact[0])
    return min(max(mpmath.exp(m) - y, -exact[1]), exact[1])


@pytest.mark.parametrize("example", SMALL, ids=names(SMALL))
def test_wide_slopes_are_exact_to_85_bits(example):
    """Over margins of all sizes, near the kinks too; those in doubles are not."""
    mpmath.mp.dps = 60
    loss, targets = example.loss, example.targets
    rng = np.random.default_rng(1)
    margins = np.concatenate([rng.normal(size=30) * 10.0**k for k in (-9, -3, 0, 1, 3)] + [[0.0, 1.0, -1.0, 1e9, -1e9]])
    rests = margins * rng.uniform(-1.0, 1.0, len(margins)) * 2.0**-54
    worst = rough = 0.0
    for y in targets:
        at = np.full(len(margins), y)
        high, low = loss.wide_slope((margins, rests), at)
        plain = loss.slope(margins.copy(), at)
        for k, (m, r) in enumerate(zip(margins.tolist(), rests.tolist(), strict=True)):
            wanted = exact_slope(loss, mpmath.mpf(m) + mpmath.mpf(r), mpmath.mpf(y))
            worst = max(worst, float(abs(wanted - mpmath.mpf(float(high[k])) - mpmath.mpf(float(low[k])))))
            rough = max(rough, float(abs(wanted - mpmath.mpf(float(plain[k])))))
    assert worst <= 2.0**-85 * scale_of(loss) < 1e-18 < rough


def test_wide_slopes_of_classes():
    mpmath.mp.dps = 60
    rng = np.random.default_rng(2)
    margins = rng.normal(size=(40, 4)) * 10.0 ** rng.integers(-3, 4, (40, 1))
    labels = rng.integers(0, 4, 40).astype(float)
    high, low = Softmax(4).wide_slope(wide.pair(margins), labels)
    for k, row in enumerate(margins.tolist()):
        powers = [mpmath.exp(mpmath.mpf(m) - max(row)) for m in row]
        for j in range(4):
            wanted = powers[j] / mpmath.fsum(powers) - (j == labels[k])
            assert abs(wanted - mpmath.mpf(float(high[k, j])) - mpmath.mpf(float(low[k, j]))) <= 2.0**-85


def test_wide_slopes_of_squares():
    high, low = Squared().wide_slope(wide.exact_add(np.array([1.0]), np.array([2.0**-70])), np.array([1.0]))
    assert float(high[0] + low[0]) == 2.0**-70
