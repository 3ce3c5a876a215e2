"""Disjoint blocks in a replay: a record that moves two of them was paid for in one."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from privet import audit
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, Example, Gaussian, Laplace
from privet.privacy import Composed, Parallel, PoissonSampled

PARTS = [Laplace.for_budget(epsilon=1.0, sensitivity=1.0), Gaussian.for_budget(rho=0.5, sensitivity=1.0)]
LEFT, RIGHT = [1, 2, 3, 4, 7], [1, 2, 3, 4]


@dataclass(frozen=True, kw_only=True)
class Blocks(Algorithm):
    """Counts of odd and of even records, priced as disjoint blocks."""

    name = "blocks_of_the_tests"
    part: Laplace | Gaussian = field(default=Laplace.for_budget(epsilon=1.0, sensitivity=1.0))

    @property
    def loss(self):
        return Parallel([self.part.loss] * 2)

    def _blocks(self, rows):
        return [row for row in rows if row % 2], [row for row in rows if not row % 2]

    def _rule(self, parts):
        return Parallel(parts)

    def _run(self, prepared, source):
        with self._priced(self._rule):
            return np.array([self.part.release(len(each), source=source).value for each in self._blocks(prepared)])

    @classmethod
    def examples(cls):
        yield Example(cls(), LEFT, RIGHT)


class Overlapping(Blocks):
    """Seven is odd, and large."""

    def _blocks(self, rows):
        return [row for row in rows if row % 2], [row for row in rows if not row % 2 or row > 5]


class Twice(Blocks):
    """Each block is counted twice, and priced so."""

    @property
    def loss(self):
        return Parallel([Composed([self.part.loss] * 2)] * 2)

    def _blocks(self, rows):
        odd, even = super()._blocks(rows)
        return odd, odd, even, even

    def _rule(self, parts):
        return Parallel([Composed(parts[:2]), Composed(parts[2:])])


class Sampled(Overlapping):
    """A price that speaks of no blocks."""

    def _rule(self, parts):
        return PoissonSampled(Composed(parts), 0.5)


@pytest.mark.parametrize("part", PARTS)
def test_blocks_that_overlap_are_seen(part):
    found = audit.replay(Overlapping(part=part).release, LEFT, RIGHT)
    assert [finding.kind for finding in found.findings] == ["blocks"]
    assert "2 disjoint blocks" in str(found)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("sound", [Blocks, Twice, Sampled])
def test_other_groups_are_left_alone(sound, part):
    assert audit.replay(sound(part=part).release, LEFT, RIGHT).verdict == "not refuted"


def test_a_pair_that_moves_one_block_shows_nothing():
    assert audit.replay(Overlapping().release, [1, 2, 3], [1, 2]).verdict == "not refuted"


class Broken(Overlapping):
    """The second world goes on past a part that it does not find, and its rule prices all four or nothing."""

    def _blocks(self, rows):
        odd, even = super()._blocks(rows)
        return (odd, even, odd, even) if 6 in rows else (odd, even, odd)

    def _rule(self, parts):
        if len(parts) != 4:
            raise InvalidParameter("four parts are priced")
        return Parallel(parts)

    @property
    def loss(self):
        return Parallel([self.part.loss] * 4)


def test_parts_that_no_rule_prices_are_no_end_of_the_audit():
    """What breaks off is told by how the worlds end, never by an exception of the audit."""
    found = audit.replay(Broken().release, [1, 2, 3, 6, 7, 8], [1, 2, 3, 8])
    assert found.verdict == "violated"
    assert "blocks" not in {finding.kind for finding in found.findings}
