"""Bugs in the chain of a ledger: forged entries, caches, anchors, backups and copies that are believed."""

from tests.mutants.ledger import quick
from tests.mutants.mutant import Table

LEDGER_CHAIN = Table(
    "tests/ledger/hostile/test_tamper.py -k 'not postgres'", "tests/ledger -k 'not postgres' -m 'not slow'"
)
plant = LEDGER_CHAIN.plant

_FORGED, _CUSTODY = quick("hostile/test_forged"), quick("test_custody", "test_roles")
_CHAIN = quick("hostile/test_tamper", "hostile/test_forged")
_PLACES = quick("test_anchor", "test_custody", "hostile/test_rollback", "hostile/test_moves")

# --- the chain and whoever reads it --------------------------------------------------------------------------------
plant(
    "verify: a second release under one key",
    "ledger:Auditor._release",
    "if (entry.analyst, entry.key) in self.released:",
    "if False:",
    *_FORGED,
)
plant(
    "verify: a second release of one reservation",
    "ledger:Auditor._release",
    "self.open_reserves.pop(number, None)",
    "self.open_reserves.get(number)",
    *_FORGED,
)
plant(
    "verify: a release that nobody paid for",
    "ledger:Auditor._release",
    "if paid != (entry.analyst, entry.key):",
    "if False:",
    *_FORGED,
)
plant(
    "verify: a repeat at another price",
    "ledger:Auditor._run",
    'composed(paid).parts() == from_json(entry.loss or "").parts()',
    "True",
    *_FORGED,
)
plant(
    "verify: marks are believed",
    "ledger:Auditor._run",
    "good = said == expected and said.next >= 0",
    "good = said.next >= 0",
    *_FORGED,
)
plant(
    "verify: entries are not hashed again",
    "ledger:Auditor.read",
    "entry.prev != self.hash or hash_of(entry) != entry.hash",
    "entry.prev != self.hash",
    *_CHAIN,
)
plant(
    "verify: links are not followed",
    "ledger:Auditor.read",
    "entry.prev != self.hash or hash_of(entry) != entry.hash",
    "hash_of(entry) != entry.hash",
    *_CHAIN,
)
plant(
    "verify: the cache is believed",
    "ledger:Auditor.check_cache",
    "if balances.get(scope) != expected:",
    "if False:",
    *_CHAIN,
)
plant(
    "verify: the whole may be charged less than its parts grew",
    "ledger:Auditor._part",
    "if increase != amounts[scope]:",
    "if False:",
    *_CHAIN,
)
plant(
    "verify: sums may fall",
    "ledger:Auditor._never_less",
    '(entry.kind != "adopt" and sums != before) or not _covers(sums, before)',
    "False",
    *_CHAIN,
)
plant(
    "verify: a price of nothing is fair",
    "ledger:_covers_one",
    "if not any(_covers((sums,), (price,), _SLACK) for price in wanted):",
    "if False:",
    *_CHAIN,
)
plant(
    "verify: an anchor that is ahead is forgotten",
    "ledger:verify_store",
    "    if missing:",
    "    if False:",
    *_PLACES,
)
plant(
    "the balance cache is believed",
    "ledger:Session.__init__",
    "if held is None or held.upto != self.head.seq or held.sums != self._text:",
    "if held is None:",
    *_CHAIN,
)
plant(
    "the balance cache of rations is believed",
    "ledger:Session.sums",
    'if carried is None or carried.get("sums", {}).get(scope) != plain_sums(sums):',
    "if False:",
    *_CHAIN,
)
plant(
    "a handle forgets what it has seen",
    "ledger:check_seen",
    "if found is None or found.hash != tip.hash:",
    "if False:",
    *_PLACES,
)
plant(
    "acts are not signed",
    "ledger:Policy.after",
    "if self.custodian is not None and entry.kind in SIGNED:",
    "if False:",
    *_CUSTODY,
)

# --- anchors, backups, moves ---------------------------------------------------------------------------------------
plant(
    "an old copy passes its anchor",
    "ledger:check_anchor",
    "if holds(anchor.seq) != anchor.hash:",
    "if False:",
    *_PLACES,
)
plant(
    "the anchor is not looked at before a charge",
    "ledger:Writing.__enter__",
    "ledger._check_anchor(self._session.policy)",
    "pass",
    *_PLACES,
)
plant(
    "an anchored ledger is used without its anchor",
    "ledger:Ledger._check_anchor",
    "elif policy.anchored is not None and not self._read_only:",
    "elif False:",
    *_PLACES,
)
plant(
    "two histories share an anchor",
    "ledger:AnchorFile.write",
    "fork = known is not None and not _follows(known, made, holds)",
    "fork = False",
    *_PLACES,
)
plant(
    "spends after an anchor are forgotten",
    "ledger:custody.adopt",
    "if not anchor.every_reserve:",
    "if False:",
    *_PLACES,
)
plant(
    "adopting an anchor lowers sums",
    "ledger:custody.adopt",
    "sums if held is None else most_sums(held, sums)",
    "sums",
    *_PLACES,
)
plant(
    "spends after a backup are forgotten",
    "ledger:places._adopt",
    "    if not complete:\n        if policy",
    "    if False:\n        if policy",
    *_PLACES,
)
plant(
    "a backup is a second budget",
    "ledger:backed_up",
    "made = draft(path, timeout=timeout, backup=True)",
    "made = draft(path, timeout=timeout)",
    *_PLACES,
)
plant(
    "a ledger that has moved goes on",
    "ledger:moved",
    "                close(session, reason)",
    "                pass",
    *_PLACES,
)
plant(
    "a memory ledger is pickled",
    "ledger:Ledger.__reduce__",
    "if not self._store.durable:",
    "if False:",
    *quick("hostile/test_copies", "test_stores"),
)
plant(
    "verify: accounts that are not touched may be charged",
    "ledger:Auditor._charged",
    "len(amounts) > len(after) or not amounts.keys() <= after.keys()",
    "False",
    *_FORGED,
)
plant(
    "verify: a part that costs one release is fair to a person who moves",
    "ledger:Auditor._is_fair",
    "times=2",
    "times=1",
    *_FORGED,
)
plant(
    "verify: an export need not hold the entry that is known",
    "ledger:verify_export",
    "head is not None and head not in seen",
    "False",
    *_FORGED,
)
