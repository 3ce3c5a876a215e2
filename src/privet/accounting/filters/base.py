"""What every filter is: a frozen rule, and the immutable value of what was spent under it."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

from privet._validate import above, at_least, open_fraction
from privet._validate import count as whole_number
from privet.accounting.filters.amounts import Amount, add, to_amount, to_float
from privet.errors import BudgetExceeded, InvalidParameter
from privet.privacy import PrivacyLoss, PureLoss, Unit
from privet.privacy.base import same_unit

__all__ = ["Balance", "Filter", "FilterState", "Rule", "Sums", "sums_after"]

Sums = tuple[tuple[Amount, ...], ...]  # per rule, per currency

_HAIR = 1.0 + 1e-9
_LEAST_EPSILON, _MOST_EPSILON = 1e-60, 1e60  # of any price


class Balance(NamedTuple):
    """One running sum of one rule, as floats for reading; the integers in `FilterState.sums` decide."""

    rule: str
    currency: str
    spent: float
    limit: float
    remaining: float


@dataclass(frozen=True)
class Filter(ABC):
    """A stopping rule for adaptively chosen losses. Stateless: `start()` gives the first `FilterState`.

    **Guarantee:** whatever is charged, in whatever way the next loss is chosen, everything released while `charge` does
    not refuse is together (epsilon, delta)-DP. **Reference:** `theorem`.

    >>> from privet.accounting.filters import BasicFilter
    >>> state = BasicFilter(epsilon=1.0).start()
    >>> isinstance(state.filter, Filter), state.filter.theorem
    (True, 'Rogers, Roth, Ullman & Vadhan 2016')
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The theorem that makes this a filter."""

    @property
    @abstractmethod
    def rules(self) -> "tuple[Rule, ...]":
        """The rules that keep sums; a request passes when one of them still holds with it."""

    def start(self, unit: Unit | None = None) -> "FilterState":
        """Nothing spent. Without a unit the first charge decides about it."""
        return FilterState(self, tuple((0,) * len(rule.currencies) for rule in self.rules), unit)

    def resume(self, sums: Sums, unit: Unit) -> "FilterState":
        """The state whose `sums` were stored: one whole amount >= 0 (or None for infinity) per rule and currency."""
        stored = tuple(tuple(amounts) for amounts in sums)
        if [len(amounts) for amounts in stored] != [len(rule.currencies) for rule in self.rules]:
            raise InvalidParameter("the stored sums do not have the currencies of this filter")
        for amount in (amount for amounts in stored for amount in amounts):
            if amount is not None and (isinstance(amount, bool) or not isinstance(amount, int) or amount < 0):
                raise InvalidParameter("stored sums are whole numbers >= 0 in units of 10^-40, or None for infinity")
        return FilterState(self, stored, unit)


@dataclass(frozen=True)
class Rule(Filter):
    """A filter that adds up prices in its currencies and compares each sum with a limit fixed at opening.

    **Guarantee:** as of `Filter`. **Reference:** that of the concrete rule.

    >>> from privet.accounting.filters import AnyOf, ZcdpFilter
    >>> issubclass(ZcdpFilter, Rule) and not issubclass(AnyOf, Rule)
    True
    """

    currencies: ClassVar[tuple[str, ...]]
    source: ClassVar[str]
    epsilon: float
    delta: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", above("epsilon", self.epsilon, 0.0))
        object.__setattr__(self, "delta", open_fraction("delta", self.delta))

    @property
    def theorem(self) -> str:
        return self.source

    @property
    def rules(self) -> "tuple[Rule, ...]":
        return (self,)

    @property
    @abstractmethod
    def limits(self) -> tuple[float, ...]:
        """What each sum may reach."""

    @abstractmethod
    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        """What one release costs in each currency."""

    @abstractmethod
    def pure_room(self, remaining: float) -> float:
        """A pure epsilon whose price in the first currency fits into what remains of it."""

    @cached_property
    def caps(self) -> tuple[int, ...]:
        """The limits as integers, rounded down."""
        return tuple(to_amount(limit, up=False) or 0 for limit in self.limits)

    def _rest(self, delta0: float) -> float:
        """What is left of delta for the conversion once delta0 is set aside."""
        rest = self.delta - at_least("delta0", delta0, 0.0)
        if rest <= 0.0:
            raise InvalidParameter(
                f"delta0 must be smaller than delta = {self.delta:g}: the conversion needs a share too"
            )
        return rest


@dataclass(frozen=True)
class FilterState:
    """What was spent under a filter: an immutable value; `charge` returns the next one.

    A charge costs one price and one addition of integers per rule, however many came before. `sums` are the amounts
    that a ledger stores, one tuple per rule, in units of 10^-40 (None: infinite).

    **Guarantee:** a state never exceeds its filter; a refused charge changes nothing.

    >>> from privet import privacy
    >>> from privet.accounting.filters import BasicFilter
    >>> state = BasicFilter(epsilon=1.0).start().charge(privacy.PureLoss(0.1), 9)
    >>> state.accepts(privacy.PureLoss(0.1)), state.accepts(privacy.PureLoss(0.101))
    (True, False)
    """

    filter: Filter
    sums: Sums
    unit: Unit | None = None

    def charge(self, loss: PrivacyLoss, count: int = 1) -> "FilterState":
        """The state after `count` releases with this loss, or `BudgetExceeded`."""
        unit = self._check(loss)
        return replace(self.plus(self._requested(loss, count)), unit=unit)

    def price(self, loss: PrivacyLoss, count: int = 1) -> Sums:
        """What `count` releases with this loss add to the sums; the same whatever was spent before."""
        self._check(loss)
        return self._requested(loss, count)

    def plus(self, requested: Sums) -> "FilterState":
        """The state after a price that is already known, or `BudgetExceeded`."""
        after, granted = self._plus(requested)
        if not granted:
            raise BudgetExceeded(self._refusal(requested))
        return FilterState(self.filter, after, self.unit)

    def accepts(self, loss: PrivacyLoss, count: int = 1) -> bool:
        """Would `charge` go through?"""
        self._check(loss)
        return self._plus(self._requested(loss, count))[1]

    def what_fits(self, loss: PrivacyLoss) -> float:
        """How many more releases with this loss fit: a whole number, or infinity when it is free."""
        self._check(loss)
        best = 0.0
        for rule, sums, prices in zip(self.filter.rules, self.sums, self._requested(loss, 1), strict=True):
            if not _holds(rule, sums) or None in prices:
                continue
            pairs = zip(rule.caps, sums, prices, strict=True)
            best = max(best, min((cap - (s or 0)) // p if p else math.inf for cap, s, p in pairs))
        return best

    @property
    def largest_pure(self) -> float:
        """The largest epsilon of one more pure release that fits, to nine digits: it is granted, a little more is not."""
        rooms = [
            rule.pure_room(to_float(rule.caps[0] - (sums[0] or 0)))
            for rule, sums in zip(self.filter.rules, self.sums, strict=True)
            if _holds(rule, sums)
        ]
        guess = max(rooms, default=0.0)
        if not 0.0 < guess < math.inf:
            return 0.0

        def fits(epsilon: float) -> bool:
            return epsilon >= _LEAST_EPSILON and self.accepts(PureLoss(epsilon, unit=self.unit or Unit()))

        if fits(guess):
            low, high = guess, guess * _HAIR
            while high < _MOST_EPSILON and fits(high):
                low, high = high, high * (high / low) ** 2
        else:
            low, high = guess / _HAIR, guess
            while low > _LEAST_EPSILON and not fits(low):
                low, high = low / (high / low) ** 2, low
        while high > low * _HAIR:
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low if fits(low) else 0.0

    @property
    def balances(self) -> tuple[Balance, ...]:
        """Spent, limit and remaining, per rule and currency; a rule that no longer holds has nothing remaining."""
        rows = []
        for rule, sums in zip(self.filter.rules, self.sums, strict=True):
            alive = _holds(rule, sums)
            for currency, s, cap in zip(rule.currencies, sums, rule.caps, strict=True):
                left = to_float(cap - s) if alive and s is not None else 0.0
                rows.append(Balance(rule.name, currency, to_float(s), to_float(cap), left))
        return tuple(rows)

    @property
    def remaining(self) -> dict[str, float]:
        """What is left, by rule and currency."""
        return {f"{row.rule} {row.currency}": row.remaining for row in self.balances}

    def _check(self, loss: PrivacyLoss) -> Unit:
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameter(f"a filter charges a loss, got {type(loss).__name__}")
        if self.unit is None or loss.unit is self.unit:
            return loss.unit
        return same_unit([self.unit, loss.unit])

    def _requested(self, loss: PrivacyLoss, count: int) -> Sums:
        times = 1 if type(count) is int and count == 1 else whole_number("count", count)
        parts = [(part, n * times) for part, n in loss.parts() if n * times]
        return tuple(_total(rule, parts) for rule in self.filter.rules)

    def _plus(self, requested: Sums) -> tuple[Sums, bool]:
        """The sums with the request, and whether a rule still holds with it."""
        return sums_after(tuple(rule.caps for rule in self.filter.rules), self.sums, requested)

    def _refusal(self, requested: Sums) -> str:
        rows = zip(self.balances, (amount for more in requested for amount in more), strict=True)
        told = "; ".join(
            f"{row.rule} {row.currency}: spent {row.spent:.9g} of {row.limit:.9g}, requested "
            f"{'more than any finite amount' if more is None else format(to_float(more), '.9g')}, "
            f"remaining {_round_down(row.remaining)}"
            for row, more in rows
        )
        return (
            f"the {self.filter.name} filter ({self.filter.theorem}) refuses this charge. {told}. One more pure release "
            f"of epsilon up to {_round_down(self.largest_pure)} would still fit"
        )


def sums_after(caps: tuple[tuple[int, ...], ...], spent: Sums, requested: Sums) -> tuple[Sums, bool]:
    """The sums with a request, and whether a rule still holds with it. `caps` are the rules' own.

    Written out, infinity included: this is the inner loop of every charge.

    >>> sums_after(((10, 0),), ((3, 0),), ((4, 0),))
    (((7, 0),), True)
    """
    after, granted = [], False
    for limits, sums, more in zip(caps, spent, requested, strict=True):
        total: list[Amount] = []
        holds = True
        for limit, a, b in zip(limits, sums, more, strict=True):
            amount = None if a is None or b is None else a + b
            total.append(amount)
            if amount is None or amount > limit:
                holds = False
        granted = granted or holds
        after.append(tuple(total))
    return tuple(after), granted


def _total(rule: Rule, parts: list[tuple[PrivacyLoss, int]]) -> tuple[Amount, ...]:
    total: list[Amount] = [0] * len(rule.currencies)
    for part, n in parts:
        for i, price in enumerate(rule.price(part)):
            if price:
                amount = to_amount(price, up=True)
                total[i] = add(total[i], None if amount is None else n * amount)
    return tuple(total)


def _holds(rule: Rule, sums: tuple[Amount, ...]) -> bool:
    for amount, cap in zip(sums, rule.caps, strict=True):  # noqa: SIM110 - on the path of every charge
        if amount is None or amount > cap:
            return False
    return True


def _round_down(value: float) -> str:
    text = f"{value:.9g}"
    return text if float(text) <= value else f"{value * (1.0 - 1e-9):.9g}"
