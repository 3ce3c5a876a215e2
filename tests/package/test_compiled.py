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


def test_without_numba_numpy_does_it_all(monkeypatch):
    monkeypatch.setattr(Compiled, "WORTH", 0)
    monkeypatch.setitem(sys.modules, "numba", None)
    _compiled._numba.cache_clear()
    try:
        assert Compiled(in_numpy, by_one).of(10**9) is in_numpy
    finally:
        _compiled._numba.cache_clear()
