"""Tables of a model as people read them: values and bins, never codes; and intervals that are those of the bars."""

from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import synth
from privet.mechanisms import ErrorBar
from privet.noise import Seeded
from privet.tables import Coding

COLUMNS = {
    "age": pv.Int(18, 89, null=True),
    "ward": pv.Category(["day", "<night>"]),
    "seen": pv.Date("2024-02-28", "2024-03-01", null=True),
    "ill": pv.Bool(),
    "cost": pv.Float(0.0, 1.0),
}
CODING = Coding.of(COLUMNS, bins=2, cuts={"age": [30, 60]})


def fitted(workload: Any = (("age", "ward"), ("cost", "ill"))) -> synth.SyntheticModel:
    rng, n = np.random.default_rng(0), 500
    ages = np.ma.MaskedArray(rng.integers(18, 90, n), rng.random(n) < 0.1)
    rows = {
        "age": ages,
        "ward": rng.choice(["day", "<night>"], n),
        "seen": np.datetime64("2024-02-28") + rng.integers(0, 3, n),
        "ill": rng.random(n) < 0.3,
        "cost": rng.random(n),
    }
    made = synth.MWEMGraph(workload=list(workload), rounds=2, steps=50, bins=2, cuts={"age": [30, 60]})
    return made.fit(pv.Table(rows, columns=COLUMNS), rho=0.5, source=Seeded(1))


def test_every_kind_of_column_has_labels() -> None:
    assert [CODING.labels(place) for place in range(5)] == [
        ("[18, 30)", "[30, 60)", "[60, 89]", "(missing)"),
        ("day", "<night>"),
        ("2024-02-28", "2024-02-29", "2024-03-01", "(missing)"),
        ("no", "yes"),
        ("[0, 0.5)", "[0.5, 1]"),
    ]
    days = Coding.of({"d": pv.Date("2024-01-01", "2024-12-31")}, cuts={"d": ["2024-07-01"]})
    assert days.labels(0) == ("[2024-01-01, 2024-07-01)", "[2024-07-01, 2024-12-31]")
    assert Coding.of({"x": pv.Float(0.0, 1.0)}, bins=1).labels(0) == ("[0, 1]",)


@pytest.mark.parametrize("names", [("ward", "age"), ("age",), ("seen", "ill"), ("cost",)], ids=str)
def test_a_frame_has_a_row_for_each_combination_in_the_order_of_the_array(names: tuple[str, ...]) -> None:
    counts = np.arange(float(np.prod([CODING.sizes[CODING.names.index(each)] for each in names])))
    part = CODING.subset(names)
    made = synth.CountTable(part, counts.reshape(part.sizes), ErrorBar(np.full(part.sizes, 2.0), 0.9))
    frame = made.to_pandas()
    assert list(frame.columns) == [*names, "count", "count_low", "count_high"]
    assert frame["count"].tolist() == counts.tolist() and len(made) == len(frame)  # noqa: PT018
    assert frame["count_low"].tolist() == np.maximum(counts - 2.0, 0.0).tolist()  # no count is below 0
    assert frame["count_high"].tolist() == (counts + 2.0).tolist()
    for place, name in enumerate(names):
        told = [str(each) for each in made.to_arrow()[name].to_pylist()]
        codes = np.indices(part.sizes)[place].reshape(-1)
        other = {"(missing)": "None", "no": "False", "yes": "True"}
        texts = [part.labels(place)[code] for code in codes]
        assert told == [other.get(each, each) for each in texts]
    assert made.to_polars().shape == (len(made), len(names) + 3)


def test_counts_of_a_model_are_its_tables_with_their_bars() -> None:
    model = fitted()
    table = model.counts("ward", "age", confidence=0.9)
    assert np.array_equal(table.counts, model.marginal("ward", "age"))
    assert np.array_equal(table.error.radius, model.error("ward", "age", confidence=0.9).radius)  # type: ignore[union-attr]
    text = str(table)
    assert "[30, 60)" in text and "<night>" in text and "(missing)" in text  # noqa: PT018
    assert text.endswith("90% intervals, all of them at once")
    assert "&lt;night&gt;" in table._repr_html_() and "<night>" not in table._repr_html_()  # noqa: PT018
    assert repr(table) == text
    pairs = model.counts("age", "ward").to_pandas().set_index(["age", "ward"])["count"]
    assert pairs["[30, 60)", "day"] == table.counts[0, 1]


def test_a_table_without_bars_says_so() -> None:
    model = fitted()
    assert str(model.counts("seen", "ill")).endswith("no error bar: no measured table holds these columns")
    assert list(model.counts("seen", "ill").columns()) == ["seen", "ill", "count"]
    whole = synth.CountTable(
        CODING.subset(["ward"]), np.array([1.0, 2.0]), ErrorBar(7.0, 0.95, "sum of all differences", around=False)
    )
    assert str(whole).endswith("sum of all differences: at most 7 (95%)")
    assert list(whole.columns()) == ["ward", "count"]


def test_long_tables_are_shown_in_part() -> None:
    made = synth.CountTable(Coding.of({"a": pv.Int(0, 29)}), np.zeros(30), None)
    assert "10 more rows" in str(made) and str(made).count("\n") == 22  # noqa: PT018


@pytest.mark.parametrize("name", ["count", "count_low", "count_high"])
def test_a_column_that_is_called_as_counts_are_keeps_its_name(name: str) -> None:
    made = synth.CountTable(Coding.of({name: pv.Int(0, 1)}), np.array([3.0, 4.0]), ErrorBar(np.ones(2), 0.95))
    assert list(made.columns()) == [name, "rows", "rows_low", "rows_high"]
    assert made.to_pandas()[name].tolist() == [0, 1]


def test_counts_are_drawn_with_their_labels(tmp_path: Any) -> None:
    pytest.importorskip("matplotlib")
    table = fitted().counts("age")
    figure = table.plot(tmp_path / "age.png")
    assert (tmp_path / "age.png").stat().st_size > 1_000
    assert [each.get_text() for each in figure.axes[0].get_xticklabels()] == list(CODING.labels(0))
    told = " ".join(each.get_text() for each in figure.axes[0].texts)
    assert "INSECURE" in told and "0.5-zCDP" in told  # noqa: PT018


def test_a_table_of_another_shape_is_refused() -> None:
    with pytest.raises(pv.errors.InvalidParameter, match="axis"):
        synth.CountTable(CODING.subset(["ward"]), np.zeros(3), None)
