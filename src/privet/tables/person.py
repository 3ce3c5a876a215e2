"""Whom a table is about: each row by itself, or persons who may have many rows."""

from dataclasses import dataclass, field
from typing import Literal, final

from privet._calls import door
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.privacy import Unit

Relation = Literal["add_remove", "replace"]


def _relation(relation: object) -> None:
    if not isinstance(relation, str) or relation not in ("add_remove", "replace"):
        raise InvalidParameter(f'relation must be "add_remove" or "replace", got {relation!r:.40}')


@final
@dataclass(frozen=True)
class Rows:
    """Every row is somebody else: adding or removing one row (or replacing it) is what answers hide.

    >>> Rows().unit
    Unit(relation='add_remove', group_size=1, person=None)
    """

    relation: Relation = field(default="add_remove", kw_only=True)

    def __post_init__(self) -> None:
        _relation(self.relation)

    @property
    def unit(self) -> Unit:
        """The privacy unit that a ledger is opened with."""
        return Unit(self.relation)

    def describe(self) -> str:
        """Who is protected, in words."""
        return "one row"


@door
@final
@dataclass(frozen=True)
class Person:
    """All rows with the same value of a column are one person, who may have many rows; of these are kept

    - at most `max_rows` in all,
    - in at most `max_groups` groups of a query,
    - at most `max_rows_per_group` in each of them.

    Give `max_rows`, or the other two, or all three: the tighter they are, the less noise, and the more rows are left out.
    Rows without a person are left out. Texts, whole numbers, identifiers and bytes name persons; other objects in a column
    of objects name nobody, and typed columns of other kinds are refused (`tables.exact_check` counts rows of nobody).

    >>> Person("patient_id", max_rows=5).unit
    Unit(relation='add_remove', group_size=1, person='patient_id')
    """

    column: str
    max_rows: int | None = field(default=None, kw_only=True)
    max_groups: int | None = field(default=None, kw_only=True)
    max_rows_per_group: int | None = field(default=None, kw_only=True)
    relation: Relation = field(default="add_remove", kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise InvalidParameter('a person is named by a column, such as pv.Person("patient_id", max_rows=5)')
        for name in ("max_rows", "max_groups", "max_rows_per_group"):
            if getattr(self, name) is not None:
                limit = count(name, getattr(self, name), 1)
                if limit > 2**31:
                    raise InvalidParameter(f"{name} must be at most 2^31")
                set_frozen(self, **{name: limit})
        if self.max_rows is None and (self.max_groups is None or self.max_rows_per_group is None):
            raise InvalidParameter(
                "how much may one person add? Give max_rows=, or both max_groups= and max_rows_per_group="
            )
        _relation(self.relation)

    @property
    def unit(self) -> Unit:
        """The privacy unit that a ledger is opened with."""
        return Unit(self.relation, person=self.column)

    def describe(self) -> str:
        """Who is protected, in words."""
        limits = {"rows": self.max_rows, "groups": self.max_groups, "rows a group": self.max_rows_per_group}
        told = ", ".join(f"at most {limit} {what}" for what, limit in limits.items() if limit is not None)
        return f"one person ({self.column}; {told})"
