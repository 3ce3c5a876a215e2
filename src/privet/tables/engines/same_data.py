"""The same data under two names in DuckDB, found without a look at a value."""

import os
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from privet.tables.frames import frame_names, is_arrow, is_frame


def same_data(one: object, two: object) -> bool:
    """True if they share a row that is held once: a file, a piece of memory or a relation. Copies in memory are not
    told apart from other data.

    >>> import numpy as np
    >>> ages = np.array([30, 40, 50])
    >>> same_data({"age": ages}, {"age": ages[1:]}), same_data({"age": ages[:1]}, {"age": ages[1:]})
    (True, False)
    """
    if one is two:
        return True
    if isinstance(one, str | Path) and isinstance(two, str | Path):
        return bool(_files(one) & _files(two))
    if hasattr(one, "sql_query") and hasattr(two, "sql_query"):
        return bool(one.sql_query() == two.sql_query())
    theirs = list(_pieces(two)) if is_frame(one) and is_frame(two) else []
    return bool(theirs) and any(_meet(mine, other) for mine in _pieces(one) for other in theirs)


def _files(path: str | Path) -> set[tuple[Any, ...]]:
    """The files of a path or a pattern, whatever they are called: through links, dots and patterns."""
    found: set[tuple[Any, ...]] = {("path", os.path.realpath(path))}
    for each in [str(path)] if os.path.exists(path) else glob(str(path), recursive=True):
        facts = os.stat(each)
        found.add(("file", facts.st_dev, facts.st_ino))
    return found


def _pieces(frame: Any) -> Iterator[Any]:
    """Where the columns of a frame lie: arrays, places in buffers of Arrow, or the objects themselves."""
    for name in frame_names(frame):
        column = frame[name]
        if is_arrow(frame) and hasattr(column, "chunks"):
            for chunk in column.chunks:
                last = chunk.buffers()[-1]
                if last is not None and len(chunk):
                    yield last.address, chunk.offset, chunk.offset + len(chunk)
            continue
        yield column
        if hasattr(column, "get_chunks"):  # of Polars: an array where it lies as one
            for chunk in column.get_chunks():
                try:
                    yield chunk.to_numpy(allow_copy=False)
                except (RuntimeError, TypeError, ValueError):
                    continue
        elif hasattr(column, "to_numpy"):
            yield column.to_numpy()


def _meet(one: object, two: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return bool(one.size and two.size and np.shares_memory(one, two))
    if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two) == 3 and one[0] == two[0]:
        return bool(one[1] < two[2] and two[1] < one[2])
    return one is two and not isinstance(one, tuple | np.ndarray)
