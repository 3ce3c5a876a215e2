"""Public labels, and which of them each record has: every record is looked up by itself."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from privet._numerics import Array
from privet._validate import items
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.families.columns import holds_no_text, is_grouped, is_number, is_table, is_typed, is_view

_NO_COLUMN = "with labels, a report is one text, and several are a column or a list of texts"


def public_labels(labels: object) -> tuple[Any, ...]:
    """The labels as a tuple: texts, whole numbers or booleans, all different.

    >>> public_labels(np.array(["A", "B"]))
    ('A', 'B')
    """
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise InvalidParameter("labels must be a list of the public categories, never read from the data")
    found = tuple(item.item() if isinstance(item, np.generic) else item for item in items("labels", labels))
    if not found or not all(isinstance(item, str | int | bool) for item in found):
        raise InvalidParameter("labels must be texts, whole numbers or booleans, at least one; for ranges give edges=")
    if len(set(found)) != len(found):
        raise InvalidParameter("labels must differ from each other (True equals 1)")
    return found


def public_texts(labels: object) -> tuple[str, ...]:
    """Labels that are texts, two or more.

    >>> public_texts(["yes", "no"])
    ('yes', 'no')
    """
    found = public_labels(labels)
    if len(found) < 2 or not all(isinstance(label, str) for label in found):
        raise InvalidParameter("labels must be two texts or more; whole numbers 0 to k - 1 need no labels, give k=")
    return found


def admit_texts(value: object) -> None:
    """Refuse what is no column of texts, by type, dtype and shape alone.

    >>> admit_texts(["red", "green"])
    """
    if is_table(value) or is_view(value) or is_number(value) or isinstance(value, bytes | Mapping | Set):
        raise InvalidData(_NO_COLUMN)
    if not isinstance(value, Iterable) or not hasattr(value, "__len__") or getattr(value, "ndim", 1) != 1:
        raise InvalidData(_NO_COLUMN)
    if is_typed(value) and (holds_no_text(value) or is_grouped(value)):
        raise InvalidData("the labels are texts and this column holds none: pass the column of the texts themselves")


def places(records: object, labels: Sequence[Any], *, other: int) -> Array:
    """The place of each record among the labels; `other` for what is none of them, missing records included.

    >>> places(["B", "A", None], ("A", "B"), other=2).tolist()
    [1, 0, 2]
    """
    known = {label: place for place, label in enumerate(labels)}
    return np.array([_place(known, item, other) for item in _items(records)], dtype=np.int64)


def _items(records: Any) -> Iterable[Any]:
    """The entries as plain Python values."""
    for way in ("to_pylist", "tolist", "to_list"):
        if not isinstance(records, list | tuple) and hasattr(records, way):
            return getattr(records, way)()
    return records if isinstance(records, list | tuple) else list(records)


def _place(known: dict[Any, int], item: object, other: int) -> int:
    try:
        return known.get(item.item() if isinstance(item, np.generic) else item, other)
    except TypeError:  # what cannot be looked up has no label
        return other
