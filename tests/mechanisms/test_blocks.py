"""Algorithms in blocks: the laws hold for a sound one, and catch each way to break the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from privet import audit, testing
from privet._validate import instance
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import BlockAlgorithm, Example, Laplace
from privet.mechanisms.form import Form, ListOf, Numbers
from privet.privacy import PrivacyLoss


@dataclass(frozen=True, kw_only=True)
class Months(BlockAlgorithm[Any, Any]):
    """A noisy number for each of three months, each compared with the one before."""

    name = "months"
    part: Laplace

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("part", self.part, Laplace)

    @property
    def blocks(self) -> tuple[PrivacyLoss, ...]:
        return (self.part.loss,) * 3

    @property
    def form(self) -> Form:
        return ListOf(Numbers())

    def _admit(self, value: Any) -> None:
        if not isinstance(value, list) or len(value) != 3:
            raise InvalidData("three months are needed")

    def _first(self) -> Any:
        return []

    def _block(self, index: int, state: Any, prepared: Any, source: Any) -> Any:
        return [*state, self.part.release(prepared[index], source=source).value]

    def _result(self, state: Any) -> Any:
        return [b - a for a, b in zip([0.0, *state], state, strict=False)]

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(part=Laplace.for_budget(epsilon=1.0, sensitivity=1.0)), [1, 2, 3], [1, 2, 4], cost="costly")


class Borrowed(Months):
    """Draws the second month in the first block: the sum is right, the blocks are not."""

    name = "borrowed"

    def _block(self, index: int, state: Any, prepared: Any, source: Any) -> Any:
        months = {0: [0, 1], 1: [], 2: [2]}[index]
        return [*state, *(self.part.release(prepared[i], source=source).value for i in months)]


class InPlace(Months):
    name = "in_place"

    def _block(self, index: int, state: Any, prepared: Any, source: Any) -> Any:
        state.append(self.part.release(prepared[index], source=source).value)
        return state


class Remembering(Months):
    name = "remembering"
    seen: list[Any] = []  # noqa: RUF012 - the fault

    def _block(self, index: int, state: Any, prepared: Any, source: Any) -> Any:
        self.seen.append(index)
        return [*state, self.part.release(prepared[index], source=source).value + len(self.seen)]


class Leaking(Months):
    name = "leaking"

    def _block(self, index: int, state: Any, prepared: Any, source: Any) -> Any:
        return [*state, self.part.release(prepared[index], source=source).value + prepared[index]]


def example_of(kind: type[Months]) -> Example:
    return next(iter(kind.examples()))


@pytest.mark.parametrize("check_law", testing.MECHANISM_LAWS, ids=lambda law: law.__name__)
def test_law(check_law: Callable[[Example], None]):
    check_law(example_of(Months))


@pytest.mark.parametrize(
    ("kind", "law", "words"),
    [
        (Borrowed, testing.check_blocks_are_their_prices, "a part is not charged"),
        (InPlace, testing.check_states_are_left_alone, "changes the state that it is given"),
        (Remembering, testing.check_states_are_left_alone, "depends on more than its state"),
        (Leaking, testing.check_exact_numbers_stay_inside, "computed from exact quantities"),
    ],
)
def test_law_catches_its_broken_twin(kind: type[Months], law: Callable[[Example], None], words: str):
    with pytest.raises(AssertionError, match=words):
        law(example_of(kind))


def test_what_borrows_passes_the_law_of_the_whole():
    """So the law of single blocks is needed."""
    testing.check_parts_are_the_price(example_of(Borrowed))


def test_replay_looks_through_all_blocks():
    example = example_of(Months)
    assert audit.replay(example.mechanism.release, example.left, example.right).releases == 3
    assert audit.replay(example_of(Leaking).mechanism.release, [1, 2, 3], [1, 2, 4]).refuted


@pytest.mark.parametrize("index", [-1, 3])
def test_blocks_that_do_not_exist_are_refused(index: int):
    mechanism: Any = example_of(Months).mechanism
    with pytest.raises(InvalidParameter, match="3 blocks"):
        mechanism.block(index, [])
