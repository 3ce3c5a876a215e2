"""Algorithms in blocks as runs of a ledger: each block a slice, gone on with from the last state that was kept."""

from collections.abc import Callable
from typing import Any

from privet.errors import InvalidParameter, LedgerError
from privet.ledger.runs import NoneLeft, Run
from privet.mechanisms import BlockAlgorithm, Release

Load = Callable[[], tuple[int, Any] | None] | None  # how many blocks are done, and the state after them
Begun = tuple[int, Any]
Save = Callable[[int, Any], object] | None


_TAKEN = "another process goes on with this run; what it began is its own; this one stops here"
_FOREIGN = (
    "the state that was loaded has more blocks than this run has begun: it belongs to another run; nothing was drawn"
)


def foreign_to_a_new_run(begun: Begun) -> LedgerError | None:
    """Why a run that is yet to be paid for cannot go on from a state.

    >>> foreign_to_a_new_run((0, [])) is None
    True
    """
    return LedgerError(_FOREIGN) if begun[0] > 0 else None


def refuse_other_algorithms(algorithm: object) -> None:
    """Only what runs in blocks can be gone on with.

    >>> refuse_other_algorithms(42)
    Traceback (most recent call last):
    privet.errors.InvalidParameter: int has no blocks: run_blocks takes a BlockAlgorithm; release takes every mechanism
    """
    if not isinstance(algorithm, BlockAlgorithm):
        kind = type(algorithm).__name__
        raise InvalidParameter(
            f"{kind} has no blocks: run_blocks takes a BlockAlgorithm; release takes every mechanism"
        )


def go_on(run: Run, algorithm: "BlockAlgorithm[Any, Any]", data: object, begun: Begun, save: Save) -> Release[Any]:
    """All blocks that are left, and the result. A block is marked as begun before it looks at data, and its state is kept
    before the next one is begun: at most one block is paid twice after a stop.
    """
    try:
        done, state = begun
        behind = run.position - done
        if behind < 0:
            raise LedgerError(_FOREIGN)
        if behind:
            run.repeat(behind)
        state = algorithm.between(state) if done else state
        for index in range(done, len(algorithm.blocks)):
            try:
                slice = run.begin()
            except NoneLeft:  # another process began the last one
                raise LedgerError(_TAKEN) from None
            if slice.index != index:
                raise LedgerError(_TAKEN)
            state = slice.draw(algorithm.block(index, state), data).value
            if save is not None:
                save(index + 1, state)
            state = algorithm.between(state)
        return run.record(algorithm.finished(state))
    finally:
        del data


def restored(algorithm: "BlockAlgorithm[Any, Any]", load: Load, save: Save) -> Begun:
    """Where the run stands by the state that was kept. All that can be wrong with it is said before anything is paid."""
    for name, given in (("load", load), ("save", save)):
        if given is not None and not callable(given):
            raise InvalidParameter(f"{name} must be a function, got {type(given).__name__}")
    found = None if load is None else load()
    if found is None:
        return 0, algorithm._first()
    try:
        done, state = found
    except (TypeError, ValueError):
        raise InvalidParameter("load must return (blocks done, state), as save was given them, or None") from None
    if isinstance(done, bool) or not isinstance(done, int) or not 0 <= done <= len(algorithm.blocks):
        raise InvalidParameter(
            f"load must return how many blocks are done, 0 to {len(algorithm.blocks)}, and the state"
        )
    return done, state
