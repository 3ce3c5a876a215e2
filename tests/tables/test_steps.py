"""Steps and sums that random plans seldom meet: bins beside keys, counts of values, products, clipped numbers and parts of
days, the same on every engine, bit for bit."""

from typing import Any

import numpy as np
import pytest

from privet.tables import (
    Bin,
    Bounded,
    Clip,
    Compare,
    Derive,
    Feature,
    KeySet,
    Node,
    PerPerson,
    Person,
    PersonJoin,
    Ref,
    Rows,
    Signed,
    Source,
    Ticks,
    Times,
    Where,
    engines,
)
from privet.tables.parts import Part
from privet.tables.plan import in_groups, in_values
from tests.firsts import slow
from tests.oracles import array_engine
from tests.tables.random_plans import SCHEMA, as_array, same, table

UNITS = (Rows(), Person("id", max_rows=3), Person("id", max_groups=2, max_rows_per_group=2, relation="replace"))
OF_TIMES = [(part, column) for part in ("hour", "minute", "date", "week", "weekday", "year") for column in ("m", "mt")]
FEW = {"Spark": slice(2, None, 5)}
THIRD = "PostgreSQL"  # which takes a hundredth of a second for each, meets every third in every run
SALTS = (3, 1_415_926, 535, 8_979, 323)


def tables(seed: int, texts: bool) -> dict[str, Any]:
    rng = np.random.default_rng([20261118, seed])
    return {"t": table(rng, 70, texts)}


def over_bins(rows: Node) -> list[Bounded]:
    """Counts of bins in every group, of fractions, whole numbers and days."""
    made = []
    for column, bins in (
        ("f", Bin(Ref("f"), -2.0, 1.25, 8)),
        ("nt", Bin(Ref("nt"), -50, 21, 5)),
        ("dt", Bin(Ref("dt"), 10_000, 900, 11)),
    ):
        keys = KeySet(("w", "b"), (("A", True), ("it's", None), (None, False)))
        binned = Derive(in_groups(rows, len(keys)), f"{column}_bin", bins)
        made.append(Bounded(binned, ("w", "b", f"{column}_bin"), keys, bins=bins.count))
        made.append(Bounded(binned, (f"{column}_bin",), KeySet((), ((),)), bins=bins.count))
    return made


def of_values(rows: Node) -> list[Bounded]:
    """Counts of values: texts, whole numbers, days, categories and yes and no, in groups and in none."""
    made = []
    for column in ("t", "i", "d", "w", "b"):
        keys = KeySet(("k",), ((1,), (5,)))
        valued = Derive(in_values(rows, len(keys)), "(value)", Ref(column))
        made.append(Bounded(valued, ("k", "(value)"), keys, distinct=True))
        made.append(Bounded(valued, ("(value)",), KeySet((), ((),)), distinct=True))
    return made


def computed(rows: Node) -> list[Bounded]:
    """Sums of products and of clipped numbers, and groups by parts of days."""
    products = [Times(Ref(a), Ref(b)) for a, b in (("i", "nt"), ("f", "ft"), ("g", "i"), ("f", "f"), ("b", "ft"))]
    clipped = [
        Clip(Ref("g"), 0.5, 64.0),
        Clip(Ref("i"), 0, 3),
        Clip(Ref("nt"), -0.5, 2.5),
        Clip(Times(Ref("f"), Ref("g")), 1.0, 9.0),
    ]
    made = []
    for what in (*products, *clipped):
        node = Derive(rows, "made", what)
        tick = 2.0 ** round(np.log2((node.columns["made"].span[1] - node.columns["made"].span[0]) / 2**20))
        tick = max(tick, 2.0**-10)
        low, high = (int(np.floor(end / tick + 0.5)) for end in node.columns["made"].span)
        made.append(Bounded(node, (), KeySet((), ((),)), signed=(Signed(Ticks(Ref("made"), 0.0, tick), low, high),)))
    for part, column in (("quarter", "d"), ("week", "d"), ("day", "dt"), ("week", "dt"), *OF_TIMES):
        made.append(Bounded(Derive(rows, "made", Part(Ref(column), part)), ("made",), None))
    return made


def of_persons(rows: Node) -> list[Bounded]:
    """Features of persons: added up, grouped by, and beside other rows of theirs."""
    features = (
        ("n", Feature("count", bounds=(1, 6))),
        ("whole", Feature("sum", "i", bounds=(-9, 40))),
        ("half", Feature("sum", "f", bounds=(-1.1, 30.0))),
        ("yes", Feature("sum", "b", bounds=(0, 3))),
        ("late", Feature("last", "f", "d")),
        ("day", Feature("last", "d", "ft")),
        ("ill", Feature("last", "b", "m")),
    )
    each = PerPerson(rows, features)
    made = []
    for name in ("n", "whole", "half", "yes", "late", "ill"):
        tick = 0.25 if name in ("half", "late") else 1.0
        low, high = (int(np.floor(end / tick + 0.5)) for end in each.columns[name].span)
        made.append(Bounded(each, (), KeySet((), ((),)), signed=(Signed(Ticks(Ref(name), 0.0, tick), low, high),)))
    made.append(Bounded(Derive(each, "month", Part(Ref("day"), "month")), ("n", "month"), None))
    second = PerPerson(Where(rows, Compare(Ref("i"), ">", 1)), (("more", Feature("count", bounds=(0, 3))),))
    made.append(Bounded(PersonJoin(second, rows), ("more", "w"), None))
    return made


def plans(unit: Any) -> list[Bounded]:
    source = Source("t", tuple(SCHEMA.items()), unit)
    made = [*over_bins(source), *of_values(source), *computed(source)]
    return made if isinstance(unit, Rows) else [*made, *of_persons(source)]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
@pytest.mark.parametrize("name", [slow(name) if name in FEW else name for name in engines.registered_engines()])
def test_every_engine_counts_what_numpy_counts(name: str, put_into: Any) -> None:
    # Spark takes a second for each: here it meets one of every kind, below all of them
    assert wrong(name, put_into, FEW.get(name, slice(None)), apart=3 if name == THIRD else 1) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
@pytest.mark.parametrize("name", [*FEW, THIRD])
def test_slow_engines_count_what_numpy_counts(name: str, put_into: Any) -> None:
    assert wrong(name, put_into, slice(None)) == []


def wrong(name: str, put_into: Any, which: slice, apart: int = 1) -> list[Bounded]:
    """The plans on which an engine differs from numpy, or which have no row to differ in. Of plans that are asked `apart`,
    each is asked about one of the units."""
    made = []
    for place, unit in enumerate(UNITS):
        asked = plans(unit)[which][place::apart] if apart > 1 else plans(unit)[which]
        if which != slice(None) and place != 2:
            continue
        held = tables(place, texts=place == 1)
        frames = {each: {c: as_array(kind, v) for c, (kind, v) in held[each].items()} for each in held}
        sources = put_into(name, held)
        for plan in asked:
            engines.check_sources(plan, {"t": sources["t"]})
            wanted = array_engine.exact_aggregates(plan, frames, SALTS)
            found = engines.exact_aggregates(plan, {"t": sources["t"]}, SALTS)
            if not same(wanted, found) or not wanted.rows.sum():
                made.append(plan)
    return made


def test_frames_are_read_alike() -> None:
    held = tables(9, texts=True)
    frames = {"t": {c: as_array(kind, v) for c, (kind, v) in held["t"].items()}}
    for plan in plans(UNITS[2]):
        wanted = array_engine.exact_aggregates(plan, frames, SALTS)
        assert same(wanted, engines.exact_aggregates(plan, frames, SALTS))
