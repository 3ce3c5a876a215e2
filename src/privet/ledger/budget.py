"""`Budget`: a promise, and the filter rule that keeps it."""

from dataclasses import dataclass, field, fields
from typing import Any

from privet._calls import door
from privet._validate import at_least, open_fraction, set_frozen
from privet.accounting import (
    AdvancedFilter,
    AnyOf,
    BasicFilter,
    Filter,
    Gdp,
    GdpFilter,
    Odometer,
    RdpFilter,
    Zcdp,
    ZcdpFilter,
    basic_or_zcdp,
)
from privet.accounting.filters import ApproxGdpFilter, MuFilter, RhoFilter, Rule, SlotsFilter, basic_zcdp_or_gdp
from privet.errors import InvalidParameter, LedgerError, LedgerTampered, PrivetError
from privet.privacy import GdpLoss, Guarantee, ZcdpLoss, from_json, to_json

_RULES: dict[str, type[Rule]] = {
    "basic": BasicFilter,
    "advanced": AdvancedFilter,
    "zcdp": ZcdpFilter,
    "rdp": RdpFilter,
    "gdp": GdpFilter,
    "approx_gdp": ApproxGdpFilter,
    "slots": SlotsFilter,
    "rho": RhoFilter,
    "mu": MuFilter,
}
_NAMES = {cls: name for name, cls in _RULES.items()}


@door
@dataclass(frozen=True)
class Budget:
    """A promise that may be spent, in one of four currencies, and the rule (a theorem about adaptive choices) that
    stops in time.

    - `Budget(1.0)`: pure epsilon. `Budget(3.0, 1e-6)`: (epsilon, delta), by basic, zCDP or GDP, whichever grants most.
    - `Budget(rho=0.1)`, `Budget(mu=0.5)`: zCDP and GDP statements; with `delta` the epsilon that follows is shown.
    - `Budget(rule=...)`: any filter of `privet.accounting.filters`.

    **Guarantee:** everything released under it is together within the promise, however the next release is chosen.
    **Reference:** `rule.theorem`, and docs/proofs/ledger.

    >>> print(Budget(3.0, 1e-6).describe())
    (3, 1e-06)-DP by basic, zCDP or GDP
    >>> Budget(rho=0.1) == Budget.from_dict(Budget(rho=0.1).to_dict())
    True
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = field(default=None, kw_only=True)
    mu: float | None = field(default=None, kw_only=True)
    rule: Filter | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.rule is not None and not isinstance(self.rule, Filter):
            raise InvalidParameter(f"rule must be a filter such as ZcdpFilter(3.0, delta=1e-6), got {self.rule!r:.60}")
        if self.rule is None or any(value is not None for value in (self.epsilon, self.rho, self.mu)):
            Guarantee.named(epsilon=self.epsilon, rho=self.rho, mu=self.mu)
        delta = at_least("delta", self.delta, 0.0)
        if delta:
            open_fraction("delta", delta)
        rule = self.rule or self._default(delta)
        if isinstance(rule, RhoFilter | MuFilter):
            self._statement(rule, delta)
        else:
            self._target(rule, delta)
        set_frozen(self, rule=rule)

    def _default(self, delta: float) -> Filter:
        if self.rho is not None:
            return RhoFilter(rho=self.rho)
        if self.mu is not None:
            return MuFilter(mu=self.mu)
        assert self.epsilon is not None
        return basic_zcdp_or_gdp(self.epsilon, delta=delta)

    def _statement(self, rule: RhoFilter | MuFilter, delta: float) -> None:
        """A promise in rho or mu; a delta makes it an (epsilon, delta) one as well."""
        converted: float | None = None
        if delta and isinstance(rule, RhoFilter):
            converted = Zcdp().epsilon(ZcdpLoss(rule.rho), delta - rule.delta0).upper
        elif delta and isinstance(rule, MuFilter):
            converted = Gdp().epsilon(GdpLoss(rule.mu), delta).upper
        if self.rule is not None and self.epsilon is not None:
            raise InvalidParameter("a rule in rho or mu has no epsilon of its own; give delta alone and read .epsilon")
        self._same("rho", self.rho, getattr(rule, "rho", None))
        self._same("mu", self.mu, getattr(rule, "mu", None))
        set_frozen(self, epsilon=converted)
        set_frozen(self, delta=delta)

    def _target(self, rule: Filter, delta: float) -> None:
        promised = (float(rule.epsilon), float(rule.delta))  # type: ignore[attr-defined]
        if self.rho is not None or self.mu is not None:
            raise InvalidParameter("a rule for (epsilon, delta) does not promise rho or mu")
        self._same("epsilon", self.epsilon, promised[0])
        if delta and abs(delta - promised[1]) > 1e-12 * delta:
            raise InvalidParameter(f"the rule promises delta {promised[1]:g}, the budget says {delta:g}")
        set_frozen(self, delta=delta or promised[1])

    def _same(self, name: str, said: float | None, promised: float | None) -> None:
        if said is not None and float(said) != promised:
            raise InvalidParameter(f"the rule promises {name} {promised}, the budget says {said}")
        set_frozen(self, **{name: promised})

    @property
    def filter(self) -> Filter:
        """The rule in force."""
        assert self.rule is not None
        return self.rule

    @property
    def guarantee(self) -> Guarantee:
        """The promise, without the rule that keeps it.

        >>> Budget(rho=0.1, delta=1e-6).guarantee
        Guarantee(epsilon=None, delta=0.0, rho=0.1, mu=None)
        """
        if self.rho is not None or self.mu is not None:
            return Guarantee(rho=self.rho, mu=self.mu)
        return Guarantee(self.epsilon, self.delta)

    def describe(self) -> str:
        """The promise and its rule, in words."""
        *others, last = dict.fromkeys(rule.name for rule in self.filter.rules)
        names = f"{', '.join(others)} or {last}" if others else last
        promise = self.guarantee.describe()
        if self.rho is not None or self.mu is not None:
            follows = "" if self.epsilon is None else f", hence ({self.epsilon:.6g}, {self.delta:g})-DP,"
            return f"{promise}{follows} by adding up {'rho' if self.rho is not None else 'squares of mu'}"
        return f"{promise} by {names}"

    def like(self, other: "Budget") -> "Budget":
        """This promise, kept by the rule that was the default when `other` was begun; itself where there is no such
        relation. Ledgers outlive a default: what a default promised then is what it promises now.

        >>> from privet.accounting.filters import basic_or_zcdp
        >>> old = Budget(rule=basic_or_zcdp(3.0, delta=1e-6))
        >>> Budget(3.0, 1e-6).like(old) == old, Budget(3.0, 1e-6) == old
        (True, False)
        """
        if not isinstance(self.rule, AnyOf) or self.epsilon is None or other.epsilon is None or not other.delta:
            return self
        default = self.rule == basic_zcdp_or_gdp(self.epsilon, delta=self.delta)
        if default and other.rule == basic_or_zcdp(other.epsilon, delta=other.delta):
            return Budget(self.epsilon, self.delta, rule=basic_or_zcdp(self.epsilon, delta=self.delta))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Texts only, floats with all their digits: `from_dict` gives back an equal budget."""
        return {"rule": _filter_to_dict(self.filter), "delta": repr(self.delta)}

    @classmethod
    @door
    def from_dict(cls, document: dict[str, Any]) -> "Budget":
        """Inverse of `to_dict`."""
        try:
            rule = _filter_from_dict(document["rule"])
            return cls(delta=float(document["delta"]), rule=rule)
        except (KeyError, TypeError, ValueError, AttributeError, PrivetError) as problem:
            raise LedgerTampered(f"a stored budget cannot be read: {problem}") from None


def _filter_to_dict(rule: Filter) -> dict[str, Any]:
    if isinstance(rule, AnyOf):
        return {"rule": "any_of", "of": [_filter_to_dict(each) for each in rule.of]}
    name = _NAMES.get(type(rule))  # type: ignore[arg-type]
    if name is None:
        raise LedgerError(f"a ledger keeps the rules that privet can read back, not {type(rule).__name__}")
    values = {each.name: getattr(rule, each.name) for each in fields(rule) if each.init}
    if isinstance(rule, SlotsFilter):
        return {
            "rule": name,
            "epsilon": repr(rule.epsilon),
            "delta": repr(rule.delta),
            "loss": to_json(rule.loss),
            "count": str(rule.count),
        }
    if values.get("at") == 0.0:  # as it was written before there was such a field
        del values["at"]
    return {"rule": name, **{key: repr(float(value)) for key, value in values.items()}}


def _filter_from_dict(document: dict[str, Any]) -> Filter:
    body = dict(document)
    name = body.pop("rule")
    if name == "any_of":
        return AnyOf(tuple(_filter_from_dict(each) for each in body["of"]))  # type: ignore[misc]
    if name == "slots":
        loss, count = from_json(body.pop("loss")), int(body.pop("count"))
        return SlotsFilter(**{key: float(value) for key, value in body.items()}, loss=loss, count=count)
    return _RULES[name](**{key: float(value) for key, value in body.items()})


def odometer_to_dict(odometer: Odometer) -> dict[str, str]:
    """Texts only.

    >>> odometer_to_dict(Odometer(0.01, delta=1e-6))["first_rho"]
    '0.01'
    """
    return {name: repr(getattr(odometer, name)) for name in ("first_rho", "delta", "delta0")}


def odometer_from_dict(document: dict[str, str]) -> Odometer:
    """Inverse of `odometer_to_dict`.

    >>> odometer_from_dict(odometer_to_dict(Odometer(0.01, delta=1e-6))) == Odometer(0.01, delta=1e-6)
    True
    """
    try:
        return Odometer(**{name: float(value) for name, value in document.items()})
    except (TypeError, ValueError, PrivetError) as problem:
        raise LedgerTampered(f"a stored odometer cannot be read: {problem}") from None


def promised(budget: Budget | None, epsilon: float | None, delta: float) -> Budget | None:
    """The budget that was given, or the one that an epsilon and a delta stand for.

    >>> promised(None, 1.0, 0.0) == Budget(1.0)
    True
    """
    if epsilon is None and not delta:
        return budget
    if budget is not None:
        raise InvalidParameter("give either budget= or epsilon= (and delta=), which are short for it")
    return Budget(epsilon, delta)
