"""Intervals of whole tables: one radius a table, the same as query by query, and no plan that is of no use."""

import numpy as np
import pytest

from privet.errors import NoGuarantee
from privet.workloads import Cells, Marginals, RangeQueries, ResidualTables
from tests.firsts import ends

PAIRS = Marginals.all_ways((2, 3, 4), 2)
BOX = np.random.default_rng(0).poisson(20, (2, 3, 4))


def query_by_query(released, workload, confidence):
    rows = [workload.query(i) for i in range(workload.queries)]
    return [released._law.radius(released.design.coefficients(row), confidence) for row in rows]


@pytest.mark.parametrize(
    ("simultaneous", "strategy"),
    ends([(together, strategy) for together in (False, True) for strategy in (ResidualTables(), Cells())]),
    ids=str,
)
def test_radii_are_those_of_single_queries(strategy, simultaneous):
    released = RangeQueries(workload=PAIRS).release(BOX, mu=1.0, strategy=strategy).value
    found = released.answers(PAIRS, simultaneous=simultaneous)
    each = 1.0 - 0.05 / PAIRS.queries if simultaneous else 0.95
    assert found.radius == pytest.approx(query_by_query(released, PAIRS, each), rel=1e-6)
    assert found.value == pytest.approx(PAIRS.answers(released._cells), abs=1e-6)
    assert found.confidence == 0.95
    moved = released.answers(PAIRS, non_negative=False)
    assert moved.value == pytest.approx(found.value)


def test_no_query_is_written_out(monkeypatch):
    """Twenty binary attributes: 760 cells of 190 tables over a million cells, with one law inverted."""
    workload = Marginals.all_ways((2,) * 20, 2)
    mechanism = RangeQueries(workload=workload).for_budget(mu=1.0)
    exact = np.zeros(workload.queries, dtype=np.int64)
    released = mechanism.release(exact).value

    def query(self, number):
        raise AssertionError("a query over a million cells was written out")

    monkeypatch.setattr(Marginals, "query", query)
    found = released.answers(workload)
    assert len(found.value) == len(found.radius) == 760
    assert len(set(found.radius.tolist())) == 1


def test_more_than_two_thousand_cells_of_tables():
    workload = Marginals.all_ways((10,) * 8, 2)
    released = RangeQueries(workload=workload).for_budget(mu=1.0).release(np.zeros(workload.queries, dtype=int)).value
    assert workload.queries == 2_800
    assert len(released.answers(workload).radius) == 2_800


@pytest.mark.parametrize(("attributes", "refused"), [(12, False), (13, True), (100, True)])
def test_a_pure_plan_of_no_use_is_refused_with_a_reason(attributes, refused):
    """On both sides of 2^40 cells."""
    asked = RangeQueries(workload=Marginals.all_ways((10,) * attributes, 2))
    if not refused:
        assert asked.plan(epsilon=1.0).best.rmse > 1e4
        return
    with pytest.raises(NoGuarantee, match="Give a delta, rho or mu"):
        asked.plan(epsilon=1.0)
    assert asked.plan(mu=1.0).best.rmse < 100.0
