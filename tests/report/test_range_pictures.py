"""Pictures of range queries show computed errors, and the released beside the true distribution on public data."""

import math

import numpy as np
import pytest

from privet import report
from privet.errors import InvalidParameter
from privet.report.ranges import range_errors
from privet.workloads import AllRanges, Cells, Hierarchical, Prefix, RangeQueries

ASKED = RangeQueries(domain=32)


def test_errors_by_length_are_those_of_the_mechanism():
    tree = ASKED.for_budget(epsilon=1.0, strategy=Hierarchical(weights="uniform"))
    wide = float(range_errors(tree, np.array([32]))[0])
    assert wide == pytest.approx(math.sqrt(tree.spread * tree.design.variance(np.ones(32))))
    cells = ASKED.for_budget(epsilon=1.0, strategy=Cells())
    assert range_errors(cells, np.array([1, 9])) == pytest.approx(math.sqrt(cells.spread) * np.array([1.0, 3.0]))


def test_the_strategies_of_the_lectures():
    figure = report.lecture_ranges_figure(domain=32, epsilon=0.5)
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert list(lines) == ["privet", "1: every range", "2: cells", "3: tree"]
    assert np.ptp(lines["1: every range"]) == 0.0  # floor(33^2 / 4) = 272 ranges hold the middle cell
    assert lines["1: every range"][0] == pytest.approx(math.sqrt(2.0) * 272 / 0.5, rel=1e-12)
    best = ASKED.plan(epsilon=0.5).best
    weights = [sum(1 for _ in range(32 - n + 1)) for n in range(1, 33)]
    errors = range_errors(best.mechanism, np.arange(1, 33))
    assert math.sqrt(np.average(errors**2, weights=weights)) == pytest.approx(best.rmse, rel=0.02)
    assert AllRanges(32).queries == sum(weights)


def test_true_and_released_ages_of_public_data(tmp_path):
    data = pytest.importorskip("sklearn.datasets").load_diabetes(scaled=False).data
    ages = np.bincount(data[:, 0].astype(int), minlength=100)
    released = RangeQueries(workload=Prefix(100)).release(ages, epsilon=1.0)
    figure = report.cdf_figure(ages, released.value)
    drawn = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert drawn["true"] == pytest.approx(np.cumsum(ages) / 442)
    assert np.all(np.diff(drawn["released"]) >= 0.0)
    assert np.max(np.abs(drawn["released"] - drawn["true"])) < 0.25
    assert report.save_figure(figure, tmp_path / "ages.png").stat().st_size > 10_000


def test_counts_of_another_domain_are_refused():
    with pytest.raises(InvalidParameter, match="truth"):
        report.cdf_figure([1, 2], ASKED.release([1] * 32, epsilon=1.0).value)
    with pytest.raises(InvalidParameter, match="at least one"):
        report.range_error_figure({})
