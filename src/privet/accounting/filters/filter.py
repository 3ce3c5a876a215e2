"""The contract of filters: a frozen rule, and the immutable value of what was spent under it."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import add as plus, le
from typing import ClassVar, NamedTuple

from privet._cache import kept_property
from privet._calls import door
from privet._numerics import bisect
from privet._validate import above, at_least, count as whole_number, open_fraction, set_frozen
from privet.accounting.filters.amounts import Amount, add, to_amount, to_float
from privet.accounting.tightest import epsilon as fixed_epsilon
from privet.errors import BudgetExceeded, InvalidParameter, NoGuarantee
from privet.privacy import ApproxLoss, Composed, PrivacyLoss, PureLoss, Repeated, Unit, same_unit

Sums = tuple[tuple[Amount, ...], ...]  # per rule, per currency
Offers = tuple[Sums, ...]  # per rule: prices of one release that are all valid, the one to be tried first in front

_MARGIN = 1.0 + 1e-9  # how closely the largest epsilon is searched for; the one that comes back was seen to fit
_LEAST_EPSILON, _MOST_EPSILON = 1e-60, 1e60  # of any price: where a search for the largest one ends


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

    @door
    def start(self, unit: Unit | None = None) -> "FilterState":
        """The state with nothing spent. Without a unit the first charge decides about it."""
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
    pairs: ClassVar[bool] = False  # does it add up (epsilon, delta) pairs?
    epsilon: float
    delta: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        set_frozen(self, epsilon=above("epsilon", self.epsilon, 0.0))
        set_frozen(self, delta=open_fraction("delta", self.delta))
        self._rest()

    @property
    def theorem(self) -> str:
        return self.source

    @property
    def rules(self) -> "tuple[Rule, ...]":
        return (self,)

    @property
    def share(self) -> float:
        """The delta at which a loss without an epsilon of its own is charged; 0: its price is infinite."""
        return 0.0

    @property
    @abstractmethod
    def limits(self) -> tuple[float, ...]:
        """The limit of each sum."""

    @abstractmethod
    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        """The cost of one release in each currency."""

    @abstractmethod
    def pure_room(self, remaining: float) -> float:
        """A pure epsilon whose price in the first currency fits into what remains of it."""

    @kept_property
    def caps(self) -> tuple[int, ...]:
        """The limits as integers, rounded down."""
        return tuple(to_amount(limit, up=False) or 0 for limit in self.limits)

    def _rest(self) -> float:
        """The rest of delta for the conversion once `delta0` is set aside for failures of the parts (if it is)."""
        rest = self.delta - at_least("delta0", getattr(self, "delta0", 0.0), 0.0)
        if rest <= 0.0:
            raise InvalidParameter(
                f"delta0 must be smaller than delta = {self.delta:g}: the conversion needs a share too"
            )
        return rest


@dataclass(frozen=True)
class FilterState:
    """Spending under a filter: an immutable value; `charge` returns the next one.

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

    @door(prices=("loss",))
    def charge(self, loss: PrivacyLoss, count: int = 1, *, at: float | None = None) -> "FilterState":
        """The state after `count` releases with this loss, or `BudgetExceeded`. `at`: charge each as one point."""
        unit = self._check(loss)
        return replace(self.plus(self.price(loss, count, at=at)), unit=unit)

    def price(self, loss: PrivacyLoss, count: int = 1, *, at: float | None = None) -> Sums:
        """The amounts that `count` releases with this loss add to the sums: of several valid prices, one that keeps a
        rule going."""
        return settle(tuple(rule.caps for rule in self.filter.rules), self.sums, self.offers(loss, count, at=at))

    def offers(self, loss: PrivacyLoss, count: int = 1, *, at: float | None = None) -> Offers:
        """Every valid price of `count` releases with this loss, per rule; the same whatever was spent before.

        With `at` a rule that adds up (epsilon, delta) pairs charges the point (epsilon of the loss at `at`, `at`), and
        every other rule its own price or that pair's. Without it, a loss that has no epsilon of its own is charged by
        such rules at the share of delta that was fixed with the budget.
        """
        self._check(loss)
        times = 1 if type(count) is int and count == 1 else whole_number("count", count)
        single = _offers_of(self.filter.rules, loss, at, times)
        if times == 1:
            return single
        return tuple(
            tuple(tuple(None if each is None else each * times for each in price) for price in prices)
            for prices in single
        )

    def plus(self, requested: Sums) -> "FilterState":
        """The state after a price that is already known, or `BudgetExceeded`."""
        after, granted = self._plus(requested)
        if not granted:
            raise self._refusal(requested)
        return FilterState(self.filter, after, self.unit)

    @door(prices=("loss",))
    def accepts(self, loss: PrivacyLoss, count: int = 1, *, at: float | None = None) -> bool:
        """Would `charge` go through?"""
        return self._plus(self.price(loss, count, at=at))[1]

    @door(prices=("loss",))
    def what_fits(self, loss: PrivacyLoss, *, at: float | None = None) -> float:
        """The number of further releases with this loss that fit: a whole number, or infinity when it is free."""
        best = 0.0
        for rule, sums, offers in zip(self.filter.rules, self.sums, self.offers(loss, at=at), strict=True):
            if not _holds(rule, sums):
                continue
            for prices in offers:
                if None not in prices:
                    pairs = zip(rule.caps, sums, prices, strict=True)
                    best = max(best, min((cap - (s or 0)) // p if p else math.inf for cap, s, p in pairs))
        return best

    @property
    def standing(self) -> tuple[str, ...]:
        """The names of the rules that still hold."""
        return tuple(rule.name for rule, sums in zip(self.filter.rules, self.sums, strict=True) if _holds(rule, sums))

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
            low, high = guess, guess * _MARGIN
            while high < _MOST_EPSILON and fits(high):
                low, high = high, high * (high / low) ** 2
        else:
            low, high = guess / _MARGIN, guess
            while low > _LEAST_EPSILON and not fits(low):
                low, high = low / (high / low) ** 2, low
        low = bisect(fits, high, low, within=_MARGIN - 1.0)
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
        """The rest of the budget, by rule and currency."""
        return {f"{row.rule} {row.currency}": row.remaining for row in self.balances}

    def _check(self, loss: PrivacyLoss) -> Unit:
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameter(f"a filter charges a loss, got {type(loss).__name__}")
        if self.unit is None or loss.unit is self.unit:
            return loss.unit
        return same_unit([self.unit, loss.unit])

    def _plus(self, requested: Sums) -> tuple[Sums, bool]:
        """The sums with the request, and whether a rule still holds with it."""
        return sums_after(tuple(rule.caps for rule in self.filter.rules), self.sums, requested)

    def _refusal(self, requested: Sums) -> BudgetExceeded:
        balances, amounts = self.balances, [amount for more in requested for amount in more]
        rows = list(zip(balances, amounts, strict=True))
        standing = self.standing
        closed = dict.fromkeys(row.rule for row in balances if row.rule not in standing)
        lines = [
            f"{row.rule} {row.currency}: spent {row.spent:.9g} of {row.limit:.9g}, requested "
            f"{'more than any finite amount' if more is None else format(to_float(more), '.9g')}, "
            f"remaining {_round_down(row.remaining)}"
            for row, more in rows
            if row.rule in standing
        ]
        told = "; ".join([*lines, *(f"{rule}: closed" for rule in closed)])
        finite = None not in amounts
        named = "" if finite else ". Where no finite amount is known, a delta to charge it at may help (at=)"
        return BudgetExceeded(
            f"the {self.filter.name} filter ({self.filter.theorem}) refuses this charge. {told}. One more pure release "
            f"of epsilon up to {_round_down(self.largest_pure)} would still fit{named}",
            spent={f"{row.rule} {row.currency}": row.spent for row in balances},
            requested={f"{row.rule} {row.currency}": to_float(amount) for row, amount in rows},
            remaining=self.remaining,
        )


def settle(caps: tuple[tuple[int, ...], ...], spent: Sums, offers: Offers) -> Sums:
    """Of the valid prices of each rule, the first with which the rule still holds; else the first.

    Every offer is an upper bound on the same release, and sums are public, so choosing among them is part of the
    adaptive choice that the theorems allow.

    >>> settle(((10, 0),), ((3, 0),), (((4, 1), (5, 0)),))
    ((5, 0),)
    """
    return tuple(
        prices[0] if len(prices) == 1 else _first_within(limits, sums, prices)
        for limits, sums, prices in zip(caps, spent, offers, strict=True)
    )


def _first_within(limits: tuple[int, ...], sums: tuple[Amount, ...], prices: Sums) -> tuple[Amount, ...]:
    for price in prices:
        if all(s is not None and p is not None and s + p <= cap for cap, s, p in zip(limits, sums, price, strict=True)):
            return price
    return prices[0]


def _offers_of(rules: "tuple[Rule, ...]", loss: PrivacyLoss, at: float | None, count: int = 1) -> Offers:
    """The valid prices of one release, per rule. With a count of 0 nothing is asked of the loss."""
    parts = [(part, n) for part, n in loss.parts() if n and count]
    own = [_total(rule, parts) for rule in rules]
    share = max((rule.share for rule in rules), default=0.0)
    missing = any(rule.pairs and None in price for rule, price in zip(rules, own, strict=True))
    if not parts or (at is None and not (missing and share)):
        return tuple((price,) for price in own)
    point = point_at(loss, share if at is None else at)
    if point is None:
        return tuple((price,) for price in own)
    return tuple(_offers(rule, price, parts, point, at) for rule, price in zip(rules, own, strict=True))


def _offers(
    rule: "Rule", own: tuple[Amount, ...], parts: list[tuple[PrivacyLoss, int]], point: PrivacyLoss, at: float | None
) -> Sums:
    if rule.pairs and at is None:
        return (own,) if None not in own else (_with_share(rule, parts),)
    pair = _total(rule, [(point, 1)])
    if rule.pairs or None in own:
        return (pair,)
    if None in pair:
        return (own,)
    return (own, pair) if (own[0] or 0) <= (pair[0] or 0) else (pair, own)


def _with_share(rule: "Rule", parts: list[tuple[PrivacyLoss, int]]) -> tuple[Amount, ...]:
    """Parts with an epsilon at their own price; the others together as one point at the rule's share."""
    known = [(part, n) for part, n in parts if None not in _total(rule, [(part, n)])]
    others = [(part, n) for part, n in parts if None in _total(rule, [(part, n)])]
    point = point_at(Composed(Repeated(part, n) for part, n in others), rule.share) if rule.share else None
    return _total(rule, [*known, *(others if point is None else [(point, 1)])])


def sums_after(caps: tuple[tuple[int, ...], ...], spent: Sums, requested: Sums) -> tuple[Sums, bool]:
    """The sums with a request, and whether a rule still holds with it. `caps` are the rules' own.

    This is the inner loop of every charge: whole amounts are added without a look at each; infinity goes the long way.

    >>> sums_after(((10, 0),), ((3, 0),), ((4, 0),))
    (((7, 0),), True)
    """
    if [*map(len, caps)] == [*map(len, spent)] == [*map(len, requested)]:
        try:
            totals: Sums = tuple([tuple(map(plus, a, b)) for a, b in zip(spent, requested, strict=True)])
            for amounts, limits in zip(totals, caps, strict=True):
                if all(map(le, amounts, limits)):  # type: ignore[arg-type]
                    return totals, True
            return totals, False
        except TypeError:  # None, which is infinity, is not added
            pass
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


def point_at(loss: PrivacyLoss, at: float) -> ApproxLoss | None:
    """The tight (epsilon, at) of a loss, as a loss; None where no finite epsilon is known.

    **Guarantee:** `at` is public and named before the release, so the release *is* an (epsilon, at)-DP mechanism, and
    every filter for such mechanisms may charge that pair, whatever the loss is otherwise.

    >>> from privet import privacy
    >>> round(point_at(privacy.GaussianLoss(100.0), 1e-9).epsilon, 4)
    0.0489
    """
    return _point(loss, open_fraction("at", at))


@lru_cache(maxsize=4096)
def _point(loss: PrivacyLoss, at: float) -> ApproxLoss | None:
    try:
        epsilon = fixed_epsilon(loss, delta=at).upper
    except NoGuarantee:
        return None
    return ApproxLoss(epsilon, at, unit=loss.unit) if math.isfinite(epsilon) else None
