"""Containers that fail while they are read: one sentence of ours, and nothing of what they hold or said."""

import traceback
from collections import deque
from collections.abc import Sequence

import numpy as np
import pytest

import privet as pv
from privet import mechanisms, noise, testing
from privet.errors import InvalidData, PrivetError
from privet.mechanisms.mechanism import Mechanism

testing.load_rooms()
SECRET = "Ada Lovelace, 36"
EXAMPLES = {
    name: example
    for name, kind in mechanisms.registered_mechanisms().items()
    for example in [next(iter(kind.examples()))]
    if example.cost != "costly"
}


def midway():
    yield 1.0
    raise ValueError(SECRET)


class Falling(Sequence):
    """A list of two that fails where it is told to."""

    def __init__(self, where):
        self.where = where

    def _fall(self, place):
        if place == self.where:
            raise KeyError(SECRET)

    def __len__(self):
        self._fall("len")
        return 2

    def __getitem__(self, i):
        self._fall("item")
        if i > 1:
            raise IndexError
        return float(i)

    def __iter__(self):
        self._fall("iter")
        yield 1.0
        self._fall("second")
        yield 2.0


class Column:
    """What looks like a column of another library, and does not give up its numbers."""

    dtype, ndim = np.dtype(float), 1

    def __len__(self):
        return 2

    def __array__(self, *_, **__):
        raise RuntimeError(SECRET)


class Exits(Falling):
    def _fall(self, place):
        if place == self.where:
            raise StopIteration(SECRET)


CONTAINERS = {
    "generator": midway,
    "map": lambda: map(float, ["1", SECRET]),
    **{where: lambda where=where: Falling(where) for where in ("len", "item", "iter", "second")},
    "stop": lambda: Exits("second"),
    "column": Column,
    "a list of them": lambda: [Falling("iter"), Falling("len")],
}


def everything_said(error):
    seen = [error]
    for each in seen:
        seen += [link for link in (each.__cause__, each.__context__) if link is not None and link not in seen]
    return "".join("".join(traceback.format_exception_only(each)) + repr(each.args) for each in seen)


def check_reading(use, data):
    """Answered, or refused in our words."""
    said = ""
    try:
        use(data)
    except PrivetError as error:
        said = everything_said(error)
    assert SECRET not in said


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_what_a_container_says_when_it_fails_is_not_passed_on(name, container):
    mechanism = EXAMPLES[name].mechanism
    for use in (mechanism.check, mechanism.release):
        check_reading(use, CONTAINERS[container]())


def test_made_up_data_shows_what_went_wrong():
    """A simulation, and a release with seeded noise, are for authors: see tests/laws/test_law.py for their own bugs."""
    total = mechanisms.BoundedSum.for_budget(epsilon=0.5, bounds=(0, 9))
    for use in (lambda data: total.simulate(data, 2), lambda data: total.release(data, source=noise.Seeded(1))):
        with pytest.raises(ValueError, match=SECRET):
            use(midway())


@pytest.mark.parametrize("container", ["generator", "second"])
def test_a_reading_that_fails_has_been_paid(container):
    """Refunding would tell that the data made it fail; what fails by its type is refused before."""
    total = mechanisms.BoundedSum.for_budget(epsilon=0.5, bounds=(0, 9))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    with pytest.raises(PrivetError) as caught:
        ledger.release(total, CONTAINERS[container]())
    assert SECRET not in everything_said(caught.value)
    assert ledger.spent["basic epsilon"] == 0.5
    with pytest.raises(InvalidData):
        ledger.release(total, "text")
    assert ledger.spent["basic epsilon"] == 0.5


class Items(Sequence):
    """A container of a user: so many items, of which the last one fails or is of another kind."""

    def __init__(self, items, last):
        self.items, self.last = items, last

    def __len__(self):
        return len(self.items)

    def __getitem__(self, place):
        if place != len(self.items) - 1:
            return self.items[place]
        return self.items[place] if self.last is None else self.last()


def falls():
    raise KeyError(SECRET)


def refusal(mechanism, data):
    try:
        mechanism.check(data)
    except PrivetError as error:
        return str(error)
    return None


LISTS = {
    name: list(example.left)
    for name, example in EXAMPLES.items()
    if isinstance(example.left, list | tuple | np.ndarray) and np.ndim(example.left) and len(example.left)
}


@pytest.mark.parametrize("name", LISTS)
def test_what_an_item_is_decides_nothing_before_the_charge(name):
    """Else whether a release was refused would tell of it, free of charge."""
    mechanism, items = EXAMPLES[name].mechanism, LISTS[name]
    plain = refusal(mechanism, Items(items, None))
    for last in (falls, lambda: [4], lambda: None, lambda: "four"):
        assert refusal(mechanism, Items(items, last)) == plain
        odd = deque([*items[:-1], 0 if last is falls else last()])
        assert refusal(mechanism, odd) == refusal(mechanism, deque(items))


def test_an_interrupt_passes():
    def interrupted():
        yield 1.0
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mechanisms.BoundedSum.for_budget(epsilon=0.5, bounds=(0, 9)).release(interrupted())


def test_a_reading_that_passes_everything_on_is_noticed(monkeypatch):
    """The broken twins: the container's own error, and ours with the other one behind it."""
    total = mechanisms.BoundedSum.for_budget(epsilon=0.5, bounds=(0, 9))

    def chained(self, reading, value, shown):
        try:
            return reading(value)
        except Exception:
            raise InvalidData("unreadable") from None

    for broken, seen in ((lambda self, reading, value, shown: reading(value), ValueError), (chained, AssertionError)):
        monkeypatch.setattr(Mechanism, "_read", broken)
        with pytest.raises(seen):
            check_reading(total.release, midway())
