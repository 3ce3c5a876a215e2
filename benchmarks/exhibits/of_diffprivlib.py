"""Mechanisms of diffprivlib; its tools and models are next door."""

from collections.abc import Iterator
from typing import Any

from exhibits.base import REPLACE, Exhibit, Law, geometric_law, pushed
from exhibits.of_diffprivlib_tools import model_exhibits, tool_exhibits
from privet import privacy


def diffprivlib_exhibits() -> Iterator[Exhibit]:
    from diffprivlib import mechanisms as m

    one, small = privacy.PureLoss(1.0), privacy.ApproxLoss(1.0, 1e-5)
    unit, inner = {"epsilon": 1.0, "sensitivity": 1.0}, {"lower": 0.0, "upper": 2.0}
    for mechanism, claim in (
        (m.Laplace(**unit), one),
        (m.LaplaceTruncated(**unit, **inner), one),
        (m.LaplaceFolded(**unit, **inner), one),
        (m.LaplaceBoundedDomain(**unit, **inner), one),
        (m.LaplaceBoundedNoise(**unit, delta=0.01), privacy.ApproxLoss(1.0, 0.01)),
        (m.Snapping(**unit, lower=-8.0, upper=8.0), one),
        (m.Staircase(**unit), one),
        (m.Uniform(delta=0.25, sensitivity=1.0), privacy.ApproxLoss(0.0, 0.25)),
        (m.Gaussian(**unit, delta=1e-5), small),
        (m.GaussianAnalytic(**unit, delta=1e-5), small),
    ):
        yield Exhibit(type(mechanism).__name__, mechanism.randomise, claim, [(0.0, 1.0)], "randomise(0.0 or 1.0)")
    for mechanism, claim in (
        (m.Geometric(epsilon=1.0), one),
        (m.GeometricTruncated(epsilon=1.0, lower=0, upper=5), one),
        (m.GeometricFolded(epsilon=1.0, lower=0, upper=5), one),
        (m.GaussianDiscrete(epsilon=1.0, delta=1e-5), small),
    ):
        yield Exhibit(type(mechanism).__name__, mechanism.randomise, claim, [(0, 1)], "randomise(0 or 1)")
    yield _large_geometric(m.Geometric(epsilon=1.0))
    binary = m.Binary(epsilon=1.0, value0="no", value1="yes")
    yield Exhibit("Binary", binary.randomise, privacy.PureLoss(1.0, unit=REPLACE), [("no", "yes")], "randomise(label)")
    scores = [([1.0] + [0.0] * 19, [0.0] + [1.0] * 19)]
    for kind in (m.Exponential, m.PermuteAndFlip):
        yield Exhibit(
            kind.__name__,
            lambda utility, kind=kind: kind(epsilon=1.0, sensitivity=1.0, utility=list(utility)).randomise(),
            one,
            scores,
            "randomise(), 20 candidates",
        )
    yield from tool_exhibits()
    yield from model_exhibits()


def _large_geometric(mechanism: Any) -> Exhibit:
    base, noise = 2**54, geometric_law(1.0, 60)

    def law(value: int) -> Law:
        return pushed(noise, lambda k: min(40, max(-40, int(float(value) + k) - base)))

    return Exhibit(
        "Geometric, large integer",
        lambda value: mechanism.randomise(value) - base,
        privacy.PureLoss(1.0),
        [(base + 2, base + 3)],
        "randomise(2**54 + 2 or 2**54 + 3)",
        laws=lambda: (law(base + 2), law(base + 3)),
        note="integers are added as doubles: beyond 2^53 the sum is rounded, here to multiples of 4",
    )
