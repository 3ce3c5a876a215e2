"""Forks beside threads: the first release of a process loads nothing, for an import under way in a thread would hang a
child that is forked off; and neither does a property that a thread is computing."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from privet._cache import kept_property

FIRST = """
import sys
import privet as pv
from privet.mechanisms import Laplace
ledger = pv.Ledger.create({place!r}, budget=pv.Budget(epsilon=1.0))
made = Laplace(scale=1.0, sensitivity=1.0)
before = set(sys.modules)
{loads}
ledger.release(made, 3.0)
print(sorted(set(sys.modules) - before))
"""


def loaded(place: str, loads: str = "") -> str:
    code = FIRST.format(place=place, loads=loads)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_the_first_release_of_a_ledger_loads_nothing(tmp_path):
    assert loaded(str(tmp_path / "a.ledger")) == "[]"


def test_what_is_loaded_is_seen():
    assert "colorsys" in loaded("memory:", "import colorsys")


class Slow:
    """Its property takes as long as somebody waits for it."""

    def __init__(self, began: threading.Event, end: threading.Event) -> None:
        self.began, self.end = began, end

    @kept_property
    def answer(self) -> int:
        self.began.set()
        self.end.wait(20)
        return 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
def test_a_child_does_not_wait_for_a_property_that_a_thread_of_its_parent_computes():
    began, end, over = threading.Event(), threading.Event(), threading.Event()
    over.set()
    thread = threading.Thread(target=lambda: Slow(began, end).answer)
    thread.start()
    began.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # a child that waits for ever is ended
        os._exit(Slow(over, over).answer)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    end.set()
    thread.join()
    assert code == 7
