"""Exact figures for the custodian: the same on every engine, and no row is loaded."""

from typing import Any

import pytest

import privet as pv
from privet import audit
from privet.tables import engines
from tests.firsts import slow
from tests.tables.conftest import absent

HELD = {
    "age": ("int", [30, 30, 40, 40, 40, 50, None, None]),
    "sex": ("text", ["f", "m", "f", "f", "f", "m", "m", "m"]),
    "ill": ("text", ["a", "b", "a", "a", "b", "c", "a", "a"]),
}
KINDS = {"age": pv.Int(0, 110), "sex": pv.Category(["f", "m"]), "ill": pv.Category(["a", "b", "c"])}


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
@pytest.mark.parametrize("name", [slow(name) if name == "Spark" else name for name in engines.registered_engines()])
def test_re_identification_is_the_same_on_every_engine(
    name: str, put_into: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (reason := absent(name)) is not None:
        pytest.skip(reason)
    table = pv.Table(put_into(name, {"people": HELD})["people"], columns=KINDS, name="people")
    monkeypatch.setattr(pv.tables.Data, "exact_rows", None)  # rows are not asked for
    monkeypatch.setattr(pv.tables.Data, "exact_codes", None)
    found = audit.exact_reidentification(table, quasi=["age", "sex"], sensitive="ill")
    assert found.sizes == {1: 3, 2: 1, 3: 1}
    assert (found.diversity.least, found.diversity.exact_alike) == (1, 5 / 8)
    if name != "Spark":  # which takes seconds for each set
        assert audit.exact_identifying_sets(table, ["age", "sex"], share=0.3).exact_sets == ((("age", "sex"), 3 / 8),)
