"""A release as a notebook shows it: what was released, with its intervals, and below it what that cost in epsilon."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from privet._amount import is_number
from privet._markup import facts, grid, lines, note, short, told, with_ends
from privet._numerics import bisect, log_ndtr, ndtr
from privet.errors import PrivetError
from privet.mechanisms.error_bar import ErrorBar
from privet.privacy import PrivacyLoss

_SHOWN = 20  # rows
_DELTA = 1e-6  # at which a price is said that has no epsilon by itself


def price_in_words(loss: PrivacyLoss, at: float | None = None) -> str:
    """A price as people ask for it: its epsilon, at a delta where it has none by itself; rounded up.

    >>> from privet.privacy import GaussianLoss, PureLoss
    >>> price_in_words(PureLoss(0.5)), price_in_words(GaussianLoss(10.0))
    ('epsilon 0.5', 'epsilon 0.3969 at delta 1e-06')
    """
    pure = loss.pure()
    if math.isfinite(pure):
        return f"epsilon {short(pure, up=True)}"
    point, delta = loss.approximate(), _DELTA if at is None else at
    if math.isfinite(point.epsilon):
        return f"epsilon {short(point.epsilon, up=True)} at delta {short(point.delta, up=True)}"
    found = _at_delta(loss, delta)
    return f"epsilon {short(found, up=True)} at delta {delta:g}" if math.isfinite(found) else loss.describe()


def _at_delta(loss: PrivacyLoss, delta: float) -> float:
    """An epsilon at a delta by mu (exact for normal noise) or rho; infinite where the loss has neither."""
    mu, square = loss.gdp(), loss.zcdp()
    found = math.inf
    if square.delta0 <= delta / 2.0 and math.isfinite(square.rho):
        found = square.rho + 2.0 * math.sqrt(square.rho * math.log(2.0 / delta))
    if mu == 0.0 or not math.isfinite(mu) or mu > 30.0:
        return 0.0 if mu == 0.0 else found

    def covered(epsilon: float) -> bool:
        lower = log_ndtr(-epsilon / mu - mu / 2.0) + epsilon
        return float(ndtr(-epsilon / mu + mu / 2.0) - np.exp(lower)) <= delta

    return min(found, bisect(covered, 0.0, mu * mu / 2.0 + mu * math.sqrt(2.0 * math.log(1.0 / delta)), within=1e-7))


def value_html(value: object, bar: ErrorBar | None) -> str:
    """A released value: by its own display, or a table of its entries with their intervals."""
    own = getattr(value, "_repr_html_", None)
    if callable(own):
        return str(own())
    if isinstance(value, Mapping) and value and all(hasattr(each, "_repr_html_") for each in value.values()):
        return "".join(note(str(name)) + value_html(each, None) for name, each in value.items())
    if isinstance(value, Mapping) and value and all(is_number(each) for each in value.values()):
        names = [str(name) for name in value]
        return _entries("name", names, list(value.values()), [_ends(value, bar, name) for name in value])
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biuf" and not np.ma.isMA(value):
        ends = _ends(value, bar, None)
        listed = [None] * len(value) if ends is None else list(zip(*ends, strict=True))
        return _entries("entry", [f"{i:,}" for i in range(len(value))], list(value), listed)
    if is_number(value):
        ends = _ends(value, bar, None)
        return grid(["value"], [[told(value) if ends is None else with_ends(value, *ends)]])
    return lines(str(value))


def _entries(title: str, names: list[str], values: list[Any], ends: list[Any]) -> str:
    cells = [
        told(value) if end is None else with_ends(value, *end)
        for value, end in zip(values[:_SHOWN], ends[:_SHOWN], strict=True)
    ]
    more = "" if len(values) <= _SHOWN else note(f"{len(values) - _SHOWN:,} more rows")
    return grid([title, "value"], zip(names, cells, strict=False)) + more


def _ends(value: object, bar: ErrorBar | None, name: object) -> Any:
    """The ends of the interval of a value, or of one of its named entries; None where there is none."""
    if bar is None or not bar.around:
        return None
    if name is not None and not isinstance(bar.radius, Mapping) and bar.of != name:
        return None
    try:
        low, high = bar.interval(value)
    except PrivetError:
        return None
    return (
        (low, high)
        if name is None or not isinstance(low, Mapping)
        else (low[name], high[name])
        if name in low
        else None
    )


def confidence_in_words(bar: ErrorBar) -> str:
    """The level of intervals.

    >>> confidence_in_words(ErrorBar(3.0, 0.95))
    '95% intervals'
    """
    return f"{100.0 * bar.confidence:.4g}% intervals" + ("" if bar.joint else ", each by itself")


def release_html(value: object, bar: ErrorBar | None, loss: PrivacyLoss, more: list[tuple[str, object]]) -> str:
    """The display of a release: the value, then its price and where it comes from."""
    pairs: list[tuple[str, object]] = [("price", price_in_words(loss)), ("protected", loss.unit.describe())]
    if bar is not None and bar.around and not hasattr(value, "_repr_html_"):  # which says it by itself
        pairs.insert(0, ("intervals", confidence_in_words(bar)))
    elif bar is not None and not bar.around:
        pairs.insert(0, ("error", bar))
    return value_html(value, bar) + facts("Release", [*pairs, *more])
