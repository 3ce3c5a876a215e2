"""Verification of a ledger: the whole chain is read again, every sum computed again; the first entry that does not fit is
named."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from privet.accounting.filters import Offers, Sums
from privet.errors import BudgetExceeded, LedgerTampered, PrivetError
from privet.ledger.account import Account, add_sums, plain_sums, read_sums, sums_text
from privet.ledger.budget import Budget
from privet.ledger.entry import ADMIN, DATASET, GENESIS, KINDS, Entry, canonical, hash_of
from privet.ledger.partition import Part, Parts
from privet.ledger.policy import Policy, part_scopes
from privet.ledger.reading import Verified
from privet.ledger.slices import Mark, Slices, read_slices, slice_key
from privet.ledger.store import Store
from privet.ledger.values import check_values
from privet.mechanisms.blocks import composed
from privet.privacy import PrivacyLoss, from_json

_MOST = 4096  # texts remembered at once: memory and speed only
_SUMS = ',"sums":'  # where the sums of a body begin: no value holds this text, since quotes inside values are escaped
_TIME = re.compile(r'[0-9TZ:.-]{1,40}"}')  # how the body of every entry ends, after `"time":"`
_SLACK = 10**9  # prices may differ between machines by a relative 1e-9, that is 1/_SLACK


class AuditedRun(NamedTuple):
    """A run that was paid for and has not ended, as the entries so far tell it: its slices, and the mark of where it is."""

    analyst: str
    key: str | None
    slices: Slices
    mark: Mark


class Auditor:
    """A reader of the chain that keeps its own sums and believes nothing that is cached.

    A scope is the name of an account: of the data set, an analyst or a part of a partition.

    >>> Auditor().seq
    0
    """

    def __init__(self) -> None:
        self.seq, self.hash = 0, GENESIS
        self.policy: Policy | None = None
        self.sums: dict[str, Sums] = {}
        self.upto: dict[str, int] = {}  # by scope, the entry that changed its sums last
        # by entry, the analyst and key of whatever was paid for or begun and has released nothing yet
        self.open_reserves: dict[int, tuple[str, str | None]] = {}
        self.slices: dict[int, tuple[str, str | None]] = {}
        self.runs: dict[int, AuditedRun] = {}
        self.released: set[tuple[str, str]] = set()  # analyst and key
        self.underpriced: list[int] = []
        # remembered, since most entries repeat an earlier one in these:
        self._heads: dict[str, dict[str, Any]] = {}  # bodies up to their sums, under the rules in force
        self._prices: dict[str, dict[str, Sums]] = {}  # amounts by their text
        self._fair: dict[tuple[int, str, str | None, str, str | None], bool] = {}  # is this price of this loss fair?

    def read(self, entry: Entry) -> None:
        """The state after one more entry, which is checked against everything before it."""
        if entry.seq != self.seq + 1:
            raise LedgerTampered(f"entry {self.seq + 1} is missing", seq=self.seq + 1)
        if entry.prev != self.hash or hash_of(entry) != entry.hash:
            raise LedgerTampered(
                f"entry {entry.seq} was changed, moved or replaced: the chain breaks there", seq=entry.seq
            )
        if entry.kind not in KINDS or (entry.kind == "open") != (entry.seq == 1):
            raise LedgerTampered(
                f"entry {entry.seq} has the kind {entry.kind!r:.40}, which cannot stand there", seq=entry.seq
            )
        self.seq, self.hash = entry.seq, entry.hash
        if entry.kind == "reserve" and self._read_quickly(entry):
            return
        facts = entry.facts
        if entry.kind in ADMIN:
            self._heads.clear()
            self._administered(entry, facts)
        self._check_sums(entry, facts)
        if entry.kind == "slice" or (entry.kind == "reserve" and "run" in facts):
            self._run(entry, facts)
        elif entry.kind == "reserve":
            self.open_reserves[entry.seq] = (entry.analyst, entry.key)
        elif entry.kind == "release":
            self._release(entry, facts)

    def _read_quickly(self, entry: Entry) -> bool:
        """True if this is the most frequent entry, a charge to the data set alone, and it passed all checks of `read`.

        Its body is not parsed: its head (what stands before the sums) was read with an earlier entry, and the rest is
        compared with the text that must stand there. Where a letter differs, nothing changes and `read` goes the long way.
        """
        policy = self.policy
        if policy is None or policy.named or entry.analyst:
            return False
        head, _, tail = entry.body.partition(_SUMS)
        facts = self._heads.get(head)
        if facts is None:
            if len(self._heads) > _MOST:
                self._heads.clear()
            facts = self._heads[head] = _read_head(head)
        if "run" in facts:
            return False
        amounts = self._amounts(entry) if facts.get("policy") == str(policy.seq) and facts.get("part") is None else {}
        if len(amounts) != 1 or DATASET not in amounts:
            return False
        try:
            after = policy.account.plus(self.sums[DATASET], amounts[DATASET])
        except (ValueError, BudgetExceeded):
            return False
        expected = f'{{"{DATASET}":{sums_text(after)}}},"time":"'
        if not tail.startswith(expected) or not _TIME.fullmatch(tail, len(expected)):
            return False
        self._note_price(entry, facts, DATASET, policy.account, amounts[DATASET])
        self.sums[DATASET], self.upto[DATASET] = after, entry.seq
        self.open_reserves[entry.seq] = ("", entry.key)
        return True

    def _administered(self, entry: Entry, facts: dict[str, Any]) -> None:
        """The rules after an administrative entry; what it says of its own limits and schedule must be so."""
        before = self.policy
        self.policy = Policy.opened(entry) if before is None else before.after(entry)
        if before is None and not _same_caps(facts.get("caps"), self.policy.budget):
            raise LedgerTampered("entry 1 states limits that do not follow from its budget")
        raised = before is not None and entry.kind == "budget" and facts["scope"] == DATASET and facts["scheduled"]
        if raised and before is not None and before.schedule[:1] != (self.policy.budget,):
            raise LedgerTampered(f"entry {entry.seq} calls a raise scheduled that no schedule names", seq=entry.seq)

    def _check_sums(self, entry: Entry, facts: dict[str, Any]) -> None:
        """The running sums after an entry; those that it carries must be the same."""
        assert self.policy is not None
        carried = facts.get("sums")
        if not isinstance(carried, dict) or facts.get("policy") != str(self.policy.seq):
            raise LedgerTampered(f"entry {entry.seq} does not carry its running sums and rules", seq=entry.seq)
        if entry.kind in ("open", "analyst", "partition", "adopt"):  # they charge nothing and may begin accounts
            expected = {scope: read_sums(plain) for scope, plain in carried.items()}
            self._never_less(entry, expected)
        elif entry.kind == "reserve":
            expected = self._charged(entry, facts)
        else:
            expected = {DATASET: self.sums[DATASET]}
        if carried != {scope: plain_sums(sums) for scope, sums in expected.items()}:
            raise LedgerTampered(
                f"entry {entry.seq} carries sums that do not follow from what was charged", seq=entry.seq
            )
        self.sums.update(expected)
        for scope in expected:
            self.upto[scope] = entry.seq

    def _never_less(self, entry: Entry, after: Mapping[str, Sums]) -> None:
        """The rule for entries that charge nothing: an account begins at zero, and a sum stays as it is.

        Only the adoption of a backup may begin accounts higher and raise sums.
        """
        for scope, sums in after.items():
            before = self.sums.get(scope)
            if before is None:
                if entry.kind != "adopt" and any(amount for rule in sums for amount in rule):
                    raise LedgerTampered(f"entry {entry.seq} begins an account that is not at zero", seq=entry.seq)
            elif (entry.kind != "adopt" and sums != before) or not _covers(sums, before):
                raise LedgerTampered(f"entry {entry.seq} lowers or changes a sum without a charge", seq=entry.seq)

    def _charged(self, entry: Entry, facts: dict[str, Any]) -> dict[str, Sums]:
        """The sums, by scope, of all accounts that a reservation charges, after it."""
        assert self.policy is not None
        amounts = self._amounts(entry)
        part = facts.get("part")
        after: dict[str, Sums] = {}
        try:
            for scope, account, capped in self.policy.scopes(entry.analyst):
                price = amounts[scope]
                if part is None:
                    self._note_price(entry, facts, scope, account, price)
                else:
                    after.update(self._part(entry, facts, scope, account, amounts))
                before = self.sums.get(scope, account.zero)
                after[scope] = account.plus(before, price) if capped else add_sums(before, price)
        except (KeyError, TypeError, ValueError, PrivetError) as problem:
            raise LedgerTampered(
                f"entry {entry.seq} charges what its rules do not allow ({problem})", seq=entry.seq
            ) from None
        if len(amounts) > len(after) or not amounts.keys() <= after.keys():
            raise LedgerTampered(f"entry {entry.seq} charges an account that it does not touch", seq=entry.seq)
        return after

    def _part(
        self, entry: Entry, facts: dict[str, Any], scope: str, account: Account, amounts: Mapping[str, Sums]
    ) -> dict[str, Sums]:
        """The sums after a charge on a part: of the part (`cell`), and the largest ones of its partition (`top`).

        The account `scope` itself is charged what the largest ones together grew by.
        """
        assert self.policy is not None
        part = Part(*facts["part"])
        partition = self.policy.partitions[part.partition]
        rules, touched = len(account.zero), partition.spread(self.policy.unit)
        cell, top = part_scopes(scope, partition[part.name])
        flat = self.sums.get(top, account.zero * touched)  # stored one after the other, `rules` entries for each
        largest = tuple(flat[k * rules : (k + 1) * rules] for k in range(touched))
        self._note_price(entry, facts, cell, account, amounts[cell], part)
        parts, increase = Parts(self.sums.get(cell, account.zero), largest).charge(amounts[cell])
        if increase != amounts[scope]:
            raise LedgerTampered(f"entry {entry.seq} charges the whole less or more than its parts grew", seq=entry.seq)
        return {cell: parts.cell, top: tuple(rule for sums in parts.top for rule in sums)}

    def _amounts(self, entry: Entry) -> dict[str, Sums]:
        """The amounts that an entry charges, by scope; equal losses have equal texts, so most were read before."""
        known = self._prices.get(entry.amounts)
        if known is None:
            if len(self._prices) > _MOST:
                self._prices.clear()
            known = {scope: read_sums(plain) for scope, plain in entry.charged.items()}
            self._prices[entry.amounts] = known
        return known

    def _note_price(
        self,
        entry: Entry,
        facts: dict[str, Any],
        scope: str,
        account: Account,
        charged: Sums,
        part: Part | None = None,
    ) -> None:
        """A note in `underpriced` if a charge is clearly below what this version asks for its loss: no tampering."""
        assert self.policy is not None
        asked = (self.policy.seq, scope, entry.loss, entry.amounts, facts.get("at"))
        if asked not in self._fair:
            if len(self._fair) > _MOST:
                self._fair.clear()
            try:
                self._fair[asked] = self._is_fair(from_json(entry.loss or ""), facts.get("at"), account, charged, part)
            except (PrivetError, TypeError, ValueError):
                self._fair[asked] = False
        if not self._fair[asked] and entry.seq not in self.underpriced[-1:]:  # once, whatever the number of its scopes
            self.underpriced.append(entry.seq)

    def _is_fair(
        self, loss: PrivacyLoss, point: str | None, account: Account, charged: Sums, part: Part | None
    ) -> bool:
        """True if a charge covers, in every rule, one of the valid prices of its loss (`point`: as it was charged `at`)."""
        assert self.policy is not None
        at = None if point is None else float(point)
        if part is None:
            return _covers_one(charged, account.offers(loss, at))
        priced = self.policy.partitions[part.partition].priced(loss, self.policy.unit)
        fair = _covers_one(charged, account.offers(priced, at))
        if self.policy.unit.relation == "replace":  # who moves changes two parts: no less than twice the price of one
            fair = fair and _covers_one(charged, account.under(loss.unit).offers(loss, at), times=2)
        return fair

    def _run(self, entry: Entry, facts: dict[str, Any]) -> None:
        """The runs after an entry that begins one, pays some of its slices again, or hands out its next slice.

        The mark that the entry carries must be the one that follows from the entries before.
        """
        try:
            said = Mark.read(facts["run"])
            if entry.kind == "reserve" and said.id == entry.seq:  # a new run
                listed = read_slices(facts["run"]["slices"])
                self.runs[entry.seq] = AuditedRun(entry.analyst, entry.key, listed, said)
                expected, paid = Mark(entry.seq, 0, ((entry.seq, len(listed)),)), listed
            else:
                run = self.runs[said.id]
                before = run.mark
                if entry.kind == "reserve":  # the mark goes back, and the slices from there on are paid again
                    expected = before.repeated(before.next - said.next, entry.seq)
                    paid = run.slices[said.next : before.next]
                else:
                    expected, paid = before.begun(), ()
                    if (facts["slice"], facts["paid"]) != (str(before.next), str(before.payer)):
                        raise ValueError("a slice out of turn")
                self.runs[said.id] = run._replace(mark=said)
            run = self.runs[said.id]
            priced = entry.kind != "reserve" or composed(paid).parts() == from_json(entry.loss or "").parts()
            good = said == expected and said.next >= 0 and (entry.analyst, entry.key) == (run.analyst, run.key)
        except (KeyError, IndexError, TypeError, ValueError, PrivetError):
            good = priced = False
        if not good or not priced or (entry.kind == "reserve" and not paid):
            raise LedgerTampered(f"entry {entry.seq} moves the mark of a run where it cannot be", seq=entry.seq)
        if entry.kind == "slice":
            self.slices[entry.seq] = (entry.analyst, slice_key(entry.key, entry.seq))

    def _release(self, entry: Entry, facts: dict[str, Any]) -> None:
        """The open payments after a release: without the reservation, slice or run that paid for it."""
        number = int(facts.get("reserve", 0))
        paid = self.open_reserves.pop(number, None) or self.slices.pop(number, None)
        if paid is None and number in self.runs:
            ended = self.runs.pop(number)
            paid = (ended.analyst, ended.key)
        if paid != (entry.analyst, entry.key):
            raise LedgerTampered(
                f"entry {entry.seq} records a release that no reservation of its own paid for", seq=entry.seq
            )
        if entry.key is not None:
            if (entry.analyst, entry.key) in self.released:
                raise LedgerTampered(f"entry {entry.seq} records a second release under one key", seq=entry.seq)
            self.released.add((entry.analyst, entry.key))

    def check_cache(self, balances: Mapping[str, tuple[str, int]]) -> None:
        """The check that the rows of the balance cache are those that follow from the entries, all of them and no other."""
        for scope in sorted({*self.sums, *balances}):
            expected = None
            if scope in self.sums:
                expected = (canonical(plain_sums(self.sums[scope])), self.upto[scope])
            if balances.get(scope) != expected:
                raise LedgerTampered(f"the balance cache of {scope!r:.80} does not agree with the entries")


def _read_head(head: str) -> dict[str, Any]:
    """The facts in the head of a body; none where it is no JSON object by itself, or names sums or a time of its own."""
    try:
        facts = json.loads(head + "}")
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) and not {"sums", "time"} & facts.keys() else {}


def _covers(a: Sums, b: Sums, slack: int = 0) -> bool:
    """True if every amount of `a` is at least that of `b`, up to a relative 1/slack; None is infinite."""
    for left, right in ((x, y) for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True)):
        if left is not None and (right is None or left + (left // slack + 1 if slack else 0) < right):
            return False
    return True


def _same_caps(said: Any, budget: Budget | None) -> bool:
    """True if the limits in the first entry are those of its budget, up to the last digits of another machine."""
    if budget is None or said is None:
        return budget is None and said is None
    caps = [rule.caps for rule in budget.filter.rules]
    try:
        pairs = [(int(a), b) for row, rule in zip(said, caps, strict=True) for a, b in zip(row, rule, strict=True)]
    except (TypeError, ValueError):
        return False
    return all(abs(a - b) <= b // _SLACK + 1 for a, b in pairs)


def _covers_one(charged: Sums, offers: Offers, times: int = 1) -> bool:
    """True if the charge covers, in each rule, at least one of the prices offered, taken so many times."""
    for sums, prices in zip(charged, offers, strict=True):
        wanted = [tuple(None if each is None else times * each for each in price) for price in prices]
        if not any(_covers((sums,), (price,), _SLACK) for price in wanted):
            return False
    return True


def verify_store(
    store: Store, wanted: Sequence[tuple[str | None, int | None, str]] = (), *, values: bool = False
) -> Verified:
    """The findings on a whole store; with `values`, what it stores outside of the chain is checked too.

    `wanted` are anchored heads that the chain must contain, each (ledger id, seq, hash); None stands for any id or seq.
    """
    missing = {hash: (ledger, seq) for ledger, seq, hash in wanted}
    by_seq = {seq: hash for _, seq, hash in wanted if seq is not None}
    if any(by_seq.get(seq, hash) != hash for _, seq, hash in wanted if seq is not None):
        raise LedgerTampered("two entries with one number were anchored: this ledger has two histories")
    anchored = 0
    auditor = Auditor()
    with store.snapshot() as reader:  # entries and balances of one moment; writers need not wait
        damage = reader.damage()
        if damage is not None:
            raise LedgerTampered(damage)
        for entry in reader.entries():
            auditor.read(entry)
            if not wanted:
                continue
            text = entry.hash.hex()
            if by_seq.get(entry.seq, text) != text:
                raise LedgerTampered(
                    f"entry {entry.seq} is not the one that was anchored: the ledger was rewritten", seq=entry.seq
                )
            if missing.pop(text, None) is not None:
                anchored = entry.seq
        auditor.check_cache(reader.balances())
        kept = check_values(reader, store) if values else (None, ())
    if auditor.policy is None:
        raise LedgerTampered("the ledger is empty")
    if any(ledger not in (None, auditor.policy.ledger) for ledger, _, _ in wanted):
        raise LedgerTampered("the anchor belongs to another ledger")
    if missing:
        raise LedgerTampered(
            f"the ledger ends at entry {auditor.seq} and is behind its anchor: entries were cut off, or an old or "
            "rewritten copy was put back"
        )
    return _verified(auditor, anchored, kept)


def verify_export(document: Any, head: str | None = None) -> Verified:
    """The findings on an export, without its store: every hash, sum and price is checked. `head`: a hash it must contain.

    **Guarantee:** as `Ledger.verify`, but for what only a store has: its balance cache and its anchors.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> _ = ledger.reserve(pv.privacy.PureLoss(0.25))
    >>> verify_export(ledger.export()).entries
    2
    """
    auditor, seen = Auditor(), set()
    try:
        if document["privet_ledger"] != 1:
            raise LedgerTampered("this is not an export that this version of privet can read")
        for each in document["entries"]:
            auditor.read(_imported(each))
            seen.add(auditor.hash.hex())
        said = (int(document["head"]["seq"]), document["head"]["hash"])
        ledger = document["ledger"]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise LedgerTampered("this is not the export of a ledger, or it was cut or edited") from None
    if auditor.policy is None or said != (auditor.seq, auditor.hash.hex()) or ledger != auditor.policy.ledger:
        raise LedgerTampered(f"the export ends at entry {auditor.seq} and states another head; it was cut or edited")
    if head is not None and head not in seen:
        raise LedgerTampered("the export does not contain the entry with that hash: it is older, or another history")
    anchored = auditor.seq if head == auditor.hash.hex() else 0
    return _verified(auditor, anchored)


def _verified(auditor: Auditor, anchored: int, kept: tuple[Any, ...] = ()) -> Verified:
    """The findings of an auditor at the end of its chain; `kept` are those on stored values."""
    found = (auditor.seq, auditor.hash.hex(), len(auditor.open_reserves), anchored)
    return Verified(*found, tuple(auditor.underpriced), *kept)


def _imported(each: Mapping[str, Any]) -> Entry:
    """An entry of an export, as it was stored."""
    return Entry(
        int(each["seq"]),
        bytes.fromhex(each["prev"]),
        bytes.fromhex(each["hash"]),
        str(each["kind"]),
        each["analyst"] or "",
        each["key"],
        None if each["loss"] is None else canonical(each["loss"]),
        canonical(each["amounts"]),
        canonical(each["body"]),
    )
