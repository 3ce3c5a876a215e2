"""The unit of privacy: the neighbouring relation that a price speaks about."""

from dataclasses import dataclass
from typing import Literal, get_args

from privet._calls import door
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter, MixedUnits

Relation = Literal["add_remove", "replace", "zero_out"]


@door
@dataclass(frozen=True)
class Unit:
    """The privacy unit: which two data sets are neighbours.

    - `add_remove`: one has a record more. `replace`: one record is exchanged for another of the same universe.
      `zero_out`: one record is exchanged for a public null record that every release treats as an absent one:
      M(S + null) = M(S). A release that shows how many records there are, or divides by their number, does not.
    - `group_size`: how many records change at once, at most.
    - `person`: the column that names a person, where a unit is a person rather than a row.

    **Guarantee:** prices with different units cannot be combined; conversion is explicit (`privacy.to_replace`).
    **Reference:** Dwork & Roth 2014, section 2.3; Desfontaines & Pejó 2020 for the variants.

    >>> Unit("replace")
    Unit(relation='replace', group_size=1, person=None)
    """

    relation: Relation = "add_remove"
    group_size: int = 1
    person: str | None = None

    def __post_init__(self) -> None:
        if self.relation not in get_args(Relation):
            raise InvalidParameter(f"relation must be one of {', '.join(get_args(Relation))}, got {self.relation!r}")
        set_frozen(self, group_size=count("group_size", self.group_size, 1))
        if self.person is not None and not isinstance(self.person, str):
            raise InvalidParameter("person must be the name of a column or None")

    def to_dict(self) -> dict[str, str | int]:
        """The fields that are set, for the JSON form.

        >>> Unit().to_dict()
        {'relation': 'add_remove', 'group_size': 1}
        """
        return {name: value for name, value in vars(self).items() if value is not None}

    def describe(self) -> str:
        """The relation in words.

        >>> Unit(group_size=3).describe()
        'adding or removing 3 records'
        """
        verb = {
            "add_remove": "adding or removing",
            "replace": "replacing",
            "zero_out": "nulling",
        }[self.relation]
        noun = "record" if self.person is None else f"person (column {self.person})"
        if self.group_size == 1:
            return f"{verb} one {noun}"
        return f"{verb} {self.group_size} {noun}s"


def same_unit(units: "list[Unit]") -> Unit:
    """The one unit that all share, else `MixedUnits`.

    >>> same_unit([Unit(), Unit()])
    Unit(relation='add_remove', group_size=1, person=None)
    """
    first = units[0]
    for other in units[1:]:
        if other != first:
            raise MixedUnits(
                f"these losses speak about different neighbours: {first.describe()} and {other.describe()}; "
                "convert one of them explicitly (privacy.to_replace, privacy.Grouped) before you combine them"
            )
    return first


def as_unit(unit: object, usual: Unit = Unit()) -> Unit:  # noqa: B008 - a frozen constant
    """The privacy unit that was given, or the usual one.

    >>> as_unit(None).relation
    'add_remove'
    """
    return usual if unit is None else a_unit(unit)


def a_unit(unit: object) -> Unit:
    """The privacy unit that was given; anything else is refused.

    >>> a_unit("replace")
    Traceback (most recent call last):
    privet.errors.InvalidParameter: unit must be a Unit, such as privacy.Unit("replace"), got str
    """
    if not isinstance(unit, Unit):
        raise InvalidParameter(f'unit must be a Unit, such as privacy.Unit("replace"), got {type(unit).__name__}')
    return unit
