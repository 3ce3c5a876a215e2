"""Laws of groups, whose loss is the same kind for neighbours k times as far apart, and of fields, which all matter."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from privet import privacy
from privet._numerics import Array
from privet.errors import InvalidParameter, PrivetError
from privet.privacy import DIRECTIONS, LossVariable, PrivacyLoss
from privet.testing.ask import variable_of
from privet.testing.law import law_of

_ORDERS = np.array([1.5, 2.0, 16.0])  # Rényi orders at which two prices are compared: near 1, usual, large
_SAME = 1e-9  # relative: numbers that agree so far differ by rounding alone
_TRIES = 12  # other values of a field: one of them must change the pair
# The field that is multiplied by k to this power where neighbours are k times as far apart: the first that a kind has.
_POWERS = {"sensitivity": 1, "noise_multiplier": -1, "scale": -1, "sigma": -1, "mu": 1, "rho": 2, "epsilon": 1}
_NOT_NUMBERS: tuple[Any, ...] = ("1", True, None, math.nan, [True, 2.0], ["2"], object())


def _shape(variable: LossVariable, top: float) -> Array:
    """Numbers that tell two pairs apart: the curve at shares of `top`, the largest atom, the end of the losses, and the
    mass at infinity."""
    losses = variable.atoms().losses
    ends = (float(losses[-1]) if len(losses) else 0.0, variable.span(1e-12)[1], variable.p_only)
    return np.concatenate((variable.delta(top * np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9])), ends))


def _top(variable: LossVariable) -> float:
    """A large loss of this pair; positive, since the pair is asked about shares of it."""
    losses = variable.atoms().losses
    return max(variable.span(1e-3)[1], float(losses[-1]) if len(losses) else 0.0, 1e-300)


def _k_apart(loss: PrivacyLoss, size: int) -> PrivacyLoss | None:
    """The same kind for neighbours `size` times as far apart, written down without asking `grouped`."""
    names = {field.name for field in dataclasses.fields(loss)}
    name = next((name for name in _POWERS if name in names), None)
    if name is None:
        return None
    return dataclasses.replace(loss, **{name: getattr(loss, name) * size ** _POWERS[name]})


@law_of("loss")
def check_groups_scale(loss: PrivacyLoss, sizes: tuple[int, ...] = (2, 3, 7)) -> None:
    """A closed form of a group of k is the same kind of loss for neighbours k times as far apart.

    Pure epsilon and mu are k times, rho k^2 times as large; the pair is that of k times the sensitivity; its largest loss
    is k times, or where that is infinite its mean loss k^2 times as large; and a change of more records is strictly easier
    to see.

    >>> check_groups_scale(privacy.LaplaceLoss(2.0))
    """
    if loss.grouped(2) is None or loss.pure() == 0.0 or len(loss.parts()) != 1 or loss.parts()[0] != (loss, 1):
        return
    for size in sizes:
        closed = loss.grouped(size)
        assert closed is not None, f"groups of 2 of {loss!r} have a closed form, groups of {size} have none"
        law = f"a group of {size} of {loss!r}, priced as {closed!r}"
        rho, delta0 = loss.zcdp()
        claims = [("pure", closed.pure(), size * loss.pure()), ("rho", closed.zcdp().rho, size**2 * rho)]
        mu = loss.gaussian()
        if mu is not None:
            claims.append(("mu", closed.gaussian() or 0.0, size * mu))
        for name, found, expected in claims:
            assert np.isclose(found, expected, rtol=_SAME, atol=0.0), f"{law}: {name} is {found}, not {expected}"
        assert closed.zcdp().delta0 == delta0, f"{law}: sets another event aside"
        apart = _k_apart(loss, size)
        if apart is not None:
            _same_price(privacy.Grouped(loss, size), apart, law)
        for direction in DIRECTIONS:
            one, many = variable_of(loss, direction), variable_of(closed, direction)
            if one is not None and many is not None:
                _grows(loss, one, many, size, law, attained=closed.exact)


def _same_price(group: PrivacyLoss, apart: PrivacyLoss, law: str) -> None:
    """A check that two losses answer every question alike, up to rounding."""
    for question in ("pure", "approximate", "zcdp", "gdp"):
        found, expected = getattr(group, question)(), getattr(apart, question)()
        assert np.allclose(found, expected, rtol=_SAME, atol=0.0), f"{law}: {question}() {found}, k apart {expected}"
    found, expected = group.rdp(_ORDERS).values, apart.rdp(_ORDERS).values
    assert np.allclose(found, expected, rtol=1e-8, atol=0.0), f"{law}: Rényi curve {found}, k apart {expected}"
    for direction in DIRECTIONS:
        pair, other = variable_of(group, direction), variable_of(apart, direction)
        assert (pair is None) == (other is None), f"{law}: a pair is known on one side only"
        if pair is not None and other is not None:
            top = _top(other)
            gap = np.abs(_shape(pair, top) - _shape(other, top))
            assert float(np.max(gap)) <= 1e-8 * (1.0 + top), f"{law}: the pair is not the pair k apart, {direction}"


def _grows(loss: PrivacyLoss, one: LossVariable, many: LossVariable, size: int, law: str, *, attained: bool) -> None:
    """A check that a group of `size` is easier to see than one record, by as much as it must be.

    Largest losses are compared where they are finite and not bounds; mean losses where noise is Gaussian.
    """
    before, after = float(one.delta(0.0)), float(many.delta(0.0))
    if 0.0 < before < 0.99:  # beyond there may be no room left to grow
        assert after > before * (1.0 + 1e-6), f"{law}: the advantage stays {before}"
    if math.isfinite(loss.pure()) and loss.exact and attained:
        tops = [max(v.span(0.0)[1], float(np.max(v.atoms().losses, initial=0.0))) for v in (one, many)]
        assert np.isclose(tops[1], size * tops[0], rtol=_SAME), f"{law}: the largest loss {tops[0]} becomes {tops[1]}"
    elif loss.gaussian() is not None or loss.kind == "discrete_gaussian":
        means = [_mean_loss(v) for v in (one, many)]
        assert np.isclose(means[1], size**2 * means[0], rtol=1e-4), (
            f"{law}: the mean loss {means[0]} becomes {means[1]}"
        )


def _mean_loss(variable: LossVariable) -> float:
    """The mean loss, with the mass of each of 20,000 cells at its middle."""
    losses, p, _ = variable.atoms()
    nodes = np.linspace(*variable.span(1e-15), 20001)
    cells = variable.cells(nodes)[0][1:-1]
    return float(p @ losses + cells @ (0.5 * (nodes[1:] + nodes[:-1])))


@law_of("loss")
def check_to_replace(loss: PrivacyLoss) -> None:
    """To replace a record is to remove one and to add another: a group of two, whose price is about replace.

    >>> check_to_replace(privacy.LaplaceLoss(2.0))
    """
    both = privacy.to_replace(loss)
    assert both.unit.relation == "replace", f"to_replace of {loss!r} speaks of {both.unit}"
    if loss.unit.relation == "replace":
        assert both == loss, f"{loss!r} speaks of replace already"
        return
    law = f"to_replace of {loss!r}"
    pure = loss.pure()
    assert both.unit.group_size == loss.unit.group_size, f"{law}: speaks of {both.unit}"
    assert both.pure() == pure == 0.0 or np.isclose(both.pure(), 2.0 * pure, rtol=_SAME), f"{law}: pure {both.pure()}"
    pair, single = variable_of(both, "remove"), variable_of(loss, "remove")
    if (
        pair is not None
        and single is not None
        and 0.0 < pure < math.inf
        and loss.exact
        and loss.parts() == ((loss, 1),)
    ):
        top = 2.0 * pure
        assert float(pair.delta(top * (1.0 + 1e-9))) <= 1e-12, f"{law}: losses above twice the pure price"
        swapped_alike = type(loss).exchanged is PrivacyLoss.exchanged  # not so where records have coins of their own
        if loss.grouped(2) is not None and swapped_alike:
            assert float(pair.delta(top * (1.0 - 1e-6))) > 0.0, f"{law}: the losses end before twice the pure price"


def _changed(value: object) -> Iterator[Any]:
    """Other values of a field, nearest first."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value + 2, 4 * value)
    elif isinstance(value, float):
        yield from (value * 1.5, value / 1.5) if value else (0.01,)
    elif isinstance(value, tuple) and value:
        if not isinstance(value[0], PrivacyLoss):  # probabilities keep their sum
            moved, top = list(value), value.index(max(value))
            moved[top], moved[top - 1] = 3 * value[top] / 4, value[top - 1] + value[top] / 4
            yield tuple(moved)
        for index, item in enumerate(value):
            yield from ((*value[:index], other, *value[index + 1 :]) for other in _changed(item))
    elif isinstance(value, PrivacyLoss):
        for field in dataclasses.fields(value):
            if field.name != "unit" and field.name not in value.silent_fields:
                yield from _rebuilt(value, field.name)


def _rebuilt(loss: PrivacyLoss, name: str) -> Iterator[PrivacyLoss]:
    """The same kind with other values of one field, where they are allowed."""
    for value in _changed(getattr(loss, name)):
        try:
            yield dataclasses.replace(loss, **{name: value})
        except PrivetError:
            continue


@law_of("loss")
def check_fields_matter(loss: PrivacyLoss) -> None:
    """Every parameter shows in the pair: change a field, and the variable of the loss changes, in some direction.

    A field that cannot change the pair is named in `silent_fields` of the kind.

    >>> check_fields_matter(privacy.DiscreteLaplaceLoss(2.0, sensitivity=3))
    """
    mine = [variable_of(loss, direction) for direction in DIRECTIONS]
    if loss.pure() == 0.0 or mine[0] is None or mine[1] is None or loss.kind in ("composed", "labelled"):
        return
    top = max(_top(variable) for variable in mine if variable is not None)
    shape = [_shape(variable, top) for variable in mine if variable is not None]
    for field in dataclasses.fields(loss):
        if field.name == "unit" or field.name in loss.silent_fields:
            continue
        assert _shows(loss, field.name, shape, top), f"the pair of {loss!r} does not depend on {field.name}"


def _shows(loss: PrivacyLoss, name: str, shape: list[Array], top: float) -> bool:
    """True if another value of a field gives another pair than the one with this shape, or if no other pair is known."""
    known = False
    for other in itertools.islice(_rebuilt(loss, name), _TRIES):
        shapes = _shapes(other, top)
        if shapes is None:
            continue
        if not all(map(_alike, shape, shapes)):
            return True
        known = True
    return not known


def _alike(one: Array, other: Array) -> bool:
    return np.allclose(one, other, rtol=1e-9, atol=1e-300)


def _shapes(loss: PrivacyLoss, top: float) -> list[Array] | None:
    """The shapes of the pair in both directions; None where one of them is not known."""
    pairs = [variable_of(loss, direction) for direction in DIRECTIONS]
    return [_shape(pair, top) for pair in pairs if pair is not None] if None not in pairs else None


@law_of("loss")
def check_bad_questions_are_refused(loss: PrivacyLoss) -> None:
    """Orders and epsilons that are no numbers (or orders not above 1) are refused with `InvalidParameter`.

    >>> check_bad_questions_are_refused(privacy.LaplaceLoss(2.0))
    """
    rdp: Callable[..., object] = loss.rdp
    profile: Callable[..., object] = loss.profile
    asks = [(f"rdp({bad!r:.20})", partial(rdp, bad)) for bad in (*_NOT_NUMBERS, 0, [1.0], [2.0, math.inf])]
    if variable_of(loss, "remove") is not None and variable_of(loss, "add") is not None:
        asks += [(f"profile({bad!r:.20})", partial(profile, bad)) for bad in _NOT_NUMBERS]
        asks += [("profile in no direction", partial(profile, 0.5, "sideways"))]
    for name, ask in asks:
        try:
            answer = ask()
        except InvalidParameter:
            continue
        except Exception as error:
            raise AssertionError(f"{name} of {loss!r} raises {type(error).__name__}") from error
        raise AssertionError(f"{name} of {loss!r} is answered with {answer}")
