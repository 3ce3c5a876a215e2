"""What a mechanism keeps of its input beside the release: a copy of it would carry that along."""

from functools import cached_property

import numpy as np
import pytest

from privet import testing
from privet.mechanisms import Example
from tests.laws.test_strange_records import Sums, Total, pair, rows_of


class KeepsRecords(Total):
    def _prepare(self, value):
        object.__setattr__(self, "_latest", list(value))
        return super()._prepare(value)


class KeepsType(Total):
    """What depends on public facts alone may be kept."""

    def _prepare(self, value):
        object.__setattr__(self, "_kind", type(value).__name__)
        return super()._prepare(value)


class KeepsRows(Sums):
    def _run(self, prepared, source):
        vars(self).setdefault("_seen", []).append(prepared)
        return super()._run(prepared, source)


class KeepsFirst(Sums):
    """Half of the smallest of the first rows that it saw, as if that were public from then on."""

    def _run(self, prepared, source):
        vars(self).setdefault("_least", float(prepared.min()) / 2)
        return super()._run(prepared, source)


class KeepsParameters(Sums):
    """What follows from parameters is computed once."""

    @cached_property
    def twice(self):
        return 2.0 * self.part.scale

    def _run(self, prepared, source):
        return self.twice * super()._run(prepared, source)


def test_a_mechanism_that_keeps_its_input_is_caught():
    with pytest.raises(AssertionError, match=r"keeps .*_latest"):
        testing.check_parameters_are_frozen(pair(KeepsRecords()))
    testing.check_parameters_are_frozen(pair(KeepsType()))


@pytest.mark.parametrize("cost", ["cheap", "costly"])
@pytest.mark.parametrize(("twin", "name"), [(KeepsRows, "_seen"), (KeepsFirst, "_least")])
def test_an_algorithm_that_keeps_its_input_is_caught(twin, name, cost):
    with pytest.raises(AssertionError, match=f"keeps .*{name}"):
        testing.check_replay_sees_nothing(rows_of(twin(), cost))


def test_an_algorithm_may_keep_what_follows_from_its_parameters():
    testing.check_replay_sees_nothing(rows_of(KeepsParameters()))


def test_a_mechanism_that_cannot_be_copied_is_replayed_as_it_is():
    class Uncopied(Sums):
        def __deepcopy__(self, memo):
            raise TypeError("it holds a lock")

    testing.check_replay_sees_nothing(rows_of(Uncopied()))
    leaking = Example(Uncopied(), np.array([[0.25]]), np.array([[9.0], [0.25], [9.0]]))
    with pytest.raises(AssertionError, match="violated"):
        testing.check_replay_sees_nothing(leaking)
