"""Bugs planted on purpose in groups, in fields that a pair forgets, in stated errors and in refusals."""

import dataclasses
import math

import numpy as np

from privet import privacy
from privet._validate import above, above_or_infinite, finite
from privet.errors import InvalidParameter
from privet.privacy import AtomicVariable
from privet.privacy.exponential import BoundedRangeVariable
from privet.privacy.families.integer import shifted_geometric
from privet.privacy.families.normal import NormalVariable
from privet.privacy.families.normal_loss import NormalLoss
from privet.privacy.laplace import LaplaceVariable
from privet.privacy.loss import PrivacyLoss
from privet.privacy.poisson_sampled import SampledVariable
from tests.laws.plant_combinators import BUGS, bug, laplace

__all__ = ["BUGS"]

# every kind whose groups have a closed form, with a group that is wrong by a factor
GROUPED = {
    "Laplace": (privacy.LaplaceLoss(2.0), lambda loss, k: privacy.LaplaceLoss(loss.scale / k, unit=loss.unit)),
    "Gaussian": (
        privacy.GaussianLoss(2.0),
        lambda loss, k: privacy.GaussianLoss(loss.noise_multiplier / k, unit=loss.unit),
    ),
    "GDP": (privacy.GdpLoss(0.5), lambda loss, k: privacy.GdpLoss(loss.mu * k, unit=loss.unit)),
    "zCDP": (privacy.ZcdpLoss(0.1), lambda loss, k: privacy.ZcdpLoss(loss.rho * k * k, unit=loss.unit)),
    "pure": (privacy.PureLoss(0.5), lambda loss, k: privacy.PureLoss(loss.epsilon * k, unit=loss.unit)),
    "discrete Laplace": (
        privacy.DiscreteLaplaceLoss(2.0),
        lambda loss, k: privacy.DiscreteLaplaceLoss(loss.scale / k, loss.sensitivity, unit=loss.unit),
    ),
    "geometric": (
        privacy.GeometricLoss(0.5),
        lambda loss, k: privacy.GeometricLoss(loss.ratio**k, loss.sensitivity, unit=loss.unit),
    ),
    "discrete Gaussian": (
        privacy.DiscreteGaussianLoss(2.0),
        lambda loss, k: privacy.DiscreteGaussianLoss(loss.sigma / k, loss.sensitivity, unit=loss.unit),
    ),
    "Skellam": (
        privacy.SkellamLoss(40.0, sensitivity=2),
        lambda loss, k: privacy.SkellamLoss(loss.variance, max(1, round(loss.sensitivity * k)), unit=loss.unit),
    ),
    "tree": (
        privacy.TreeAggregationLoss(2.0, steps=9),
        lambda loss, k: privacy.TreeAggregationLoss(loss.noise_multiplier / k, loss.steps, unit=loss.unit),
    ),
    "wide discrete Gaussian": (
        privacy.DiscreteGaussianLoss(3000.0, sensitivity=2000),
        lambda loss, k: privacy.DiscreteGaussianLoss(loss.sigma / k, loss.sensitivity, unit=loss.unit),
    ),
}


def _plant_group(name: str, what: str, wrong) -> None:
    loss, make = GROUPED[name]

    def plant(monkeypatch):
        monkeypatch.setattr(type(loss), "grouped", lambda self, size: make(self, wrong(size)))

    bug("check_groups_scale", f"{name}: {what}", lambda: (loss,))(plant)


for kind in GROUPED:
    _plant_group(kind, "the size is ignored", lambda size: 1)
    _plant_group(kind, "the root of the size", math.sqrt)
    _plant_group(kind, "one record too few", lambda size: size - 0.5)


@bug("check_groups_scale", "the statements know the size, the pair does not", lambda: (privacy.GeometricLoss(0.5),))
def _(monkeypatch):
    monkeypatch.setattr(privacy.GeometricLoss, "variable", lambda self, d: shifted_geometric(-math.log(self.ratio), 1))


@bug("check_to_replace", "the root of two", laplace)
def _(monkeypatch):
    monkeypatch.setattr(
        privacy.LaplaceLoss, "grouped", lambda self, size: privacy.LaplaceLoss(self.scale / math.sqrt(size))
    )


@bug("check_to_replace", "removing only", lambda: (privacy.KRRLoss(3, 0.5, unit=privacy.Unit()),))
def _(monkeypatch):
    monkeypatch.setattr(privacy.Grouped, "pure", lambda self: self.of.pure())


def _forgets(monkeypatch, kind: type[PrivacyLoss], **fixed) -> None:
    real = kind.variable

    def variable(self, direction):
        other = object.__new__(kind)
        other.__dict__.update({field.name: getattr(self, field.name) for field in dataclasses.fields(self)} | fixed)
        return real(other, direction)

    monkeypatch.setattr(kind, "variable", variable)


FORGETFUL = (
    (privacy.DiscreteLaplaceLoss(4.0, sensitivity=3), {"sensitivity": 1}),
    (privacy.GeometricLoss(0.9, sensitivity=4), {"sensitivity": 1}),
    (privacy.DiscreteGaussianLoss(3.0, sensitivity=2), {"sensitivity": 1}),
    (privacy.DiscreteLaplaceLoss(4.0, sensitivity=3), {"scale": 1.0}),
    (privacy.KRRLoss(5, 1.0), {"k": 3}),
    (privacy.ExponentialLoss(1.0, monotonic=True), {"monotonic": False}),
    (privacy.PoissonSampled(privacy.LaplaceLoss(1.0), q=0.2), {"q": 0.5}),
    (privacy.FixedSampled(privacy.LaplaceLoss(1.0, unit=privacy.Unit("replace")), m=1, n=5), {"n": 10}),
    (privacy.SkellamLoss(40.0, sensitivity=3), {"sensitivity": 1}),
    (privacy.SkellamLoss(40.0, sensitivity=3), {"variance": 20.0}),
    (privacy.StaircaseLoss(1.0), {"epsilon": 0.5}),
    (privacy.PoissonSampled(privacy.LaplaceLoss(1.0), q=0.2), {"of": privacy.LaplaceLoss(2.0)}),
)

# kinds that keep their pair: the twin is built of the parts that it remembers
CUT = privacy.TruncatedPoissonSampled(privacy.GaussianLoss(1.0), q=0.1, batch=3, n=20)
MIXED = privacy.MixtureOfGaussiansLoss(1.0, (0.0, 1.0, 4.0), (0.5, 0.3, 0.2))
TREE = privacy.TreeAggregationLoss(2.0, steps=9)
DRAWN = privacy.WithReplacementSampled(privacy.LaplaceLoss(1.0, unit=privacy.Unit("replace")), m=2, n=5)
REBUILT = (
    (DRAWN, "m", lambda x: privacy.WithReplacementSampled(x.of, 2, x.n)),
    (DRAWN, "n", lambda x: privacy.WithReplacementSampled(x.of, x.m, 5)),
    (privacy.FinitePairLoss((0.2, 0.8), (0.5, 0.5)), "p", lambda x: privacy.FinitePairLoss((0.2, 0.8), x.q)),
    (CUT, "batch", lambda x: privacy.TruncatedPoissonSampled(x.of, x.q, 3, x.n)),
    (CUT, "n", lambda x: privacy.TruncatedPoissonSampled(x.of, x.q, x.batch, 20)),
    (CUT, "q", lambda x: privacy.TruncatedPoissonSampled(x.of, 0.1, x.batch, x.n)),
    (MIXED, "sigma", lambda x: privacy.MixtureOfGaussiansLoss(1.0, x.sensitivities, x.probabilities)),
    (MIXED, "sensitivities", lambda x: privacy.MixtureOfGaussiansLoss(x.sigma, (0.0, 1.0, 4.0), x.probabilities)),
    (MIXED, "probabilities", lambda x: privacy.MixtureOfGaussiansLoss(x.sigma, x.sensitivities, (0.5, 0.3, 0.2))),
    (TREE, "steps", lambda x: privacy.TreeAggregationLoss(x.noise_multiplier, 9)),
    (
        privacy.RandomAllocation(privacy.PureLoss(1.0), steps=4),
        "steps",
        lambda x: privacy.RandomAllocation(x.of, 4),
    ),
)


def _plant_rebuilt(monkeypatch, kind, rebuilt) -> None:
    real = kind.variable
    monkeypatch.setattr(kind, "variable", lambda self, direction: real(rebuilt(self), direction))


for example, forgotten, rebuilt_as in REBUILT:
    bug("check_fields_matter", f"{example.kind} forgets {forgotten}", lambda loss=example: (loss,))(
        lambda monkeypatch, loss=example, make=rebuilt_as: _plant_rebuilt(monkeypatch, type(loss), make)
    )

for example, fixed_fields in FORGETFUL:
    bug("check_fields_matter", f"{example.kind} forgets {next(iter(fixed_fields))}", lambda loss=example: (loss,))(
        lambda monkeypatch, loss=example, fixed=fixed_fields: _forgets(monkeypatch, type(loss), **fixed)
    )


# --- stated errors -----------------------------------------------------------------------------------------------


def _heavier(monkeypatch, kind, factor: float) -> None:
    """P-masses of the upper half are off by a relative `factor`, and nobody says so."""
    real = kind.cells

    def cells(self, nodes):
        p, q = real(self, nodes)
        return np.where(np.append(nodes, np.inf) > 0.0, p * (1.0 + factor), p), q

    monkeypatch.setattr(kind, "cells", cells)


for healthy, variable_kind in (
    (privacy.GaussianLoss(2.0), NormalVariable),
    (privacy.LaplaceLoss(2.0), LaplaceVariable),
    (privacy.ExponentialLoss(1.0), BoundedRangeVariable),
    (privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.1), SampledVariable),
):
    bug("check_mass_error", f"{healthy.kind}: masses off by 1e-10", lambda loss=healthy: (loss,))(
        lambda monkeypatch, kind=variable_kind: _heavier(monkeypatch, kind, 1e-10)
    )


@bug("check_mass_error", "P and Q off by the same factor", lambda: (privacy.GaussianLoss(2.0),))
def _(monkeypatch):
    real = NormalVariable.cells
    monkeypatch.setattr(NormalVariable, "cells", lambda self, nodes: tuple(m * (1 + 1e-10) for m in real(self, nodes)))


@bug("check_mass_error", "atoms worse than stated", lambda: (privacy.KRRLoss(3, 1.0),))
def _(monkeypatch):
    real = privacy.KRRLoss.variable

    def variable(self, direction):
        atoms = real(self, direction)
        return AtomicVariable(atoms.losses, atoms.p * (1.0 + 1e-11 * np.array([1.0, 0.0, -1.0])), atoms.q)

    monkeypatch.setattr(privacy.KRRLoss, "variable", variable)


@bug("check_mass_error", "an error of nothing", lambda: (privacy.GaussianLoss(2.0),))
def _(monkeypatch):
    monkeypatch.setattr(NormalVariable, "mass_error", 0.0)


# --- refusals ----------------------------------------------------------------------------------------------------


@bug("check_bad_questions_are_refused", "orders are not looked at", lambda: (privacy.GaussianLoss(2.0),))
def _(monkeypatch):
    real = NormalLoss.rdp
    monkeypatch.setattr(NormalLoss, "rdp", lambda self, a: real(self, np.maximum(np.asarray(a, dtype=float), 1.5)))


@bug("check_bad_questions_are_refused", "any text is a direction", laplace)
def _(monkeypatch):
    monkeypatch.setattr(PrivacyLoss, "profile", lambda self, e, d=None: self.variable(d or "add").delta(e))


def _careless(name, check):
    """A constructor whose check of its parameter is replaced by a careless one."""

    @bug("check_refuses_nonsense", name, laplace)
    def _(monkeypatch):
        monkeypatch.setattr("privet.privacy.laplace.above_or_infinite", check)


def _anything_but_numbers_is_one(name, value, low):
    return above_or_infinite(name, value, low) if isinstance(value, int | float) else 1.0


def _truth_values_are_numbers(name, value, low):
    return above_or_infinite(name, float(value) if isinstance(value, bool) else value, low)


def _without_a_name(name, value, low):
    return above_or_infinite("the parameter", value, low)


def _in_full(name, value, low):
    try:
        return above_or_infinite(name, value, low)
    except InvalidParameter:
        raise InvalidParameter(f"{name} cannot be {value}") from None


def _clamped(name, value, low):
    return max(above_or_infinite(name, value, low), 1e-3)


_careless("nothing is checked", lambda name, value, low: value)
_careless("a raw TypeError", lambda name, value, low: above(name, value + 0.0, low))
_careless("a raw ValueError", lambda name, value, low: above(name, float(value), low))
_careless("NaN is accepted", lambda name, value, low: value if value != value else above_or_infinite(name, value, low))
_careless("truth values are numbers", _truth_values_are_numbers)
_careless("what is no number is one", _anything_but_numbers_is_one)
_careless("the parameter is not named", _without_a_name)
_careless("400 digits are quoted", _in_full)
_careless("small noise is silently larger", _clamped)


@bug("check_refuses_nonsense", "a price below zero", laplace)
def _(monkeypatch):
    monkeypatch.setattr("privet.privacy.laplace.above_or_infinite", lambda name, value, low: finite(name, value))


@bug("check_refuses_nonsense", "'no' is taken for True", lambda: (privacy.ExponentialLoss(1.0, monotonic=True),))
def _(monkeypatch):
    monkeypatch.setattr("privet.privacy.exponential.flag", lambda name, value: bool(value))
