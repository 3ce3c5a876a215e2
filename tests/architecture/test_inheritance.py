"""Inheritance is at most two levels deep: a contract, a family, a member."""

import inspect
import sys
from typing import Any

from privet import testing
from privet.errors import KeyConflict
from privet.mechanisms import BlockAlgorithm, Mechanism
from privet.privacy import PrivacyLoss, PureLoss


def levels(kind: Any) -> int:
    """How many classes of ours a class stands on, one above the other."""
    return 1 + max((levels(base) for base in kind.__bases__ if base.__module__.startswith("privet")), default=-1)


def classes() -> set[type]:
    testing.load_rooms()
    ours = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "privet"]
    found = {each for module in ours for each in vars(module).values() if inspect.isclass(each)}
    return {each for each in found if each.__module__.startswith("privet")}


def too_deep(kinds: set[type]) -> list[str]:
    """Classes that stand too high. An algorithm in blocks stands on one more: a contract that makes `_run` final."""
    return sorted(
        f"{kind.__module__}.{kind.__name__}" for kind in kinds if levels(kind) > 2 + issubclass(kind, BlockAlgorithm)
    )


def test_no_class_stands_on_more_than_two():
    assert too_deep(classes()) == []


def test_one_level_too_many_is_seen():
    deeper = type("Deeper", (KeyConflict,), {"__module__": "privet.planted"})
    assert levels(KeyConflict) == 2
    assert too_deep({deeper}) == ["privet.planted.Deeper"]


def unchecked(kinds: set[type]) -> list[str]:
    """Prices and mechanisms whose own `__post_init__` leaves out that of their base, which checks unit and delta."""
    own = [kind for kind in kinds if issubclass(kind, PrivacyLoss | Mechanism) and "__post_init__" in vars(kind)]
    silent = [kind for kind in own if kind not in (PrivacyLoss, Mechanism) and not _asks_its_base(kind)]
    return sorted(f"{kind.__module__}.{kind.__name__}" for kind in silent)


def _asks_its_base(kind: type) -> bool:
    code = vars(kind)["__post_init__"].__code__
    return "super" in code.co_names or "_about" in code.co_names  # a combinator takes the unit of its parts


def test_prices_and_mechanisms_let_their_base_check_unit_and_delta():
    assert unchecked(classes()) == []


def test_a_price_that_forgets_its_base_is_seen():
    def forgets(self):
        assert self

    planted = type("Planted", (PureLoss,), {"__module__": "privet.planted", "__post_init__": forgets})
    assert unchecked({planted}) == ["privet.planted.Planted"]
