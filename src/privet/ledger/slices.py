"""The slices of a run and where it stands: what entries hold of it, written and read back."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from privet.errors import InvalidParameter, LedgerTampered
from privet.privacy import PrivacyLoss, from_json, to_json

Slices = tuple[PrivacyLoss, ...]


class Mark(NamedTuple):
    """Where a run stands: the entry that began it, the next slice, and who pays for which slices from there on.

    `paid` is read from the front: the first payer pays up to its slice, then the next one.

    >>> Mark(2, 0, ((2, 10),)).begun().next
    1
    """

    id: int
    next: int
    paid: tuple[tuple[int, int], ...]  # entry, slice up to which it pays

    @property
    def payer(self) -> int:
        """The entry that pays for the next slice."""
        return self.paid[0][0]

    def begun(self) -> "Mark":
        """Once the next slice is begun."""
        after = self.next + 1
        return Mark(self.id, after, self.paid[1:] if self.paid[0][1] == after else self.paid)

    def repeated(self, times: int, payer: int) -> "Mark":
        """Once the last `times` slices are paid again, by the entry `payer`.

        >>> Mark(2, 5, ((2, 10),)).repeated(2, 9)
        Mark(id=2, next=3, paid=((9, 5), (2, 10)))
        """
        return Mark(self.id, self.next - times, ((payer, self.next), *self.paid))

    def facts(self) -> dict[str, Any]:
        """As an entry holds it: texts, no numbers."""
        paid = [[str(entry), str(upto)] for entry, upto in self.paid]
        return {"id": str(self.id), "next": str(self.next), "paid": paid}

    @staticmethod
    def read(facts: Any) -> "Mark":
        """Back from `facts`; anything else was not written by a ledger."""
        try:
            paid = tuple((int(entry), int(upto)) for entry, upto in facts["paid"])
            return Mark(int(facts["id"]), int(facts["next"]), paid)
        except (KeyError, TypeError, ValueError):
            raise LedgerTampered("the mark of a run cannot be read; the ledger was edited") from None


def slices_of(losses: object) -> Slices:
    """The slices of a run: a list of losses as it is, a composition as its parts.

    >>> from privet.privacy import PureLoss, Repeated
    >>> len(slices_of(Repeated(PureLoss(0.1), 3)))
    3
    """
    if isinstance(losses, PrivacyLoss):
        listed = tuple(part for part, times in losses.parts() for _ in range(times))
    else:
        listed = tuple(losses) if isinstance(losses, Iterable) else ()
    if not listed or not all(isinstance(loss, PrivacyLoss) for loss in listed):
        has_loss = [each for each in (losses, *listed) if isinstance(getattr(each, "loss", None), PrivacyLoss)]
        hint = "; of a mechanism that is its .loss, once for each slice" if has_loss else ""
        raise InvalidParameter(f"a run takes a public list of slices: a loss for each, at least one{hint}")
    return listed


def written_slices(slices: Slices) -> list[list[str]]:
    """Equal neighbours once, with their number."""
    return [[str(len(list(same))), to_json(loss)] for loss, same in groupby(slices)]


def read_slices(listed: Any) -> Slices:
    """Back from `written_slices`."""
    return tuple(loss for number, text in listed for loss in (from_json(text),) * int(number))


def slice_key(key: str | None, seq: int) -> str:
    """The key of the release of the slice that entry `seq` marks: no request can have it, since it ends with a blank.

    >>> slice_key("training", 7)
    'training #7 '
    """
    return f"{key} #{seq} "
