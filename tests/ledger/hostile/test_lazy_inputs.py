"""Inputs whose code releases while they are read: each release is paid, as if it had been made before."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

import privet as pv
from privet import mechanisms as m
from privet.errors import PrivetError


def lazily(step, kept):
    """Records that are made as they are read, by releases of their own."""
    for number in (1, 2, 3):
        made = step.release(number)
        kept.append(made)
        yield made.value


class Lazy(Sequence):
    """The same as a sequence: its length is known, its items are not yet."""

    def __init__(self, step, kept):
        self.step, self.kept = step, kept

    def __len__(self):
        return 3

    def __getitem__(self, place):
        if place >= 3:
            raise IndexError
        self.kept.append(self.step.release(place))
        return self.kept[-1].value


@pytest.mark.parametrize("records", [lazily, Lazy])
def test_what_is_released_while_an_input_is_read_is_paid(records):
    """It counted as part of the release that read it: however many there were, one was paid."""
    step = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    total = m.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 1))
    ledger, kept = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0)), []
    with ledger:
        total.release(records(step, kept))
    assert len({made.paid["entry"] for made in kept}) == 3
    assert ledger.spent["basic epsilon"] == 2.5


def test_what_is_released_while_an_input_is_read_cannot_go_beyond_the_budget():
    step = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    total = m.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 1))
    ledger, kept = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=2.0)), []
    with pytest.raises(PrivetError), ledger:
        total.release(lazily(step, kept))
    assert len(kept) == 2


def test_an_input_that_an_algorithm_makes_of_its_parts_is_part_of_it():
    """Twin of the above: within an algorithm what is read lazily belongs to the whole, which was priced."""
    step = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    total = m.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 1))
    kept = []

    @dataclass(frozen=True, kw_only=True)
    class Whole(m.Algorithm):
        name = "whole_of_lazy_parts"

        @property
        def loss(self):
            return pv.privacy.PureLoss(2.5)

        def _run(self, prepared, source):
            return total.release(lazily(step, kept), source=source).value

        def error(self, confidence=0.95):
            return None

        @classmethod
        def examples(cls):
            return ()

    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0))
    with ledger:
        Whole().release(1)
    assert [made.paid for made in kept] == [None] * 3
    assert ledger.spent["basic epsilon"] == 2.5
