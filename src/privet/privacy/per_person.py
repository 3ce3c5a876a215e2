"""Persons: a price about rows, restated for a person who has several of them."""

from dataclasses import dataclass, field

from privet._cache import kept_property
from privet._calls import door
from privet._validate import count, instance, set_frozen
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy.families.forwarding import Forwarding
from privet.privacy.grouped import Grouped
from privet.privacy.loss import PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.unit import Unit


@register
@dataclass(frozen=True, eq=False)
class PerPerson(Forwarding):
    """The price about one person, named by the column `person`, who has at most `rows` rows; `of` is about rows.

    **Guarantee:** that of a group of `rows` rows: two data sets that differ in a person differ in at most so many.
    **Reference:** Desfontaines & Pejó 2020. **Proof:** docs/proofs/privacy/grouped.md.

    >>> from privet import privacy
    >>> loss = PerPerson(privacy.PureLoss(0.125), 4, "patient_id")
    >>> loss.pure(), loss.unit.describe()
    (0.5, 'adding or removing one person (column patient_id)')
    """

    kind = "per_person"
    silent_fields = ("person",)

    of: PrivacyLoss
    rows: int
    person: str
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the parts

    def __post_init__(self) -> None:
        instance("of", self.of, PrivacyLoss)
        rows, unit = count("rows", self.rows, 1), self.of.unit
        if not isinstance(self.person, str) or not self.person:
            raise InvalidParameter("person must be the name of the column that says whose row it is")
        if unit.person is not None:
            raise MixedUnits(f"this price is about persons already: {unit.describe()}")
        if unit.relation == "replace":
            raise MixedUnits(
                "replacing a person may change the number of rows, which a price about replacing rows does not cover; "
                "start from the price of adding or removing a row: to_replace(per_person(loss, ...))"
            )
        set_frozen(self, of=self.of.simplest(), rows=rows, unit=self._about(Unit(unit.relation, 1, self.person)))

    @property
    def _answering(self) -> PrivacyLoss:
        return self._group

    @kept_property
    def _group(self) -> Grouped:
        """The price of so many rows at once; `of` may speak of several already."""
        return Grouped(self.of, -(-self.rows // self.of.unit.group_size))

    def _words(self) -> str:
        return f"{self.of._as_a_whole()}, for a person with {self.rows:,} rows"

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """As the group is."""
        return self._group.exact

    def grouped(self, size: int) -> PrivacyLoss | None:
        return self._group.grouped(size)

    def exchanged(self, size: int) -> PrivacyLoss | None:
        return self._group.exchanged(size)

    def parts(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        inner = self.of.parts()
        if len(inner) == 1 and inner[0] == (self.of, 1):
            return ((self, 1),)
        return tuple((PerPerson(part, self.rows, self.person), n) for part, n in inner)


@door(prices=("loss",))
def per_person(loss: PrivacyLoss, *, person: str, rows: int) -> PrivacyLoss:
    """A price about rows, restated for a person who has at most `rows` of them, named by the column `person`: what a ledger
    about persons charges.

    **Guarantee:** that of a group of `rows` rows. Prices about replacing rows are refused: a person who is replaced may
    have another number of them.

    >>> from privet import privacy
    >>> per_person(privacy.PureLoss(0.125), person="patient_id", rows=4).pure()
    0.5
    """
    return PerPerson(loss, rows, person)
