"""At most two levels of inheritance: a contract, a family, a member. Whoever reads a member opens three files."""

import importlib
import inspect
import pkgutil

import privet
from privet.errors import MissingExtra

MOST = 2
# Rooms that are being rebuilt; nothing may be added here.
STILL_DEEPER = {"privet.accounting.filters.rules", "privet.ledger.stores.postgres", "privet.ledger.stores.sqlite"}


def classes():
    found = set()
    for place in pkgutil.walk_packages(privet.__path__, "privet."):
        if place.name.endswith("__main__"):
            continue
        try:
            room = importlib.import_module(place.name)
        except (ImportError, MissingExtra):
            continue  # an optional package is not installed
        found |= {each for each in vars(room).values() if inspect.isclass(each) and each.__module__ == place.name}
    return found


def levels(kind, home="privet"):
    above = [levels(base, home) for base in kind.__bases__ if base.__module__.split(".")[0] == home]
    return 1 + max(above) if above else 0


def test_two_levels_at_most():
    every = classes()
    assert len(every) > 300
    deeper = {each for each in every if levels(each) > MOST and each.__module__ not in STILL_DEEPER}
    assert not deeper, f"a third level of inheritance: {sorted(each.__qualname__ for each in deeper)}"


def test_a_third_level_would_be_noticed():
    class Contract: ...

    class Family(Contract): ...

    class Member(Family): ...

    class Twin(Member): ...

    home = __name__.split(".")[0]
    assert [levels(each, home) for each in (Contract, Family, Member, Twin)] == [0, 1, 2, 3]
