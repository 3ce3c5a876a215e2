"""Plans refuse parts whose noise was made for less than a person can change, or for another unit than the price says."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from privet.errors import InvalidParameter, MixedUnits
from privet.mechanisms import Mechanism, Sensitivity
from privet.privacy import Unit
from tests.firsts import mechanism_examples

# Whose sensitivity is a statement of the caller, as that of `Gaussian` itself, and not one that follows from a plan.
STATED = {"symmetric_gaussian", "propose_test_release"}


def bound_of(what: object) -> Sensitivity | None:
    found = getattr(what, "sensitivity", None)
    return found if isinstance(found, Sensitivity) else None


def where(part: Any) -> tuple[str, ...]:
    """The names of fields that lead to the sensitivity: its own, or that of the noise inside; none where it is computed."""
    if not is_dataclass(part):
        return ()
    if "sensitivity" in {each.name for each in fields(part)}:
        return ("sensitivity",)
    for each in fields(part):
        if bound_of(getattr(part, each.name)) and (way := where(getattr(part, each.name))):
            return (each.name, *way)
    return ()


def changed(part: Any, way: tuple[str, ...], bound: Sensitivity) -> Any:
    """The same part for another sensitivity."""
    name, *rest = way
    return replace(part, **{name: changed(getattr(part, name), tuple(rest), bound) if rest else bound})


def plans() -> Iterator[Any]:
    """Every plan with a part that has a sensitivity: one of each kind, place and unit."""
    seen = set()
    for example in mechanism_examples():
        plan = example.mechanism
        for each in fields(plan) if is_dataclass(plan) else ():
            part = getattr(plan, each.name)
            bound = bound_of(part)
            name = (plan.name, each.name, type(part).__name__, bound and bound.unit)
            if bound is not None and where(part) and name not in seen and plan.name not in STATED:
                seen.add(name)
                told = (plan.name, each.name, type(part).__name__, bound.unit.relation, str(bound.unit.group_size))
                yield pytest.param(plan, each.name, id="-".join(told))


PLANS = list(plans())


def exchanged(plan: Mechanism[Any, Any], name: str, bound: Sensitivity) -> Any:
    """The plan with a part for another sensitivity; None where it, or the part by itself, is refused."""
    try:
        return changed(plan, (name, *where(getattr(plan, name))), bound)
    except InvalidParameter:
        return None


@pytest.mark.parametrize(("plan", "name"), PLANS)
def test_noise_for_less_is_refused(plan, name):
    assert exchanged(plan, name, bound_of(getattr(plan, name)).times(0.5)) is None


@pytest.mark.parametrize(("plan", "name"), PLANS)
def test_noise_for_another_unit_is_refused_or_said_in_the_price(plan, name):
    bound = bound_of(getattr(plan, name))
    other = Unit("replace" if bound.unit.relation == "add_remove" else "add_remove")
    made = exchanged(plan, name, Sensitivity(4 * bound.value, norm=bound.norm, unit=other))
    with suppress(MixedUnits):  # without a price
        assert made is None or made.loss.unit == other


def test_they_are_many_and_a_sound_exchange_goes_through():
    assert len({each.values[0].name for each in PLANS}) > 30
    louder = [exchanged(*each.values, bound_of(getattr(*each.values)).times(2)) for each in PLANS]
    assert sum(each is not None for each in louder) > 0.7 * len(PLANS)  # some have room for one size alone
