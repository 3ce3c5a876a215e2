"""A release in a real notebook kernel, without the widgets that DuckDB wants for its bar."""

import importlib.util
import sys
from typing import Any

import pytest

from privet.errors import InvalidData
from privet.tables.engines import duckdb

CODE = """
import privet as pv
table = pv.Table({"a": [1, 2, 3] * 100}, columns={"a": pv.Int(0, 5)})
ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=60.0))
print(int(ledger.release(table.agg(n=pv.count()), epsilon=50.0).value["n"][0]))
"""


def in_a_kernel(code: str) -> str:
    """What is printed by a cell of a notebook, errors included."""
    return "".join(each.get("text", "") + each.get("evalue", "") for each in messages_of(code))


def messages_of(code: str) -> list[dict[str, Any]]:
    """What a kernel says while it runs a cell: texts, errors, displays."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import KernelManager

    class Manager(KernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name="Python", language="python")

    manager, told = Manager(), []
    manager.start_kernel()
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=120)
        client.execute_interactive(code, timeout=240, output_hook=lambda message: told.append(message["content"]))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return told


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_release_in_a_notebook_without_widgets() -> None:
    pytest.importorskip("ipykernel")
    pytest.importorskip("jupyter_client")
    if importlib.util.find_spec("ipywidgets") is not None:
        pytest.skip("ipywidgets is installed: DuckDB does not refuse its bar")
    assert in_a_kernel(CODE).strip() == "300"


def test_what_fails_before_the_first_row_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb, "_SHARED", {})
    monkeypatch.setattr(duckdb, "_PLAIN", ("no_such_setting = 3",))
    with pytest.raises(InvalidData, match=r"DuckDB could not be opened: .*no_such_setting"):
        duckdb.kinds({"a": [1]})
