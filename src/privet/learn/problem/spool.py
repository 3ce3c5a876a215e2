"""Rows of numbers on disk, written once and read as often as needed: one state of the data for all passes."""

import tempfile
from collections.abc import Iterator
from typing import final

import numpy as np

from privet._numerics import Array

BLOCK = 2**14  # rows that are read at a time: memory and speed only


@final
class Spool:
    """A file without a name, which nobody else can open and which is gone with the process, whatever happens.

    >>> spool = Spool([np.arange(6.0).reshape(3, 2)], 2)
    >>> [block.tolist() for block in spool.blocks()], spool.numbers
    ([[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]], 6)
    >>> spool.close()
    """

    __slots__ = ("_file", "_width", "numbers")

    def __init__(self, blocks: "Iterator[Array] | list[Array]", width: int) -> None:
        self._width, self.numbers = width, 0
        self._file = tempfile.TemporaryFile(prefix="privet-")  # noqa: SIM115 (it outlives this call)
        try:
            for block in blocks:
                self._file.write(np.ascontiguousarray(block, dtype=np.float64).data)
                self.numbers += block.size
            self._file.flush()
        except BaseException:
            self._file.close()
            raise

    def blocks(self) -> Iterator[Array]:
        """The rows in order, in blocks of one size: not releasable."""
        size = BLOCK * self._width * 8
        for start in range(0, self.numbers * 8, size):
            self._file.seek(start)
            yield np.frombuffer(self._file.read(min(size, self.numbers * 8 - start))).reshape(-1, self._width)

    def close(self) -> None:
        """Give the space back."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()
