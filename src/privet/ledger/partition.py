"""Disjoint parts of a data set: a person is in few of them, so the costliest few are the price."""

from dataclasses import dataclass

from privet._validate import count, set_frozen
from privet.accounting.filters import Sums
from privet.errors import InvalidParameter, MixedUnits
from privet.ledger.account import add_sums, largest, minus_sums, total_sums
from privet.ledger.entry import clean_name
from privet.privacy import PrivacyLoss, Unit, same_unit, to_replace


@dataclass(frozen=True)
class Part:
    """One part of a partition, as `ledger.release(..., part=...)` takes it.

    >>> Part("region", "north")
    Part(partition='region', name='north')
    """

    partition: str
    name: str


@dataclass(frozen=True)
class Partition:
    """A public rule that sends each person to at most `per_person` of the named parts.

    **Guarantee:** with one running sum per part and currency, the sum of the g largest bounds what is known about any
    one person, g = `per_person` times the group size of the unit; the data set is charged the increase of that sum. This
    holds although losses are chosen adaptively: for a given pair of neighbours only their own parts accumulate. Under
    replace a person may move, so two parts change by *add/remove*: parts take add/remove losses and are charged
    `to_replace` of them, which covers moving and staying. **Reference:** McSherry 2009; docs/proofs/ledger/partition.

    >>> Partition("region", ("north", "south"))["north"]
    Part(partition='region', name='north')
    """

    name: str
    parts: tuple[str, ...]
    per_person: int = 1

    def __post_init__(self) -> None:
        clean_name("the name of a partition", self.name, stored=True)  # `declare` looks closer at new ones
        given: object = self.parts
        if isinstance(given, str):
            raise InvalidParameter("parts must be a list of names, got one text")
        parts = tuple(clean_name("the name of a part", part, stored=True) for part in self.parts)
        if len(parts) < 2 or len(set(parts)) != len(parts):
            raise InvalidParameter("a partition declares at least two parts, each once, before the first charge")
        set_frozen(self, parts=parts)
        set_frozen(self, per_person=count("per_person", self.per_person, 1))

    def __getitem__(self, part: str) -> Part:
        if part not in self.parts:
            raise InvalidParameter(f"the partition {self.name!r} declared no part {part!r:.80}")
        return Part(self.name, part)

    def spread(self, unit: Unit) -> int:
        """The number of parts that one unit of privacy can touch."""
        return min(len(self.parts), self.per_person * unit.group_size)

    def priced(self, loss: PrivacyLoss, unit: Unit) -> PrivacyLoss:
        """The loss whose price a part is charged, for a ledger about `unit`."""
        if unit.relation == "zero_out":
            raise MixedUnits(
                "a blanked record leaves its part without leaving the data; parts need add_remove or replace"
            )
        if unit.relation == "add_remove":
            same_unit([unit, loss.unit])
            return loss
        if loss.unit.relation != "add_remove":
            raise MixedUnits(
                "a replaced person may move to another part, which changes both; give the add_remove loss of a release on "
                "a part, the ledger charges it for replacing"
            )
        moved = to_replace(loss)
        same_unit([unit, moved.unit])
        return moved


@dataclass(frozen=True)
class Parts:
    """The sums of one part and the g largest sums of its partition, before and after a charge.

    >>> Parts(((2,),), (((5,),),)).charge(((4,),))
    (Parts(cell=((6,),), top=(((6,),),)), ((1,),))
    """

    cell: Sums
    top: tuple[Sums, ...]

    def charge(self, price: Sums) -> "tuple[Parts, Sums]":
        """The state after a charge on the part, and what the whole is charged for it."""
        cell = add_sums(self.cell, price)
        zero = tuple((0,) * len(rule) for rule in cell)
        columns = [
            [_replaced([sums[i][j] for sums in self.top], self.cell[i][j], cell[i][j]) for j in range(len(rule))]
            for i, rule in enumerate(cell)
        ]
        top = tuple(tuple(tuple(column[k] for column in rule) for rule in columns) for k in range(len(self.top)))
        return Parts(cell, top), minus_sums(total_sums(top, zero), total_sums(self.top, zero))


def _replaced(top: list[int | None], before: int | None, after: int | None) -> list[int | None]:
    """The largest amounts once one of all amounts grew. Where the old one ties with others it does not matter which of
    them leaves; an old one below all of `top` was not in it.
    """
    rest = list(top)
    if before in rest:
        rest.remove(before)
    return largest([*rest, after], len(top))
