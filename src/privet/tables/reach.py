"""Reach: how far one person can move the exact aggregates of a table."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from privet._numerics import root_up
from privet._validate import count
from privet.errors import InvalidParameter
from privet.privacy import Unit


@final
@dataclass(frozen=True)
class Reach:
    """The most that one unit of privacy (a person, or a row) can add to a table of groups.

    At most `rows` rows, in at most `keys` groups, at most `rows_per_key` in each; None where there is no such limit.
    `repeated` is about a row that is a unit by itself: a join with a public table may have made several rows of it, and
    each of them then counts as a person.

    **Sensitivity:** of counts under add/remove, with r = min(rows, keys rows_per_key) and p = min(rows_per_key, r):
    l1 is r, l2 squared is floor(r/p) p^2 + (r mod p)^2, attained; without a limit by group all rows may share one, and l2
    is r, not its root. Under replace the old rows go and the new ones come: twice, and twice the square.
    **Proof:** docs/proofs/tables/reach.md.

    >>> reach = Reach(keys=5, rows_per_key=3)
    >>> reach.l1(Unit()), reach.l2_squared(Unit()), reach.l2_squared(Unit("replace"))
    (15, 45, 90)
    >>> Reach(rows=4).l2_squared(Unit())
    16
    """

    keys: int | None = None
    rows_per_key: int | None = None
    rows: int | None = None
    repeated: bool = False

    def __post_init__(self) -> None:
        for name in ("keys", "rows_per_key", "rows"):
            if getattr(self, name) is not None:
                count(name, getattr(self, name), 1)

    @property
    def most_rows(self) -> int:
        """The most rows that one unit adds to all groups together: r of the proof."""
        product = None if self.keys is None or self.rows_per_key is None else self.keys * self.rows_per_key
        limits = [each for each in (self.rows, product) if each is not None]
        if not limits:
            raise InvalidParameter("nothing limits the rows of one person: give max_rows=")
        return min(limits)

    @property
    def most_rows_per_key(self) -> int:
        """The most rows that one unit adds to one group: p of the proof."""
        return self.most_rows if self.rows_per_key is None else min(self.rows_per_key, self.most_rows)

    @property
    def most_keys(self) -> int:
        """The most groups that one unit appears in: L of the proof."""
        return self.most_rows if self.keys is None else min(self.keys, self.most_rows)

    def within(self, keys: int) -> "Reach":
        """The reach in a table with at most `keys` groups.

        >>> Reach(keys=5, rows_per_key=3).within(2).most_rows
        6
        """
        return replace(self, keys=keys if self.keys is None else min(self.keys, keys))

    def times(self, factor: int) -> "Reach":
        """The reach after every row has become up to `factor` rows, which may lie in any groups.

        >>> Reach(1, 1, 1).times(3).l2_squared(Unit())
        9
        """
        return self if factor == 1 else Reach(rows=factor * self.most_rows, repeated=True)

    @property
    def _squares(self) -> int:
        """The largest sum of the squares of the counts that one unit adds: as many full groups as its rows fill, and one
        with the rest."""
        r, p = self.most_rows, self.most_rows_per_key
        return (r // p) * p * p + (r % p) ** 2

    def l1(self, unit: Unit) -> int:
        """The distance by which counts move in l1."""
        return self.most_rows * _moves(unit)

    def l2_squared(self, unit: Unit) -> int:
        """The square of how far counts move in l2, or any sums to which a row adds non-negative numbers of at most 1 in
        all."""
        return self._squares * _moves(unit)

    def sums_l1(self, unit: Unit, lower: int, upper: int) -> int:
        """The distance by which sums move in l1 when a row adds a whole number from `lower` to `upper`, or nothing.

        >>> Reach(2, 3).sums_l1(Unit("replace"), -1, 10)
        120
        """
        return self.l1(unit) * max(abs(lower), abs(upper))

    def sums_l2_squared(self, unit: Unit, lower: int, upper: int) -> int:
        """The square of how far such sums move in l2.

        >>> Reach(1, 1, 1).sums_l2_squared(Unit("replace"), -10, 10)
        400
        """
        high, low = max(upper, 0), max(-lower, 0)
        top = max(high, low) ** 2
        if _moves(unit) == 1:
            return self._squares * top
        return self._replaced(max(high, low), min(high, low))

    def _replaced(self, high: int, low: int) -> int:
        """The largest sum of squares when old rows go and new ones come, where a row adds up to `high` with one sign and
        up to `low` <= `high` with the other.

        At worst the old rows fill q groups with p rows each and one with the s that are left, and so do the new ones. They
        differ in which of these groups are the same group ("meet"): x old and y <= x new rows of one group move its sum by
        at most high x + low y. The cases are those of the proof note, "Signed sums under replace".
        """
        p = self.most_rows_per_key
        q, s = divmod(self.most_rows, p)

        def moved(x: int, y: int) -> int:
            return (high * x + low * y) ** 2

        best = 0
        for t in {0, max(q - 1, 0), q}:  # full groups that meet full ones: cases are linear in t
            alone = q - t  # full groups of the old rows that meet no full one; as many of the new rows
            full = t * moved(p, p) + 2 * alone * moved(p, 0)
            partial_meets_partial, no_partial_meets = moved(s, s), 2 * moved(s, 0)
            found = [full + partial_meets_partial, full + no_partial_meets]
            if alone:
                gain = moved(p, s) - moved(p, 0)  # by a partial group that meets a full one
                one_meets_full, both_meet_full = gain + moved(s, 0), 2 * gain
                found += [full + one_meets_full, full + both_meet_full]
            best = max(best, *found)
        return best

    def persons(self, unit: Unit) -> int:
        """The distance by which counts of persons move in l1, and the square of how far they move in l2.

        One number bounds both: a person moves each count by at most 1, which is its own square. A row that counts several
        times (`repeated`) moves one by more, so that squares are added up, and they are larger than the numbers.

        >>> Reach(keys=5, rows_per_key=3).persons(Unit()), Reach(1, 1, 1).times(3).persons(Unit())
        (5, 9)
        """
        return (self._squares if self.repeated else self.most_keys) * _moves(unit)


def _moves(unit: Unit) -> int:
    """The number of times that somebody's rows come or go between neighbours: 2 under replace."""
    if unit.group_size != 1 or unit.relation not in ("add_remove", "replace"):
        raise InvalidParameter("tables are about adding, removing or replacing one row or person")
    return 2 if unit.relation == "replace" else 1


def root(square: int) -> Fraction:
    """The square root of a whole number as a fraction, rounded up; exact where it is a whole number itself.

    >>> root(9), root(2) ** 2 >= 2
    (Fraction(3, 1), True)
    """
    return Fraction(root_up(Fraction(square)))
