"""One running account: sums of whole amounts under a filter or an odometer, and their text in an entry. No floats.

What was spent comes in and goes out as sums; an account holds none.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from privet._numerics import bisect, bracket
from privet.accounting import Filter, FilterState, Odometer
from privet.accounting.filters import Balance, OdometerState, Offers, Sums, point_at, settle, sums_after
from privet.accounting.filters.amounts import Amount, add, to_amount
from privet.errors import BudgetExceeded, InvalidParameter, LedgerTampered, NoGuarantee
from privet.privacy import ApproxLoss, PrivacyLoss, Unit, same_unit


def plain_sums(sums: Sums) -> list[list[str]]:
    """Sums as lists of decimal texts, for an entry; infinity is "inf".

    >>> plain_sums(((5, None),))
    [['5', 'inf']]
    """
    return [["inf" if amount is None else str(amount) for amount in rule] for rule in sums]


def sums_text(sums: Sums) -> str:
    """The canonical text of `plain_sums`, written without a detour: it is on the path of every charge.

    >>> sums_text(((5, None),))
    '[["5","inf"]]'
    """
    rules = [
        '","'.join(["inf" if amount is None else str(amount) for amount in rule] if None in rule else map(str, rule))
        for rule in sums
    ]
    return '[["' + '"],["'.join(rules) + '"]]'


def read_sums(plain: Any) -> Sums:
    """Inverse of `plain_sums`; anything else was not written by a ledger.

    >>> read_sums([["5", "inf"]])
    ((5, None),)
    """
    try:
        sums = tuple(tuple(None if text == "inf" else int(text) for text in rule) for rule in plain)
    except (TypeError, ValueError):
        raise LedgerTampered("a running sum is not a whole number; the ledger was edited") from None
    if plain_sums(sums) != plain or any(amount is not None and amount < 0 for rule in sums for amount in rule):
        raise LedgerTampered("a running sum is negative or not in its canonical form; the ledger was edited")
    return sums


def add_sums(a: Sums, b: Sums) -> Sums:
    """Component by component; infinity absorbs.

    >>> add_sums(((1, 2),), ((3, None),))
    ((4, None),)
    """
    return tuple(tuple(map(add, x, y)) for x, y in zip(a, b, strict=True))


def minus_sums(a: Sums, b: Sums) -> Sums:
    """The excess of `a` over `b`, which is nowhere larger; what is infinite already does not grow.

    >>> minus_sums(((4, None),), ((1, None),))
    ((3, 0),)
    """
    return tuple(tuple(_minus(x, y) for x, y in zip(p, q, strict=True)) for p, q in zip(a, b, strict=True))


def _minus(a: Amount, b: Amount) -> Amount:
    if b is None:
        return 0
    return None if a is None else a - b


def most_sums(a: Sums, b: Sums) -> Sums:
    """The larger amount, component by component; infinity is above all.

    >>> most_sums(((4, 1),), ((2, None),))
    ((4, None),)
    """
    return tuple(
        tuple(None if x is None or y is None else max(x, y) for x, y in zip(p, q, strict=True))
        for p, q in zip(a, b, strict=True)
    )


def total_sums(many: Iterable[Sums], zero: Sums) -> Sums:
    """The sum of several.

    >>> total_sums([((1,),), ((2,),)], ((0,),))
    ((3,),)
    """
    total = zero
    for sums in many:
        total = add_sums(total, sums)
    return total


def largest(amounts: Iterable[Amount], count: int) -> list[Amount]:
    """The `count` largest amounts, largest first; infinity is above all.

    >>> largest([3, None, 7, 1], 2)
    [None, 7]
    """
    return sorted(amounts, key=lambda amount: (amount is None, amount or 0), reverse=True)[:count]


_MOST_PRICES = 4096  # remembered losses; then all are forgotten and priced again: changes speed and memory only
_MOST_POINTS = 64  # remembered totals, likewise: speed and memory only
_MOST_EPSILON = 1e6  # where the search for what is left ends: more promises nothing


class Room(NamedTuple):
    """The room for releases with one loss.

    >>> Room(6.0, 3.0).fits
    6.0
    """

    fits: float
    largest_pure: float


class Account(ABC):
    """A rule with prices. It holds no sums: the ledger does.

    >>> from privet import accounting, privacy
    >>> account = FilterAccount(accounting.BasicFilter(1.0), privacy.Unit())
    >>> account.plus(account.zero, account.price(privacy.PureLoss(1.0))) == account.price(privacy.PureLoss(1.0))
    True
    """

    unit: Unit
    zero: Sums

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._offers: dict[tuple[PrivacyLoss, float | None], Offers] = {}
        self._only: dict[tuple[PrivacyLoss, float | None], Sums] = {}  # where every rule has one price
        self._twins: dict[Unit, Account] = {}

    def offers(self, loss: PrivacyLoss, at: float | None = None) -> Offers:
        """Per rule the valid prices of one release; equal losses are priced once. `at`: charge it as one point."""
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameter(f"a ledger charges a loss, got {type(loss).__name__}")
        known = self._offers.get((loss, at))
        if known is None:
            if len(self._offers) >= _MOST_PRICES:
                self._offers.clear()
                self._only.clear()
            known = self._offers[loss, at] = self._price(loss, at)
            if all(len(prices) == 1 for prices in known):
                self._only[loss, at] = tuple(prices[0] for prices in known)
        return known

    def price(self, loss: PrivacyLoss, at: float | None = None, spent: Sums | None = None) -> Sums:
        """The amounts that one release adds to the sums: of several valid prices, one that keeps a rule going."""
        only = self._only.get((loss, at))
        if only is not None:  # on the path of every charge
            return only
        return settle(self._caps, self.zero if spent is None else spent, self.offers(loss, at))

    def under(self, unit: Unit) -> "Account":
        """The same rule, for losses about another unit."""
        known = self._twins.get(unit)
        if known is None:
            known = self._twins[unit] = self._twin(unit)
        return known

    @abstractmethod
    def _twin(self, unit: Unit) -> "Account": ...

    @abstractmethod
    def _price(self, loss: PrivacyLoss, at: float | None) -> Offers: ...

    @property
    @abstractmethod
    def _caps(self) -> tuple[tuple[int, ...], ...]: ...

    @abstractmethod
    def standing(self, sums: Sums) -> tuple[str, ...]:
        """The names of the rules that still hold."""

    @abstractmethod
    def plus(self, sums: Sums, price: Sums) -> Sums:
        """The sums after a charge, or `BudgetExceeded`."""

    @abstractmethod
    def balances(self, sums: Sums) -> tuple[Balance, ...]:
        """Spent, limit and remaining, per rule and currency."""

    @abstractmethod
    def room(self, sums: Sums, loss: PrivacyLoss | None, at: float | None = None) -> Room:
        """The number of releases with a loss that still fit, and the largest pure one."""

    def point(self, sums: Sums) -> tuple[float, float] | None:
        """An (epsilon, delta) that one more release may have: with more of either it would be refused. Of several, the one
        with the largest epsilon; a delta of 0 where no rule has any left; None where nothing fits, or anything does.
        """
        return None

    @property
    @abstractmethod
    def currencies(self) -> tuple[str, ...]:
        """The names of the amounts, in the order of the sums."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The theorem that makes the rule valid."""


class FilterAccount(Account):
    """Under a filter.

    >>> from privet import accounting, privacy
    >>> FilterAccount(accounting.BasicFilter(1.0), privacy.Unit()).zero
    ((0, 0),)
    """

    def __init__(self, filter: Filter, unit: Unit) -> None:
        super().__init__(unit)
        self.filter = filter
        self._start = filter.start(unit)
        self.zero = self._start.sums
        self._limits = tuple(rule.caps for rule in filter.rules)
        self._points: dict[Sums, tuple[float, float] | None] = {}

    def _twin(self, unit: Unit) -> Account:
        return FilterAccount(self.filter, unit)

    @property
    def _caps(self) -> tuple[tuple[int, ...], ...]:
        return self._limits

    def _price(self, loss: PrivacyLoss, at: float | None) -> Offers:
        return self._start.offers(loss, at=at)

    def standing(self, sums: Sums) -> tuple[str, ...]:
        return self._at(sums).standing

    def plus(self, sums: Sums, price: Sums) -> Sums:
        after, granted = sums_after(self._limits, sums, price)
        return after if granted else self._at(sums).plus(price).sums  # the long way round raises, and says why

    def balances(self, sums: Sums) -> tuple[Balance, ...]:
        return self._at(sums).balances

    def room(self, sums: Sums, loss: PrivacyLoss | None, at: float | None = None) -> Room:
        state = self._at(sums)
        return Room(0.0 if loss is None else state.what_fits(loss, at=at), state.largest_pure)

    def point(self, sums: Sums) -> tuple[float, float] | None:
        if sums not in self._points:
            if len(self._points) >= _MOST_POINTS:
                self._points.clear()
            self._points[sums] = self._point(sums)
        return self._points[sums]

    def _point(self, sums: Sums) -> tuple[float, float] | None:
        standing = self.standing(sums)
        left = {row.remaining for row in self.balances(sums) if "delta" in row.currency and row.rule in standing}
        found: list[tuple[float, float]] = []
        for delta in left:
            for shrunk in (delta, delta * (1.0 - 1e-9)):  # amounts read as floats may round up
                epsilon = self._largest(sums, shrunk) if 0.0 < shrunk < 1.0 else 0.0
                if epsilon > 0.0:
                    found.append((epsilon, shrunk))
                    break
        if not found and (epsilon := self._largest(sums, 0.0)) > 0.0:
            found.append((epsilon, 0.0))
        return max(found, default=None)

    def _largest(self, sums: Sums, delta: float) -> float:
        """The largest epsilon that is granted at this delta, to the last digits."""
        low, high = bracket(lambda e: not self._grants(sums, e, delta), 1.0, least=1e-18, most=_MOST_EPSILON)
        return bisect(lambda e: self._grants(sums, e, delta), min(high, 2.0 * low), low, within=1e-15)

    def _grants(self, sums: Sums, epsilon: float, delta: float) -> bool:
        pair = ApproxLoss(epsilon, delta, unit=self.unit)
        return sums_after(self._limits, sums, settle(self._limits, sums, self._price(pair, None)))[1]

    def _at(self, sums: Sums) -> FilterState:
        return FilterState(self.filter, sums, self.unit)

    @property
    def currencies(self) -> tuple[str, ...]:
        return tuple(f"{rule.name} {currency}" for rule in self.filter.rules for currency in rule.currencies)

    @property
    def theorem(self) -> str:
        return self.filter.theorem


class OdometerAccount(Account):
    """Under an odometer: nothing is refused but failures beyond what was set aside.

    >>> from privet import privacy
    >>> OdometerAccount(Odometer(0.01, delta=1e-6), privacy.Unit()).zero
    ((0, 0),)
    """

    zero = ((0, 0),)

    def __init__(self, odometer: Odometer, unit: Unit) -> None:
        super().__init__(unit)
        self.odometer = odometer
        self._limits = ((10**400, to_amount(odometer.delta0, up=False) or 0),)

    def _twin(self, unit: Unit) -> Account:
        return OdometerAccount(self.odometer, unit)

    @property
    def _caps(self) -> tuple[tuple[int, ...], ...]:
        return self._limits

    def _price(self, loss: PrivacyLoss, at: float | None) -> Offers:
        same_unit([self.unit, loss.unit])
        start = self.at(self.zero)
        point = None if at is None else point_at(loss, at)
        if point is None:
            return ((start.price(loss),),)
        pair = start.price(point)
        try:
            own = start.price(loss)
        except NoGuarantee:
            return ((pair,),)
        return ((own, pair) if own[0] <= pair[0] else (pair, own),)

    def standing(self, sums: Sums) -> tuple[str, ...]:
        return ("odometer",)

    def plus(self, sums: Sums, price: Sums) -> Sums:
        after = self.at(sums).plus((price[0][0] or 0, price[0][1] or 0))
        return ((after.rho, after.failure),)

    def at(self, sums: Sums) -> OdometerState:
        """The odometer at these sums."""
        return OdometerState(self.odometer, sums[0][0] or 0, sums[0][1] or 0, self.unit)

    def balances(self, sums: Sums) -> tuple[Balance, ...]:
        state = self.at(sums)
        return (Balance("odometer", "epsilon", state.epsilon.upper, float("inf"), float("inf")),)

    def room(self, sums: Sums, loss: PrivacyLoss | None, at: float | None = None) -> Room:
        if loss is not None:
            try:
                self.plus(sums, self.price(loss, at, sums))
            except BudgetExceeded:
                return Room(0.0, float("inf"))
        return Room(float("inf"), float("inf"))

    @property
    def currencies(self) -> tuple[str, ...]:
        return ("odometer rho", "odometer delta0")

    @property
    def theorem(self) -> str:
        return "Rogers, Roth, Ullman & Vadhan 2016 (odometers); Whitehouse, Ramdas, Rogers & Wu 2023"
