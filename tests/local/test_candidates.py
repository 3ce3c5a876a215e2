"""Candidates: public values of the protocol, checked before anything else and by one sentence for all protocols."""

import numpy as np
import pytest

from privet import local
from privet.errors import InvalidData, InvalidParameter
from tests.local.members import KINDS, made

EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@EVERY
@pytest.mark.parametrize(
    "wrong",
    [[9], [0, 2**63], [2**64], [-1], [1.5], ["a"], [True], [], 1, [[0]], [[0], [0, 1]], [None], {0}],
    ids=repr,
)
def test_candidates_outside_of_the_domain_are_refused(kind, wrong):
    protocol = made(kind)
    reports = protocol.privatize(np.arange(40) % protocol.size)
    for ask in (
        lambda: protocol.estimate(reports, candidates=wrong),
        lambda: protocol.estimate(protocol.new_state().add(reports), candidates=wrong),
        lambda: protocol.new_state(candidates=wrong),
        lambda: protocol.estimate(["no report"], candidates=wrong),  # before the reports are looked at
    ):
        with pytest.raises(InvalidParameter, match="candidates must be"):
            ask()


@EVERY
def test_candidates_up_to_the_last_value_are_answered(kind):
    protocol = made(kind, **({"cohorts": 1, "width": 12} if kind is local.RAPPOR else {}))
    last = protocol.size - 1
    reports = protocol.privatize(np.arange(40) % protocol.size)
    every = protocol.estimate(reports)
    for state in (reports, protocol.new_state().add(reports), protocol.new_state(candidates=[last, 0]).add(reports)):
        told = protocol.estimate(state, candidates=[last, 0])
        assert np.allclose(told.raw, every.raw[[last, 0]])
        assert told.labels == (last, 0)
    with pytest.raises(InvalidParameter, match="candidates must be"):
        protocol.new_state(candidates=[last + 1])


@EVERY
def test_shares_of_some_candidates_are_not_made_to_add_up_to_one(kind):
    protocol = made(kind, **({"cohorts": 1, "width": 12} if kind is local.RAPPOR else {}))
    reports = protocol.privatize(np.zeros(40, dtype=int))
    with pytest.raises(InvalidParameter, match="need not add up"):
        protocol.estimate(reports, candidates=[0, 1], consistency=local.NormSub())
    with pytest.raises(InvalidParameter, match="need not add up"):
        protocol.estimate(protocol.new_state(candidates=[0, 1]).add(reports), consistency=local.NormSub())


def test_a_mean_has_no_candidates():
    with pytest.raises(InvalidParameter, match="no candidates"):
        local.State(local.Duchi(epsilon=1.0, bounds=(0, 1)), candidates=[0])
    with pytest.raises(InvalidData, match="at least one report"):
        local.KRR(k=3, epsilon=1.0).estimate([], candidates=[0])
