"""The fixed-point grid: exact, half up, and silent about what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from privet.errors import InvalidData, InvalidParameter
from privet.noise import Grid

FLOATS = st.floats(-(2.0**40), 2.0**40)


@given(FLOATS, st.integers(-20, 20))
def test_rounding_is_exact_and_half_up(x, exponent):
    grid = Grid(exponent)
    truth = math.floor(Fraction(x) / grid.step + Fraction(1, 2))
    assert grid.to_grid(x) == truth
    assert grid.to_grid(np.array([x])).tolist() == [truth]
    assert abs(truth * grid.step - Fraction(x)) <= grid.step / 2


@given(FLOATS, st.integers(-20, 20))
def test_truncation_never_lengthens(x, exponent):
    grid = Grid(exponent)
    steps = grid.truncate(x)
    assert abs(steps * grid.step) <= abs(Fraction(x)) < (abs(steps) + 1) * grid.step
    assert grid.truncate(np.array([x])).tolist() == [steps]


@given(st.fractions(-1000, 1000), st.integers(-20, 20))
def test_floor_and_ceil_enclose(x, exponent):
    grid = Grid(exponent)
    assert grid.floor(x) * grid.step <= x <= grid.ceil(x) * grid.step
    assert grid.ceil(x) - grid.floor(x) <= 1


def test_half_up_keeps_a_shift_of_one_a_shift_of_one():
    """Half to even would turn the shift 0.5 -> 1.5 into 0 -> 2."""
    x = np.arange(-5, 5) + 0.5
    assert np.diff(Grid(0).to_grid(x)).tolist() == [1] * 9
    assert set(np.diff(np.rint(x))) == {0.0, 2.0}


def test_the_last_half_below_one_half_is_not_lifted():
    """floor(x + 1/2) in doubles rounds 0.49999999999999994 up to 1; the grid does not."""
    x = np.nextafter(0.5, 0)
    assert math.floor(x + 0.5) == 1
    assert Grid(0).to_grid(x) == 0
    assert Grid(0).to_grid(np.array([x])).tolist() == [0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64])
def test_dtypes(dtype):
    assert Grid(-1).to_grid(np.array([0, 3], dtype=dtype)).tolist() == [0, 6]
    assert Grid(1).to_grid(np.array([1, 3], dtype=dtype)).tolist() == [1, 2]


def test_long_integers_keep_their_digits():
    values = np.array([2**53 + 1, -(2**60) - 1])
    assert Grid(0).to_grid(values).tolist() == values.tolist()
    assert Grid(1).to_grid(values).tolist() == [2**52 + 1, -(2**59)]
    assert Grid(1).truncate(values).tolist() == [2**52, -(2**59)]


BAD = [np.nan, np.inf, -np.inf, 2.0**70, "1", None, True, 1j]
ARRAYS = [np.array([0.0, bad]) for bad in BAD[:4]] + [
    np.array(["1"]),
    np.array([None]),
    np.array([True]),
    np.array([1j]),
]


@pytest.mark.parametrize("method", ["to_grid", "truncate"])
def test_refusals_do_not_depend_on_the_data(method):
    messages = set()
    for bad in BAD + ARRAYS:
        with pytest.raises(InvalidData) as caught:
            getattr(Grid(0), method)(bad)
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.parametrize("exponent", [1.5, True, "0", 5000, -5000, None])
def test_exponents(exponent):
    with pytest.raises(InvalidParameter, match="exponent"):
        Grid(exponent)


@pytest.mark.parametrize(("value", "exponent"), [(1.0, -20), (1.5, -20), (2, -19), (Fraction(1, 3), -22), (0.1, -24)])
def test_grid_for_a_sensitivity(value, exponent):
    grid = Grid.for_sensitivity(value)
    assert grid == Grid(exponent)
    assert grid.step <= Fraction(value) / 2**20 < 2 * grid.step
    assert grid.ceil(value) * grid.step <= Fraction(value) * (1 + Fraction(1, 2**20))


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, True, "1"])
def test_a_sensitivity_is_positive(value):
    with pytest.raises(InvalidParameter):
        Grid.for_sensitivity(value)


def test_back_to_floats():
    steps = np.array([3, -1, 2**53])
    assert Grid(-3).from_grid(steps).tolist() == [3 / 8, -1 / 8, 2.0**50]
    assert Grid(-3).from_grid(3) == 0.375
    assert isinstance(Grid(-3).from_grid(3), float)
    assert math.copysign(1.0, Grid(-3).from_grid(np.array([0]))[0]) == 1.0  # never minus zero


def test_sums_of_grid_values_do_not_depend_on_order_or_size():
    """Float sums do: a term of 2^50 swallows small ones in one order and not in the other."""
    rng = np.random.default_rng(2)
    values = np.concatenate([[2.0**40], rng.random(1000), [-(2.0**40)]])
    shuffled = rng.permutation(values)
    assert sum(values.tolist()) != sum(shuffled.tolist())
    grid = Grid(-20)
    assert grid.to_grid(values).sum() == grid.to_grid(shuffled).sum()
    again = grid.to_grid(grid.from_grid(grid.to_grid(values)))
    assert np.array_equal(again, grid.to_grid(values))  # rounding twice is rounding once


@pytest.mark.parametrize("steps", [1.5, np.array([1.5]), True, "1", None, [1]])
def test_steps_are_integers(steps):
    with pytest.raises(InvalidData, match="integers"):
        Grid(0).from_grid(steps)
