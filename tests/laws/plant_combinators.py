"""Bugs planted on purpose in the combinators: sampling, groups, parallel blocks, selection, units."""

import math
from dataclasses import replace

from privet import accounting, privacy
from privet._validate import set_frozen
from privet.accounting.pld import engine
from privet.accounting.pld.waves import BandProfile
from privet.privacy import (
    PrivacyLoss,
    composed as composed_module,
    fixed_sampled as fixed_module,
    parallel as parallel_module,
)
from privet.privacy.binary import binary_variable
from privet.privacy.poisson_sampled import SampledVariable
from privet.testing.laws.tightness import sampled_gaussian
from tests.laws.plant import BUGS, REPLACE, bug, laplace

__all__ = ["BUGS"]


@bug("check_sampling_identity", "q = 0 leaves a part behind", laplace)
def _(monkeypatch):
    monkeypatch.setattr(privacy.PoissonSampled, "parts", lambda self: ((self, 1),))


@bug("check_sampling_once_differs", "one sample spread over the releases", laplace)
def _(monkeypatch):
    def parts(self):
        inner = self.of.parts()
        if len(inner) == 1 and inner[0][1] == 1:
            return ((self, 1),)
        return tuple((privacy.PoissonSampled(part, self.q), n) for part, n in inner)

    monkeypatch.setattr(privacy.PoissonSampled, "parts", parts)


@bug("check_nested_sampling_multiplies", "the smaller rate wins", laplace)
def _(monkeypatch):
    def keep_smaller(self):
        nested = isinstance(self.of, privacy.PoissonSampled)
        of, q = (self.of.of, min(self.of.q, self.q)) if nested else (self.of, self.q)
        set_frozen(self, of=of, q=q, unit=of.unit)

    monkeypatch.setattr(privacy.PoissonSampled, "__post_init__", keep_smaller)


@bug("check_poisson_amplification", "q squared", laplace)
def _(monkeypatch):
    def variable(self, direction):
        forward = SampledVariable(self.of.variable("remove"), self.q**2)
        return forward if direction == "remove" else forward.reversed()

    monkeypatch.setattr(privacy.PoissonSampled, "variable", variable)


@bug("check_fixed_amplification", "q squared", lambda: (privacy.KRRLoss(3, 1.0),))
def _(monkeypatch):
    monkeypatch.setattr(privacy.FixedSampled, "q", property(lambda self: (self.m / self.n) ** 2))


def _skewed() -> tuple[PrivacyLoss]:
    return (privacy.FinitePairLoss((0.6, 0.3, 0.1), (0.2, 0.3, 0.5), unit=REPLACE),)


@bug("check_fixed_amplification", "only the first direction of a skewed pair", _skewed)
def _(monkeypatch):
    def variable(self, direction):
        return self._forward if direction == "remove" else self._forward.reversed()

    monkeypatch.setattr(privacy.FinitePairLoss, "variable", variable)
    monkeypatch.setattr(fixed_module, "_both_ways", lambda loss: loss.variable("remove"))


@bug("check_fixed_needs_replace", "the relation is not looked at", laplace)
def _(monkeypatch):
    monkeypatch.setattr(privacy.FixedSampled, "__post_init__", lambda self: set_frozen(self, unit=self.of.unit))


@bug("check_group_of_one", "a group of k counts k + 1", laplace)
def _(monkeypatch):
    monkeypatch.setattr(privacy.Grouped, "pure", lambda self: (self.size + 1) * self.of.pure())


@bug("check_groups_cost_more", "delta does not grow with the group", lambda: (privacy.ApproxLoss(0.5, 1e-6),))
def _(monkeypatch):
    monkeypatch.setattr(
        privacy.Grouped,
        "approximate",
        lambda self: privacy.Approximate(self.size * self.of.approximate().epsilon, self.of.approximate().delta),
    )


@bug("check_groups_cost_more", "the pair of a single record", lambda: (privacy.KRRLoss(3, 0.5),))
def _(monkeypatch):
    monkeypatch.setattr(privacy.Grouped, "variable", lambda self, d: binary_variable(self.of.pure() / self.size))


@bug("check_mixed_units_raise", "the first unit wins", laplace)
def _(monkeypatch):
    monkeypatch.setattr(composed_module, "same_unit", lambda units: units[0])


@bug("check_parallel_needs_fixed_blocks", "moving records forgotten", lambda: (privacy.KRRLoss(3, 0.5),))
def _(monkeypatch):
    real = privacy.Parallel.__init__
    monkeypatch.setattr(
        privacy.Parallel, "__init__", lambda self, blocks, **options: real(self, blocks, fixed_blocks=True)
    )


@bug("check_parallel_is_the_worst_block", "min instead of max over blocks", laplace)
def _(monkeypatch):
    monkeypatch.setattr(privacy.Parallel, "pure", lambda self: min(block.pure() for block in self.blocks))


@bug("check_parallel_is_the_worst_block", "the first block wins", laplace)
def _(monkeypatch):
    monkeypatch.setattr(parallel_module, "variable_of_envelope", lambda variables: variables[0])


@bug("check_selection_costs_more", "a free choice", laplace)
def _(monkeypatch):
    monkeypatch.setattr(privacy.Selected, "pure", lambda self: self.of.pure())


# --- tightness over the region of small sampling rates -------------------------------------------------------


def small_rate():
    return sampled_gaussian(5e-4, 1.0, 6000), 1e-6


def _newton_leaves_its_bracket(self, delta):
    """The search that was: a step beyond the bracket is set back to its end, and the two ends alternate."""
    bad, good = self.floor, self.top
    at = min(max(self.law.guess, bad), good)
    for _ in range(60):
        value, slope = self._at(at)
        bad, good = (max(bad, at), good) if value > delta else (bad, min(good, at))
        excess = value - self.constant
        move = excess / slope * math.log(excess / (delta - self.constant)) if slope > 0.0 and excess > 0.0 else 0.0
        at = max(at + move if move != 0.0 and at + move <= good else 0.5 * (bad + good), bad)
    return self._tried(at, delta)


def _plant_the_cycle(monkeypatch):
    monkeypatch.setattr(BandProfile, "epsilon", _newton_leaves_its_bracket)
    # the other way of composing would mend what the first one spoils
    monkeypatch.setattr(engine._Search, "by_jumps", lambda self, share: self.start)


@bug("check_narrow", "a root finder that cycles", small_rate)
def _(monkeypatch):
    _plant_the_cycle(monkeypatch)


@bug("check_inverse", "a root finder that cycles", small_rate)
def _(monkeypatch):
    _plant_the_cycle(monkeypatch)


def _plant_another_target(monkeypatch, factor):
    real = accounting.Tightest._epsilon
    monkeypatch.setattr(accounting.Tightest, "_epsilon", lambda self, loss, delta: real(self, loss, factor * delta))


for _name, _factor in (("ten times", 10.0), ("2% more than", 1.02), ("2% less than", 0.98), ("half of", 0.5)):
    bug("check_inverse", f"epsilon promised for {_name} delta", small_rate)(
        lambda monkeypatch, factor=_factor: _plant_another_target(monkeypatch, factor)
    )


@bug("check_inverse", "a delta that is 2% too small", small_rate)
def _(monkeypatch):
    real = accounting.Tightest._delta

    def scaled(self, loss, epsilon):
        found = real(self, loss, epsilon)
        return replace(found, lower=0.98 * found.lower, upper=0.98 * found.upper)

    monkeypatch.setattr(accounting.Tightest, "_delta", scaled)


@bug("check_inverse", "a delta of one", small_rate)
def _(monkeypatch):
    monkeypatch.setattr(
        accounting.Tightest, "_delta", lambda self, loss, epsilon: accounting.Bound(0.0, 1.0, "none", loss.unit)
    )


@bug(
    "check_monotone",
    "a root finder that cycles",
    lambda: ([sampled_gaussian(2.5e-4, 1.2, steps) for steps in (1000, 3000, 4000)], 1e-8),
)
def _(monkeypatch):
    _plant_the_cycle(monkeypatch)


def more_steps():
    return [sampled_gaussian(2.5e-4, 1.2, steps) for steps in (1000, 3000, 4000)], 1e-8


def higher_rates():
    return [sampled_gaussian(rate, 1.2, 3000) for rate in (2e-4, 2.5e-4, 3e-4)], 1e-8


def less_noise():
    return [sampled_gaussian(2.5e-4, z, 3000) for z in (1.3, 1.2, 1.1)], 1e-8


def _plant_steps(monkeypatch, counted):
    real = accounting.PLD._epsilon

    def miscounted(self, loss, delta):
        return real(self, privacy.Composed([privacy.Repeated(part, counted(n)) for part, n in loss.parts()]), delta)

    monkeypatch.setattr(accounting.PLD, "_epsilon", miscounted)


@bug("check_monotone", "steps beyond 3,000 are lost", more_steps)
def _(monkeypatch):
    _plant_steps(monkeypatch, lambda n: n if n <= 3000 else n - 3000)


@bug("check_monotone", "the number of steps is ignored", more_steps)
def _(monkeypatch):
    _plant_steps(monkeypatch, lambda n: 1000)


def _plant_rate(monkeypatch, seen):
    real = privacy.PoissonSampled.variable

    def misread(self, direction):
        return (
            real(self, direction) if self.q == 1.0 else real(privacy.PoissonSampled(self.of, seen(self.q)), direction)
        )

    monkeypatch.setattr(privacy.PoissonSampled, "variable", misread)


@bug("check_monotone", "the rate is read upside down", higher_rates)
def _(monkeypatch):
    _plant_rate(monkeypatch, lambda q: 6e-8 / q)


@bug("check_monotone", "the rate is ignored", higher_rates)
def _(monkeypatch):
    _plant_rate(monkeypatch, lambda q: 2.5e-4)


@bug("check_monotone", "the noise is read upside down", less_noise)
def _(monkeypatch):
    monkeypatch.setattr(privacy.GaussianLoss, "gaussian", lambda self: self.noise_multiplier)


@bug("check_monotone", "the noise is ignored", less_noise)
def _(monkeypatch):
    monkeypatch.setattr(privacy.GaussianLoss, "gaussian", lambda self: 0.8)
