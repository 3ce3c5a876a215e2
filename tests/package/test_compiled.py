"""What is compiled, and when: after as many numbers as pay for it, and only where numba is installed."""

import sys

import numpy as np
import pytest

from privet import _compiled
from privet._compiled import Compiled


def in_numpy(numbers):
    numbers *= 2


def by_one(numbers):
    for i in range(len(numbers)):
        numbers[i] *= 2


def test_what_is_compiled_waits_for_as_many_numbers_as_pay_for_it(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(Compiled, "WORTH", 100)
    made = Compiled(in_numpy, by_one)
    assert [made.of(33) is in_numpy for _ in range(5)] == [True, True, True, False, False]
    assert made.of(1) is made.of(1)
    assert Compiled(in_numpy, by_one).of(99) is in_numpy  # each counts for itself
    numbers = np.arange(5)
    made.of(1)(numbers)
    assert numbers.tolist() == [0, 2, 4, 6, 8]


class Broken:
    """A finder of modules by which numba begins to be imported, and fails as one does that was built for another numpy."""

    def find_spec(self, name, path=None, target=None):
        if name == "numba":
            raise SystemError("initialization of _internal failed without raising an exception")


@pytest.fixture
def looked_for_again(monkeypatch):
    monkeypatch.setattr(Compiled, "WORTH", 0)
    _compiled._numba.cache_clear()
    yield
    _compiled._numba.cache_clear()


def test_without_numba_numpy_does_it_all(monkeypatch, looked_for_again):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert Compiled(in_numpy, by_one).of(10**9) is in_numpy


def test_beside_a_broken_numba_numpy_does_it_all(monkeypatch, looked_for_again):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    assert Compiled(in_numpy, by_one).of(10**9) is in_numpy


def test_beside_a_numba_that_is_switched_off_numpy_does_it_all(monkeypatch, looked_for_again):
    """It would run loops as Python: a release of 2^28 numbers took hours, and sums in float32 stayed in float32."""
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert Compiled(in_numpy, by_one).of(10**9) is in_numpy


def test_what_cannot_be_compiled_is_done_by_numpy(looked_for_again):
    """In the call in which it is seen, which is not lost, and from then on."""
    pytest.importorskip("numba")
    strange = type("Strange", (list,), {"__imul__": lambda self, factor: self})
    made = Compiled(lambda numbers: numbers.append(1), by_one)
    numbers = strange()
    made.of(1)(numbers)
    assert numbers == [1]
    assert made.of(1) is made.in_numpy
