"""Algorithms in blocks: one body that is paid as a whole, or slice by slice, and can be gone on with after a stop."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, final

from privet.errors import InvalidParameter
from privet.mechanisms.algorithm import Algorithm
from privet.mechanisms.mechanism import In, Out, Source
from privet.mechanisms.release import Release
from privet.privacy import Composed, PrivacyLoss, Repeated


def composed(losses: Sequence[PrivacyLoss]) -> PrivacyLoss:
    """The price of a list of losses together. Equal neighbours are counted first: there may be a million of them.

    >>> from privet.privacy import PureLoss
    >>> composed((PureLoss(0.25), PureLoss(0.25))).pure()
    0.5
    """
    return Composed([Repeated(loss, len(list(same))) for loss, same in groupby(losses)])


class BlockAlgorithm(Algorithm[In, Out]):
    """An algorithm that runs in blocks, from one state to the next: training runs, rounds of votes.

    A subclass answers `blocks`, the public list of what each block costs, and three steps: `_first`, the state at the
    beginning, from public parameters; `_block`, the state after one more block, which looks at data only through
    `part.release(value, source=source)` and `_coins`; and `_result`, what comes out at the end. A state is computed from
    releases and coins alone and is never changed in place, so that it may be kept, and gone on with. One that asks the user
    between blocks does so in `_between`.

    `release` runs all blocks at once. `ledger.run_blocks` runs the same blocks as slices of a run: cancelled and resumed,
    each paid once. So what laws, replays and audits look at is what runs.

    **Guarantee:** `loss`, the composition of `blocks`; of a run that was stopped, the composition of those begun.

    >>> from dataclasses import dataclass
    >>> from privet.mechanisms import Example, Laplace
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Monthly(BlockAlgorithm):
    ...     name = "example_monthly"
    ...     part: Laplace
    ...     months: int = 3
    ...     @property
    ...     def blocks(self):
    ...         return (self.part.loss,) * self.months
    ...     def _first(self):
    ...         return []
    ...     def _block(self, index, state, prepared, source):
    ...         return [*state, self.part.release(prepared[index], source=source).value]
    ...     def _result(self, state):
    ...         return state
    ...     @classmethod
    ...     def examples(cls):
    ...         yield Example(cls(part=Laplace.for_budget(epsilon=1.0, sensitivity=1.0)), [1, 2, 3], [1, 2, 4])
    >>> monthly = Monthly(part=Laplace.for_budget(epsilon=0.5, sensitivity=1.0))
    >>> len(monthly.release([10, 20, 30]).value), monthly.loss.pure()
    (3, 1.5)
    """

    @property
    @abstractmethod
    def blocks(self) -> tuple[PrivacyLoss, ...]:
        """The price of each block, in order: public, and at least one."""

    @abstractmethod
    def _first(self) -> Any:
        """The state before the first block, from public parameters alone."""

    @abstractmethod
    def _block(self, index: int, state: Any, prepared: Any, source: Source) -> Any:
        """The state after block `index`: a new one. `source` is handed on to every part and to `_coins`."""

    def _between(self, state: Any) -> Any:
        """The state after a block once it was kept, from itself alone: what fails here costs no block."""
        return state

    @abstractmethod
    def _result(self, state: Any) -> Out:
        """The result after the last block, from the state alone."""

    @property
    def loss(self) -> PrivacyLoss:
        """The price of all blocks together."""
        return composed(self.blocks)

    @final
    def _run(self, prepared: Any, source: Source) -> Out:
        state = self._first()
        for index in range(len(self.blocks)):
            state = self._between(self._block(index, state, prepared, source))
        return self._result(state)

    @final
    def block(self, index: int, state: Any) -> "Block":
        """One block as an algorithm of its own, at its own price: what a slice of a run releases."""
        if not 0 <= index < len(self.blocks):
            raise InvalidParameter(
                f"there are {len(self.blocks)} blocks, counted from 0; there is none of number {index}"
            )
        return Block(whole=self, index=index, state=state)

    @final
    def between(self, state: Any) -> Any:
        """The step between two blocks, for whoever runs them one by one."""
        return self._between(state)

    @final
    def finished(self, state: Any) -> Release[Out]:
        """The release of a state after the last block: nothing is drawn or read for it."""
        return self._made(self._result(state), self.error(), None)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Block(Algorithm[Any, Any]):
    """One block of an algorithm, from one state to the next. It is made by `BlockAlgorithm.block`, and no member of the
    registry: its whole is.

    **Guarantee:** `loss`, what its whole says about this block.
    """

    name = "block"
    whole: BlockAlgorithm[Any, Any]
    index: int
    state: Any

    @property
    def loss(self) -> PrivacyLoss:
        """The price of this block."""
        return self.whole.blocks[self.index]

    def _admit(self, value: Any) -> None:
        self.whole._admit(value)

    def _prepare(self, value: Any) -> Any:
        return self.whole._prepare(value)

    def _run(self, prepared: Any, source: Source) -> Any:
        return self.whole._block(self.index, self.state, prepared, source)

    @classmethod
    def examples(cls) -> Any:
        """None: those of its whole."""
        return ()
