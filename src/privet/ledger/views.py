"""What people read: what was spent, what is left, what a request would cost, what an entry means."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from privet.accounting.filters import Sums
from privet.ledger.account import Account
from privet.privacy import PrivacyLoss

__all__ = ["Explanation", "Preview", "Standing", "Verified"]


class Standing(Mapping[str, float]):
    """Amounts by rule and currency, for reading; `sums` holds the exact integers in units of 10^-40.

    **Guarantee:** what is shown as spent is what the rule has summed up, not a running epsilon: the promise is the
    budget's, at every moment.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> ledger.remaining["basic epsilon"]
    1.0
    """

    def __init__(self, what: str, account: Account, sums: Sums, promise: str) -> None:
        self.what = what
        self.sums = sums
        self.promise = promise
        self.theorem = account.theorem
        self.balances = account.balances(sums)
        self._account = account

    def __getitem__(self, name: str) -> float:
        for row in self.balances:
            if f"{row.rule} {row.currency}" == name:
                return row.spent if self.what == "spent" else row.remaining
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (f"{row.rule} {row.currency}" for row in self.balances)

    def __len__(self) -> int:
        return len(self.balances)

    @property
    def largest_pure(self) -> float:
        """The largest epsilon of one more pure release that is known to fit."""
        return self._account.room(self.sums, None).largest_pure

    def fits(self, loss: PrivacyLoss) -> float:
        """How many more releases with this loss fit: a whole number, or infinity."""
        return self._account.room(self.sums, loss).fits

    def to_dict(self) -> dict[str, Any]:
        """Plain values; infinite ones as None."""
        return {name: value if math.isfinite(value) else None for name, value in self.items()}

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={value:.9g}" for name, value in self.items())
        return f"<{self.what}: {listed}; {self.promise}>"

    def __str__(self) -> str:
        lines = [f"{self.what} under {self.promise} ({self.theorem})"]
        for row in self.balances:
            if math.isinf(row.limit):
                lines.append(f"  {row.rule} {row.currency}: {row.spent:.6g}, no cap")
            else:
                lines.append(
                    f"  {row.rule} {row.currency}: spent {row.spent:.9g} of {row.limit:.9g}, remaining {row.remaining:.9g}"
                )
        return "\n".join(lines)


@dataclass(frozen=True)
class Preview:
    """What a request would cost; nothing was paid.

    `fits` counts how many such requests would still be granted, this one included. `ends` names the rules that hold now
    and would not afterwards: what they are kind to would no longer fit.

    >>> import privet as pv
    >>> preview = pv.Ledger.create("memory:", budget=pv.Budget(1.0)).preview(pv.privacy.PureLoss(0.25))
    >>> preview.allowed, preview.fits
    (True, 4)
    """

    allowed: bool
    fits: float
    before: Standing
    after: Standing | None
    refusal: str | None
    ends: tuple[str, ...] = ()  # the rules that this request would end
    at: float | None = None  # the delta at which it would be charged as one point

    def __bool__(self) -> bool:
        return self.allowed

    def __str__(self) -> str:
        if not self.allowed:
            return f"refused: {self.refusal}"
        many = "as many as you like" if math.isinf(self.fits) else f"{self.fits:,.0f}"
        point = "" if self.at is None else f", charged as one point at delta {self.at:g}"
        ended = "".join(f"\nwarning: this ends the rule {name}" for name in self.ends)
        return f"granted{point}; such requests that fit: {many}{ended}\nbefore: {self.before!r}\nafter:  {self.after!r}"


@dataclass(frozen=True)
class Verified:
    """The result of a check that passed; one that does not pass raises `LedgerTampered`.

    `anchored` is the seq of the newest anchor that was compared (0: none): nothing sees a rollback of entries after it.

    >>> Verified(3, "ab", 1, 0, ()).entries
    3
    """

    entries: int
    head: str
    orphans: int
    anchored: int
    underpriced: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "underpriced": list(self.underpriced)}

    def __str__(self) -> str:
        anchor = f"anchored up to entry {self.anchored}" if self.anchored else "no anchor was compared"
        found = f"{self.entries} entries, chain and sums agree; {self.orphans} paid without a release; {anchor}"
        if not self.underpriced:
            return found
        few = ", ".join(map(str, self.underpriced[:10])) + (", ..." if len(self.underpriced) > 10 else "")
        return f"{found}. Underpriced: entries {few} were charged less than their losses cost by this version of privet"


@dataclass(frozen=True)
class Explanation:
    """One entry in words: who, when, what was asked, what it cost in every account, what it paid for.

    >>> Explanation({"seq": 1, "kind": "open"})["kind"]
    'open'
    """

    facts: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(self.facts)

    def __str__(self) -> str:
        lines = []
        for name, value in self.facts.items():
            if value is not None and value != {}:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                lines.append(f"{name:<10} {text}")
        return "\n".join(lines)
