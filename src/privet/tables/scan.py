"""The request to an engine where no sum of it will do: rows of numbers, one after the other."""

from dataclasses import dataclass
from typing import final

from privet.errors import InvalidParameter
from privet.tables.columns import Bool, Category, Column, Float, Int, known_column
from privet.tables.person import Person
from privet.tables.plan import Node, in_one_group


@final
@dataclass(frozen=True)
class Scan:
    """Some columns of a plan, as doubles: numbers within their bounds, 1 and 0 for yes and no, the place of a category in
    its list, and NaN for what is missing. Where rows are about persons, one more column numbers these, and the rows of a
    person stand together; rows without a person are left out.

    **Sensitivity:** one unit of privacy has any number of rows here: whoever reads them keeps `most_rows` of each person.

    >>> from privet.tables.person import Rows
    >>> from privet.tables.plan import Source
    >>> Scan(Source("t", (("age", Int(0, 110)),), Rows()), ("age",)).most_rows
    1
    """

    rows: Node
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        self.rows.sources  # noqa: B018 (two tables of one name are refused)
        columns = self.rows.columns
        for name in self.names:
            if not isinstance(known_column(columns, name), Int | Float | Bool | Category):
                raise InvalidParameter(f"column {name!r:.60} has no numbers: give an Int, Float, Bool or Category")
        if not self.names or len(set(self.names)) != len(self.names):
            raise InvalidParameter("name at least one column, and each once")
        if not self.persons and self.rows.fan_out > 1:
            raise InvalidParameter(
                "one row of the table becomes several here, by a join or a union with itself: take each row once"
            )

    @property
    def persons(self) -> bool:
        """True if rows are about persons."""
        return isinstance(self.rows.unit, Person)

    @property
    def most_rows(self) -> int:
        """The number of rows of one unit that are used."""
        return in_one_group(self.rows).reach.most_rows

    @property
    def columns(self) -> dict[str, Column]:
        """The columns that are read, in order."""
        return {name: self.rows.columns[name] for name in self.names}

    @property
    def width(self) -> int:
        """The number of numbers that a row has."""
        return len(self.names) + self.persons
