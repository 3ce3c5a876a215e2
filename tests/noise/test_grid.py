"""The fixed-point grid: exact, half up, and silent about what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from privet.errors import InvalidData, InvalidParameter
from privet.noise import Grid
from privet.noise.steps import Steps, whole_steps

FLOATS = st.floats(-(2.0**40), 2.0**40)


PUBLIC = st.one_of(st.fractions(Fraction(1, 2**40), 2**40), st.floats(2.0**-40, 2.0**40), st.integers(1, 2**70))


# --- the safe side: what every mechanism's guarantee stands on ----------------------------------------------------


@given(PUBLIC, st.integers(0, 60), st.one_of(st.none(), st.integers(-60, 60)))
def test_a_grid_is_never_coarser_than_was_asked_for(value, bits, coarsest):
    grid = Grid.finer_than(value, bits, coarsest=coarsest)
    capped = coarsest is not None and grid.exponent == coarsest
    assert grid.step <= Fraction(value) / 2**bits
    assert capped or Fraction(value) / 2**bits < 2 * grid.step
    assert coarsest is None or grid.exponent <= coarsest
    assert Fraction(grid.width) == grid.step
    assert grid.length(value) * grid.step == Fraction(value)


def far_apart(place, grid, x, y):
    """Whether two numbers lie further apart on the grid, in whole steps, than their distance rounded up."""
    return abs(place(grid, x) - place(grid, y)) > grid.ceil(abs(Fraction(x) - Fraction(y)))


PLACES = {
    "to_grid": lambda grid, x: grid.to_grid(x),
    "nearest": lambda grid, x: int(grid.nearest(np.array([x]))[0]),
    "whole_steps": lambda grid, x: int(whole_steps(np.array([x]), grid)[0]),
    "whole_steps of rationals": lambda grid, x: int(whole_steps(np.array([Fraction(x)], dtype=object), grid)[0]),
}


@pytest.mark.parametrize("name", PLACES)
@given(FLOATS, FLOATS, st.integers(-20, 20))
def test_no_two_numbers_move_apart(name, x, y, exponent):
    grid = Grid(exponent)
    assert not far_apart(PLACES[name], grid, x, y)
    assert not far_apart(PLACES[name], grid, x, x + grid.width)
    assert PLACES[name](grid, x) == grid.to_grid(x)


def test_half_to_even_moves_numbers_apart():
    assert far_apart(lambda grid, x: round(Fraction(x) / grid.step), Grid(-1), 0.25, 0.75)


@given(st.fractions(-(2**40), 2**40), st.integers(-30, 30))
def test_a_number_is_its_steps_and_its_rest(x, exponent):
    grid = Grid(exponent)
    whole, rest = grid.split(x.numerator, x.denominator)
    assert (whole + rest) * grid.step == x
    assert abs(rest) <= Fraction(1, 2)
    assert grid.times(whole) == whole * grid.step
    assert Fraction(grid.double(whole)) == grid.times(whole)  # below 2^53 steps nothing is rounded


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
    st.integers(-10, 10),
    st.integers(-(2**55), 2**55),
)
def test_many_numbers_are_their_steps_and_their_rests(numbers, exponent, drawn):
    grid, array = Grid(exponent), np.array(numbers, dtype=np.int64)
    steps = Steps.of_array(array, grid)
    for i, number in enumerate(numbers):
        whole = int(steps.whole[i]) + (0 if steps.low is None else int(steps.low[i]))
        assert (whole + Fraction(float(steps.rest[i]))) * grid.step == number
        assert abs(steps.rest[i]) <= 0.5
        sum_of_both = steps.plus(np.full(len(numbers), drawn))[i]
        assert sum_of_both == float(whole + drawn)  # rounded once


@given(st.integers(-(2**1100), 2**1100), st.integers(-(2**1100), 2**1100), st.integers(-20, 20))
def test_saturation_keeps_the_order(k, more, exponent):
    grid = Grid(exponent)
    low, high = sorted((k, more))
    assert grid.double(low) <= grid.double(high)
    assert grid.split(low, 1)[0] <= grid.split(high, 1)[0]


# --- rounding -----------------------------------------------------------------------------------------------------


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
