"""Wholes whose rounds depend on what was seen: parts must add up within one number, to the last per cent."""

from dataclasses import dataclass

import pytest

from privet import testing
from privet.mechanisms import Algorithm, Example, Gaussian, Geometric
from privet.privacy import GdpLoss, Guarantee, PureLoss, ZcdpLoss

WHOLES = {"pure": PureLoss(1.0), "rho": ZcdpLoss(0.5), "mu": GdpLoss(1.0)}


@dataclass(frozen=True, kw_only=True)
class Rounds(Algorithm):
    """Four rounds, each with a quarter of `over` times the whole."""

    name = "example_rounds"
    at_most = True

    kind: str
    over: float = 1.0

    @property
    def loss(self):
        return WHOLES[self.kind]

    def _run(self, prepared, source):
        whole = Guarantee(**{"epsilon" if self.kind == "pure" else self.kind: 0.5 if self.kind == "rho" else 1.0})
        share = whole.share(self.over / 4).keywords()
        law = Geometric if self.kind == "pure" else Gaussian
        part = law.for_budget(sensitivity=1, **share)
        return [part.release(len(prepared), source=source).value for _ in range(4)]

    @classmethod
    def examples(cls):
        yield Example(cls(kind="rho"), [1, 2], [1])


@pytest.mark.parametrize("kind", WHOLES)
def test_parts_that_add_up_to_one_per_cent_more_are_seen(kind):
    """A privacy curve of what one run released did not tell: rho is not the curve of normal noise."""
    testing.check_parts_are_the_price(Example(Rounds(kind=kind), [1, 2], [1]))
    with pytest.raises(AssertionError, match="more than the whole"):
        testing.check_parts_are_the_price(Example(Rounds(kind=kind, over=1.01), [1, 2], [1]))


def test_a_run_may_leave_something():
    testing.check_parts_are_the_price(Example(Rounds(kind="rho", over=0.5), [1, 2], [1]))
    assert Rounds(kind="rho").at_most


def test_parts_without_that_number_are_not_within_it():
    """Normal noise has no epsilon: no whole of epsilon alone pays for it."""

    class Mixed(Rounds):
        name = "example_mixed_rounds"

        def _run(self, prepared, source):
            return Gaussian.for_budget(sensitivity=1, mu=0.1).release(len(prepared), source=source).value

    with pytest.raises(AssertionError, match="more than the whole"):
        testing.check_parts_are_the_price(Example(Mixed(kind="pure"), [1, 2], [1]))
