"""Plans of many steps: their columns are worked out once."""

from privet.tables import Coded, Coding, Int, Rows, Source
from privet.tables.expressions import Linear, Ref
from privet.tables.plan import Derive, Node
from tests.calls import calls_of


def chain(steps: int) -> Node:
    node: Node = Source("t", (("a", Int(0, 1)),), Rows())
    for i in range(steps):
        node = Derive(node, f"c{i}", Linear(Ref("a"), 2, 0))
    return node


def test_the_columns_of_a_long_chain_are_worked_out_once() -> None:
    """Each step asks the one before it: walked to the source every time, twice the steps would be four times the work."""
    short, long = (calls_of(lambda n=n: chain(n).columns) for n in (100, 200))
    assert long < 2.5 * short


def test_two_hundred_columns_are_coded_in_work_that_grows_with_them() -> None:
    def coded(many: int) -> None:
        columns = {f"c{i}": Int(0, 3) for i in range(many)}
        Coded(Source("t", tuple(columns.items()), Rows()), Coding.of(columns))

    short, long = (calls_of(lambda n=n: coded(n)) for n in (100, 200))
    assert long < 2.5 * short


def test_columns_that_are_handed_out_are_the_askers_own() -> None:
    node = chain(2)
    node.columns.clear()
    assert list(node.columns) == ["a", "c0", "c1"]
