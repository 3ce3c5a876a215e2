"""Frequent values out of very many: found where they are frequent, nothing where there are none, refusals."""

import numpy as np
import pytest

from privet import local, noise
from privet.errors import InvalidData, InvalidParameter

SEARCH = local.PrefixSearch(bits=16, epsilon=4.0, start=6, step=5)


def crowd(*frequent):
    rest = np.random.default_rng(3).integers(0, 2**16, 8000)
    return np.concatenate([np.full(many, value) for value, many in frequent] + [rest])


def test_frequent_values_are_found_with_their_shares():
    people = crowd((1234, 6000), (60000, 4000))
    found = SEARCH.search(SEARCH.privatize(people, source=noise.Seeded(1)))
    assert list(found)[:2] == [1234, 60000]
    assert found[1234] == pytest.approx(6000 / len(people), abs=0.06)
    assert len(found) <= 4


def test_nothing_is_found_where_nothing_is_frequent():
    found = SEARCH.search(SEARCH.privatize(crowd(), source=noise.Seeded(2)))
    assert len(found) <= 1


def test_everyone_sends_one_report():
    people = crowd()
    reports = SEARCH.privatize(people, source=noise.Seeded(3))
    assert len(reports) == len(SEARCH.lengths) == 3
    assert sum(len(group) for group in reports) == len(people)
    assert SEARCH.loss.pure() <= 4.0
    assert SEARCH.loss.pure() == max(SEARCH.protocol(length).loss.pure() for length in SEARCH.lengths)


@pytest.mark.parametrize(("bits", "start", "step"), [(8, 8, 4), (10, 3, 4), (32, 16, 12), (1, 1, 1)])
def test_prefixes_grow_up_to_the_whole_value(bits, start, step):
    search = local.PrefixSearch(bits=bits, epsilon=2.0, start=start, step=step)
    assert search.lengths[0] == start
    assert search.lengths[-1] == bits
    assert max(np.diff(search.lengths), default=0) <= step


@pytest.mark.parametrize(
    "wrong",
    [{"bits": 33}, {"bits": 4, "start": 5}, {"start": 17, "bits": 20}, {"step": 13}, {"epsilon": 0.0}, {"keep": 0}],
)
def test_what_is_refused(wrong):
    with pytest.raises(InvalidParameter):
        local.PrefixSearch(**{"bits": 16, "epsilon": 1.0, **wrong})


def test_values_are_clamped_and_reports_are_counted_by_rounds():
    reports = SEARCH.privatize(np.array([-5, 10**9]), source=noise.Seeded(5))
    assert sum(map(len, reports)) == 2
    with pytest.raises(InvalidData, match="whole numbers"):
        SEARCH.privatize(np.array([[1, 2]]))
    with pytest.raises(InvalidData, match="one of several equal records"):  # how many reports there are would tell
        SEARCH.privatize({3, 4})
    with pytest.raises(InvalidData, match="a dict has labels"):
        SEARCH.privatize({"ann": 3})
    with pytest.raises(InvalidData, match="each round"):
        SEARCH.search(reports[:1])
