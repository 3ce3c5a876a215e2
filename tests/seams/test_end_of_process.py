"""What a process says when it ends: nothing of ours, whatever else was loaded."""

import subprocess
import sys

import pytest

from tests.firsts import slow

RELEASE = """
import numpy as np
import privet as pv

people = pv.Table({"age": np.arange(10)}, columns={"age": pv.Int(0, 9)})
ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
print(type(ledger.release(people.agg(n=pv.count()), epsilon=1.0)).__name__)
"""


@pytest.mark.parametrize("other", ["torch", slow("sklearn")])  # torch told of leaks
def test_a_release_leaves_nothing_open(other):
    """With torch loaded modules are taken down in another order, and DuckDB told of leaks on every end of a script."""
    pytest.importorskip(other)
    done = subprocess.run(
        [sys.executable, "-c", f"import {other}\n{RELEASE}"], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split() == ["Release"]
    assert done.stderr == ""
