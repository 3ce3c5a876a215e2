"""Inputs whose code releases while they are read: each release is paid, as if it had been made before."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

import privet as pv
from privet import mechanisms as m
from privet.errors import InvalidData, PrivetError, ReleaseFailed
from privet.mechanisms import payment
from privet.mechanisms.here import here


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


@dataclass(frozen=True, kw_only=True)
class OfRows(m.Algorithm):
    """An algorithm that looks at its input in its body, as its author finds it in the documentation."""

    name = "lazy_inputs_of_rows"
    part: m.Laplace

    @property
    def loss(self):
        return self.part.loss

    def _run(self, prepared, source):
        return self.part.release(float(sum(prepared)), source=source).value

    @classmethod
    def examples(cls):
        return ()


class Handed(m.Mechanism):
    """A mechanism whose author hands on what would be read while it is drawn from."""

    name = "lazy_inputs_handed_on"

    @property
    def loss(self):
        return pv.privacy.PureLoss(0.5)

    def _prepare(self, value):
        return (min(each, 1.0) for each in value)

    def _draw(self, prepared, runs, source):
        return [float(sum(prepared))] * runs

    def error(self, confidence=0.95):
        return None

    @classmethod
    def examples(cls):
        return ()


def test_an_algorithm_that_reads_its_input_in_its_body_does_not_pay_for_what_that_releases():
    step, kept = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0), []
    whole = OfRows(part=m.Laplace.for_budget(epsilon=1.0, sensitivity=1.0))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0))
    with ledger:
        whole.release(Lazy(step, kept))
        assert len({made.paid["entry"] for made in kept}) == 3
        assert ledger.spent["basic epsilon"] == 2.5
        with pytest.raises(InvalidData, match="an iterator can be read once"):
            whole.release(lazily(step, kept))
    assert len(kept) == 3
    assert ledger.spent["basic epsilon"] == 2.5


def test_an_input_that_would_be_read_while_it_is_drawn_from_is_refused():
    step, kept = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0), []
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0)), pytest.raises(ReleaseFailed):
        Handed().release(lazily(step, kept))
    assert not kept
    with pytest.raises(InvalidData, match="has to read its input in _prepare"):
        Handed().release([1.0])


def test_a_block_that_ends_while_an_input_is_read_has_ended():
    """It was put back, dead, and every later release in the thread was refused."""
    step = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    total = m.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 1))
    ledger, kept = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0)), []

    def rows():
        with ledger:
            yield "header"
            yield from lazily(step, kept)

    read = rows()
    next(read)
    total.release(read)
    assert [made.paid is not None for made in kept] == [True] * 3
    assert here().paying == ()
    assert step.release(1).paid is None  # no ledger is in force any more, and nothing is in the way


def test_a_block_that_waits_in_an_input_pays_for_nothing_outside_of_it():
    step = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    largest = m.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 1))
    around, inside = (pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0)) for _ in range(2))
    waiting = []

    def rows():
        with inside:
            yield step.release(1).value
            yield step.release(2).value

    class First(list):
        def __iter__(self):
            waiting.append(rows())
            return iter([next(waiting[0])])

    with around:
        largest.release(First([1]))
        assert step.release(1).paid["ledger"] == around.policy.ledger
    assert [each.spent["basic epsilon"] for each in (around, inside)] == [1.5, 0.5]
    waiting[0].close()
    assert here().paying == ()


def test_what_is_interrupted_at_the_end_of_a_paid_release_leaves_nothing_behind(monkeypatch):
    total, plain, asked = m.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 1)), payment._leave, []

    def interrupted(whole):
        asked.append(whole)
        if len(asked) == 1:
            raise KeyboardInterrupt
        plain(whole)

    monkeypatch.setattr(payment, "_leave", interrupted)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0))
    with pytest.raises(KeyboardInterrupt):
        ledger.release(total, [1.0])
    assert here().paying == ()


def test_a_process_that_is_made_while_an_input_is_read_is_no_part_of_the_release():
    """A copy of the memory never learns that the release has ended."""
    with payment.paid_for():
        known = payment.outside()
        known.__enter__()
        known._process += 1
        known.__exit__()
        assert here().paying == ()


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
