"""A private table as every room knows it: rows that are described, and the data behind them."""

from abc import ABC

from privet.privacy import Unit
from privet.tables.columns import Column
from privet.tables.data import Data
from privet.tables.plan import Node


class Described(ABC):
    """A table that is described: `pv.Table` is one, which can also be asked. Rooms that measure or fit need no more.

    >>> import privet as pv
    >>> visits = pv.Table({"age": [30]}, columns={"age": pv.Int(0, 110)})
    >>> isinstance(visits, pv.tables.Described), visits.columns
    (True, {'age': Int(lower=0, upper=110, null=False)})
    """

    rows: Node
    data: Data

    @property
    def unit(self) -> Unit:
        """The privacy unit: what the ledger is opened with."""
        return self.rows.unit.unit

    @property
    def columns(self) -> dict[str, Column]:
        """The columns by name."""
        return self.rows.columns
