"""Laws of prices as values: equality, hashing, normal form, JSON."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from privet import privacy
from privet.errors import PrivetError
from privet.privacy import PrivacyLoss
from privet.testing.law import law_of

_ORDERS = 24  # all orders of four losses, and the first ones of more: a limit on the time


def _same(one: PrivacyLoss, other: PrivacyLoss, law: str) -> None:
    assert one == other, f"{law}: {one!r} != {other!r}"
    assert hash(one) == hash(other), f"{law}: equal losses hash differently: {one!r} and {other!r}"
    assert privacy.to_json(one) == privacy.to_json(other), (
        f"{law}: equal losses have different texts: {one!r}, {other!r}"
    )


@law_of("loss")
def check_hashable(loss: PrivacyLoss) -> None:
    """A price is a frozen value: hashable, equal to its copy, unequal to a text and to another price, and its fields cannot
    be set.

    >>> check_hashable(privacy.PureLoss(0.5))
    """
    copy = privacy.from_json(privacy.to_json(loss))
    assert len({loss, copy}) == 1, f"a price and its copy are two entries of a set: {loss!r}"
    assert loss != loss.key, f"a price equals a text: {loss!r}"
    another = privacy.PureLoss(0.123456789, unit=loss.unit)  # a number that no example has
    assert loss != another, f"a price equals one that it is not: {loss!r}"
    for field in dataclasses.fields(loss):
        try:
            setattr(loss, field.name, None)
        except AttributeError:
            continue
        raise AssertionError(f"the field {field.name} of {type(loss).__name__} can be overwritten")


@law_of("loss")
def check_json_round_trip(loss: PrivacyLoss) -> None:
    """Writing and reading gives the same price, the same text and the same answers.

    >>> check_json_round_trip(privacy.LaplaceLoss(2.0))
    """
    text = privacy.to_json(loss)
    back = privacy.from_json(text)
    assert back == loss, f"JSON round trip: {loss!r} came back as {back!r}"
    assert privacy.to_json(back) == text, f"JSON round trip: the text changed from {text} to {privacy.to_json(back)}"
    assert back.unit == loss.unit, f"JSON round trip: the unit {loss.unit} came back as {back.unit}"
    for question in ("pure", "approximate", "zcdp", "gdp", "gaussian", "parts"):
        before, after = getattr(loss, question)(), getattr(back, question)()
        assert before == after, f"JSON round trip: {question}() of {loss!r} was {before}, is now {after}"


@law_of("loss")
def check_speaks_for_itself(loss: PrivacyLoss) -> None:
    """A price is described with every price that it is made of, and evaluating its repr gives it again.

    >>> check_speaks_for_itself(privacy.Grouped(privacy.LaplaceLoss(2.0), 3))
    """
    words = loss.describe()
    assert words == str(loss), f"{loss!r} prints as {str(loss)!r} and is described as {words!r}"
    for field in dataclasses.fields(loss) if loss.parts() else ():  # no parts: it is free, and is described as such
        held = getattr(loss, field.name)
        for inner in held if isinstance(held, tuple) else (held,):
            if isinstance(inner, PrivacyLoss):
                told = [part.describe() for part, _ in inner.parts()]
                assert all(each in words for each in told), f"{words!r} does not say that it holds {inner!r}"
    kinds = {kind.__name__: kind for kind in privacy.registered_kinds().values()}
    typed = eval(repr(loss), {**kinds, "Unit": privacy.Unit, "Fraction": Fraction, "inf": math.inf})
    assert typed == loss, f"{loss!r} does not give {loss.key}"


@law_of("loss")
def check_singles_are_one_fold(loss: PrivacyLoss, times: int = 3) -> None:
    """A composition of n times the same price equals its n-fold repetition, and one of a single price that price. That the
    epsilon and delta of both agree is checked by `check_counts`.

    >>> check_singles_are_one_fold(privacy.LaplaceLoss(2.0))
    """
    _same(privacy.Composed((loss,) * times), privacy.Repeated(loss, times), f"{times} singles are one {times}-fold")
    _same(privacy.Repeated(loss, 1), loss, "once is the price itself")
    _same(privacy.Composed((loss,)), loss, "a composition of one is the price itself")
    more = privacy.Composed((privacy.Repeated(loss, times - 1), loss))
    _same(more, privacy.Repeated(loss, times), "n - 1 and one more are n")


@law_of("losses")
def check_order_does_not_matter(losses: Sequence[PrivacyLoss]) -> None:
    """Compositions of the same parts in another order are equal, and so are parallel ones of the same blocks.

    >>> check_order_does_not_matter([privacy.PureLoss(0.5), privacy.GaussianLoss(2.0)])
    """
    orders = list(itertools.islice(itertools.permutations(losses), _ORDERS))
    for order in orders[1:]:
        _same(privacy.Composed(order), privacy.Composed(orders[0]), "order does not matter")
        same_parts = privacy.Composed(order).parts() == privacy.Composed(orders[0]).parts()
        assert same_parts, f"order does not matter: the parts of {privacy.Composed(order)!r} depend on their order"
        blocks = [privacy.Parallel(items, fixed_blocks=True) for items in (order, orders[0])]
        _same(blocks[0], blocks[1], "order of blocks does not matter")


@law_of("losses")
def check_nested_is_flat(losses: Sequence[PrivacyLoss]) -> None:
    """Compositions of compositions are the flat composition; repetitions of repetitions multiply.

    >>> check_nested_is_flat([privacy.PureLoss(0.5), privacy.GaussianLoss(2.0)])
    """
    flat = privacy.Composed(losses)
    _same(privacy.Composed((privacy.Composed(losses[:1]), privacy.Composed(losses[1:]))), flat, "nested is flat")
    _same(privacy.Composed((flat, flat)), privacy.Repeated(flat, 2), "a composition twice is its double")
    _same(privacy.Repeated(privacy.Repeated(flat, 2), 3), privacy.Repeated(flat, 6), "2 x 3 = 6")
    twice = privacy.Composed([privacy.Repeated(loss, 2) for loss in losses])
    _same(privacy.Repeated(flat, 2), twice, "doubling the whole doubles the parts")
    _same(privacy.Composed((*losses, privacy.Repeated(losses[0], 0))), flat, "what never happens is no part")


@law_of("loss")
def check_equal_is_interchangeable(loss: PrivacyLoss) -> None:
    """A price written in two ways gives equal prices inside every price that is made of others. Those that do not take this
    price are passed over.

    >>> check_equal_is_interchangeable(privacy.LaplaceLoss(2.0))
    """
    spelt = privacy.Composed((privacy.Repeated(loss, 1),))
    wraps: dict[str, Callable[[PrivacyLoss], PrivacyLoss]] = {
        "PoissonSampled": lambda x: privacy.PoissonSampled(x, 0.5),
        "FixedSampled": lambda x: privacy.FixedSampled(x, 1, 2),
        "Grouped": lambda x: privacy.Grouped(x, 2),
        "Selected": lambda x: privacy.Selected(x, 3.0),
        "Parallel": lambda x: privacy.Parallel((x, privacy.PureLoss(0.7, unit=x.unit)), fixed_blocks=True),
        "Composed": lambda x: privacy.Composed((x, privacy.PureLoss(0.7, unit=x.unit))),
    }
    for name, wrap in wraps.items():
        try:
            plain = wrap(loss)
        except PrivetError:
            continue
        _same(wrap(spelt), plain, f"equal losses are interchangeable inside {name}")
