"""Public facts about keys that make queries shorter: lists that leave nothing out, and values that number themselves."""

from privet.tables.bounded import Bounded
from privet.tables.columns import Column
from privet.tables.values import is_text


def is_everything(plan: Bounded) -> bool:
    """True if the listed keys are all that the columns can have: then nothing is left out."""
    assert plan.keys is not None
    size = 1
    for name in plan.key_names:
        column = plan.rows.columns[name]
        if column.domain is None:
            return False
        size *= len(column.domain) + column.null
    return size == len(plan.keys)


def is_small(plan: Bounded) -> bool:
    """True if there is one key, and its number tells it."""
    return [numbers_itself(plan.rows.columns[name]) for name in plan.names] == [True]


def numbers_itself(column: Column) -> bool:
    """True if it holds numbers from 0 to 2^31 by its public bounds, and none that are missing: they number
    themselves."""
    if column.null or is_text(column):
        return False
    low, high = (min(column.domain or ()), max(column.domain or ())) if column.kind == "category" else column.span
    return bool(low >= 0 and high < 2**31)
