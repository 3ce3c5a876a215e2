"""Covariances: the vector moves no further than it says, the matrix is one that exists, and intervals hold the truth."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import privet as pv
from privet.errors import InvalidParameter
from privet.mechanisms import DiscreteLaplace
from privet.privacy import Unit
from privet.queries import CovarianceAnswers
from privet.queries.covariance_answers import design_of
from privet.tables import Person, Rows, Source
from privet.tables.data import Data
from tests.firsts import ends
from tests.oracles import array_engine

COLUMNS = (("a", pv.Int(0, 3, null=True)), ("b", pv.Float(-1.0, 1.0, 0.25)), ("c", pv.Bool()))
NAMES = ("a", "b", "c")
SALTS = (11, 12, 13, 14, 15)


def vector(design, rows):
    """The exact cells of some rows: (person, a, b, c)."""
    table = {
        "who": np.array([row[0] for row in rows], dtype=np.int64),
        "a": [row[1] for row in rows],
        "b": np.array([row[2] for row in rows], dtype=float),
        "c": np.array([row[3] for row in rows], dtype=bool),
    }
    found = array_engine.exact_aggregates(design.plan, {"t": table}, SALTS)
    return np.array([int(cell[0]) for cell in found.cells])


ROW = st.tuples(st.sampled_from([None, 0, 1, 3]), st.sampled_from([-1.0, 0.1, 1.0]), st.booleans())
PEOPLE = st.lists(st.lists(ROW, max_size=4), min_size=1, max_size=3)


@settings(max_examples=60)
@given(PEOPLE, st.lists(ROW, max_size=4), st.sampled_from(["add_remove", "replace"]), st.integers(1, 3))
def test_the_vector_moves_no_further_than_it_says(people, other, relation, most):
    unit = Person("who", max_rows=most, relation=relation)
    design = design_of(Source("t", COLUMNS, unit), NAMES)
    left = [(who, *row) for who, rows in enumerate(people) for row in rows]
    right = [row for row in left if row[0] != 0]
    if relation == "replace":
        right += [(0, *row) for row in other]
    moved = vector(design, left) - vector(design, right)
    assert np.abs(moved).sum() <= design.sensitivity(unit.unit, "l1").value
    assert np.linalg.norm(moved) <= float(design.sensitivity(unit.unit, "l2").value) * (1 + 1e-12)


def test_the_bound_is_attained():
    design = design_of(Source("t", COLUMNS, Rows()), NAMES)
    moved = vector(design, [(0, 3, 1.0, True)])
    assert np.abs(moved).sum() == design.sensitivity(Unit(), "l1").value
    assert np.linalg.norm(moved) == pytest.approx(float(design.sensitivity(Unit(), "l2").value))
    other = vector(design, [(0, 0, -1.0, False)])
    assert np.abs(moved - other).sum() == design.sensitivity(Unit("replace"), "l1").value


def people(n=4000):
    rng = np.random.default_rng(5)
    x = rng.normal(50.0, 15.0, n).clip(0.0, 100.0)
    y = (0.5 * x + rng.normal(20.0, 10.0, n)).clip(0.0, 100.0)
    data = {"x": x, "y": y, "z": rng.integers(0, 10, n)}
    columns = {"x": pv.Float(0.0, 100.0), "y": pv.Float(0.0, 100.0), "z": pv.Int(0, 10)}
    return pv.Table(data, columns=columns, name="t"), data


@pytest.mark.parametrize("correlations", [False, True])
def test_entries_are_near_and_inside_of_their_intervals(correlations):
    table, data = people()
    asked = (table.correlation if correlations else table.covariance)("x", "y", "z")
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e5), unit=table.unit)
    made = ledger.release(asked, epsilon=2e4, key="once").value
    exact = np.corrcoef(list(data.values())) if correlations else np.cov(list(data.values()), ddof=0)
    assert made.matrix == pytest.approx(exact, rel=2e-3, abs=2e-3 if correlations else 0.05)
    wide = 3.0 * (made.upper - made.lower)  # six half-widths: noise leaves one of them in one case of twenty
    assert (np.abs(made.matrix - exact) <= wide + 1e-9).all()
    assert made["x", "y"] == made.matrix[0, 1]
    assert ledger.release(asked, epsilon=2e4, key="once").value == made
    with pytest.raises(InvalidParameter, match="two of the columns"):
        made["x", "w"]


ASKED = [(correlations, promise) for correlations in (False, True) for promise in ({"epsilon": 2.0}, {"rho": 0.5})]


@pytest.mark.parametrize(("correlations", "promise"), ends(ASKED))
def test_intervals_cover_and_the_matrix_exists(promise, correlations):
    table, data = people(800)
    asked = (table.correlation if correlations else table.covariance)("x", "y", "z")
    made = asked.for_budget(**promise)
    exact = np.array([int(c[0]) for c in asked.data.exact_aggregates(made.design.plan, SALTS).cells], dtype=float)
    truth = np.corrcoef(list(data.values())) if correlations else np.cov(list(data.values()), ddof=0)
    if correlations:  # an interval there is the point 1, and a quotient of computed numbers may miss it by a bit
        assert truth.diagonal() == pytest.approx(np.ones(3), rel=1e-12)
        np.fill_diagonal(truth, 1.0)
    rng = np.random.default_rng(0)
    laplace = isinstance(made.part, DiscreteLaplace)
    inside = np.zeros((3, 3))
    for _ in range(400):
        drawn = (rng.laplace if laplace else rng.normal)(0.0, made.part.scale, len(exact))
        found = made._matrix(np.rint(exact + drawn))
        assert np.linalg.eigvalsh(found.matrix).min() >= -1e-9 * np.abs(found.matrix).max()
        assert (found.lower <= found.matrix).all()
        inside += (found.lower <= truth) & (truth <= found.upper)
    # four deviations; test_second_moments.py has ten times as many draws
    assert inside.min() / 400 >= 0.95 - 4.0 * math.sqrt(0.05 * 0.95 / 400)


def test_rows_with_a_missing_value_are_left_out():
    data = {"a": [1.0, 2.0, np.nan, 4.0], "b": [1.0, 0.0, 100.0, 3.0]}
    table = pv.Table(data, columns={"a": pv.Float(0.0, 10.0, 1.0), "b": pv.Float(0.0, 100.0, 1.0)})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6), unit=table.unit)
    made = ledger.release(table.covariance("a", "b"), epsilon=1e6).value
    exact = np.cov([1.0, 2.0, 4.0], [1.0, 0.0, 3.0], ddof=0)
    assert made.matrix == pytest.approx(exact, abs=0.05)


def test_too_few_rows_say_nothing():
    table = pv.Table({"a": [], "b": []}, columns={"a": pv.Int(0, 10), "b": pv.Int(0, 10)})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=table.unit)
    made = ledger.release(table.covariance("a", "b"), epsilon=1.0).value
    assert made.interval("a", "b") == (-25.0, 25.0)
    assert made.interval("a", "a") == (0.0, 25.0)


def test_what_has_no_covariance_is_refused():
    columns = {"a": pv.Int(0, 10), "b": pv.Int(3, 3), "c": pv.Category(["x"])}
    table = pv.Table({"a": [1], "b": [3], "c": ["x"]}, columns=columns)
    for names in ((), ("a",), ("a", "a"), ("a", "c"), ("a", "none")):
        with pytest.raises(InvalidParameter):
            table.covariance(*names)
    with pytest.raises(InvalidParameter, match="one value only"):
        table.covariance("a", "b").preview(epsilon=1.0)


def test_less_noise_than_the_reach_needs_is_refused():
    design = design_of(Source("t", COLUMNS, Person("who", max_rows=2)), NAMES)
    about = Unit(person="who")
    part = DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=design.sensitivity(about, "l1"))
    CovarianceAnswers(columns=NAMES, design=design, part=part, about=about)
    low = DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=design.sensitivity(about, "l1").value - 1)
    with pytest.raises(InvalidParameter, match="less noise"):
        CovarianceAnswers(columns=NAMES, design=design, part=low, about=about)
    other = DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=2 * design.sensitivity(about, "l1").value)
    with pytest.raises(InvalidParameter, match="another unit"):
        CovarianceAnswers(columns=NAMES, design=design, part=other, about=about)
    small = design._replace(pairs=tuple(replace(pair, top=1) for pair in design.pairs))
    for wrong in ({"design": small}, {"about": Unit()}, {"columns": ("a", "b")}):
        with pytest.raises(InvalidParameter, match="must be those of the columns"):
            CovarianceAnswers(**{"columns": NAMES, "design": design, "part": part, "about": about, **wrong})


def test_it_is_asked_with_others_and_explained():
    table, _ = people(10)
    both = pv.batch(n=table.agg(n=pv.count()), c=table.covariance("x", "y"))
    told = both.preview(epsilon=1.0)
    assert "each covariance: +-" in str(told)
    assert "sum(" in table.covariance("x", "y").explain()
    assert isinstance(both.data, Data)
