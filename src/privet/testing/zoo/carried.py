"""Bugs in what an output carries along: what is stored, what was split, what was logged, counted or noted on the way.

The twins have the same shapes and carry noise there.
"""

import logging
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from privet import noise
from privet.testing.zoo.entry import ONE, STEP, SWAP, Entry, Noise

Run = Callable[[Any], Any]
Build = Callable[[], Run]
_CELLS, _BITS, _NODES = 12, 40, 5  # of the sparse rows, long numbers and graphs here: small, so that runs are quick
_LIE = 1.0 / (1.0 + math.e)  # randomised response at epsilon 1


def _stored(everywhere: bool) -> Build:
    """Counts by cell in a sparse matrix: noise on all cells, or on those that are there."""

    def build() -> Run:
        drawn = Noise(1.0)

        def run(counts: dict[int, int]) -> Any:
            places = range(_CELLS) if everywhere else sorted(counts)
            numbers = [counts.get(place, 0) + drawn() for place in places]
            return sparse.csr_array((numbers, ([0] * len(numbers), list(places))), shape=(1, _CELLS))

        return run

    return build


def _tree(exact: bool) -> Build:
    """Counts of halves, quarters, ... as far as they are large: three levels, a third of epsilon each."""

    def build() -> Run:
        drawn = Noise(3 * STEP)

        def node(rows: Sequence[int], levels: int) -> dict[str, Any]:
            noisy = sum(rows) + drawn()
            large = (sum(rows) if exact else noisy) >= 2.5 * STEP
            if levels == 0 or not large:
                return {"count": noisy}
            half = len(rows) // 2
            return {"count": noisy, "low": node(rows[:half], levels - 1), "high": node(rows[half:], levels - 1)}

        return lambda rows: node(rows, 2)

    return build


def _running(scale: float) -> Build:
    """Running totals of four numbers from sums of blocks; every number is in three blocks."""

    def build() -> Run:
        drawn = Noise(scale)

        def run(rows: Sequence[int]) -> list[int]:
            ends = ((0, 1), (0, 2), (2, 3), (0, 4))
            first, two, third, four = (sum(rows[start:stop]) + drawn() for start, stop in ends)
            return [first, two, two + third, four]

        return run

    return build


class _Model:
    def __init__(self, slope: int, seen: int) -> None:
        self.coef_, self.classes_, self.n_samples_seen_ = np.array([slope]), np.array(["no", "yes"]), seen


def _fitted(exact: bool) -> Build:
    def build() -> Run:
        drawn, also = Noise(2 * STEP), Noise(2.0)
        return lambda rows: _Model(sum(rows) + drawn(), len(rows) + (0 if exact else also()))

    return build


def _noted(exact: bool) -> Build:
    """Every answer is an exception, with how many rows there were in a note beside its message."""

    def build() -> Run:
        drawn = Noise(1.0)

        def run(rows: int) -> None:
            problem = ValueError("too few rows")
            problem.add_note(f"of {rows if exact else rows + drawn()} rows")
            raise problem

        return run

    return build


def _logged(exact: bool) -> Build:
    def build() -> Run:
        drawn, also = Noise(2.0), Noise(2.0)

        def run(rows: int) -> int:
            logging.getLogger("privet.zoo").warning("read %d rows", rows if exact else rows + also())
            return rows + drawn()

        return run

    return build


def _digits(honest: float) -> Build:
    """One bit for each of forty labels, written as one long number: the true one is set by a fair coin, others seldom."""

    def build() -> Run:
        lie, true = Fraction(_LIE), Fraction(honest)

        def run(label: int) -> str:
            bits = np.asarray(noise.bernoulli(p=lie, size=_BITS)).copy()
            bits[label] = noise.bernoulli(p=true)
            return "".join("1" if bit else "0" for bit in bits.tolist())

        return run

    return build


def _edges(everywhere: bool) -> Build:
    """A graph whose edges are randomised one by one: all that are possible, or those among nodes that have some."""

    def build() -> Run:
        lie = Fraction(_LIE)

        def run(edges: frozenset[tuple[int, int]]) -> set[tuple[int, int]]:
            nodes = range(_NODES) if everywhere else sorted({node for edge in edges for node in edge})
            pairs = [(a, b) for a in nodes for b in nodes if a < b]
            lies = np.asarray(noise.bernoulli(p=lie, size=len(pairs))).tolist()
            return {pair for pair, lied in zip(pairs, lies, strict=True) if lied != (pair in edges)}

        return run

    return build


CARRIED = (
    Entry(
        number=114, name="a sparse matrix of what is there", by="calls", claim=ONE, runs=1_000,
        left={3: 5}, right={3: 5, 7: 1},
        story="Only cells that hold something get noise; which ones are stored is told exactly.",
        broken=_stored(False), sound=_stored(True),
    ),
    Entry(
        number=115, name="a tree split by exact counts", by="calls", claim=ONE, runs=4_000,
        left=(5,) * 4, right=(5, 5, 5, 15),
        story="Every count in the tree has its noise; where it branches was decided by the counts themselves.",
        broken=_tree(True), sound=_tree(False),
    ),
    Entry(
        number=116, name="running totals at the price of one block", by="calls", claim=ONE, runs=8_000,
        left=(0, STEP, STEP, STEP), right=(STEP,) * 4,
        story="Totals of a stream are put together from blocks, and a record is in three of them; noise is for one.",
        broken=_running(STEP), sound=_running(3 * STEP),
    ),
    Entry(
        number=117, name="a model that knows how many rows it saw", by="calls", claim=ONE, runs=2_000,
        left=(STEP, 0), right=(STEP, 0, 0),
        story="The slope is noisy; an attribute of the fitted model counts the rows.",
        broken=_fitted(True), sound=_fitted(False),
    ),
    Entry(
        number=118, name="a note on an exception", by="calls", claim=ONE, left=3, right=4, runs=2_000,
        story="Type and message are the same; a note, which every traceback prints, has the exact count.",
        broken=_noted(True), sound=_noted(False),
    ),
    Entry(
        number=119, name="a log that counts", by="calls", claim=ONE, left=3, right=4, runs=2_000,
        story="The answer is noisy; a line in the log says how many rows were read.",
        broken=_logged(True), sound=_logged(False),
    ),
    Entry(
        number=120, name="forty bits in one long number", by="calls", claim=SWAP, left=30, right=35, runs=8_000,
        story="A local report as a text of digits; a double forgets those in which the labels differ.",
        broken=_digits(0.95), sound=_digits(0.5),
    ),
    Entry(
        number=121, name="edges among the nodes that have some", by="calls", claim=SWAP, runs=4_000,
        left=frozenset({(0, 1), (1, 2)}), right=frozenset({(0, 1)}),
        story="Edges are randomised one by one, but a node without edges never appears.",
        broken=_edges(False), sound=_edges(True),
    ),
)  # fmt: skip
