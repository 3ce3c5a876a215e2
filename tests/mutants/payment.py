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
plant(
    "payment: what a generator releases while it is read is free",
    "mechanisms:reading",
    "with changed(paying=known.paying[:-1]):",
    "with changed(paying=known.paying):",
    "tests/ledger/hostile/test_lazy_inputs.py",
)
