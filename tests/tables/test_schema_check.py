"""What the schema does not fit is refused, and the checks of one release write its SQL once."""

import pytest

import privet as pv
from privet.errors import InvalidData
from privet.tables import Bounded, Compare, Int, KeySet, Ref, Rows, Source, Where, emit, schema_check
from privet.tables.dialect import DuckDB, PostgreSQL
from privet.tables.reading import Reading


def plan_of(bound=3):
    rows = Where(Source("t", (("a", Int(0, 9)),), Rows()), Compare(Ref("a"), "<", bound))
    return Bounded(rows, (), KeySet((), ((),)))


@pytest.fixture
def written(monkeypatch):
    """The plans that are written as SQL, one after the other."""
    seen, write = [], emit.Emitter.text_of
    monkeypatch.setattr(
        emit.Emitter, "text_of", lambda self, plan, salts: (seen.append(plan), write(self, plan, salts))
    )
    schema_check._PASSED.clear()
    return seen


def test_a_plan_that_has_passed_is_not_written_again(written):
    plan, other = plan_of(), plan_of(4)
    for each in (plan, other, plan, other):
        schema_check.check_schema(each, DuckDB(), {"t": Reading("t", {"a": "int"})})
    assert written == [plan, other]


def test_another_schema_and_another_dialect_are_looked_at(written):
    plan = plan_of()
    schema_check.check_schema(plan, DuckDB(), {"t": Reading("t", {"a": "int"})})
    schema_check.check_schema(plan, DuckDB(), {"t": Reading("t", {"a": "text"})})
    schema_check.check_schema(plan, PostgreSQL(), {"t": Reading("t", {"a": "int"})})
    with pytest.raises(InvalidData, match="no column 'a'"):
        schema_check.check_schema(plan, DuckDB(), {"t": Reading("t", {"b": "int"})})
    assert len(written) == 4


def test_what_was_refused_is_refused_again(written):
    plan = plan_of()
    for _ in range(2):
        with pytest.raises(InvalidData, match="no column 'a'"):
            schema_check.check_schema(plan, DuckDB(), {"t": Reading("t", {})})
    assert len(written) == 2


def test_a_plan_that_is_equal_and_not_the_same_is_looked_at(written):
    """1 == True in Python, and not in a table."""
    for _ in range(2):
        schema_check.check_schema(plan_of(), DuckDB(), {"t": Reading("t", {"a": "int"})})
    assert len(written) == 2


def test_a_release_is_checked_twice_and_written_once_before_it_is_asked(written):
    table = pv.Table({"a": [1, 2, 3]}, columns={"a": pv.Int(0, 9)})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(9.0), unit=table.unit)
    ledger.release(table.agg(n=pv.count()), epsilon=1.0)
    assert len(written) == 1
