"""Are the two inputs of a pair neighbours in the claim's sense? Where the inputs are tables, that can be seen."""

from collections import Counter
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from privet.errors import MixedUnits
from privet.privacy import Unit

__all__ = ["check_relation"]


def check_relation(left: Any, right: Any, unit: Unit) -> None:
    """Refuse a pair of tables that differ by more, or otherwise, than the claim's unit allows.

    Numbers, vectors of answers and whatever else has no records to count are not judged, nor are units of persons, who
    may have several rows.

    >>> check_relation([1, 2], [1, 2, 3], Unit())
    >>> check_relation([1, 2], [1, 2, 3, 4], Unit())
    Traceback (most recent call last):
    ...
    privet.errors.MixedUnits: ...
    """
    if unit.person is not None:
        return
    records = [_records(value) for value in (left, right)]
    if records[0] is None or records[1] is None:
        return
    first, second = records[0], records[1]
    sizes = len(first), len(second)
    if not (_table(left) or _table(right)) and sizes[0] == sizes[1]:
        return  # two vectors of one length: answers, not records, for all one can see
    one, other = Counter(first), Counter(second)
    gone, new = sum((one - other).values()), sum((other - one).values())
    if unit.relation == "add_remove":
        fine = gone + new <= unit.group_size
    else:
        fine = sizes[0] == sizes[1] and gone <= unit.group_size
    if not fine:
        raise MixedUnits(
            f"a pair of inputs differs by {gone} removed and {new} added records, the claim speaks of {unit.describe()}; "
            "give pairs of the claim's relation and group size (audit.Pairs, audit.Tables), or convert the claim"
        )


def _records(value: Any) -> list[str] | None:
    """The records of something that may be a table, as texts; None for what is none."""
    if isinstance(value, str | bytes | Mapping) or value is None or np.isscalar(value):
        return None
    if hasattr(value, "itertuples"):
        return [repr(row) for row in value.itertuples(index=False, name=None)]
    if hasattr(value, "iter_rows"):
        return [repr(row) for row in value.iter_rows()]
    if hasattr(value, "to_pylist"):
        return [repr(row) for row in value.to_pylist()]
    if isinstance(value, np.ndarray):
        return [repr(row) for row in value.tolist()] if value.ndim in (1, 2) else None
    return [repr(row) for row in value] if isinstance(value, list | tuple | Set) else None


def _table(value: Any) -> bool:
    """Whether it holds records rather than numbers that may be answers."""
    if (
        isinstance(value, Set)
        or hasattr(value, "itertuples")
        or hasattr(value, "iter_rows")
        or hasattr(value, "to_pylist")
    ):
        return True
    kinds = (tuple, list, Mapping, str) if isinstance(value, list) else (Mapping,)
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(item, kinds) for item in value)
