"""The crossing of a curve: what comes back lies on the safe side, and is found in few calls."""

import math
from collections.abc import Callable

import pytest

from privet import _numerics as tools
from privet.accounting.pld import single
from privet.accounting.pld.single import cross as crossing


def check_cross(cross: Callable[..., float]) -> None:
    """As `law_of_bisect`, for curves: smooth ones in few calls, a cliff in as many as halving takes."""
    for edge in (1e-9, 0.1, 1.0, math.pi, 1e9):
        for curve, most in (
            (lambda x, edge=edge: math.log(edge / x) if x > 0.0 else math.inf, 40),
            (lambda x, edge=edge: 1.0 - x / edge, 12),
            (lambda x, edge=edge: 1.0 - (x / edge) ** 3, 16),
            (lambda x, edge=edge: 1.0 - x / edge if x < 1.5 * edge else -math.inf, 60),
            (lambda x, edge=edge: 1.0 if x < edge else -1.0, 60),
        ):
            asked: list[float] = []

            def counted(x: float, curve: Callable[[float], float] = curve, asked: list[float] = asked) -> float:
                asked.append(x)
                return curve(x)

            found = cross(counted, 0.0, 5.0 * edge, within=1e-12)
            assert found in asked, f"{found} was not tried (edge {edge})"
            assert curve(found) <= 0.0, f"{found} is not good (edge {edge})"
            assert found <= edge * (1.0 + 1e-11), f"{found} is not near the edge {edge}"
            assert len(asked) <= most, f"{len(asked)} calls for the edge {edge}"
            mirrored = cross(lambda x, curve=curve: -curve(x) + tools.TINY, 5.0 * edge, 0.25 * edge, within=1e-12)
            assert curve(mirrored) > 0.0
            assert mirrored >= edge * (1.0 - 1e-11)
    assert cross(lambda x: 1.0 - x, 0.0, 3.0, within=1e-12, steps=0) == 3.0


def test_the_safe_side() -> None:
    check_cross(crossing)


def _secant(excess: Callable[[float], float], bad: float, good: float, *, within: float, steps: int = 200) -> float:
    above, below = excess(bad), excess(good)
    for _ in range(min(steps, 8)):
        if not (math.isfinite(above) and math.isfinite(below)) or above == below:
            break
        bad, above, good = good, below, good - below * (good - bad) / (below - above)
        below = excess(good)
    return good


def _halved(excess: Callable[[float], float], bad: float, good: float, *, within: float, steps: int = 200) -> float:
    return tools.bisect(lambda x: excess(x) <= 0.0, bad, good, within=within, steps=steps)


@pytest.mark.parametrize("twin", [_secant, _halved])
def test_broken_twins_are_caught(twin: Callable[..., float]) -> None:
    with pytest.raises(AssertionError):
        check_cross(twin)


class WithoutAnEnd:
    """A loss variable whose enclosures are numbers only up to an epsilon of 1."""

    symmetric = True

    def enclose(self, epsilon: float) -> tuple[float, float]:
        return (0.0, 0.5) if epsilon < 1.0 else (math.nan, math.nan)


def test_an_end_that_is_no_number_bounds_nothing():
    assert math.isnan(single._excess((WithoutAnEnd(),), 2.0, 1, 1e-5))
    assert single._excess((WithoutAnEnd(),), 0.5, 1, 1e-5) > 0.0


class Known:
    """A loss variable with the same enclosure everywhere."""

    symmetric, least, p_only = False, 0.0, 0.0

    def __init__(self, low: float, high: float) -> None:
        self.ends = low, high

    def enclose(self, epsilon: float) -> tuple[float, float]:
        return self.ends


@pytest.mark.parametrize("order", [1, -1])
def test_an_end_that_is_no_number_in_one_direction_bounds_nothing_in_both(order: int):
    pair = (Known(0.0, 0.5), Known(math.nan, math.nan))[::order]
    assert math.isnan(single._enclosure(pair, 1.0)[1])
    assert single.pair_delta(pair, 1.0) is None
    assert not single._enclosure(pair, 1.0)[0] > 0.0
