"""One person's value, or a container of many: told apart by the type, and never by what the value is."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from privet.mechanisms.families.columns import is_number, is_typed


def is_single(value: Any) -> bool:
    """True if this is one person's value, whatever it is: a number, a text, something missing or strange. What holds
    many is a container. A client with a strange value sends a report like everybody, as that value does within a list.

    >>> is_single(3), is_single(None), is_single("red"), is_single([3]), is_single(np.zeros(1))
    (True, True, True, False, False)
    """
    if value is np.ma.masked:  # what a masked array gives for one missing entry: by its type an array
        return True
    if isinstance(value, str | bytes | bytearray | np.generic) or is_number(value):
        return True
    return not (isinstance(value, Iterable) or hasattr(value, "__len__") or is_typed(value))


def one_each(values: Any) -> Any:
    """A list with one value per person, whatever that is: one that is itself a list is no number, like anything strange.
    Without this, one person's list would refuse everybody's reports. Arrays and columns have a shape of their own.

    >>> one_each([[1], 0, (2, 3)])
    [None, 0, None]
    """
    if not isinstance(values, list | tuple):
        return values
    return [None if isinstance(item, list | tuple) else item for item in values]
