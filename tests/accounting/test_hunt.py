"""A hunt for wrong ends: random prices with a known curve against what is certified, and planted bugs that it must find."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

from privet import privacy
from privet.accounting import PLD, tradeoff
from privet.accounting.pld import accountant as pld_accountant, compose as composing, engine, question
from privet.accounting.pld.law import ComposedLaw
from privet.accounting.pld.plan import Plan
from privet.accounting.pld.rounding import GridLaw
from privet.errors import InternalError
from tests.accounting import hunt
from tests.accounting.hunt import Case, violations
from tests.effort import tries
from tests.firsts import slow
from tests.oracles import brute_force, closed_forms

Patch = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture
def through_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compositions with few outcomes are listed, not rounded to a grid; the grid must be right about them too."""
    monkeypatch.setattr(pld_accountant, "without_grid", lambda parts: None)


def attack(cases: Iterable[Case], source: random.Random, rounds: int = 2) -> list[str]:
    """A few random questions per case; questions far beyond the support are left to the long hunt."""
    found = []
    for case in cases:
        for _ in range(rounds):
            delta, epsilon = source.choice(hunt.DELTAS[:4]), source.choice(hunt.EPSILONS[:3])
            found += violations(case, 1e-2, [delta], [epsilon] if case.truth(epsilon) > 1e-9 else [])
    return found


# --- the hunt -----------------------------------------------------------------------------------------


def test_compositions_of_finite_pairs_are_enclosed():
    source = random.Random(1)
    assert attack(hunt.finite_cases(source, 15), source, 4) == []


@pytest.mark.usefixtures("through_the_grid")
def test_compositions_of_finite_pairs_are_enclosed_on_a_grid():
    source = random.Random(1)
    assert attack(hunt.finite_cases(source, 5), source) == []


def test_closed_forms_are_enclosed():
    source = random.Random(2)
    assert attack(hunt.closed_cases(source, 5), source) == []


def test_discrete_gaussians_are_enclosed():
    source = random.Random(3)
    assert attack(hunt.discrete_gaussian_cases(source, 6), source, 4) == []


def test_mirrored_fixed_size_samples_are_below_the_upper_end():
    source = random.Random(4)
    found = attack(hunt.fixed_size_cases(source, 6, mirrored=True), source)
    assert [line for line in found if "too low" in line] == []


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_two_laplace_releases_are_enclosed(scale: float):
    assert violations(hunt.twice_laplace(scale), 1e-2, (0.1,), (0.0, 0.3)) == []


@pytest.mark.parametrize(("q", "z"), [(0.01, 1.0), (0.3, 0.5)])
def test_one_sampled_gaussian_is_enclosed(q: float, z: float):
    assert violations(hunt.sampled_gaussian_case(q, z, 1), 1e-2, (1e-3, 1e-6), (0.0,)) == []


def test_two_sampled_gaussians_are_enclosed():
    assert violations(hunt.sampled_gaussian_case(0.1, 1.0, 2), 1e-2, (), (0.0, 0.5)) == []


def test_tradeoff_of_finite_pairs_is_never_above_the_best_test():
    source = random.Random(5)
    rates = [Fraction(k, 64) for k in range(1, 64, 6)]
    for _ in range(6):
        pair, times = hunt.random_pair(source), source.randint(1, 3)
        product = brute_force.product_pair([pair] * times)
        claimed = tradeoff(privacy.Repeated(privacy.FinitePairLoss(*pair), times), np.array([float(r) for r in rates]))
        assert (claimed <= hunt.exact_tradeoff(product, rates) + 1e-15).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(tries(4)))
def test_long_hunt(seed: int):
    source = random.Random(1000 + seed)
    found = []
    for cases in (
        hunt.finite_cases(source, 15, wild=seed % 2 == 1),
        hunt.closed_cases(source, 25),
        hunt.discrete_gaussian_cases(source, 8),
    ):
        for case in cases:
            tol, delta = source.choice((1e-2, 1e-3, 1e-4, 1e-5)), source.choice(hunt.DELTAS)
            found += violations(case, tol, [delta], [source.choice(hunt.EPSILONS)])
    assert found == []


@pytest.mark.slow
@pytest.mark.usefixtures("through_the_grid")
@pytest.mark.parametrize("seed", range(tries(2)))
def test_long_hunt_on_a_grid(seed: int):
    """Fine grids for these few outcomes would take minutes and prove nothing more: tol stays coarse."""
    source = random.Random(2000 + seed)
    found = []
    for case in hunt.finite_cases(source, 12, wild=seed % 2 == 1):
        found += violations(
            case, source.choice((1e-2, 1e-3)), [source.choice(hunt.DELTAS[:6])], [source.choice(hunt.EPSILONS)]
        )
    for case in (*hunt.closed_cases(source, 12), *hunt.discrete_gaussian_cases(source, 4)):
        found += violations(case, 1e-3, [source.choice(hunt.DELTAS)], [source.choice(hunt.EPSILONS)])
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize(("q", "z"), [(0.01, 0.8), (0.5, 1.0), (0.001, 2.0)])
def test_long_hunt_by_quadrature(q: float, z: float):
    assert violations(hunt.sampled_gaussian_case(q, z, 2), 1e-4, (1e-6, 1e-12), hunt.EPSILONS) == []


# --- planted bugs -------------------------------------------------------------------------------------


def prey() -> list[Case]:
    """A few cheap cases on which every planted bug below must show."""
    asymmetric = (Fraction(1, 10), Fraction(3, 10), Fraction(6, 10)), (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
    leaky = (Fraction(1, 100), Fraction(49, 100), Fraction(1, 2)), (Fraction(0), Fraction(1, 2), Fraction(1, 2))
    pairs = [(asymmetric, 3), (leaky, 4), ((asymmetric[1], asymmetric[0]), 2)]
    cases = [
        Case(
            f"{times} x pair {index}",
            privacy.Repeated(privacy.FinitePairLoss(*pair), times),
            hunt.curve_of(brute_force.product_pair([pair] * times)),
        )
        for index, (pair, times) in enumerate(pairs)
    ]
    several = privacy.Repeated(privacy.GaussianLoss(3.0), 7)
    gaussian = Case("7 x Gaussian", several, lambda e: closed_forms.gaussian_delta(e, mp.sqrt(7) / 3))
    laplace = Case("Laplace", privacy.LaplaceLoss(3.2), lambda e: closed_forms.laplace_delta(e, 3.2))
    return [*cases, gaussian, laplace]


def is_caught() -> bool:
    """Does the hunt (or the engine's own cross-check) notice?"""
    try:
        return any(violations(case, 1e-2, (0.1, 1e-2, 1e-5), (0.0, 0.2), 1e-13) for case in prey())
    except InternalError:
        return True


def altered(function: Callable[..., object], change: Callable[[object], object]) -> Callable[..., object]:
    return lambda *arguments, **named: change(function(*arguments, **named))


def small_window(function: Callable[..., Plan]) -> Callable[..., Plan]:
    """Cut the window to a small part around the target: much mass then lies outside of it."""

    def cut(plan: Plan) -> Plan:
        width = plan.high - plan.low
        low, high = max(plan.low, plan.target - 0.3 * width), min(plan.high, plan.target + 0.02 * width)
        return dataclasses.replace(plan, low=min(low, high), high=high)

    return altered(function, cut)


def lossy(share: float) -> Callable[[GridLaw], GridLaw]:
    """Masses too small by a share that the law declares as its error."""
    return lambda law: dataclasses.replace(law, mass=law.mass * (1.0 - share), error=share)


def round_up_the_lower_law(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "lower_law", lambda *key: dataclasses.replace(engine.upper_law(*key), infinite=0.0))


def round_down_the_upper_law(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "upper_law", engine.lower_law)


def drop_the_add_direction(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "_directions", lambda parts: ("remove",))


def forget_wrapped_mass(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(question, "make_plan", small_window(question.make_plan))
    patch.setattr(composing, "_tails", altered(composing._tails, lambda tails: (tails[0], 0.0)))


def forget_mass_outside(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(question, "make_plan", small_window(question.make_plan))
    patch.setattr(composing, "_tails", lambda *arguments: (0.0, 0.0))


def keep_the_tilt(patch: pytest.MonkeyPatch) -> None:
    def still_tilted(law: ComposedLaw) -> ComposedLaw:
        return dataclasses.replace(law, tilt=0.0, log_scale=0.0)

    patch.setattr(engine, "compose", altered(engine.compose, still_tilted))


def count_infinity_once(patch: pytest.MonkeyPatch) -> None:
    infinite = composing._infinite
    patch.setattr(composing, "_infinite", lambda laws: infinite([(law, 1) for law, _ in laws]))


def drop_a_count(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "compose", _with_one_less(engine.compose))


def _with_one_less(function: Callable[..., ComposedLaw]) -> Callable[..., ComposedLaw]:
    return lambda laws, step, plan: function([(law, max(1, n - 1)) for law, n in laws], step, plan)


def flip_the_mass_error(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "upper_law", altered(engine.upper_law, lossy(1e-4)))
    flip = altered(engine.compose, lambda law: dataclasses.replace(law, mass_error=-law.mass_error, shift=0.0))
    patch.setattr(engine, "compose", flip)


BUGS: Sequence[Patch] = (
    round_up_the_lower_law,
    round_down_the_upper_law,
    drop_the_add_direction,
    forget_wrapped_mass,
    forget_mass_outside,
    keep_the_tilt,
    count_infinity_once,
    drop_a_count,
    flip_the_mass_error,
)


on_the_grid = pytest.mark.usefixtures("through_the_grid")


@on_the_grid
def test_the_sound_engine_is_not_accused():
    assert not is_caught()


@on_the_grid
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_caught(bug: Patch, monkeypatch: pytest.MonkeyPatch):
    bug(monkeypatch)
    assert is_caught()


def honest_window(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(question, "make_plan", small_window(question.make_plan))


def honest_error(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "upper_law", altered(engine.upper_law, lossy(1e-4)))


@on_the_grid
@pytest.mark.parametrize("change", [slow(honest_window), honest_error], ids=lambda change: change.__name__)
def test_a_bad_plan_or_a_declared_error_only_widens(change: Patch, monkeypatch: pytest.MonkeyPatch):
    change(monkeypatch)
    assert not is_caught()


def test_a_loss_that_rounds_to_nothing_is_not_free():
    assert PLD().delta(privacy.LaplaceLoss(1e6), 0.0).upper >= -math.expm1(-0.5e-6)
