"""Questions that nobody has paid for yet: what they print, and the ways in which columns are named."""

import numpy as np
import pytest

import privet as pv
from privet.errors import PrivetError


@pytest.fixture
def table() -> pv.Table:
    columns = {"age": pv.Int(0, 110), "cost": pv.Float(0, 9), "ward": pv.Category(["A", "B"])}
    data = {"age": np.arange(77), "cost": np.full(77, 5.125), "ward": ["A"] * 77}
    return pv.Table(data, columns=columns)


def test_a_question_prints_what_is_asked_and_how(table: pv.Table) -> None:
    asked = {
        "count": table.agg(n=pv.count()),
        "histogram of age": table.ranges("age", bins=11),
        "top of ward": table.top_k("ward", 1),
        "group quantile of ward, age": table.group_by("ward").quantiles("age", [0.5]),
        "marginal of ward, age": table.marginals("ward", "age"),
        "bounds of cost": table.find_bounds("cost"),
        "covariance of age, cost": table.covariance("age", "cost"),
        "where age > 3": table.where(table["age"] > 3).agg(n=pv.count()),
    }
    for words, question in asked.items():
        for text in (repr(question), str(question), f"{question}", question._repr_html_()):
            assert words in text.replace("&gt;", ">")
            assert "ledger.release(query, epsilon=...)" in text
            assert "5.125" not in text


def test_columns_come_in_a_list_or_one_by_one(table: pv.Table) -> None:
    assert repr(table.marginals(["ward", "age"])) == repr(table.marginals("ward", "age"))
    assert repr(table.covariance(["age", "cost"])) == repr(table.covariance("age", "cost"))
    assert repr(table.correlation(("age", "cost"))) == repr(table.correlation("age", "cost"))
    with pytest.raises(PrivetError, match="no column"):
        table.marginals([["ward"]])
