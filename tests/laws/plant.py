"""Bugs planted on purpose, one or more for every law: each is a mistake that some accountant has really made."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from privet import accounting, privacy
from privet.accounting import Bound
from privet.accounting.pld import accountant as pld_accountant, engine, single
from privet.errors import NoGuarantee
from privet.privacy import (
    AtomicVariable,
    LossVariable,
    PrivacyLoss,
    RdpCurve,
    Unit,
    composed as composed_module,
)
from privet.privacy.composed import Total
from privet.privacy.families import sampling as sampling_module
from privet.privacy.families.normal import NormalVariable
from privet.privacy.laplace import LaplaceVariable
from privet.privacy.poisson_sampled import SampledVariable

REPLACE = Unit("replace")


class Bug(NamedTuple):
    """A law, a bug it must see, arguments on which the healthy code obeys, and how to plant the bug."""

    law: str
    name: str
    healthy: Callable[[], tuple[Any, ...]]
    plant: Callable[[pytest.MonkeyPatch], tuple[Any, ...] | None]


BUGS: list[Bug] = []


def bug(law: str, name: str, healthy: Callable[[], tuple[Any, ...]]) -> Callable[[Callable], Callable]:
    """Register the decorated function as the planter of a bug; it may return arguments to use instead."""

    def register(plant: Callable) -> Callable:
        BUGS.append(Bug(law, name, healthy, plant))
        return plant

    return register


def through_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few outcomes are listed and need no grid; a bug of the grid must meet them all the same."""
    monkeypatch.setattr(pld_accountant, "without_grid", lambda parts: None)


def laplace() -> tuple[PrivacyLoss]:
    return (privacy.LaplaceLoss(2.0),)


def sampled() -> PrivacyLoss:
    return privacy.PoissonSampled(privacy.FinitePairLoss((0.9, 0.1), (0.4, 0.6)), q=0.3)


def sampled_thrice() -> PrivacyLoss:
    return privacy.Repeated(sampled(), 3)


# --- values ----------------------------------------------------------------------------------------------------


@bug("check_speaks_for_itself", "a group does not say of what", lambda: (privacy.Grouped(privacy.LaplaceLoss(2.0), 3),))
def _(monkeypatch):
    monkeypatch.setattr(privacy.Grouped, "_words", lambda self: f"grouped (size {self.size})")


@bug("check_speaks_for_itself", "a repr without its number", laplace)
def _(monkeypatch):
    monkeypatch.setattr(privacy.LaplaceLoss, "__repr__", lambda self: "LaplaceLoss(scale=1.0)")


@bug("check_hashable", "hash by identity", laplace)
def _(monkeypatch):
    monkeypatch.setattr(PrivacyLoss, "__hash__", object.__hash__)


@bug("check_json_round_trip", "JSON drops a field", lambda: (privacy.DiscreteLaplaceLoss(2.0, sensitivity=3),))
def _(monkeypatch):
    monkeypatch.setattr(privacy.DiscreteLaplaceLoss, "body", lambda self: {"scale": self.scale})


@bug("check_json_round_trip", "JSON drops the unit", lambda: (privacy.PureLoss(1.0, unit=REPLACE),))
def _(monkeypatch):
    monkeypatch.setattr(Unit, "to_dict", lambda self: {})


@bug("check_singles_are_one_fold", "equal parts are not added up", laplace)
def _(monkeypatch):
    monkeypatch.setattr(composed_module, "merge_parts", lambda parts: tuple(sorted(dict(parts).items(), key=str)))


@bug("check_order_does_not_matter", "parts keep their order", lambda: ([*laplace(), privacy.PureLoss(0.1)],))
def _(monkeypatch):
    monkeypatch.setattr(composed_module, "merge_parts", tuple)


@bug("check_nested_is_flat", "inner counts are forgotten", lambda: ([*laplace(), privacy.PureLoss(0.1)],))
def _(monkeypatch):
    def parts(self):
        return composed_module.merge_parts((part, self.times) for part, _ in self.of.parts())

    monkeypatch.setattr(privacy.Repeated, "parts", parts)


@bug("check_equal_is_interchangeable", "combinators look at how a loss was spelt", lambda: (sampled(),))
def _(monkeypatch):
    monkeypatch.setattr(PrivacyLoss, "simplest", lambda self: self)


# --- accountants -----------------------------------------------------------------------------------------------


def _rdp_without(*, counts: bool, failure: bool) -> Callable[[Total, Any], RdpCurve]:
    def rdp(self, alphas):
        curves = [(part.rdp(alphas), n) for part, n in self.parts()]
        total = sum((curve.values * (n if counts else 1) for curve, n in curves), np.zeros(np.shape(alphas)))
        return RdpCurve(total, 0.0 if not failure else min(1.0, sum(curve.delta0 * n for curve, n in curves)))

    return rdp


@bug("check_counts", "Rényi divergences forget the count", lambda: (*laplace(), accounting.Rdp()))
def _(monkeypatch):
    monkeypatch.setattr(Total, "rdp", _rdp_without(counts=False, failure=True))


@bug("check_counts", "epsilons forget the count", lambda: (*laplace(), accounting.Basic()))
def _(monkeypatch):
    monkeypatch.setattr(
        Total,
        "approximate",
        lambda self: privacy.Approximate(sum(p.approximate().epsilon for p, _ in self.parts()), 0.0),
    )


@bug(
    "check_counts", "the transform is not raised to the count", lambda: (privacy.KRRLoss(3, 1.0), accounting.PLD(0.01))
)
def _(monkeypatch):
    through_the_grid(monkeypatch)
    real = engine.compose
    monkeypatch.setattr(engine, "compose", lambda laws, *rest: real([(law, 1) for law, _ in laws], *rest))


class Boastful(accounting.Basic):
    """Answers about another unit than it was asked about."""

    def epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        return Bound(0.0, 1.0, "boastful", Unit("replace", 7))


class UpsideDown(accounting.Gdp):
    """Takes 1 / delta for delta (a logarithm with the wrong sign)."""

    def epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        return super().epsilon(loss, min(0.5, 1e-12 / delta))


class Halved(accounting.Gdp):
    """Answers about half the epsilon."""

    def delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        return super().delta(loss, epsilon / 2.0)


class Mute(accounting.PLD):
    """Refuses everything."""

    def epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        raise NoGuarantee("no")


@bug("check_bounds", "the unit is made up", lambda: (*laplace(), accounting.Basic()))
def _(monkeypatch):
    return (*laplace(), Boastful())


@bug("check_targets_monotone", "delta upside down", lambda: (privacy.GaussianLoss(2.0), accounting.Gdp()))
def _(monkeypatch):
    return privacy.GaussianLoss(2.0), UpsideDown()


@bug(
    "check_question_round_trip", "epsilon halved on the way back", lambda: (privacy.GaussianLoss(2.0), accounting.Gdp())
)
def _(monkeypatch):
    return privacy.GaussianLoss(2.0), Halved()


@bug("check_answers_where_it_can", "refuses everything", lambda: (*laplace(), accounting.PLD(0.01)))
def _(monkeypatch):
    return (*laplace(), Mute())


@bug("check_never_costs_more", "scale inverted", lambda: (privacy.LaplaceLoss, (1.0, 2.0), accounting.Rdp()))
def _(monkeypatch):
    return (lambda scale: privacy.LaplaceLoss(1.0 / scale)), (1.0, 2.0), accounting.Rdp()


@bug("check_costs_nothing", "no steps cost one", lambda: (privacy.Repeated(*laplace(), 0), accounting.Tightest(0.01)))
def _(monkeypatch):
    monkeypatch.setattr(privacy.Repeated, "parts", lambda self: ((self.of, max(1, self.times)),))


def _composed_law(change: Callable[..., dict[str, Any]]) -> Callable[[pytest.MonkeyPatch], None]:
    """Let `change(law, laws)` name fields of the composed law to overwrite."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        through_the_grid(monkeypatch)
        real = engine.compose

        def compose(laws, *rest):
            law = real(laws, *rest)
            return dataclasses.replace(law, **change(law, laws))

        monkeypatch.setattr(engine, "compose", compose)

    return plant


def pld(loss: PrivacyLoss, *epsilons: float) -> Callable[[], tuple[Any, ...]]:
    return lambda: (loss, accounting.PLD(1e-2), epsilons or (0.0, 0.3, 1.0))


APPROX = privacy.Repeated(privacy.ApproxLoss(0.5, 1e-3), 5)
KRR = privacy.Repeated(privacy.KRRLoss(3, 1.0), 6)
NOISE = privacy.Repeated(privacy.GaussianLoss(1.0), 2)

bug("check_sound", "the tilt is not undone", pld(NOISE, 3.0, 6.0))(
    _composed_law(lambda law, laws: {"tilt": 0.0, "log_scale": 0.0})
)
bug("check_sound", "the tail is cut and not charged", pld(NOISE))(
    _composed_law(
        lambda law, laws: {"weight": np.where(law.losses < 2.0, law.weight, 0.0), "above": 0.0, "wrapped": 0.0}
    )
)
bug("check_sound", "the infinite atom is composed without its count", pld(APPROX))(
    _composed_law(lambda law, laws: {"infinite": max(one.infinite for one, _ in laws)})
)
bug("check_sound", "the infinite atom is dropped", pld(APPROX))(_composed_law(lambda law, laws: {"infinite": 0.0}))
bug("check_sound", "losses are off by one node", pld(KRR))(
    _composed_law(lambda law, laws: {"losses": law.losses - law.step})
)


@bug("check_sound", "one direction only", pld(sampled_thrice()))
def _(monkeypatch):
    through_the_grid(monkeypatch)
    monkeypatch.setattr(engine, "_directions", lambda parts: ("add",))


@bug("check_sound", "the smaller of both directions", pld(sampled_thrice()))
def _(monkeypatch):
    through_the_grid(monkeypatch)
    real = engine.delta_interval

    def smaller(parts, *arguments, **options):
        found = []
        for direction in ("remove", "add"):
            monkeypatch.setattr(engine, "_directions", lambda parts, only=direction: (only,))
            found.append(real(parts, *arguments, **options))
        return min(found, key=lambda interval: interval.upper)

    monkeypatch.setattr(pld_accountant, "delta_interval", smaller)


@bug("check_sound", "a listed composition forgets the count", pld(KRR))
def _(monkeypatch):
    real = single.sum_of_atoms
    monkeypatch.setattr(single, "sum_of_atoms", lambda variables, most: real([(v, 1) for v, _ in variables], most))


@bug("check_sound", "q squared", lambda: (sampled(), accounting.Rdp()))
def _(monkeypatch):
    real = privacy.PoissonSampled.rdp
    monkeypatch.setattr(
        privacy.PoissonSampled, "rdp", lambda self, a: real(privacy.PoissonSampled(self.of, self.q**2), a)
    )
    return sampled(), accounting.Rdp(), (0.0, 0.05, 0.2, 0.3)


@bug("check_sound", "delta0 is lost in RDP", lambda: (APPROX, accounting.Rdp(), (2.0, 2.5)))
def _(monkeypatch):
    monkeypatch.setattr(Total, "rdp", _rdp_without(counts=True, failure=False))


def _case_b() -> tuple[PrivacyLoss]:
    return (privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01), 1000),)


@bug("check_not_below_pld", "the central limit theorem as a bound", _case_b)
def _(monkeypatch):
    monkeypatch.setattr(privacy.PoissonSampled, "gdp", lambda self: self.q * math.sqrt(math.expm1(self.of.gdp() ** 2)))


# --- curves ----------------------------------------------------------------------------------------------------


@bug("check_total_variation", "q squared in one direction", lambda: (sampled(),))
def _(monkeypatch):
    def variable(self, direction):
        q = self.q if direction == "remove" else self.q**2
        inner = SampledVariable(self.of.variable("remove"), q)
        return inner if direction == "remove" else inner.reversed()

    monkeypatch.setattr(privacy.PoissonSampled, "variable", variable)


@bug("check_profile_shape", "a formula used outside its range", laplace)
def _(monkeypatch):
    monkeypatch.setattr(
        LaplaceVariable, "delta", lambda self, e: -np.expm1((np.minimum(e, self.epsilon) - self.epsilon) / 2.0)
    )


@bug("check_profile_is_the_larger", "min instead of max of directions", lambda: (sampled(),))
def _(monkeypatch):
    def profile(self, epsilon, direction=None):
        both = [self.variable(name).delta(epsilon) for name in ("remove", "add")]
        return self.variable(direction).delta(epsilon) if direction else np.minimum(*both)

    monkeypatch.setattr(PrivacyLoss, "profile", profile)


@bug("check_mirror", "directions swapped", lambda: (sampled(),))
def _(monkeypatch):
    monkeypatch.setattr(
        privacy.PoissonSampled, "variable", lambda self, d: SampledVariable(self.of.variable("remove"), self.q)
    )


@bug("check_masses", "the last cell is forgotten", laplace)
def _(monkeypatch):
    real = LaplaceVariable.cells

    def cells(self, nodes):
        p, q = real(self, np.minimum(nodes, 0.25))
        return np.append(p[:-1], 0.0), np.append(q[:-1], 0.0)

    monkeypatch.setattr(LaplaceVariable, "cells", cells)


@bug("check_cells", "P and Q exchanged", laplace)
def _(monkeypatch):
    real = LaplaceVariable.cells
    monkeypatch.setattr(LaplaceVariable, "cells", lambda self, nodes: real(self, nodes)[::-1])


@bug("check_enclosure", "q squared in the closed form", lambda: (sampled(),))
def _(monkeypatch):
    real = sampling_module.enclose_sampled
    monkeypatch.setattr(sampling_module, "enclose_sampled", lambda of, q, epsilon: real(of, q * q, epsilon))


@bug("check_enclosure", "rounding is not charged but made up", laplace)
def _(monkeypatch):
    monkeypatch.setattr(LaplaceVariable, "enclose", lambda self, epsilon: (0.0, 1.0))


@bug("check_span", "a tail on the wrong side of the mean", lambda: (privacy.GaussianLoss(0.7),))
def _(monkeypatch):
    monkeypatch.setattr(NormalVariable, "span", lambda self, tail: (-self.mu, self.mu))


@bug("check_renyi_shape", "the order in the denominator", lambda: (privacy.GaussianLoss(2.0),))
def _(monkeypatch):
    monkeypatch.setattr(privacy.GaussianLoss, "rdp", lambda self, a: RdpCurve(0.125 / np.asarray(a), 0.0))


@bug("check_renyi_covers_pair", "moment order taken for Rényi order", laplace)
def _(monkeypatch):
    real = privacy.LaplaceLoss.rdp
    monkeypatch.setattr(
        privacy.LaplaceLoss, "rdp", lambda self, a: real(self, np.maximum(np.asarray(a) - 1.0, 1.0 + 1e-9))
    )


@bug("check_statements_cover_pair", "sensitivity forgotten", lambda: (privacy.DiscreteLaplaceLoss(4.0, sensitivity=3),))
def _(monkeypatch):
    monkeypatch.setattr(privacy.DiscreteLaplaceLoss, "pure", lambda self: 1.0 / self.scale)


@bug("check_statements_cover_pair", "a better pair that says it is known only as its epsilon", laplace)
def _(monkeypatch):
    monkeypatch.setattr(privacy.LaplaceLoss, "known_only_as", lambda self: self.approximate())


@bug("check_statements_cover_pair", "mu of another mechanism", laplace)
def _(monkeypatch):
    monkeypatch.setattr(privacy.LaplaceLoss, "gdp", lambda self: 0.5 / self.scale)


@bug(
    "check_post_processing",
    "outcomes checked one by one",
    lambda: (privacy.FinitePairLoss((0.25,) * 4, (0.1, 0.2, 0.3, 0.4)),),
)
def _(monkeypatch):
    def pointwise(self, epsilon):
        gamma = np.exp(np.asarray(epsilon, dtype=float))[..., None]
        return np.maximum((self.p - gamma * self.q).max(axis=-1), 0.0)

    monkeypatch.setattr(AtomicVariable, "delta", pointwise)


assert issubclass(SampledVariable, LossVariable)  # the twins above lean on these classes; fail early if they move
