"""Eight common mistakes at every door: it works, or an error of ours says what to do."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from privet.errors import PrivetError
from tests.newcomer.callables import functions_and_classes, is_door, made_from_classes, methods, typed_methods

FRAME = pd.DataFrame({"age": [30, 40], "city": ["a", "b"]})
MISTAKES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "no arguments": ((), {}),
    "wrong keyword": ((), {"epsilonn": 1.0}),
    "numbers by place": ((1.0, 1.0), {}),
    "a text": (("one",), {}),
    "None": ((None,), {}),
    "a data frame": ((FRAME,), {}),
    "not a number": ((float("nan"),), {}),
    "less than nothing": ((-1.0,), {}),
}


def complaints(callables: dict[str, Callable[..., Any]]) -> list[str]:
    """What leaves a call that is neither a result nor an error of ours, or an error of several lines."""
    found = []
    for name, call in callables.items():
        for mistake, (args, keywords) in MISTAKES.items():
            try:
                call(*args, **keywords)
            except PrivetError as error:
                if not str(error).strip():
                    found.append(f"{name} ({mistake}): says nothing")
            except Exception as error:
                found.append(f"{name} ({mistake}): {type(error).__name__}: {error}"[:200])
    return found


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a text may be taken for the name of a file
    monkeypatch.setattr("builtins.print", lambda *args, **keywords: None)


def test_functions_and_classes():
    assert complaints(functions_and_classes()) == []


def test_what_classes_make():
    assert complaints(made_from_classes()) == []


def test_methods_of_objects():
    assert complaints(dict(methods())) == []


def test_what_people_type_of_a_class_is_a_door():
    """Else no law above meets it, and a wrong call ends in a bare TypeError."""
    assert [name for name, call, _ in typed_methods() if not is_door(call)] == []


def test_methods_that_are_asked_of_the_class():
    assert complaints({name: call for name, call, of_class in typed_methods() if not of_class}) == []


def test_a_method_that_is_no_door_is_found():
    def for_budget(self, *, horizon: int) -> int:
        return horizon

    assert len(complaints({"plain": for_budget})) == len(MISTAKES)
