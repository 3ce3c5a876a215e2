"""Gaussian noise on a contribution of random size."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from privet._cache import kept_property
from privet._numerics import Array, plain
from privet._validate import above_or_infinite, at_least, fraction, set_frozen
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy.families.mixture import NOTHING, MixturePairLoss
from privet.privacy.loss import PrivacyLoss, RdpCurve, ZcdpBound
from privet.privacy.serial import register
from privet.privacy.variable import Direction, LossVariable

_WIDEST = 1e50  # standard deviations between two worlds: their squares must stay inside the range of floats


@register
@dataclass(frozen=True, eq=False)
class MixtureOfGaussiansLoss(PrivacyLoss):
    """Normal noise of standard deviation `sigma`, where a record moves the mean by `sensitivities[i]` with
    `probabilities[i]`: by nothing when it was not sampled, by twice the clip norm when it was drawn twice.

    Poisson sampling is the case of two sensitivities; a person with several records, each with a coin of its own, has a
    binomial number of them (`Grouped(PoissonSampled(...), k)` builds that by itself).

    **Guarantee:** the pair of the mixture of N(s, sigma^2) against N(0, sigma^2), exactly, in both directions; vectors of
    random length at most s are dominated by it (proof note). **Sensitivity:** l2, a number for each case; which case
    happens is hidden and independent of everything else.
    **Reference:** Choquette-Choo, Ganesh, Steinke & Thakurta 2024; Charles et al. 2024 for groups.
    **Proof:** docs/proofs/privacy/mixture_of_gaussians.md.

    >>> loss = MixtureOfGaussiansLoss(1.0, (0.0, 1.0), (0.99, 0.01))
    >>> f"{loss.rdp([16.0]).values[0]:.8f}"  # Poisson sampling at rate 0.01
    '3.08785078'
    """

    kind = "mixture_of_gaussians"
    exact = True

    sigma: float
    sensitivities: tuple[float, ...]
    probabilities: tuple[float, ...]

    def _words(self) -> str:
        return f"mixture of gaussians (sigma {plain(self.sigma)}, {len(self.sensitivities)} shifts)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit.relation == "replace":
            raise MixedUnits(
                "a mixture of Gaussians compares a record with none; price it under add_remove or zero_out and convert "
                "the whole with privacy.to_replace"
            )
        sigma = above_or_infinite("sigma", self.sigma, 0.0)
        shifts = _numbers("sensitivities", self.sensitivities)
        weights = _numbers("probabilities", self.probabilities)
        if not shifts or len(shifts) != len(weights):
            raise InvalidParameter(
                f"each sensitivity needs its probability, got {len(shifts)} sensitivities and {len(weights)} probabilities"
            )
        for weight in weights:
            fraction("probabilities", weight)
        if abs(math.fsum(weights) - 1.0) > 1e-9:
            raise InvalidParameter(f"probabilities must sum to 1, got {math.fsum(weights)}")
        if max(abs(shift) for shift in shifts) > _WIDEST * sigma:
            raise InvalidParameter(f"sigma must be at least {1.0 / _WIDEST:g} of the largest sensitivity, got {sigma}")
        merged: dict[float, list[float]] = {}
        for shift, weight in zip(shifts, weights, strict=True):
            if weight > 0.0:
                merged.setdefault(shift, []).append(weight)
        order = sorted(merged)
        totals = tuple(math.fsum(merged[shift]) for shift in order)
        set_frozen(self, sigma=sigma, sensitivities=tuple(order), probabilities=totals)

    @kept_property
    def _pair(self) -> MixturePairLoss:
        if math.isinf(self.sigma):
            return MixturePairLoss(NOTHING, NOTHING)
        total = math.fsum(self.probabilities)
        shifts = tuple(shift / self.sigma for shift in self.sensitivities)
        return MixturePairLoss((shifts, tuple(weight / total for weight in self.probabilities)), NOTHING)

    def pure(self) -> float:
        return self._pair.pure()

    def gdp(self) -> float:
        return self._pair.gdp()

    def gaussian(self) -> float | None:
        return self._pair.gaussian()

    def zcdp(self) -> ZcdpBound:
        return self._pair.zcdp()

    def rdp(self, alphas: Array) -> RdpCurve:
        return self._pair.rdp(alphas)

    def variable(self, direction: Direction) -> LossVariable:
        return self._pair.variable(direction)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(2.0, (0.0, 1.0, 2.0), (0.81, 0.18, 0.01))
        yield cls(1.0, (0.5, 2.0), (0.9, 0.1))
        yield cls(math.inf, (0.0, 1.0), (0.5, 0.5))


def _numbers(name: str, values: object) -> tuple[float, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidParameter(f"{name} must be a sequence of numbers, got {type(values).__name__}")
    return tuple(at_least(name, value, 0.0) for value in values)
