"""The check of a plan against the schema of the data, before anything is paid: it is written as SQL, and not run."""

from collections import deque
from collections.abc import Mapping
from typing import Any
from weakref import ref

from privet.tables.bounded import Bounded
from privet.tables.coded import Coded
from privet.tables.dialect import Dialect
from privet.tables.emit import Emitter
from privet.tables.reading import Reading
from privet.tables.scan import Scan

_PASSED: deque[tuple[Any, type[Dialect], dict[str, Reading]]] = deque(maxlen=8)  # plans of a release; speed alone


def check_schema(plan: Bounded | Scan | Coded, dialect: Dialect, readings: Mapping[str, Reading]) -> None:
    """A refusal of what the schema of the data does not fit: the plan is written as SQL, and what cannot be is refused.

    The schema is that of now. A release checks before it is paid and again when it is drawn: a plan that has just passed is
    not written a second time, as long as the schema is the same.

    >>> from privet.tables.columns import Int
    >>> from privet.tables.dialect import DuckDB
    >>> from privet.tables.expressions import Compare, Ref
    >>> from privet.tables.keys import KeySet
    >>> from privet.tables.person import Rows
    >>> from privet.tables.plan import Source, Where
    >>> rows = Where(Source("t", (("a", Int(0, 9)),), Rows()), Compare(Ref("a"), "<", 3))
    >>> check_schema(Bounded(rows, (), KeySet((), ((),))), DuckDB(), {"t": Reading("t", {})})
    Traceback (most recent call last):
    privet.errors.InvalidData: the table 't' has no column 'a'
    """
    held = (type(dialect), dict(readings))
    if any(known() is plan and (kind, schema) == held for known, kind, schema in tuple(_PASSED)):
        return
    Emitter(dialect, readings).text_of(plan, (0, 0, 0, 0, 0))
    _PASSED.append((ref(plan), *held))
