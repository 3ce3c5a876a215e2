"""privet: a hedge around your data.

Differential privacy under one price language and one budget ledger. Rooms load when first used, so
`import privet` stays fast whatever is installed:

>>> import privet as pv
>>> pv.privacy.__name__
'privet.privacy'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` does at run time, spelt out for type checkers and editors
    from privet import (
        accounting,
        audit,
        deep,
        errors,
        learn,
        ledger,
        local,
        mechanisms,
        noise,
        pate,
        privacy,
        queries,
        report,
        synth,
        tables,
        testing,
        workloads,
    )
    from privet._private import Private
    from privet.ledger import Budget, Ledger
    from privet.queries import (
        Table,
        batch,
        count,
        count_distinct,
        count_persons,
        last,
        max,
        mean,
        median,
        min,
        quantile,
        std,
        sum,
        variance,
    )
    from privet.tables import Bool, Category, Date, Float, Int, KeySet, Person, Rows, Text, Time

__version__ = "0.1.0"

__all__ = [
    "Bool",
    "Budget",
    "Category",
    "Date",
    "Float",
    "Int",
    "KeySet",
    "Ledger",
    "Person",
    "Private",
    "Rows",
    "Table",
    "Text",
    "Time",
    "__version__",
    "accounting",
    "audit",
    "batch",
    "count",
    "count_distinct",
    "count_persons",
    "deep",
    "errors",
    "last",
    "learn",
    "ledger",
    "local",
    "max",
    "mean",
    "mechanisms",
    "median",
    "min",
    "noise",
    "pate",
    "privacy",
    "quantile",
    "queries",
    "report",
    "std",
    "sum",
    "synth",
    "tables",
    "testing",
    "variance",
    "workloads",
]

# Names that users reach as `pv.Name`, with the room each lives in: {"Name": "room"}. A name listed here
# also joins `__all__` and the imports for type checkers above; every other entry of `__all__` is a room.
_HOMES: dict[str, str] = {
    "Budget": "ledger",
    "Ledger": "ledger",
    "Private": "_private",
    **dict.fromkeys(("Bool", "Category", "Date", "Float", "Int", "KeySet", "Person", "Rows", "Text", "Time"), "tables"),
    **dict.fromkeys(
        ("Table", "batch", "count", "count_distinct", "count_persons", "max", "mean", "median", "min"), "queries"
    ),
    **dict.fromkeys(("last", "quantile", "std", "sum", "variance"), "queries"),
}


if not TYPE_CHECKING:  # a type checker that knew of it would let every misspelt name pass

    def __getattr__(name: str) -> Any:
        """Load a room, or a name out of its room, on first use (PEP 562)."""
        if name not in __all__:
            from privet._face import unknown_in

            return unknown_in("privet", __all__)(name)
        if name not in _HOMES:
            return import_module(f"privet.{name}")
        value = getattr(import_module(f"privet.{_HOMES[name]}"), name)
        globals()[name] = value  # the next look-up does not come back here
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
