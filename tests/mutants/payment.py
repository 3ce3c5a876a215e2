"""Bugs in the ledger in force: whatever does not carry it releases for nothing, or what has ended goes on to pay."""

from tests.mutants.mutant import Table

PAYMENT = Table(
    "tests/ledger/hostile/test_in_force.py", "tests/seams/test_processes.py", "tests/seams/test_algorithms.py"
)


def plant(name: str, place: str, old: str, new: str, *tests: str) -> None:
    """The tests that are named first, then all of them."""
    PAYMENT.plant(name, place, old, new, *tests, *PAYMENT.tests)


plant(
    "payment: a forked worker is part of a release for ever",
    "mechanisms:here",
    "found if found.process == os.getpid() else _NOWHERE",
    "found",
    "tests/seams/test_processes.py -k fork_in_whatever",
)
plant(
    "payment: threads that do not carry the ledger draw for nothing",
    "mechanisms:_refuse_strangers",
    "if users or _FLAG.above():",
    "if _FLAG.above():",
    "tests/ledger/hostile/test_in_force.py -k does_not_carry",
)
plant(
    "payment: workers that are older than the block draw for nothing",
    "mechanisms:Flag._marks",
    "if parent is not None:",
    "if parent is None:",
    "tests/seams/test_processes.py -k older_than_the_block",
)
plant(
    "payment: forks do not look at their parent",
    "mechanisms:Flag._forked",
    "(*self._parents, os.getppid())",
    "()",
    "tests/seams/test_processes.py -k older_fork",
)
plant(
    "payment: programs that are started inside draw for nothing",
    "mechanisms:Flag._marks",
    "yield from self._names",
    "yield from ()",
    "tests/seams/test_processes.py -k program",
)
plant(
    "payment: the flag goes down with the first block that ends",
    "mechanisms:Flag.lowered",
    "self.users = tuple(each for each in self.users if each is not user)",
    "self.users = ()",
    "tests/ledger/hostile/test_in_force.py -k nest",
)
plant(
    "payment: a block that has ended goes on to pay in its tasks",
    "mechanisms:_last",
    "if last.open:",
    "if last.payer is not None or last.open:",
    "tests/ledger/hostile/test_in_force.py -k outlives",
)
plant(
    "payment: a whole that is paid for never ends",
    "mechanisms:paid_for",
    "whole.open = False",
    "pass",
    "tests/seams/test_algorithms.py -k escapes",
)
LAZY = "tests/ledger/hostile/test_lazy_inputs.py"
plant(
    "payment: what a generator releases while it is read is free",
    "mechanisms:reading",
    "outside() if inside else nullcontext()",
    "nullcontext()",
    LAZY,
)
plant(
    "payment: code of the user inside a whole is a part of it",
    "mechanisms:outside.__enter__",
    "self._around, self._wholes = known.paying[:wholes], known.paying[wholes:]",
    "self._around, self._wholes = known.paying, ()",
    LAZY,
)
plant(
    "payment: a block that ended while an input was read is put back",
    "mechanisms:outside.__exit__",
    "if each in still",
    "if True",
    LAZY,
)
plant(
    "payment: a process that is made while an input is read stays inside of the release",
    "mechanisms:outside.__exit__",
    "if os.getpid() != self._process:",
    "if False:",
    LAZY,
)
plant(
    "payment: an interruption at the end of a release leaves it open",
    "mechanisms:paid_for",
    """            _leave(whole)
            raise""",
    "            raise",
    LAZY,
)
plant(
    "payment: an iterator is read while it is drawn from",
    "mechanisms:Mechanism._release",
    "if isinstance(prepared, Iterator):",
    "if False:",
    LAZY,
)
plant(
    "payment: the last item decides before the charge",
    "workloads:admit_counts",
    "found is not None:",
    "found is not None or __import__('numpy').shape(value) is None:",
    "tests/mechanisms/test_reading_fails.py",
)
CALLERS = "tests/deep/test_callers_code.py"
plant(
    "payment: a function that is told of progress is a part of the training",
    "deep:_listening",
    "with outside():",
    "if True:",
    CALLERS,
)
plant(
    "payment: a student is a part of the votes",
    "pate:InteractiveGNMax._guessed",
    "with outside():",
    "if True:",
    "tests/pate/test_interactive.py",
)
plant(
    "payment: a function that stops a training is a part of it",
    "deep:Training._between",
    "with outside():",
    "if True:",
    CALLERS,
)
plant(
    "payment: what a callback of a part releases is no part of the algorithm around it",
    "mechanisms:outside.__enter__",
    "larger = None if known.body is None or not known.body.open else known.body.larger",
    "larger = None",
    LAZY,
)
plant(
    "payment: code of the user inside an algorithm is in its body",
    "mechanisms:outside.__enter__",
    "change(paying=self._around, body=larger)",
    "change(paying=self._around)",
    CALLERS,
)
plant(
    "payment: a release that has ended is put back by what ends late",
    "mechanisms:outside.__exit__",
    "if each.open",
    "if True",
    LAZY,
)
plant(
    "payment: an algorithm reads its input in its body",
    "mechanisms:Algorithm._admit",
    "if isinstance(value, Iterator) or (isinstance(value, Sequence) and not _is_plain(value)):",
    "if isinstance(value, Iterator):",
    LAZY,
)
plant(
    "payment: a list that makes its items anew is plain",
    "mechanisms:_is_plain",
    "return mine.__iter__ is kind.__iter__ and mine.__getitem__ is kind.__getitem__",
    "return True",
    LAZY,
)
plant(
    "payment: a seeded release pays for what its input releases",
    "mechanisms:Mechanism._read",
    "            with reading():\n                return read(value)\n        try:",
    "            return read(value)\n        try:",
    LAZY,
)
plant(
    "payment: a ledger in force is asked again inside of a release",
    "ledger:_current",
    "return None if asked_here() is None else found",
    "return found",
    LAZY,
)
plant(
    "sealed: it releases all the same",
    "mechanisms:_last",
    "if known.sealed:",
    "if False:",
    LAZY,
)
plant(
    "sealed: it is paid for all the same",
    "ledger:Ledger._writing",
    "self.refuse_sealed()",
    "pass",
    LAZY,
)
for place in ("check", "check_rows", "exact_aggregates", "exact_marginals", "_read_sealed"):
    plant(
        f"sealed: tables are read open in {place}",
        f"tables:{place}" if place == "_read_sealed" else f"tables:Data.{place}",
        "with sealed():",
        "if True:",
        LAZY,
    )
plant(
    "sealed: own loops read records open",
    "deep:SampledStep._run",
    "with sealed(), own_stream",
    "with own_stream",
    CALLERS,
)
plant(
    "sealed: the first record is read open",
    "deep:_first_record",
    "with sealed():",
    "if True:",
    CALLERS,
)
plant(
    "sealed: a model is tried open",
    "deep:ProtectedGradients.check",
    "with own_turn(), sealed():",
    "with own_turn():",
    CALLERS,
)
plant(
    "sealed: records are read open",
    "deep:Training._block",
    """                        with sealed():  # data set""",
    """                        if True:  # data set""",
    CALLERS,
)
plant(
    "sealed: optimizers step open",
    "deep:Training._block",
    """                        with sealed():  # and so""",
    """                        if True:  # and so""",
    CALLERS,
)
plant(
    "sealed: a record for which a model releases ends the training",
    "deep:Engine.__call__",
    "except LedgerError:",
    "except ZeroDivisionError:",
    CALLERS,
)
plant(
    "an error of a callback costs its block",
    "ledger:go_on",
    """            if save is not None:
                save(index + 1, state)
            state = algorithm.between(state)
""",
    """            state = algorithm.between(state)
            if save is not None:
                save(index + 1, state)
""",
    CALLERS,
)
plant(
    "sealed: a block begins all the same",
    "mechanisms:Payer.__enter__",
    "self.refuse_sealed()",
    "pass",
    LAZY,
)
plant(
    "payment: an interruption at the end of a fact leaves it",
    "mechanisms:changed",
    """            change(**known)
            raise""",
    "            raise",
    LAZY,
)
plant(
    "payment: an algorithm that has ended is still around what is read",
    "mechanisms:reading",
    "known.body is not None and known.body.open",
    "known.body is not None",
    LAZY,
)
plant(
    "payment: an algorithm that has ended is still around the next one",
    "mechanisms:body_of",
    "around if around is not None and around.open else None",
    "around",
    LAZY,
)
plant(
    "payment: a fit inside of a release protects whom it likes",
    "learn:PrivateEstimator._unit",
    "current() if self.ledger is None else payer_of(self.ledger)",
    "payer_of(self.ledger)",
    LAZY,
)
plant("sealed: states of optimizers are read open", "deep:Training._first", "with sealed():", "if True:", CALLERS)
plant(
    "a refusal holds the first record",
    "deep:_first_record",
    "        asked = True\n",
    "        raise\n",
    CALLERS,
)
