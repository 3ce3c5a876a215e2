"""Bugs in the ledger: keys and errors that tell, spending past a cap, slices that run twice on one payment."""

from tests.mutants.mutant import Table

LEDGER = Table("tests/ledger/test_ledger.py -k 'not postgres'", "tests/ledger -k 'not postgres' -m 'not slow'")
plant = LEDGER.plant


def quick(*files: str) -> tuple[str, ...]:
    """Tests of the room without those that begin a server."""
    return tuple(f"tests/ledger/{file}.py -k 'not postgres'" for file in files)


_KEYS = ("tests/laws/test_ledger.py -k 'fixed_scripts or any_script'", *quick("hostile/test_keys"))
_INFORMATION = quick("hostile/test_information", "hostile/test_secrets")
_RUNS, _PARTS = quick("test_runs"), quick("test_partition")
_BUDGET, _MONEY = quick("test_budget"), quick("test_ledger", "hostile/test_money")
_MEMBERS = quick("test_analysts", "test_custody")

# --- what a key and an error tell ----------------------------------------------------------------------------------
plant(
    "a key: the data are part of the question",
    "ledger:Spending.release",
    "of = None if key is None else question_of(data)",
    "of = None if key is None else repr(data)",
    *_KEYS,
)
plant(
    "a key: data that cannot be taken are refused under a used key too",
    "ledger:Spending.release",
    "if problem is not None and key is None:",
    "if problem is not None:",
    *_KEYS,
)
plant(
    "a key: a stored answer does not say so",
    "ledger:stored_release",
    "stored=entry.seq",
    "stored=None",
    *_KEYS,
)
plant(
    "a key: another mechanism gets the stored answer",
    "ledger:Asked.digest",
    '"what": self.what',
    '"what": None',
    *_KEYS,
)
plant(
    "a key: versions of the data are one",
    "ledger:Asked.digest",
    'said = {"at": self.at, "about": self.about}',
    'said = {"at": self.at}',
    *_KEYS,
)
plant(
    "a key: an edited release is answered",
    "ledger:reserve_in",
    "check_hash(found)",
    "pass",
    *_KEYS,
)
plant(
    "a key: what was lost is not paid for again",
    "ledger:reserve_in",
    'if found is not None and found.kind == "release":\n            paid = int(found.facts["reserve"])',
    'if found is not None and found.kind == "reserve":\n'
    "            return Reservation(found.seq, loss, asked.analyst or None, asked.key, part, None, request, ledger)\n"
    '        if found is not None and found.kind == "release":\n            paid = int(found.facts["reserve"])',
    *_MONEY,
)
plant(
    "a failure tells the type of its cause",
    "ledger:_stop_of",
    "    return None",
    "    return type(error)",
    *_INFORMATION,
)
plant(
    "a failure keeps where it came from",
    "ledger:problem_with",
    "problem = error.with_traceback(None)",
    "problem = error",
    *_INFORMATION,
)
plant(
    "an interruption keeps its text",
    "ledger:running._attempt",
    "kept, stop = None, _stop_of(error)",
    "kept, stop = None, _stop_of(error)\n        if stop is not None:\n            raise",
    *_INFORMATION,
)
plant(
    "releases carry a clock",
    "ledger:record_in",
    "software=SOFTWARE,",
    'software=SOFTWARE, ran=str(__import__("time").time_ns()),',
    *_INFORMATION,
)
plant(
    "marks of slices carry a clock",
    "ledger:Run.begin",
    "software=SOFTWARE,",
    'software=SOFTWARE, begun=str(__import__("time").time_ns()),',
    *_INFORMATION,
)
plant(
    "the mechanism is run before it is paid for",
    "ledger:Spending.release",
    "self._foresee(loss, asked)",
    "self._foresee(loss, asked)\n            mechanism.release(data)",
    *_INFORMATION,
)

# --- what is charged -----------------------------------------------------------------------------------------------
plant(
    "a moving person pays once",
    "ledger:_charge_part",
    "add_sums(single, single)",
    "single",
    *_PARTS,
)
plant(
    "the cap of the data set is not looked at",
    "ledger:_charge_whole",
    "after = account.plus(before, price)",
    "after = add_sums(before, price)",
    *_MONEY,
)
plant(
    "caps of analysts and groups are not looked at",
    "ledger:_charge",
    "account.plus(before, price) if capped else add_sums(before, price)",
    "account.plus(before, price) if scope == DATASET else add_sums(before, price)",
    *_MEMBERS,
)
plant(
    "a refusal is granted",
    "ledger:FilterAccount.plus",
    "return after if granted else self._at(sums).plus(price).sums",
    "return after",
    *_MONEY,
)
plant(
    "the whole is not charged when a part grows",
    "ledger:_minus",
    "return None if a is None else a - b",
    "return None if a is None else 0",
    *_PARTS,
)
plant("the smaller of two amounts", "ledger:most_sums", "else max(x, y)", "else min(x, y)", *_PARTS)
plant(
    "the largest part is forgotten",
    "ledger:partition._replaced",
    "return largest([*rest, after], len(top))",
    "return largest([*rest, before], len(top))",
    *_PARTS,
)
plant(
    "a group of persons is in one part",
    "ledger:Partition.spread",
    "self.per_person * unit.group_size",
    "self.per_person",
    *_PARTS,
)
plant(
    "a person is in one part",
    "ledger:Partition.spread",
    "self.per_person * unit.group_size",
    "unit.group_size",
    *_PARTS,
)
plant(
    "replace prices are taken for parts",
    "ledger:Partition.priced",
    'if loss.unit.relation != "add_remove":',
    "if False:",
    *_PARTS,
)
plant(
    "the ration of a group is passed over",
    "ledger:Policy.scopes",
    "if known is not None and known.group is not None:",
    "if False:",
    *_MEMBERS,
)
plant(
    "unknown analysts spend",
    "ledger:Policy.scopes",
    "if known is None and self.analysts:",
    "if False:",
    *_MEMBERS,
)
plant(
    "requests without a name pass where names are asked for",
    "ledger:Policy.scopes",
    "if self.named:",
    "if False:",
    *_MEMBERS,
)
plant("who was removed spends", "ledger:Policy._active", "if analyst in self.removed:", "if False:", *_MEMBERS)
plant("who is suspended spends", "ledger:Policy._active", "if scope in self.suspended:", "if False:", *_MEMBERS)
plant(
    "a closed data set grants",
    "ledger:reserve_in",
    "if policy.closed is not None:",
    "if False:",
    *_MONEY,
)
plant(
    "a raise may lower another limit",
    "ledger:policy.raises",
    "for old, new in zip(a.caps, b.caps, strict=True)",
    "for old, new in list(zip(a.caps, b.caps, strict=True))[:1]",
    *_BUDGET,
)
plant(
    "a raise may lower another rule",
    "ledger:policy.raises",
    "any(new < old for a, b in pairs for old",
    "any(new < old for a, b in pairs[:1] for old",
    *_BUDGET,
)
plant(
    "every raise is called scheduled",
    "ledger:change_budget",
    "scheduled = budget == following",
    "scheduled = True",
    *_BUDGET,
)
plant(
    "who has spent gets a fresh ration",
    "ledger:add_member",
    "if kept is not None and budget is not None:",
    "if False:",
    *_MEMBERS,
)
plant(
    "totals count equal losses once",
    "ledger:Totals.read",
    "self.counts.setdefault(where, Counter())[entry.loss] += 1",
    "self.counts.setdefault(where, Counter())[entry.loss] = 1",
    *quick("test_reading", "test_ledger"),
)
plant(
    "totals take what was lost with a backup for nothing",
    "ledger:Totals.read",
    "self.adopted = True",
    "self.adopted = False",
    *quick("test_reading", "test_anchor", "test_custody"),
)

# --- releases and their payment ------------------------------------------------------------------------------------
plant(
    "seeded noise is stored when it is recorded by hand",
    "ledger:Spending._record",
    "if self._store.durable and made.insecure:",
    "if self._store.durable and made.insecure and not by_hand:",
    *_RUNS,
)
plant(
    "seeded noise of a run is stored",
    "ledger:Spending._record",
    "if self._store.durable and made.insecure:",
    "if self._store.durable and made.insecure and not known:",
    *_RUNS,
)
plant(
    "seeded noise is paid for, and refused then",
    "ledger:requests.priced",
    'if durable and getattr(mechanism, "insecure", False):',
    "if False:",
    *_INFORMATION,
)
plant(
    "a release states another loss than was reserved",
    "ledger:Reservation.record",
    "if release.loss != self.loss:",
    "if False:",
    *_MONEY,
)
plant(
    "a mechanism releases more than was reserved",
    "ledger:running._attempt",
    "if isinstance(made, Release) and made.loss == reservation.loss:",
    "if isinstance(made, Release):",
    *_INFORMATION,
)
plant(
    "a reservation of another ledger pays",
    "ledger:requests.recorded",
    "if paid is None or (paid.kind, paid.analyst, paid.key, paid.loss) != said:",
    "if False:",
    *_MONEY,
    *quick("hostile/test_double_spend"),
)
plant(
    "one reservation records twice",
    "ledger:Spending._record",
    "None if known or (alone and not by_hand) else recorded(self._store, reservation)",
    "None",
    *_MONEY,
)
plant(
    "a charge need not be on the disk",
    "ledger:Spending.release",
    "with self._writing() as session:",
    "with self._writing(durable=False) as session:",
    *quick("test_stores", "hostile/test_power_cut"),
)
plant(
    "a transaction that failed is kept",
    "ledger:_MemoryTxn.__exit__",
    "if kind is None:",
    "if True:",
    *_MONEY,
)

# --- runs ----------------------------------------------------------------------------------------------------------
plant(
    "a run that was begun before a backup goes on after a restore",
    "ledger:refuse_restored",
    'last.kind != "release"',
    'last.kind == "reserve"',
    *_RUNS,
)
plant(
    "a run that was only paid for before a backup goes on after a restore",
    "ledger:refuse_restored",
    'last.kind != "release"',
    'last.kind == "slice"',
    *_RUNS,
)
plant(
    "a restore is forgotten",
    "ledger:policy._adopt",
    'return policy if facts.get("complete") else replace(policy, restored=entry.seq)',
    "return policy",
    *_RUNS,
)
plant(
    "a repeat pays for the first slices",
    "ledger:Run.repeat",
    "self.slices[mark.next - times : mark.next]",
    "self.slices[:times]",
    *_RUNS,
)
plant(
    "a repeat pays for the slices to come",
    "ledger:Run.repeat",
    "self.slices[mark.next - times : mark.next]",
    "(self.slices[mark.next :] + self.slices)[:times]",
    *_RUNS,
)
plant("more is repeated than was begun", "ledger:Run.repeat", "if times > mark.next:", "if False:", *_RUNS)
plant("the mark stays where it was", "ledger:Mark.begun", "after = self.next + 1", "after = self.next", *_RUNS)
plant(
    "a repeat goes back further than it pays",
    "ledger:Mark.repeated",
    "self.next - times",
    "max(self.next - times - 1, 0)",
    *_RUNS,
)
plant(
    "a run begins slices beyond its list again",
    "ledger:Run.begin",
    "if mark.next >= len(self.slices):",
    "if mark.next > len(self.slices):",
    *_RUNS,
)
plant("a slice releases as often as it likes", "ledger:Slice._take", "self._left[part] -= times", "pass", *_RUNS)
plant(
    "a slice releases whatever is dear",
    "ledger:Slice._take",
    "self._left.get(part, 0) < times",
    "self._left.get(part, times) < times",
    *_RUNS,
)
plant(
    "a forked slice runs",
    "ledger:Slice._take",
    "if os.getpid() != self._pid:",
    "if False:",
    *_RUNS,
)
plant(
    "seeded noise inside of a slice",
    "ledger:Slice.pay_for",
    "if ledger._store.durable and source is not None",
    "if False and source is not None",
    *_RUNS,
)
plant("a run that has ended goes on", "ledger:Run._state", 'if found.kind == "release":', "if False:", *_RUNS)
plant(
    "a run of a closed data set goes on",
    "ledger:Run._mark",
    "if policy.closed is not None:",
    "if False:",
    *_RUNS,
)
plant(
    "a run of somebody who is suspended goes on",
    "ledger:Run._mark",
    'policy.scopes(self.analyst or "")\n',
    "pass\n",
    *_RUNS,
)
plant(
    "a run records another price",
    "ledger:Run.record",
    "release.loss.parts() != composed(self.slices).parts()",
    "False",
    *_RUNS,
)
plant(
    "a slice records another price",
    "ledger:Slice.record",
    "release.loss.parts() != self.loss.parts()",
    "False",
    *_RUNS,
)

# --- algorithms in blocks --------------------------------------------------------------------------------------------
_BLOCKS = quick("test_blocks")
plant("lost blocks run again for nothing", "ledger:go_on", "behind = run.position - done", "behind = 0", *_BLOCKS)
plant(
    "a block fails aloud",
    "ledger:Slice.draw",
    "return run_unwritten(mechanism, data, ",
    "return (lambda m, d, _: m.release(d))(mechanism, data, ",
    *_BLOCKS,
)
plant(
    "a slice fails aloud",
    "ledger:Slice.pay_for",
    "else run_unwritten(within, value, paid)",
    "else within.release(value)",
    *_BLOCKS,
)
plant("a foreign state is gone on with", "ledger:go_on", "if behind < 0:", "if False:", *_BLOCKS)
plant(
    "another algorithm goes on under the key",
    "ledger:start_in",
    '["run", listed] if asked.what is None else ["run", listed, asked.what]',
    '["run", listed]',
    *_BLOCKS,
)
plant(
    "what is set aside for parts is converted once more",
    "ledger:Budget._statement",
    "delta - rule.delta0",
    "delta",
    *_BUDGET,
)
