"""Small tables that strain the answers: for laws and audits."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from privet.mechanisms import Example
from privet.privacy import Guarantee
from privet.queries.aggregates import Count, CountPersons, Mean, Quantile
from privet.queries.data import Data
from privet.queries.query import Query
from privet.tables.columns import Category, Float, Int, Text
from privet.tables.keys import all_keys
from privet.tables.person import Person, Rows
from privet.tables.plan import Source


def table_examples() -> Iterable[Example]:
    """One query by rows, one by persons, and one with discovered keys, each with a neighbour."""
    columns = {"ward": Category(["A", "B"]), "age": Int(0, 100)}
    rows = Source("visits", tuple(columns.items()), Rows())
    left = {"ward": np.array(["A", "A", "B"]), "age": np.array([30, 100, 0])}
    right = {name: column[:2] for name, column in left.items()}
    keys = all_keys(columns, ("ward",))
    asked: Any = (("n", Count()), ("age", Mean("age")), ("middle", Quantile("age", Fraction(1, 2))))
    query = Query(rows, ("ward",), keys, asked, Data({"visits": left}))
    yield _example(query, left, right, Guarantee(1.0))
    person = Source("visits", rows.listed, Person("who", max_groups=1, max_rows_per_group=2))
    many = {**left, "who": np.array([1, 2, 2])}
    few = {name: column[:1] for name, column in many.items()}
    asked = (("people", CountPersons()), ("n", Count()))
    yield _example(Query(person, ("ward",), keys, asked, Data({"visits": many})), many, few, Guarantee(mu=0.5))
    texts = Source("visits", (("city", Text()),), Rows())
    found = Query(texts, ("city",), None, (("people", CountPersons()),), Data({}))
    cities = {"city": np.array(["Rome"] * 40 + ["Bonn"])}
    fewer = {"city": cities["city"][:-1]}
    yield _example(found, cities, fewer, Guarantee(1.0, 1e-3), "protected")


def _example(query: Query, left: Any, right: Any, target: Guarantee, lengths: str = "public") -> Example:
    promise = {name: value for name, value in vars(target).items() if value}
    made = query.for_budget(**promise)
    return Example(
        made,
        Data({"visits": left}),
        Data({"visits": right}),
        target,
        cost="dear",
        lengths=lengths,  # type: ignore[arg-type]
    )


def histogram_examples() -> Iterable[Example]:
    """Counts with conditions that overlap, by rows."""
    from privet.queries.table import Table

    left = {"sex": np.array(["m", "f", "f"]), "bmi": np.array([20.0, 30.0, 21.0])}
    right = {name: column[:2] for name, column in left.items()}
    people = Table(left, columns={"sex": Category(["f", "m"]), "bmi": Float(10.0, 60.0)}, name="visits")
    slim = people["bmi"] < 25
    asked = people.counts(women=people["sex"] == "f", slim_women=(people["sex"] == "f") & slim)
    made = asked.for_budget(epsilon=1.0)
    yield Example(made, Data({"visits": left}), Data({"visits": right}), Guarantee(1.0), cost="dear")


def top_examples() -> Iterable[Example]:
    """The most frequent ward."""
    from privet.queries.table import Table

    left = {"ward": np.array(["A", "A", "B"])}
    right = {"ward": np.array(["A", "A"])}
    wards = Table(left, columns={"ward": Category(["A", "B", "C"])}, name="visits")
    made = wards.top_k("ward", 1).for_budget(epsilon=1.0)
    yield Example(made, Data({"visits": left}), Data({"visits": right}), Guarantee(1.0), cost="dear")
