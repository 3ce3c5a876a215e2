"""Laws of curves: privacy profiles, loss variables and Rényi curves."""

import math
from collections.abc import Iterator

import numpy as np

from privet import privacy
from privet._numerics import Array
from privet.privacy import Direction, LossVariable, PrivacyLoss
from privet.privacy.binary import binary_variable
from privet.privacy.families.normal import gaussian_delta
from privet.testing.ask import variable_of
from privet.testing.law import law_of

# Where curves are looked at: any places show a shape that is wrong.
_EPSILONS = np.linspace(-4.0, 4.0, 81)
_ORDERS = 1.0 + np.geomspace(1e-2, 60.0, 25)
# The numbers below leave room for rounding: a sound curve is off by less, a wrong one by far more.
_ROUNDING = 1e-9  # of probabilities that are added up
_SLOPES = 1e-7  # of slopes, and of log-ratios of masses: a quotient of two small differences loses digits
_BOTH_SIDES = 1e-8  # of a curve that was computed in another way
_UNDERFLOW = 1e-250  # masses below have lost their digits, and their ratio is no loss
_GONE = 1e-280  # masses below count as none, where they stand in a product


def _variables(loss: PrivacyLoss) -> Iterator[tuple[Direction, LossVariable]]:
    directions: tuple[Direction, ...] = ("remove", "add")
    for direction in directions:
        variable = variable_of(loss, direction)
        if variable is not None:
            yield direction, variable


def _true_curve(loss: PrivacyLoss) -> bool:
    """True if the Rényi curve is that of a pair of laws, or a sum of such curves, and no mere bound on them."""
    if isinstance(loss, privacy.Composed | privacy.Repeated):
        return all(_true_curve(part) for part, _ in loss.parts())
    return loss.exact


def _nodes(variable: LossVariable, count: int) -> Array:
    """Losses at which the continuous part is cut into cells: evenly over all of it, and at 0."""
    low, high = variable.span(1e-12)
    return np.unique(np.concatenate((np.linspace(low - 0.1, high + 0.1, count), [0.0])))


@law_of("loss")
def check_total_variation(loss: PrivacyLoss) -> None:
    """delta(0) is the total variation distance, so both directions agree about it.

    >>> check_total_variation(privacy.PoissonSampled(privacy.GaussianLoss(1.0), 0.1))
    """
    values = [float(variable.delta(0.0)) for _, variable in _variables(loss)]
    if len(values) == 2:
        assert abs(values[0] - values[1]) <= _ROUNDING, (
            f"total variation of {loss!r}: remove {values[0]}, add {values[1]}"
        )


@law_of("loss")
def check_profile_shape(loss: PrivacyLoss) -> None:
    """The profile is decreasing, convex in gamma = e^epsilon, and lies in [max(0, 1 - gamma), 1].

    >>> check_profile_shape(privacy.LaplaceLoss(2.0))
    """
    gamma = np.exp(_EPSILONS)
    for direction, variable in _variables(loss):
        curve = np.asarray(variable.delta(_EPSILONS))
        law = f"profile of {loss!r}, {direction}"
        assert np.all(np.isfinite(curve)), f"{law}: not finite"
        assert np.all(curve <= 1.0 + 1e-12), f"{law}: above 1"
        assert np.all(curve >= np.maximum(0.0, 1.0 - gamma) - _ROUNDING), f"{law}: below max(0, 1 - gamma)"
        assert np.all(np.diff(curve) <= _ROUNDING), f"{law}: increases"
        slopes = np.diff(curve) / np.diff(gamma)
        assert np.all(np.diff(slopes) >= -_SLOPES), f"{law}: not convex in gamma"
        single = [float(variable.delta(float(e))) for e in _EPSILONS[::16]]
        assert np.allclose(single, curve[::16], atol=1e-13), f"{law}: one value at a time differs from all at once"


@law_of("loss")
def check_profile_is_the_larger(loss: PrivacyLoss) -> None:
    """Without a direction the profile is the larger of both.

    >>> check_profile_is_the_larger(privacy.PoissonSampled(privacy.GaussianLoss(1.0), 0.1))
    """
    found = dict(_variables(loss))
    if len(found) == 2:
        larger = np.maximum(*(variable.delta(_EPSILONS) for variable in found.values()))
        both = loss.profile(_EPSILONS)
        assert np.allclose(both, larger, atol=1e-13), f"the profile of {loss!r} is not the larger of its directions"


@law_of("loss")
def check_mirror(loss: PrivacyLoss) -> None:
    """The directions mirror each other: h_add(gamma) = 1 - gamma + gamma h_remove(1/gamma). So does `reversed()`.

    >>> check_mirror(privacy.PoissonSampled(privacy.GaussianLoss(1.0), 0.1))
    """
    found = dict(_variables(loss))
    gamma = np.exp(_EPSILONS)
    for direction, variable in found.items():
        expected = 1.0 - gamma + gamma * variable.delta(-_EPSILONS)
        others = [("its reverse", variable.reversed())]
        if len(found) == 2:
            others.append(("the other direction", found["add" if direction == "remove" else "remove"]))
        for name, other in others:
            gap = float(np.max(np.abs(other.delta(_EPSILONS) - expected) / (1.0 + gamma)))
            assert gap <= _BOTH_SIDES, f"mirror: {direction} of {loss!r} and {name} differ by {gap}"


@law_of("loss")
def check_masses(loss: PrivacyLoss) -> None:
    """Cells, atoms and the infinite atom are masses that sum to 1, under P and under Q, however they are cut.

    >>> check_masses(privacy.LaplaceLoss(2.0))
    """
    for direction, variable in _variables(loss):
        _, p_atoms, q_atoms = variable.atoms()
        for count in (2, 7, 200):
            cells = variable.cells(_nodes(variable, count))
            sides = (("P", cells[0], p_atoms, variable.p_only), ("Q", cells[1], q_atoms, variable.q_only))
            for name, cell, atoms, only in sides:
                law = f"masses of {loss!r}, {direction}, under {name}"
                assert min(cell.min(), only, *atoms) >= 0.0, f"{law}: negative"
                total = math.fsum([*cell, *atoms, only])
                assert abs(total - 1.0) <= _ROUNDING, f"{law}: sum to {total}"


@law_of("loss")
def check_cells(loss: PrivacyLoss) -> None:
    """Cells agree with each other (cut finer, they add up), with their losses, with the atoms and with the profile.

    >>> check_cells(privacy.GaussianLoss(2.0))
    """
    for direction, variable in _variables(loss):
        law = f"cells of {loss!r}, {direction}"
        losses, p_atoms, q_atoms = variable.atoms()
        heavy = (p_atoms > _UNDERFLOW) & (q_atoms > _UNDERFLOW)
        ratio = np.log(p_atoms[heavy]) - np.log(q_atoms[heavy])
        assert np.all(np.diff(losses) > 0.0), f"{law}: atoms are not sorted"
        near = np.abs(ratio - losses[heavy]) <= 1e-9 * (1.0 + np.abs(losses[heavy]))
        assert near.all(), f"{law}: an atom's masses contradict its loss"
        nodes = _nodes(variable, 40)
        fine, coarse = variable.cells(nodes), variable.cells(nodes[::3])
        edges = np.concatenate(([0], np.arange(0, len(nodes), 3) + 1))  # fine cells where a coarse one begins
        for side in (0, 1):
            summed = np.add.reduceat(fine[side], edges)
            assert np.allclose(summed, coarse[side], rtol=1e-9, atol=1e-14), f"{law}: finer cells do not add up"
        p, q = (side[1:-1] for side in fine)
        seen = (p > _UNDERFLOW) & (q > _UNDERFLOW)
        loss_of_cell = np.log(p[seen]) - np.log(q[seen])
        inside = (loss_of_cell >= nodes[:-1][seen] - _SLOPES) & (loss_of_cell <= nodes[1:][seen] + _SLOPES)
        assert inside.all(), f"{law}: a cell's masses contradict its losses"
        from_cells = LossVariable.delta(variable, _EPSILONS)  # as the base class does it, whatever the kind's own way
        assert np.allclose(variable.delta(_EPSILONS), from_cells, atol=_ROUNDING), (
            f"{law}: the profile contradicts them"
        )


@law_of("loss")
def check_enclosure(loss: PrivacyLoss) -> None:
    """The certificate of a variable for its curve contains what its masses say, and is narrow; so for its mirror image.

    >>> check_enclosure(privacy.PoissonSampled(privacy.GaussianLoss(1.0), 0.1))
    """
    for direction, variable in _variables(loss):
        for name, side in ((direction, variable), (f"{direction}, mirrored", variable.reversed())):
            for epsilon in _EPSILONS[::8]:
                low, high = side.enclose(float(epsilon))
                value = float(LossVariable.delta(side, float(epsilon)))
                law = f"enclosure of {loss!r}, {name}, at {epsilon}: [{low}, {high}]"
                assert 0.0 <= low <= high <= 1.0, f"{law} is no interval of probabilities"
                assert low - 1e-11 <= value <= high + 1e-11, f"{law} misses {value}"
                assert high - low <= 1e-10 * (1.0 + math.exp(epsilon)), f"{law} is wide"


@law_of("loss")
def check_span(loss: PrivacyLoss) -> None:
    """Outside its span the continuous part has at most the mass asked for, on each side, under P and under Q.

    >>> check_span(privacy.GaussianLoss(2.0))
    """
    for direction, variable in _variables(loss):
        for tail in (1e-3, 1e-9):
            low, high = variable.span(tail)
            assert low <= high, f"span of {loss!r}, {direction}: {low} > {high}"
            ends = np.array([low, high]) if high > low else np.array([low])
            for name, cells in zip("PQ", variable.cells(ends), strict=True):
                outside = max(float(cells[0]), float(cells[-1]))
                law = f"span of {loss!r}, {direction}, under {name}"
                assert outside <= tail * (1.0 + 1e-6), f"{law}: {outside} outside, {tail} allowed"


@law_of("loss")
def check_renyi_shape(loss: PrivacyLoss) -> None:
    """The Rényi curve is non-negative; of a true pair it is nondecreasing in the order a, and (a - 1) R(a) is convex.

    A bound that is not a divergence (private selection adds ln E[K]/(a - 1)) need not have that shape.

    >>> check_renyi_shape(privacy.LaplaceLoss(2.0))
    """
    values, delta0 = loss.rdp(_ORDERS)
    law = f"Rényi curve of {loss!r}"
    assert 0.0 <= delta0 <= 1.0, f"{law}: delta0 = {delta0}"
    assert np.shape(values) == _ORDERS.shape, f"{law}: shape {np.shape(values)}"
    assert np.all(values >= 0.0), f"{law}: negative or NaN"
    known = np.isfinite(values)
    assert np.all(np.diff(known.astype(int)) <= 0), f"{law}: finite at an order above an infinite one"
    a, r = _ORDERS[known], values[known]
    single = [float(loss.rdp(np.array([order])).values[0]) for order in a[::8]]
    assert np.allclose(single, r[::8], rtol=1e-9), f"{law}: one order at a time differs from all at once"
    if not _true_curve(loss):
        return
    assert np.all(np.diff(r) >= -1e-9 * (1e-12 + r[1:])), f"{law}: decreases"
    moment = (a - 1.0) * r
    slopes = np.diff(moment) / np.diff(a)
    assert np.all(np.diff(slopes) >= -1e-6 * np.abs(slopes[1:])), f"{law}: (a - 1) R(a) is not convex"


@law_of("loss")
def check_renyi_covers_pair(loss: PrivacyLoss) -> None:
    """The Rényi bound is at least the divergence of the pair, seen through cells (merging outcomes only lowers it).

    Skipped where the pair is only a bound itself, and where an event was set aside (`delta0`).

    >>> check_renyi_covers_pair(privacy.LaplaceLoss(2.0))
    """
    orders = 1.0 + np.geomspace(0.1, 60.0, 9)
    values, delta0 = loss.rdp(orders)
    if not loss.exact or delta0 > 0.0:
        return
    for direction, variable in _variables(loss):
        p, q = _merged(variable, 1500)
        if variable.p_only > _UNDERFLOW:  # less is what a far tail leaves in floating point
            assert np.all(np.isinf(values)), (
                f"Rényi bound of {loss!r} is finite though {direction} has an infinite loss"
            )
            continue
        logs = np.multiply.outer(orders, np.log(p)) - np.multiply.outer(orders - 1.0, np.log(q))
        peak = logs.max(axis=-1)
        floor = (peak + np.log(np.exp(logs - peak[:, None]).sum(axis=-1))) / (orders - 1.0)
        short = values < floor * (1.0 - 1e-9) - 1e-12
        assert not short.any(), (
            f"Rényi bound of {loss!r} at order {orders[short][0]:.4g} is {values[short][0]}, "
            f"the pair ({direction}) has at least {floor[short][0]}"
        )


def _merged(variable: LossVariable, count: int) -> tuple[Array, Array]:
    """The masses under P and Q of outcomes that both worlds show: atoms, and cells of the continuous part."""
    _, p_atoms, q_atoms = variable.atoms()
    p, q = variable.cells(np.unique(variable.points(count, 1e-30)))
    p, q = np.concatenate((p, p_atoms)), np.concatenate((q, q_atoms))
    seen = (p > _GONE) & (q > _GONE)
    return p[seen], q[seen]


@law_of("loss")
def check_statements_cover_pair(loss: PrivacyLoss) -> None:
    """Every statement of a price (pure, approximate, zCDP, GDP) holds for its own pair, where that pair is attained; a
    price that is known only as (epsilon, delta) has the worst pair with this statement.

    >>> check_statements_cover_pair(privacy.LaplaceLoss(2.0))
    """
    if not loss.exact:
        return
    pure, (epsilon, delta), (rho, delta0), mu = loss.pure(), loss.approximate(), loss.zcdp(), loss.gdp()
    for direction, variable in _variables(loss):
        law = f"statements of {loss!r}, {direction}"
        if (only := loss.known_only_as()) is not None:
            gap = float(np.max(np.abs(variable.delta(_EPSILONS) - binary_variable(*only).delta(_EPSILONS))))
            assert gap <= _ROUNDING, f"{law}: known only as {only}, yet its curve is another one (by {gap})"
        if math.isfinite(pure):
            assert float(variable.delta(pure + 1e-9)) <= 1e-12, f"{law}: pure {pure}, yet delta is positive there"
        if math.isfinite(epsilon):
            value = float(variable.delta(epsilon + 1e-9))
            assert value <= delta * (1.0 + 1e-9) + 1e-12, f"{law}: ({epsilon}, {delta}), yet delta is {value}"
        if math.isfinite(mu):
            bound = gaussian_delta(mu, _EPSILONS) if mu > 0.0 else np.maximum(0.0, 1.0 - np.exp(_EPSILONS))
            gap = float(np.max(variable.delta(_EPSILONS) - bound))
            assert gap <= _ROUNDING, f"{law}: mu = {mu} is exceeded by {gap}"
        if math.isfinite(rho) and delta0 == 0.0:
            p, q = _merged(variable, 400)
            divergence = math.fsum(p * (np.log(p) - np.log(q)))
            assert divergence <= rho * (1.0 + 1e-9) + 1e-12, f"{law}: rho = {rho}, the divergence is {divergence}"


@law_of("loss")
def check_post_processing(loss: PrivacyLoss) -> None:
    """Merging outcomes never costs more: every coarse view of the pair lies under its profile, in both directions.

    >>> check_post_processing(privacy.LaplaceLoss(2.0))
    """
    variable = variable_of(loss, "remove")
    if variable is None or variable_of(loss, "add") is None:
        return
    _, p_atoms, q_atoms = variable.atoms()
    for count in (1, 2, 5):
        p, q = variable.cells(np.linspace(-0.5, 0.5, count))
        groups = np.arange(len(p_atoms)) % 3  # every third atom is one outcome of the coarse view
        p = np.concatenate((p, np.bincount(groups, p_atoms, 3), [variable.p_only, 0.0]))
        q = np.concatenate((q, np.bincount(groups, q_atoms, 3), [0.0, variable.q_only]))
        p, q = (np.where(side > _GONE, side, 0.0) for side in (p, q))
        view = privacy.FinitePairLoss(tuple(p), tuple(q), unit=loss.unit)
        for direction, whole in _variables(loss):
            gap = float(np.max(view.profile(_EPSILONS, direction) - whole.delta(_EPSILONS)))
            assert gap <= _BOTH_SIDES, f"post-processing of {loss!r}, {direction}: a coarser view shows {gap} more"
