"""Do outputs depend on more than the input: on a clock, on earlier runs, on something drawn once and kept?

Every check compares two groups of runs on one input that would be exchangeable if runs were independent. The bounds hold
for every law and every number of runs; their level is so strict that a sound audit hardly ever meets it.
"""

import math

import numpy as np

from privet._numerics import Array

LEVEL = 1e-9  # of each single comparison
_COLUMNS = 6  # that are looked at: what is kept from run to run mostly shows in the first ones
_MISSING = -1.2345e306  # equal to itself, unlike NaN


def dependence(columns: list[dict[str, Array]], after_other: list[Array | None], first: tuple[str, ...]) -> str | None:
    """The things that the runs of a world depend on besides their input, in words; None when nothing shows.

    `columns` are the two worlds' columns in the order of the runs, `first` names those that matter most.

    >>> rising = {"value[0]": np.arange(1000.0)}
    >>> dependence([rising, rising], [None, None], ())
    'later runs differ from earlier ones'
    """
    for side, after in zip(columns, after_other, strict=True):
        names = [name for name in dict.fromkeys((*first, *side)) if name in side and _judged(name)]
        for name in names[:_COLUMNS]:
            marks = _indicator(side[name])
            if drifts(side[name]):
                return "later runs differ from earlier ones"
            if _together(marks) or _together_equal(side[name]):
                return "a run resembles the run before it"
            if after is not None and apart(marks[after], marks[~after]):
                return "a run depends on which input came before it"
    return None


def drifts(column: Array) -> bool:
    """True if the later runs of a world differ from the earlier ones.

    >>> drifts(np.arange(1000.0)), drifts(np.tile([0.0, 1.0], 500))
    (True, False)
    """
    marks = _indicator(column)
    half = len(marks) // 2
    return apart(marks[:half], marks[half:])


def _judged(name: str) -> bool:
    return not name.startswith("time") and " given " not in name


def apart(one: Array, other: Array) -> bool:
    """True if the shares of yes in two groups differ by more than exchangeable runs allow.

    **Guarantee:** probability at most LEVEL, as either group is then a sample without replacement of the whole.
    **Reference:** Hoeffding 1963, section 6.

    >>> apart(np.ones(200, dtype=bool), np.zeros(200, dtype=bool)), apart(np.ones(5, dtype=bool), np.zeros(5, dtype=bool))
    (True, False)
    """
    if not len(one) or not len(other):
        return False
    small = one if len(one) <= len(other) else other
    whole = (one.sum() + other.sum()) / (len(one) + len(other))
    return bool(2.0 * math.exp(-2.0 * len(small) * (small.mean() - whole) ** 2) <= LEVEL)


def differs(one: Array, other: Array) -> bool:
    """True if two groups of runs on one input differ in how often they show the commonest value, or pass the median.

    >>> differs(np.zeros(100), np.ones(100)), differs(np.zeros(100), np.zeros(100))
    (True, False)
    """
    pooled = np.concatenate((one, other))
    values, times = np.unique(pooled[~np.isnan(pooled)], return_counts=True)
    if not values.size:
        return False
    marks = [_indicator(pooled), pooled == values[np.argmax(times)]]
    return any(apart(mark[: len(one)], mark[len(one) :]) for mark in marks)


def _indicator(column: Array) -> Array:
    """Above the median; where one value makes up more than half of the runs, equal to it."""
    known = column[~np.isnan(column)]
    if not known.size:
        return np.isnan(column)
    middle = float(np.median(known))
    above = np.nan_to_num(column, nan=-np.inf) > middle
    return np.asarray(above if above.any() else np.nan_to_num(column, nan=-np.inf) >= middle)


def _together(marks: Array) -> bool:
    """True if neighbouring runs agree or disagree too often: a swap of two runs moves the share by at most 2/m."""
    m = len(marks) // 2
    if m == 0:
        return False
    n, yes = 2 * m, int(marks[: 2 * m].sum())
    expected = (yes * (yes - 1) + (n - yes) * (n - yes - 1)) / (n * (n - 1)) if n > 1 else 1.0
    share = float(np.mean(marks[0 : 2 * m : 2] == marks[1 : 2 * m : 2]))
    return 2.0 * math.exp(-m * (share - expected) ** 2 / 4.0) <= LEVEL


def _together_equal(column: Array) -> bool:
    """The same for runs that are exactly equal."""
    m = len(column) // 2
    if m == 0:
        return False
    column = np.nan_to_num(column, nan=_MISSING)
    _, times = np.unique(column[: 2 * m], return_counts=True)
    n = 2 * m
    expected = float(np.sum(times * (times - 1.0))) / (n * (n - 1.0)) if n > 1 else 1.0
    share = float(np.mean(column[0 : 2 * m : 2] == column[1 : 2 * m : 2]))
    return 2.0 * math.exp(-m * (share - expected) ** 2 / 4.0) <= LEVEL
