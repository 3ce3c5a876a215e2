"""Laws of combinators: sampling, groups, parallel blocks, selection, units."""

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np

from privet import privacy
from privet.accounting import Basic
from privet.errors import MixedUnits, PrivetError
from privet.privacy import DIRECTIONS, PrivacyLoss, Unit
from privet.privacy.families.sampling import coin_of
from privet.testing.ask import DELTA, epsilon_of, variable_of
from privet.testing.law import law_of

# Where curves are compared: any places show a formula that is another one.
_EPSILONS = np.array([0.0, 0.05, 0.2, 0.5, 1.0])
_RATES = (0.01, 0.3, 0.9)


def _refuses(build: Callable[[], object], law: str) -> None:
    try:
        built = build()
    except MixedUnits:
        return
    except PrivetError as error:
        raise AssertionError(f"{law}: refused with {type(error).__name__} instead of MixedUnits") from error
    raise AssertionError(f"{law}: accepted, as {built!r}")


def _poisson(loss: PrivacyLoss, q: float) -> PrivacyLoss:
    """A Poisson sample of units, be they records or persons."""
    return privacy.PoissonSampled(loss, q, coin=coin_of(loss.unit))


def _fixed(loss: PrivacyLoss, m: int, n: int) -> PrivacyLoss:
    """A sample of m of n units."""
    return privacy.FixedSampled(loss, m, n, coin=coin_of(loss.unit))


def _can_be_poisson_sampled(loss: PrivacyLoss) -> bool:
    return loss.unit.relation != "replace" and loss.unit.group_size == 1


def _can_be_fixed_sampled(loss: PrivacyLoss) -> bool:
    return loss.unit.relation == "replace" and loss.unit.group_size == 1


@law_of("loss")
def check_sampling_identity(loss: PrivacyLoss) -> None:
    """Sampling everyone (q = 1, m = n) is the price itself, sampling nobody (q = 0, m = 0) is free.

    >>> check_sampling_identity(privacy.LaplaceLoss(2.0))
    """
    free = privacy.Repeated(loss, 0)
    if _can_be_poisson_sampled(loss):
        assert _poisson(loss, q=1.0) == loss, f"q = 1 is not the identity on {loss!r}"
        nobody: PrivacyLoss = _poisson(loss, q=0.0)
    elif _can_be_fixed_sampled(loss):
        assert _fixed(loss, m=7, n=7) == loss, f"m = n is not the identity on {loss!r}"
        nobody = _fixed(loss, m=0, n=7)
    else:
        return
    assert nobody.parts() == (), f"sampling nobody from {loss!r} leaves the parts {nobody.parts()}"
    assert nobody == free, f"sampling nobody from {loss!r} is not the free price"
    answers = (nobody.pure(), *nobody.approximate(), *nobody.zcdp(), nobody.gdp(), float(nobody.profile(0.0)))
    assert answers == (0.0,) * 7, f"sampling nobody from {loss!r} costs {answers}"
    assert not np.any(nobody.rdp(np.array([1.5, 2.0, 32.0])).values), f"sampling nobody from {loss!r} has a Rényi cost"


@law_of("loss")
def check_sampling_once_differs(loss: PrivacyLoss, times: int = 2) -> None:
    """Sampling once and releasing k times is not sampling k times: the values differ, and so do their pairs.

    >>> check_sampling_once_differs(privacy.LaplaceLoss(2.0))
    """
    if not _can_be_poisson_sampled(loss) or not loss.parts() or loss.pure() == 0.0:
        return
    once = _poisson(privacy.Repeated(loss, times), q=0.5)
    often = privacy.Repeated(_poisson(loss, q=0.5), times)
    assert once != often, f"sampling once and {times} times are one price for {loss!r}"
    assert sum(count for _, count in once.parts()) == 1, f"one sample of {times} releases has parts {once.parts()}"
    pure = loss.pure()
    if math.isfinite(pure):
        expected = math.log1p(0.5 * math.expm1(times * pure)), times * math.log1p(0.5 * math.expm1(pure))
        found = once.pure(), often.pure()
        assert np.allclose(found, expected, rtol=1e-9), f"sampling of {loss!r}: pure {found}, expected {expected}"


@law_of("loss")
def check_nested_sampling_multiplies(loss: PrivacyLoss, first: float = 0.5, second: float = 0.25) -> None:
    """Nested independent Poisson sampling is one sampling at the product of the rates.

    >>> check_nested_sampling_multiplies(privacy.LaplaceLoss(2.0))
    """
    if not _can_be_poisson_sampled(loss):
        return
    nested = _poisson(_poisson(loss, first), second)
    flat = _poisson(loss, first * second)
    assert nested == flat, f"nested sampling of {loss!r} at {first} and {second} is not sampling at {first * second}"
    if variable_of(loss, "remove") is not None:
        chain = first * second * loss.profile(np.log1p(np.expm1(_EPSILONS) / (first * second)), "remove")
        gap = float(np.max(np.abs(nested.profile(_EPSILONS, "remove") - chain)))
        assert gap <= 1e-9, f"nested sampling of {loss!r}: the profile is off by {gap}"


@law_of("loss")
def check_poisson_amplification(loss: PrivacyLoss) -> None:
    """Poisson sampling: remove q delta(ln(1 + (g - 1)/q)), add c delta_add(ln(g q/c)) with c = 1 - g (1 - q).

    >>> check_poisson_amplification(privacy.LaplaceLoss(2.0))
    """
    if not _can_be_poisson_sampled(loss) or variable_of(loss, "add") is None:
        return
    gamma = np.exp(_EPSILONS)
    for q in _RATES:
        sampled = _poisson(loss, q)
        remove = q * loss.profile(np.log1p((gamma - 1.0) / q), "remove")
        c = np.maximum(1.0 - gamma * (1.0 - q), 0.0)
        safe = np.where(c > 0.0, c, 1.0)
        add = np.where(c > 0.0, c * loss.profile(np.log(gamma * q / safe), "add"), 0.0)
        for name, expected in zip(DIRECTIONS, (remove, add), strict=True):
            gap = np.abs(sampled.profile(_EPSILONS, name) - expected).max()
            assert gap <= 1e-9, f"Poisson sampling of {loss!r} at {q}, {name}: off by {gap}"
        epsilon, delta = loss.approximate()
        if epsilon < 500.0:
            expected_epsilon = math.log1p(q * math.expm1(epsilon))
            found = sampled.approximate()
            same = np.allclose(found, (expected_epsilon, q * delta), rtol=1e-9, atol=0.0)
            assert same, f"Poisson sampling of {loss!r} at {q}: {found}, expected {(expected_epsilon, q * delta)}"


@law_of("loss")
def check_fixed_amplification(loss: PrivacyLoss) -> None:
    """m of n without replacement: q delta(ln(1 + (g - 1)/q)) for g >= 1, with the larger delta of both directions.

    Under replace the neighbours may be named in either order, so a base pair that is not its own mirror image counts with
    its costlier direction.

    >>> check_fixed_amplification(privacy.KRRLoss(3, 1.0))
    """
    if not _can_be_fixed_sampled(loss) or variable_of(loss, "add") is None:
        return
    for m in (1, 3, 9):
        q = m / 10
        sampled = _fixed(loss, m, 10)
        expected = q * loss.profile(np.log1p(np.expm1(_EPSILONS) / q))
        gap = float(np.max(expected - sampled.profile(_EPSILONS)))
        assert gap <= 1e-9, (
            f"sampling {m} of 10 from {loss!r}: the profile is {gap} below the base's costlier direction"
        )
        if all(part.exact for part, _ in loss.parts()):
            assert gap >= -1e-9, f"sampling {m} of 10 from {loss!r}: the profile is {-gap} above the amplified one"


@law_of("loss")
def check_group_of_one(loss: PrivacyLoss) -> None:
    """A group of one is the price itself.

    >>> check_group_of_one(privacy.LaplaceLoss(2.0))
    """
    group = privacy.Grouped(loss, 1)
    assert group.unit == loss.unit, f"a group of one changes the unit of {loss!r} to {group.unit}"
    orders = np.array([1.5, 2.0, 16.0])
    for question in ("pure", "approximate", "zcdp", "gdp", "gaussian"):
        found, expected = getattr(group, question)(), getattr(loss, question)()
        assert found == expected, f"a group of one: {question}() of {loss!r} is {expected}, grouped {found}"
    assert np.array_equal(group.rdp(orders).values, loss.rdp(orders).values), f"a group of one: Rényi curve of {loss!r}"
    assert group.rdp(orders).delta0 == loss.rdp(orders).delta0, f"a group of one: delta0 of {loss!r} is lost"
    assert group == loss, f"a group of one is not equal to {loss!r}"


@law_of("loss")
def check_groups_cost_more(loss: PrivacyLoss, sizes: tuple[int, ...] = (1, 2, 3)) -> None:
    """A larger group never costs less; pure scales with the size; (eps, delta) as e^{k eps} - 1 over e^eps - 1.

    >>> check_groups_cost_more(privacy.LaplaceLoss(2.0))
    """
    groups = [privacy.Grouped(loss, size) for size in sizes]
    orders = np.array([1.5, 2.0, 16.0])
    for small, large in itertools.pairwise(groups):
        for question in ("pure", "gdp"):
            one, other = getattr(small, question)(), getattr(large, question)()
            assert other >= one, f"{question}() of {loss!r} falls from {one} to {other} in a larger group"
        renyi = [group.rdp(orders) for group in (small, large)]
        attained = all(part.exact for part, _ in loss.parts())  # a loose bound may fall where a divergence cannot
        if attained and renyi[0].delta0 == renyi[1].delta0:
            assert np.all(renyi[1].values >= renyi[0].values * (1 - 1e-9)), (
                f"Rényi curve of {loss!r} falls in a larger group"
            )
        if variable_of(small, "remove") is not None:
            gap = float(np.max(small.profile(_EPSILONS) - large.profile(_EPSILONS)))
            assert gap <= 1e-9, f"the profile of {loss!r} falls by {gap} in a larger group"
    epsilon, delta = loss.approximate()
    for size, group in zip(sizes, groups, strict=True):
        assert group.unit.group_size == loss.unit.group_size * size, f"a group of {size} has the unit {group.unit}"
        if math.isfinite(epsilon):
            growth = math.fsum(math.exp(min(700.0, j * epsilon)) for j in range(size))  # e^700 delta > 1 for all delta
            found, expected = group.approximate(), (size * epsilon, min(1.0, delta * growth))
            assert np.allclose(found, expected, rtol=1e-9, atol=0.0), (
                f"a group of {size} of {loss!r}: {found}, not {expected}"
            )


@law_of("loss")
def check_mixed_units_raise(loss: PrivacyLoss) -> None:
    """Prices about different neighbours never meet in silence.

    >>> check_mixed_units_raise(privacy.LaplaceLoss(2.0))
    """
    relation = loss.unit.relation
    others = [
        Unit("replace" if relation != "replace" else "add_remove", loss.unit.group_size, loss.unit.person),
        Unit(relation, loss.unit.group_size + 1, loss.unit.person),
        Unit(relation, loss.unit.group_size, "another column"),
    ]
    for unit in others:
        pair = (loss, privacy.PureLoss(0.5, unit=unit))
        _refuses(partial(privacy.Composed, pair), f"Composed of {loss.unit} and {unit}")
        _refuses(partial(privacy.Composed, pair[::-1]), f"Composed of {unit} and {loss.unit}")
        _refuses(partial(privacy.Parallel, pair, fixed_blocks=True), f"Parallel of {loss.unit} and {unit}")
    combined = (privacy.Composed((loss, loss)), privacy.Repeated(loss, 2), privacy.Selected(loss, 2.0))
    for item in combined:
        assert item.unit == loss.unit, f"{type(item).__name__} changes the unit {loss.unit} to {item.unit}"


@law_of("loss")
def check_parallel_needs_fixed_blocks(loss: PrivacyLoss) -> None:
    """Where one change can touch two blocks, `Parallel` wants to hear that it cannot.

    >>> check_parallel_needs_fixed_blocks(privacy.KRRLoss(3, 1.0))
    """
    if loss.unit.relation == "replace" or loss.unit.group_size > 1:
        _refuses(lambda: privacy.Parallel((loss, loss)), f"Parallel under {loss.unit} without fixed_blocks")
        assert privacy.Parallel((loss,), fixed_blocks=True).unit == loss.unit
    else:
        assert privacy.Parallel((loss,)).unit == loss.unit


@law_of("loss")
def check_parallel_is_the_worst_block(loss: PrivacyLoss) -> None:
    """Parallel blocks cost at least each block; equal blocks cost what one does.

    >>> check_parallel_is_the_worst_block(privacy.LaplaceLoss(2.0))
    """
    assert privacy.Parallel((loss, loss), fixed_blocks=True) == loss, f"two equal blocks of {loss!r} are not one"
    other = privacy.PureLoss(0.3, unit=loss.unit)
    both = privacy.Parallel((loss, other), fixed_blocks=True)
    orders = np.array([1.5, 2.0, 16.0])
    for block in (loss, other):
        law = f"parallel with {loss!r}: cheaper than the block {block!r}"
        assert both.pure() >= block.pure(), law
        assert both.gdp() >= block.gdp(), law
        assert all(x >= y for x, y in zip(both.approximate(), block.approximate(), strict=True)), law
        assert np.all(both.rdp(orders).values >= block.rdp(orders).values), law
        if variable_of(loss, "remove") is not None:
            for direction in DIRECTIONS:
                gap = block.profile(_EPSILONS, direction) - both.profile(_EPSILONS, direction)
                assert float(np.max(gap)) <= 1e-9, f"{law}, {direction}"


@law_of("loss")
def check_fixed_needs_replace(loss: PrivacyLoss) -> None:
    """Fixed-size sampling is priced under replace only, Poisson sampling never; both for single records only, and for
    persons only where the coin is said to be a person's.

    >>> check_fixed_needs_replace(privacy.LaplaceLoss(2.0))
    """
    if not _can_be_fixed_sampled(loss):
        _refuses(lambda: _fixed(loss, 1, 10), f"FixedSampled under {loss.unit}")
    if not _can_be_poisson_sampled(loss):
        _refuses(lambda: _poisson(loss, 0.1), f"PoissonSampled under {loss.unit}")
    if loss.unit.person is not None:
        by_row: dict[str, Callable[[], PrivacyLoss]] = {
            "PoissonSampled": lambda: privacy.PoissonSampled(loss, 0.1),
            "TruncatedPoissonSampled": lambda: privacy.TruncatedPoissonSampled(loss, 0.1, 1, 2),
            "RandomAllocation": lambda: privacy.RandomAllocation(loss, 2),
            "FixedSampled": lambda: privacy.FixedSampled(loss, 1, 2),
            "WithReplacementSampled": lambda: privacy.WithReplacementSampled(loss, 1, 2),
        }
        for name, build in by_row.items():
            _refuses(build, f"{name} with a coin for each record, {loss.unit}")


@law_of("loss")
def check_selection_costs_more(loss: PrivacyLoss) -> None:
    """The best of several runs costs at least one run, and at most (2 + eta) times the pure price.

    >>> check_selection_costs_more(privacy.LaplaceLoss(2.0))
    """
    orders = np.array([1.5, 2.0, 16.0])
    for eta in (0.0, 1.0):
        best = privacy.Selected(loss, mean=5.0, eta=eta)
        assert best.unit == loss.unit, f"Selected changes the unit of {loss!r}"
        expected = (2.0 + eta) * loss.pure()
        assert np.isclose(best.pure(), expected, rtol=1e-12, atol=0.0), (
            f"selection of {loss!r}, eta {eta}: pure {best.pure()}, expected {expected}"
        )
        if eta == 0.0:
            continue
        curve, base = best.rdp(orders), loss.rdp(orders)
        if base.delta0 == curve.delta0:
            cheaper = curve.values < base.values * (1.0 - 1e-9)
            assert not cheaper.any(), f"selection of {loss!r}, eta {eta}: cheaper than one run"
        one, many = epsilon_of(Basic(), loss, DELTA), epsilon_of(Basic(), best, DELTA)
        if one is not None and many is not None and loss.approximate().delta == 0.0:
            assert many.upper >= one.upper, f"selection of {loss!r}, eta {eta}: cheaper than one run"
