"""The number tools: whatever they return lies on the safe side, over tiny, huge and awkward numbers alike.

Each law takes the tool as an argument, so that broken twins can be put in its place.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from privet import _numerics as tools
from privet.errors import InvalidParameter

_LARGEST = math.nextafter(math.inf, 0.0)
AWKWARD = (5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-16, 0.1, 1.0, 1.0 + 2.0**-52, 3.0, 1e16, 1e300, _LARGEST)
NUMBERS = [sign * x for x in AWKWARD for sign in (1.0, -1.0)]
RATIONALS = [
    *map(Fraction, NUMBERS),
    *(Fraction(x) / 3 for x in NUMBERS),
    Fraction(1, 10**400),
    Fraction(-1, 10**400),
    Fraction(10**400),
    Fraction(-(10**400)),
    Fraction(_LARGEST) + 1,
    Fraction(0),
]
UNITS = (1.0, 2.0, 8.0, 64.0)

Round = Callable[..., float]


def _exactly(x: float) -> Fraction | float:
    return Fraction(x) if math.isfinite(x) else x


def law_of_up(up: Round) -> None:
    """The smallest double that is not below: nothing below it would do."""
    for value in RATIONALS:
        found = up(value)
        assert _exactly(found) >= value, f"{value} went down to {found}"
        assert _exactly(math.nextafter(found, -math.inf)) < value, f"{found} is not the first one above {value}"


def law_of_down(down: Round) -> None:
    for value in RATIONALS:
        found = down(value)
        assert _exactly(found) <= value, f"{value} went up to {found}"
        assert _exactly(math.nextafter(found, math.inf)) > value, f"{found} is not the last one below {value}"


def law_of_root_up(root_up: Round) -> None:
    for value in (value for value in RATIONALS if value >= 0):
        found = root_up(value)
        assert math.isinf(found) or Fraction(found) ** 2 >= value, f"{found} is below the root of {value}"
        below = math.nextafter(found, 0.0)
        assert value == 0 or Fraction(below) ** 2 < value, f"{found} is not the first double above the root of {value}"


def law_of_round_up(round_up: Round) -> None:
    """Above by that many units in the last place of the number itself, also where these are the smallest there are."""
    for x in NUMBERS:
        for units in UNITS:
            units_moved = units if units > 1.0 else 0.5  # the next double towards zero may be half a unit away
            least = Fraction(x) + Fraction(units_moved) * Fraction(math.ulp(x))
            assert _exactly(round_up(x, units)) >= least, f"{x} by {units}"
    assert round_up(0.0) == 0.0
    assert round_up(math.inf) == math.inf
    assert round_up(-math.inf) == -math.inf
    assert math.isnan(round_up(math.nan))


def law_of_exponentials(exp_capped: Callable[[float], float]) -> None:
    for x in (-800.0, -1.0, 0.0, 1.0, 699.9, 700.0, 701.0, 1e300, math.inf):
        found = exp_capped(x)
        assert 0.0 <= found <= 1.1e304, f"e^{x} came out as {found}"
        assert x > 700.0 or found == math.exp(x)


EDGES = (5e-324, 1e-300, 3e-8, 0.1, 1.0, math.pi, 1e9, 1e300)


def law_of_bisect(bisect: Callable[..., float]) -> None:
    """The end that comes back was seen to be good, from either side, and the next double towards the bad end is bad."""
    for edge in EDGES:
        for bad, good, holds in (
            (0.0, 4.0 * edge, lambda x, edge=edge: x >= edge),
            (edge / 3.0, _LARGEST, lambda x, edge=edge: x >= edge),
            (4.0 * edge, 0.0, lambda x, edge=edge: x < edge),
            (0.0, -4.0 * edge, lambda x, edge=edge: x <= -edge),
        ):
            found = bisect(holds, bad, good, steps=4000)
            assert holds(found), f"{found} is not good (edge {edge})"
            assert not holds(math.nextafter(found, bad)), f"{found} is not next to the edge {edge}"
            near = bisect(holds, bad, good, within=0.01)
            assert holds(near)
            rough = bisect(holds, bad, good, steps=3)
            assert holds(rough)
            assert bisect(holds, bad, good, steps=0) == good


def law_of_bracket(bracket: Callable[..., tuple[float, float]]) -> None:
    for edge in (1e-200, 0.1, 1.0, math.pi, 1e200):
        for start in (1e-3, 1.0, 5e4):
            bad, good = bracket(lambda x, edge=edge: x >= edge, start)
            assert bad < edge <= good
            assert good == 2.0 * bad
    assert math.isinf(bracket(lambda x: x > 100.0, 1.0, most=50.0)[1])
    assert math.isinf(bracket(lambda x: False, 1.0)[1])  # nothing holds anywhere: it ends all the same
    assert bracket(lambda x: True, 1.0, least=0.01)[0] == 0.0
    bad, good = bracket(lambda x: x > 60.0, 1.0, most=100.0)
    assert (bad, good) == (32.0, 64.0)


LAWS = {
    "up": (law_of_up, tools.up),
    "down": (law_of_down, tools.down),
    "root_up": (law_of_root_up, tools.root_up),
    "round_up": (law_of_round_up, tools.round_up),
    "exp_capped": (law_of_exponentials, tools.exp_capped),
    "bisect": (law_of_bisect, tools.bisect),
    "bracket": (law_of_bracket, tools.bracket),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_safe_side(name: str) -> None:
    check_law, tool = LAWS[name]
    check_law(tool)


def _bad_end(
    holds: Callable[[float], bool], bad: float, good: float, *, within: float = 0.0, steps: int = 200
) -> float:
    for _ in range(steps):
        middle = 0.5 * bad + 0.5 * good
        if not min(bad, good) < middle < max(bad, good) or abs(good - bad) <= within * abs(good):
            break
        bad, good = (bad, middle) if holds(middle) else (middle, good)
    return bad if steps else good


def _untried(
    holds: Callable[[float], bool], bad: float, good: float, *, within: float = 0.0, steps: int = 200
) -> float:
    found = tools.bisect(holds, bad, good, within=within, steps=steps)
    return found if steps in (0, 4000) else 0.5 * (found + bad)


def _only_up(holds: Callable[[float], bool], start: float, **limits: float) -> tuple[float, float]:
    while not holds(start):
        start *= 2.0
    return start / 2.0, start


TWINS = {
    "nearest is not up": (law_of_up, lambda value: float(min(max(value, -_LARGEST), _LARGEST))),
    "up overflows downwards": (law_of_up, lambda value: min(tools.up(value), _LARGEST)),
    "always one further": (law_of_up, lambda value: math.nextafter(tools.up(value), math.inf)),
    "down towards zero": (law_of_down, lambda value: math.copysign(tools.down(abs(value)), value)),
    "root of the nearest": (law_of_root_up, lambda value: math.sqrt(min(value, Fraction(_LARGEST)))),
    "relative step only": (
        law_of_round_up,
        lambda x, units=1.0: math.nextafter(x + abs(x) * units * 2.0**-52, math.inf) if x and math.isfinite(x) else x,
    ),
    "one unit whatever is asked": (law_of_round_up, lambda x, units=1.0: tools.round_up(x)),
    "zero moves": (law_of_round_up, lambda x, units=1.0: tools.round_up(x, units) if x else 5e-324),
    "overflow": (law_of_exponentials, lambda x: math.exp(x) if x < 709.0 else math.inf),
    "capped too early": (law_of_exponentials, lambda x: math.exp(min(x, 600.0))),
    "the bad end": (law_of_bisect, _bad_end),
    "a point that was not tried": (law_of_bisect, _untried),
    "stops early": (law_of_bisect, lambda holds, bad, good, **how: good),
    "never halves": (law_of_bracket, _only_up),
}


@pytest.mark.parametrize("name", TWINS)
def test_broken_twins_are_caught(name: str) -> None:
    law, twin = TWINS[name]
    with pytest.raises(AssertionError):
        law(twin)


@given(st.fractions(), st.fractions(min_value=0))
def test_rounding_of_any_rational(value: Fraction, square: Fraction) -> None:
    assert Fraction(tools.down(value)) <= value <= Fraction(tools.up(value))
    assert Fraction(tools.root_up(square)) ** 2 >= square


@given(st.floats(min_value=1e-200, max_value=1e200), st.floats(min_value=1e-200, max_value=1e200))
def test_quotients_and_products_enclose(a: float, b: float) -> None:
    quotient, product = Fraction(a) / Fraction(b), Fraction(a) * Fraction(b)
    assert _exactly(tools.ratio_down(a, b)) <= quotient <= _exactly(tools.ratio_up(a, b))
    assert product <= _exactly(tools.product_up(a, b))


@pytest.mark.parametrize("value", [0.1, 10**300, Decimal("0.1"), Fraction(1, 3), 7])
def test_exact_is_the_number_itself(value: object) -> None:
    assert tools.exact("x", value) == Fraction(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [math.inf, math.nan, Decimal("inf"), Decimal("nan"), True, "1", None, 1j, 10**400])
def test_exact_refuses_what_is_no_number(value: object) -> None:
    with pytest.raises(InvalidParameter, match=r"^x "):
        tools.exact("x", value)
