"""Tables of two attributes of which one has many values: planned without a square of cells."""

import pytest

from privet.workloads import Marginals, Quadtree, RangeQueries
from privet.workloads.plan import candidates


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_quadtree_is_tried_where_its_square_is_small(norm):
    def tried(*shape: int) -> bool:
        return any(isinstance(each, Quadtree) for each in candidates(Marginals.all_ways(shape, 1), norm))

    assert tried(32, 32)
    assert tried(2, 20)
    assert not tried(2, 150)
    assert not tried(1, 1_024)


def test_a_long_table_is_planned():
    assert RangeQueries(workload=Marginals.all_ways((2, 150), 1)).plan(rho=0.5).best.rmse < 3.0
