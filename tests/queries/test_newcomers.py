"""The public door as somebody opens it for the first time: wrong and missing things, odd data, deleted files."""

import copy
import math
from pathlib import Path

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidData, InvalidParameter, NoGuarantee, PrivetError, UnknownName

DATA = {"ward": ["A", "B", "A"], "age": [30, 70, 80], "cost": [1.5, 2.5, 3.5], "id": [1, 1, 2]}
COLUMNS = {"ward": pv.Category(["A", "B"]), "age": pv.Int(0, 110), "cost": pv.Float(0.0, 10.0)}


def visits(**more) -> pv.Table:
    return pv.Table(DATA, columns=COLUMNS, **more)


def ledger_for(table: pv.Table, **budget) -> pv.Ledger:
    return pv.Ledger.create("memory:", budget=pv.Budget(**(budget or {"epsilon": 1000.0})), unit=table.unit)


WRONG = {
    "no columns": (lambda: pv.Table(DATA), "columns="),
    "columns are a list": (lambda: pv.Table(DATA, columns=["age"]), "pv.Int"),
    "a type for a column": (lambda: pv.Table(DATA, columns={"age": int}), "'age'.*pv.Int"),
    "a class for a column": (lambda: pv.Table(DATA, columns={"age": pv.Text}), "'age'.*pv.Text"),
    "no data": (lambda: pv.Table(None, columns=COLUMNS), "data"),
    "a unit by its name": (lambda: visits(unit="id"), "pv.Person"),
    "a person without limits": (lambda: pv.Person("id"), "max_rows"),
    "bounds the wrong way round": (lambda: pv.Int(10, 0), "lower bound"),
    "a tick wider than the range": (lambda: pv.Float(0.0, 1.0, tick=4.0), "tick"),
    "an unknown column": (lambda: visits()["agee"], "agee.*ward, age, cost"),
    "an unknown key": (lambda: visits().group_by("wards"), "wards"),
    "keys of another column": (lambda: visits().group_by("ward", keys=["A", "C"]).agg(n=pv.count()), "'C'"),
    "keys and discovery": (lambda: visits().group_by("ward", keys=["A"], discover=True), "not both"),
    "fractions as keys": (lambda: visits().group_by("cost", keys=[1.5]).agg(n=pv.count()), "cost"),
    "an aggregate of an unknown column": (lambda: visits().agg(m=pv.mean("cots")), "cots"),
    "the mean of a category": (lambda: visits().agg(m=pv.mean("ward")), "ward.*group_by"),
    "nothing asked": (lambda: visits().agg(), "at least one"),
    "a text for an aggregate": (lambda: visits().agg(n="count"), "pv.count"),
    "a quantile beyond 1": (lambda: pv.quantile("age", 50), "between 0 and 1"),
    "several quantiles at once": (lambda: pv.quantile("age", [0.1, 0.9]), "table.quantiles"),
    "and between conditions": (lambda: (visits()["age"] > 3) and (visits()["age"] < 5), "&"),
    "a constant of another kind": (lambda: visits().where(visits()["ward"] == "Z"), "'Z'"),
    "an order of categories": (lambda: visits().where(visits()["ward"] > "A"), "order"),
    "a loop over rows": (lambda: list(visits()), "looped"),
    "the number of rows": (lambda: len(visits()), "private"),
    "a column times a category": (lambda: visits().derive(x=visits()["age"] * visits()["ward"]), "products"),
    "a column over a column": (lambda: visits()["age"] / visits()["cost"], "constants"),
    "an aggregate named like a key": (lambda: visits().group_by("ward").agg(ward=pv.count()), "ward"),
    "an aggregate named like an end": (lambda: visits().agg(n=pv.count(), n_low=pv.count()), "n_low"),
    "quantiles of discovered keys": (
        lambda: visits().group_by("ward", discover=True).agg(m=pv.median("age")),
        "public keys",
    ),
    "a join on something shared": (lambda: visits(name="a").join(visits(name="b")), "pv.Person"),
    "top of too many": (lambda: visits().top_k("ward", 5), "from 1 to 2"),
    "marginals of an unknown column": (lambda: visits().marginals("ward", "sex"), "sex"),
    "a width that is no number": (lambda: visits().bin("age", width=float("nan")), "width"),
    "a power of a column": (lambda: visits()["age"] ** 2, "powers"),
    "the opposite of a column": (lambda: ~visits()["age"], "compare it"),
    "a remainder of a column": (lambda: visits()["age"] % 2, "before the table is opened"),
    "a number over a column": (lambda: 1 / visits()["age"], "before the table is opened"),
    "the size of a column": (lambda: abs(visits()["age"]), "before the table is opened"),
    "a column for a condition": (lambda: visits()["age"] & (visits()["cost"] > 1), "compare it"),
    "discovery as a text": (lambda: visits().group_by("ward", discover="no"), "True or False"),
    "keys of a column that is not grouped by": (lambda: visits().group_by("age", keys={"ward": ["A"]}), "about all"),
    "keys of some columns": (lambda: visits().group_by("age", "ward", keys={"ward": ["A"]}), "about all"),
    "a list of keys for no column": (lambda: visits().group_by(keys=["A"]), "KeySet"),
    "half a letter as a category": (lambda: pv.Category(["A", "\ud800"]), "surrogate"),
    "half a letter as a key": (
        lambda: pv.Table({"t": ["x"]}, columns={"t": pv.Text()}).group_by("t", keys=["\ud800"]),
        "surrogate",
    ),
    "half a letter as a name": (lambda: visits().agg(**{"\ud800": pv.count()}), "surrogate"),
    "half a letter as a column": (lambda: pv.Table({"\ud800": [1]}, columns={"\ud800": pv.Int(0, 1)}), "mapping"),
    "ranges of a category": (lambda: visits().ranges("ward"), "numbers"),
}


@pytest.mark.parametrize(("wrong", "words"), WRONG.values(), ids=WRONG)
def test_mistakes_are_named_with_a_remedy(wrong, words):
    with pytest.raises(InvalidParameter, match=words):
        wrong()


def test_a_price_is_missing_or_impossible():
    table = visits()
    query, ledger = table.agg(n=pv.count()), ledger_for(table)
    with pytest.raises(InvalidParameter, match="epsilon="):
        ledger.release(query)
    with pytest.raises(InvalidParameter):
        ledger.release(query, epsilon=1.0, rho=1.0)
    with pytest.raises(PrivetError, match="epsilon"):
        ledger.release(query, epsilon=-1.0)
    with pytest.raises(NoGuarantee, match="delta"):
        ledger.release(table.group_by("age", discover=True).agg(p=pv.count_persons()), epsilon=1.0)
    choice = table.group_by("age", discover=True).agg(p=pv.count_persons())
    with pytest.raises(NoGuarantee):
        ledger.release(choice, mu=1.0)
    assert ledger.spent["basic epsilon"] == 0.0


def test_a_ledger_about_another_unit_refuses_before_anything_is_read():
    by_person = visits(unit=pv.Person("id", max_rows=2))
    rows = ledger_for(visits())
    with pytest.raises(PrivetError):
        rows.release(by_person.agg(n=pv.count()), epsilon=1.0)
    others = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=pv.privacy.Unit(person="household"))
    with pytest.raises(PrivetError):
        others.release(by_person.agg(n=pv.count()), epsilon=1.0)
    assert rows.spent["basic epsilon"] == others.spent["basic epsilon"] == 0.0


def test_data_that_do_not_fit_the_schema_are_refused_before_payment():
    table = pv.Table({"age": ["x", "y"], "when": np.array([1, 2])}, columns={"cost": pv.Float(0.0, 1.0)})
    ledger = ledger_for(table)
    with pytest.raises(InvalidData, match="cost"):
        ledger.release(table.agg(s=pv.sum("cost")), epsilon=1.0)
    assert ledger.spent["basic epsilon"] == 0.0


ODD = {
    "no rows": ([], [0.0, 0.0, 5.0]),
    "one row": ([4.0], [1.0, 4.0, 4.0]),
    "all missing": ([None, math.nan, None], [3.0, 0.0, 5.0]),
    "infinite": ([math.inf, -math.inf], [2.0, 10.0, 5.0]),
    "beyond the bounds": ([1e300, -1e300, 5.0], [3.0, 15.0, 5.0]),
    "negative zero": ([-0.0, 0.0], [2.0, 0.0, 0.0]),
    "huge whole numbers": ([2**70, -(2**70)], [2.0, 10.0, 5.0]),
}


@pytest.mark.parametrize(("values", "truth"), ODD.values(), ids=ODD)
def test_odd_data_have_defined_answers(values, truth):
    table = pv.Table({"x": values}, columns={"x": pv.Float(0.0, 10.0)})
    answer = ledger_for(table, epsilon=1e5).release(
        table.agg(n=pv.count(), s=pv.sum("x"), m=pv.mean("x"), v=pv.variance("x"), q=pv.median("x")), epsilon=4e4
    )
    found = answer.value
    assert found["n"][0] == truth[0]
    assert found["s"][0] == pytest.approx(truth[1], abs=0.01)
    assert found["m"][0] == pytest.approx(truth[2], abs=0.01)
    for name in ("m", "v", "s"):
        low, high = found.interval(name)
        assert low[0] <= found[name][0] <= high[0]
    assert 0.0 <= found["v"][0] <= 25.0
    assert 0.0 <= found["q"][0] <= 10.0


def test_bounds_that_meet_and_negative_bounds():
    table = pv.Table(
        {"c": [7, 7, None], "d": [-3.0, -1.0, -2.0]}, columns={"c": pv.Int(7, 7), "d": pv.Float(-3.0, -1.0)}
    )
    ledger = ledger_for(table, epsilon=1e5)
    found = ledger.release(
        table.agg(m=pv.mean("c"), v=pv.variance("c"), s=pv.sum("d"), n=pv.mean("d")), epsilon=5e4
    ).value
    assert (found["m"][0], found["v"][0]) == (7.0, 0.0)
    assert found["s"][0] == pytest.approx(-6.0, abs=1e-3)
    assert found["n"][0] == pytest.approx(-2.0, abs=1e-3)
    with pytest.raises(InvalidParameter, match="known without data"):
        table.agg(m=pv.mean("c")).for_budget(epsilon=1.0)
    assert ledger.release(table.agg(s=pv.sum("c")), epsilon=1e4).value["s"][0] == pytest.approx(14.0, abs=0.01)


def test_equal_numbers_of_any_type_are_one_input():
    query_of = {}
    for kind in (list, np.int64, np.int8, np.float32, np.float64, object):
        values = [3, 9, 100]
        held = values if kind is list else np.array(values, dtype=kind)
        table = pv.Table({"age": held}, columns={"age": pv.Int(0, 110)}, name="t")
        made = table.agg(s=pv.sum("age"), n=pv.count()).for_budget(epsilon=1.0)
        found = table.data.exact_aggregates(made.plan, (1, 2, 3, 4, 5))
        query_of[kind] = (found.rows.tolist(), [each.tolist() for each in found.signed])
    assert len({str(each) for each in query_of.values()}) == 1


def test_two_tables_of_one_name_are_refused_whatever_they_hold():
    """Whether they hold the same is not looked at: an error that depends on data would be a leak."""
    unit = pv.Person("id", max_rows=1)
    for other in ([30, 70, 80], [30, 70, 81]):
        one = pv.Table({"id": [1, 2, 3], "age": [30, 70, 80]}, columns={"age": pv.Int(0, 99)}, unit=unit)
        two = pv.Table({"id": [1, 2, 3], "age": other}, columns={"age": pv.Int(0, 99)}, unit=unit)
        with pytest.raises(InvalidParameter, match="another name"):
            one.union(two)
        arrays = [pv.Table({"id": np.arange(3), "age": np.array(each)}, columns={"age": pv.Int(0, 99)}, unit=unit)
                  for each in ([30, 70, 80], other)]  # fmt: skip
        with pytest.raises(InvalidParameter, match="another name"):
            arrays[0].union(arrays[1])


def test_preview_and_explain_do_not_need_the_file(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("ward,age,id\nA,30,1\nB,40,2\n")
    table = pv.Table(file, columns={"ward": COLUMNS["ward"], "age": COLUMNS["age"]}, unit=pv.Person("id", max_rows=2))
    query = table.group_by("ward").agg(n=pv.count(), m=pv.mean("age"), q=pv.median("age"))
    before = (str(query.preview(epsilon=1.0)), query.explain(), query.for_error(within=10, of="n"))
    Path(file).unlink()
    assert (str(query.preview(epsilon=1.0)), query.explain(), query.for_error(within=10, of="n")) == before
    assert "30" not in query.explain().replace("300", "")
    ledger = ledger_for(table)
    with pytest.raises(InvalidData, match="no file"):
        ledger.release(query, epsilon=1.0)
    assert ledger.spent["basic epsilon"] == 0.0


def test_the_most_frequent_values_are_previewed_at_what_they_cost():
    question = visits().top_k("ward", 1)
    assert "protects" in question.explain()
    assert ledger_for(visits()).release(question, epsilon=1.0).loss == question.preview(epsilon=1.0).loss


def test_the_same_key_is_answered_again_and_versions_of_the_data_are_told_apart_in_public_words(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("age\n30\n40\n")
    table = pv.Table(file, columns={"age": pv.Int(0, 99)})
    ledger, query = ledger_for(table), table.agg(n=pv.count(), m=pv.mean("age"))
    first = ledger.release(query, epsilon=1.0, key="May").value
    again = ledger.release(table.agg(n=pv.count(), m=pv.mean("age")), epsilon=1.0, key="May").value
    assert again == first
    assert ledger.spent["basic epsilon"] == pytest.approx(1.0)
    with pytest.raises(PrivetError):
        ledger.release(table.where(table["age"] > 35).agg(n=pv.count(), m=pv.mean("age")), epsilon=1.0, key="May")
    file.write_text("age\n30\n40\n50\n")
    assert ledger.release(query, epsilon=1.0, key="May").value == first
    with pytest.raises(PrivetError):
        ledger.release(query, epsilon=1.0, key="May", about="June")


AS_FRAMES = {
    "aggregates by group": (lambda t: t.group_by("ward").agg(n=pv.count(), m=pv.mean("cost")), "n", [2.0, 1.0]),
    "one number": (lambda t: t.agg(n=pv.count()), "n", [3.0]),
    "a histogram": (lambda t: t.histogram("ward"), "n", [2.0, 1.0]),
    "a marginal": (lambda t: t.marginals("ward"), "n", [2.0, 1.0]),
    "all ranges": (lambda t: t.ranges("age"), "count", [float(age in (30, 70, 80)) for age in range(111)]),
    "quantiles": (lambda t: t.quantiles("age", [0.5]), "value", [70.0]),
    "covariances": (lambda t: t.covariance("cost", "age"), "value", [2 / 3, 50 / 3, 50 / 3, 1400 / 3]),
}


@pytest.mark.parametrize(("made", "column", "truth"), AS_FRAMES.values(), ids=AS_FRAMES.keys())
def test_every_answer_is_a_data_frame_with_the_ends_of_intervals(made, column, truth):
    """Not the fields of whatever object a ledger stores: rows for groups, bins or pairs, and numbers in the columns."""
    table = visits()
    release = ledger_for(table, epsilon=1e9).release(made(table), epsilon=1e6)
    frame = release.to_pandas()
    assert frame[column].tolist() == pytest.approx(truth, abs=0.01)
    ends = frame[f"{column}_low"], frame[f"{column}_high"]
    assert ((ends[0] <= frame[column]) & (frame[column] <= ends[1])).all()
    assert list(frame.columns) == release.to_polars().columns == release.to_arrow().column_names
    assert len(frame) == release.to_polars().height == release.to_arrow().num_rows == len(truth)


def answered(table):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=table.unit)
    return ledger.release(table.agg(n=pv.count()), epsilon=0.5).value


OTHER_NAMES = {
    "groupby": (lambda t: t.groupby("ward"), "group_by"),
    "head": (lambda t: t.head(), "private"),
    "shape": (lambda t: t.shape, "private"),
    "filter": (lambda t: t.filter(t["age"] > 3), "where"),
    "mean of a table": (lambda t: t.mean("cost"), "pv.mean"),
    "mean of a column": (lambda t: t["cost"].mean(), r'pv.mean\("cost"\)'),
    "a column as an attribute": (lambda t: t.age, r"\['age'\]"),
    "a slip": (lambda t: t.grup_by("ward"), "did you mean group_by"),
    "nothing like it": (lambda t: t.xyzzy, "it has agg"),
    "a query that releases itself": (lambda t: t.agg(n=pv.count()).release(epsilon=0.5), r"ledger\.release\(query"),
    "a question that releases itself": (lambda t: t.top_k("ward", 1).release, r"ledger\.release\(query"),
    "a slip in a query": (lambda t: t.agg(n=pv.count()).previev(epsilon=1.0), "did you mean preview"),
    "an answer as a frame": (lambda t: answered(t).to_pandas(), r"release\.to_pandas\(\)"),
}


@pytest.mark.parametrize(("call", "said"), OTHER_NAMES.values(), ids=OTHER_NAMES.keys())
def test_names_that_data_frames_have_are_answered_by_ours(call, said):
    with pytest.raises(UnknownName, match=said) as caught:
        call(visits())
    assert isinstance(caught.value, AttributeError)


def test_what_a_ledger_has_not_is_answered_by_what_it_has():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    for name, said in (("balance", "remaining"), ("spennt", "spent"), ("xyzzy", r"ledger\.spent")):
        with pytest.raises(UnknownName, match=said) as caught:
            getattr(ledger, name)
        assert isinstance(caught.value, AttributeError)
    assert not hasattr(ledger, "__array__")
    assert copy.copy(ledger).spent == ledger.spent


def test_tables_and_columns_are_still_asked_by_libraries():
    table = visits()
    query = table.agg(n=pv.count())
    assert not hasattr(query, "__array__")
    assert copy.copy(query).unit == query.unit
    assert copy.deepcopy(answered(table)).confidence == 0.95
    assert not hasattr(table, "__array__")
    assert not hasattr(table["age"], "__len__")
    assert copy.copy(table).columns == table.columns
    assert copy.deepcopy(table["age"]).name == "age"


def test_an_entry_of_a_release_is_one_of_its_value():
    table = visits()
    release = ledger_for(table).release(table.group_by("ward").agg(n=pv.count()), epsilon=100.0)
    assert release["n"].tolist() == release.value["n"].tolist()
    with pytest.raises(InvalidParameter, match="it has ward, n"):
        release["m"]
    with pytest.raises(TypeError, match="not iterable"):
        list(release)
    with pytest.raises(InvalidParameter, match=r"take release\.value"):
        pv.mechanisms.Laplace(scale=1.0, sensitivity=1.0).release(3.0)[0]


def test_constants_out_of_numpy_are_those_of_python():
    wards = np.array(["A", "B"])
    assert pv.Category(wards) == pv.Category(["A", "B"])
    assert pv.Category(np.array([1, 2])) == pv.Category([1, 2])
    table = visits()
    ledger = ledger_for(table, epsilon=1e6)
    kept = table.where(table["ward"].isin(wards[:1])).agg(n=pv.count())
    assert ledger.release(kept, epsilon=1e4).value["n"][0] == 2
    grouped = table.group_by("ward", keys=wards[::-1]).agg(n=pv.count())
    assert ledger.release(grouped, epsilon=1e4).value["n"].tolist() == [1, 2]
