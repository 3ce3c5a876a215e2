"""Inheritance is at most two levels deep: a contract, a family, a member."""

import inspect
import sys
from typing import Any

from privet import testing
from privet.errors import KeyConflict


def levels(kind: Any) -> int:
    """How many classes of ours a class stands on, one above the other."""
    return 1 + max((levels(base) for base in kind.__bases__ if base.__module__.startswith("privet")), default=-1)


def classes() -> set[type]:
    testing.load_rooms()
    ours = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "privet"]
    found = {each for module in ours for each in vars(module).values() if inspect.isclass(each)}
    return {each for each in found if each.__module__.startswith("privet")}


def too_deep(kinds: set[type]) -> list[str]:
    return sorted(f"{kind.__module__}.{kind.__name__}" for kind in kinds if levels(kind) > 2)


def test_no_class_stands_on_more_than_two():
    assert too_deep(classes()) == []


def test_one_level_too_many_is_seen():
    deeper = type("Deeper", (KeyConflict,), {"__module__": "privet.planted"})
    assert levels(KeyConflict) == 2
    assert too_deep({deeper}) == ["privet.planted.Deeper"]
