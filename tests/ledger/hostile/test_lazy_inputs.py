"""Inputs whose code releases while they are read: each release is paid, as if it had been made before."""

from collections import UserList
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import mechanisms as m, noise
from privet.errors import InvalidData, LedgerError, PrivetError, ReleaseFailed
from privet.ledger import payer_of
from privet.mechanisms import here as place, payment
from privet.mechanisms.here import here
from privet.mechanisms.whole import body_of
from privet.privacy import Unit


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


class Made(list):
    """A list that makes its items anew."""

    def __iter__(self):
        return iter([])


@pytest.mark.parametrize("rows", [lambda step, kept: Made([1]), Lazy, lazily, lambda step, kept: UserList([1, 2])])
def test_an_algorithm_takes_lists_and_not_what_may_make_its_items_when_it_is_asked(rows):
    """It looks in its body, where releases are parts and cost nothing."""
    step, kept = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0), []
    whole = OfRows(part=m.Laplace.for_budget(epsilon=1.0, sensitivity=1.0))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0))
    with ledger:
        with pytest.raises(InvalidData, match="hand in a list"):
            whole.release(rows(step, kept))
        assert ledger.spent["basic epsilon"] == 0.0
        for plain in ([1, 2], (1, 2), range(3), np.ones(2)):
            whole.release(plain)
    assert not kept


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


@dataclass(frozen=True, kw_only=True)
class Larger(m.Algorithm):
    """An algorithm of an author, one part of which calls a function of that author."""

    name = "lazy_inputs_larger"
    part: OfRows
    call: Any

    @property
    def loss(self):
        return pv.privacy.Composed([self.part.loss] * 2)

    def _run(self, prepared, source):
        self.part.release(prepared, source=source)
        with body_of("a part", secure=False), payment.outside():
            return self.call(source)

    @classmethod
    def examples(cls):
        return ()


def test_what_a_callback_of_a_part_releases_is_a_part_of_the_algorithm_around_it():
    part = OfRows(part=m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0))
    whole = Larger(part=part, call=lambda source: part.release([1.0], source=source).value)
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0)) as ledger:
        whole.release([1.0])
    assert ledger.spent["basic epsilon"] == 1.0


def test_a_ledger_in_force_is_not_asked_again_inside_of_a_release():
    asked = Larger(
        part=OfRows(part=m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)), call=lambda source: payer_of(None)
    )
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0)) as ledger:
        assert payer_of(None) is ledger
        assert asked.release([1.0]).value is None
        assert payer_of(None) is ledger


def test_an_input_of_made_up_noise_is_read_outside_too():
    step, kept = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0), []
    total = m.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 1))
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0)):
        total.release(lazily(step, kept), source=noise.Seeded(1))
    assert all(made.paid is not None for made in kept)


def test_what_ends_late_does_not_put_a_release_back_that_has_ended():
    known = payment.outside()
    with payment.paid_for():
        known.__enter__()
    known.__exit__()
    assert here().paying == ()


def test_where_records_are_looked_at_nothing_is_released_and_nothing_paid():
    step = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0))
    calls = [
        lambda: step.release(1.0),
        lambda: ledger.release(step, 1.0),
        lambda: ledger.reserve(step),
        lambda: ledger.reserve_many([step.loss]),
        lambda: ledger.start([step.loss]),
        lambda: pv.ledger.pay(step, 1.0, ledger=ledger),
        lambda: m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0).simulate(1.0, 2),
        lambda: payer_of(None),
    ]
    for call in calls:
        for around in (payment.sealed, lambda: payment.paid_for()):
            with around(), payment.sealed(), pytest.raises(LedgerError, match="Release before, and hand in"):
                call()
    run = ledger.start([step.loss] * 2)
    run.begin()
    for call in (run.begin, lambda: run.repeat(1), ledger.__enter__):
        with payment.sealed(), pytest.raises(LedgerError, match="Release before, and hand in"):
            call()
    assert run.begin().index == 1
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0))
    with ledger, payment.paid_for(), payment.sealed(), pytest.raises(LedgerError, match="Release before"):
        step.release(1.0)
    assert ledger.spent["basic epsilon"] == 0.0
    assert step.release(1.0).paid is None


class Table(Mapping):
    """A table that makes its columns when they are asked for."""

    def __init__(self, call):
        self.call, self.columns = call, {"age": np.arange(50) % 9, "group": np.arange(50) % 2}

    def __iter__(self):
        return iter(self.columns)

    def __len__(self):
        return len(self.columns)

    def __getitem__(self, name):
        self.call()
        return self.columns[name]


COLUMNS = {"age": pv.Int(0, 8), "group": pv.Int(0, 1)}
OF_TABLES = {
    "agg": lambda ledger, table: ledger.release(table.agg(n=pv.count()), epsilon=1.0),
    "marginals": lambda ledger, table: ledger.release(table.marginals("age", "group"), epsilon=1.0),
    "quantiles": lambda ledger, table: ledger.release(table.quantiles("age", [0.5]), epsilon=1.0),
    "independent": lambda ledger, table: pv.synth.Independent().fit(table, epsilon=1.0, ledger=ledger),
    "fit": lambda ledger, table: pv.learn.LinearRegression(epsilon=1.0, delta=1e-6).fit(table, target="age"),
}


@pytest.mark.parametrize("question", OF_TABLES)
def test_a_table_that_releases_while_it_is_read_is_refused_before_anything_is_paid(question):
    step, seen = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0), []

    def call():
        if calling:
            seen.append(here().sealed)
            step.release(1.0)

    calling = False
    table = pv.Table(Table(call), columns=COLUMNS, name="t")
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0, delta=1e-3)) as ledger:
        calling = True
        with pytest.raises(PrivetError):
            OF_TABLES[question](ledger, table)
        assert ledger.spent["basic epsilon"] == 0.0
    assert seen
    assert all(seen)


@pytest.mark.parametrize("question", OF_TABLES)
def test_a_table_is_sealed_wherever_it_is_read(question):
    seen = []
    table = pv.Table(Table(lambda: seen.append((here().sealed, len(here().paying)))), columns=COLUMNS, name="t")
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0, delta=1e-3)) as ledger:
        OF_TABLES[question](ledger, table)
    inside = [sealed for sealed, deep in seen if deep > 1]
    assert inside
    assert all(inside)


def test_an_interruption_at_the_end_of_a_fact_leaves_nothing_of_it(monkeypatch):
    """Else a thread would be sealed for ever, or be inside of an algorithm that has ended."""
    plain, asked = place.change, []

    def interrupted(**fields):
        asked.append(fields)
        if len(asked) == 2:
            raise KeyboardInterrupt
        plain(**fields)

    monkeypatch.setattr(place, "change", interrupted)
    with pytest.raises(KeyboardInterrupt), payment.sealed():
        pass
    assert not here().sealed
    assert m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0).release(1.0).paid is None


def test_what_is_inside_of_an_algorithm_that_has_ended_is_no_part_of_it():
    step, kept = m.Laplace.for_budget(epsilon=0.5, sensitivity=1.0), []
    total = m.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 1))
    with body_of("ended", secure=True):
        stale = here().body
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0)) as ledger, place.changed(body=stale):
        total.release(lazily(step, kept))
        with payment.paid_for(), payment.outside():
            kept.append(step.release(1.0))
        with body_of("next", secure=True):
            assert here().body.larger is None
    assert ledger.spent["basic epsilon"] == 3.0
    assert all(made.paid for made in kept)


def test_a_fit_inside_of_what_a_ledger_pays_for_protects_whom_the_ledger_protects():
    unit = Unit("replace")
    fit = pv.learn.Ridge(epsilon=1.0)
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0), unit=unit):
        assert fit._unit() == unit
        with payment.paid_for():
            assert fit._unit() == unit
    assert fit._unit() == Unit()
