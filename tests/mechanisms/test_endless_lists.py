"""Lists of public things that no memory holds: `range(10**12)` is a sentence, not a process that the system ends."""

import pytest

from privet import mechanisms as m
from privet.errors import InvalidParameter

ENDLESS = range(10**12)


@pytest.mark.parametrize(
    "made",
    [
        lambda: m.KRR.for_budget(epsilon=1.0, labels=ENDLESS),
        lambda: m.Histogram.for_budget(epsilon=1.0, labels=ENDLESS),
        lambda: m.Histogram.for_budget(epsilon=1.0, edges=ENDLESS),
        lambda: m.Exponential.for_budget(epsilon=1.0, sensitivity=1.0, candidates=ENDLESS),
        lambda: m.NoisyMax.for_budget(epsilon=1.0, sensitivity=1.0, candidates=ENDLESS),
        lambda: m.OneOf(ENDLESS),
    ],
)
def test_a_list_that_no_memory_holds_is_refused(made):
    with pytest.raises(InvalidParameter, match="more items than memory holds"):
        made()


@pytest.mark.parametrize("values", [3, None, "abc", {1, 2}])
def test_alternatives_are_a_list(values):
    with pytest.raises(InvalidParameter, match="values must be"):
        m.OneOf(values)


def test_ranges_of_a_size_are_lists():
    assert m.Histogram.for_budget(epsilon=1.0, labels=range(3)).labels == (0, 1, 2)
    assert m.Histogram.for_budget(epsilon=1.0, edges=range(3)).edges == (0.0, 1.0, 2.0)
    assert m.OneOf(range(3)).holds(2)
